import { execa } from 'execa';
import { type Contender, PROGRAM } from './contender.ts';
import { pool } from './pool.ts';

/** execa with the options of src/process/spawn.ts, until the exit and the close of the pipes. */
export const execaLean: Contender = (job) => {
  const env = { ...process.env };
  return pool(
    job,
    () =>
      new Promise((resolve, reject) => {
        const child = execa(PROGRAM, [], {
          cwd: job.folder,
          env,
          extendEnv: false,
          stdin: 'ignore',
          detached: true,
          reject: false,
          buffer: false,
          cleanup: false,
          verbose: 'none',
        });
        child.stdout.resume();
        child.stderr.resume();
        child.once('error', reject);
        child.once('close', () => resolve());
      }),
  );
};
