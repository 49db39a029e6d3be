import { type ChildProcess, spawn } from 'node:child_process';
import { errorOf, ignore, type Spawn } from '../spawned.ts';

/** Node's own spawn, with the options that execa is given in the runner. */
export const spawnPlain: Spawn = ({ argv, shell, cwd, env, stdin }) => {
  const [command = '', ...args] = argv;
  let child: ChildProcess;
  try {
    child = spawn(command, args, { cwd, env, shell, stdio: [stdin, 'pipe', 'pipe'], detached: true });
  } catch (error) {
    return { type: 'refused', why: Promise.resolve(error) };
  }
  const refused = errorOf(child);
  child.on('error', ignore);
  const { pid, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) return { type: 'refused', why: refused };
  return { type: 'spawned', pid, process: child, stdin: child.stdin, stdout, stderr, gate: null };
};
