import { spawn } from 'node:child_process';
import { type Contender, PROGRAM } from './contender.ts';
import { pool } from './pool.ts';

/** What Node itself takes: a detached child with three pipes, until its exit and the close of its pipes. */
export const raw: Contender = (job) => {
  const env = { ...process.env };
  return pool(
    job,
    () =>
      new Promise((resolve, reject) => {
        const child = spawn(PROGRAM, [], { cwd: job.folder, env, detached: true, stdio: 'pipe' });
        child.stdout.resume();
        child.stderr.resume();
        child.once('error', reject);
        child.once('close', () => resolve());
      }),
  );
};
