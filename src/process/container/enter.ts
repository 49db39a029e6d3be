import { existsSync } from 'node:fs';

/** Descriptor on which a wrapper says that it is inside, and hears that it may go on. */
export const GATE_FD = 3;
/** What it says. */
export const GATE_WORD = 'in';

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** What a shell adds to the environment of what it starts. */
const ADDED = ['PWD', 'OLDPWD', 'SHLVL'];

/**
 * A shell for the few lines that enter a container. `dash` drops variables whose names are no shell names (`a.b`, `a-b`);
 * `bash` hands them on (and counts SHLVL), so it is taken where there are such, if it is installed. Without its options it would
 * read `BASH_ENV`, and the user's `.bashrc` too, since a socket for stdin makes it believe in a remote login.
 */
export function shellFor(env: Readonly<Record<string, string>>): string[] {
  const plain = Object.keys(env).every((name) => PLAIN_NAME.test(name));
  return !plain && existsSync('/bin/bash') ? ['/bin/bash', '--norc', '-p'] : ['/bin/sh'];
}

/**
 * Says that we are inside, waits until that was noted down, and leaves no trace of itself for the program. When nobody
 * answers (the runner is gone), nothing is started.
 */
export function passGate(env: Readonly<Record<string, string>>): string {
  const names = ADDED.filter((name) => env[name] === undefined);
  const unset = names.length === 0 ? '' : `; unset ${names.join(' ')}`;
  return `echo ${GATE_WORD} >&${GATE_FD} && read -r _coxswain_go <&${GATE_FD} || exit 125; exec ${GATE_FD}>&-${unset}`;
}
