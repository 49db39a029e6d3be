import { randomUUID } from 'node:crypto';

/** The environment variable by which the processes of an attempt are recognised, however they detached themselves. */
export const TOKEN_ENV = 'COXSWAIN_TOKEN';

const ENTRY = Buffer.from(`${TOKEN_ENV}=`, 'latin1');

/** A new token: 32 hexadecimal digits with 122 random bits. It marks processes; it gives no rights. */
export function newToken(): string {
  return randomUUID().replaceAll('-', '');
}

/**
 * The value of `TOKEN_ENV` for a child: our token after those we inherited.
 * A runner inside another runner's attempt keeps its children findable for both.
 */
export function tokenValue(inherited: string | undefined, token: string): string {
  return inherited === undefined || inherited === '' ? token : `${inherited},${token}`;
}

/** The tokens in an environment block (`NAME=value` entries ended by zero bytes). */
export function tokensIn(environ: Buffer): string[] {
  let at = environ.indexOf(ENTRY);
  // Only at the start of an entry: `MY_COXSWAIN_TOKEN=…` is somebody else's.
  while (at > 0 && environ[at - 1] !== 0) at = environ.indexOf(ENTRY, at + 1);
  if (at < 0) return [];
  const end = environ.indexOf(0, at);
  return environ.toString('latin1', at + ENTRY.length, end < 0 ? environ.length : end).split(',');
}
