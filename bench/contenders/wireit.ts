import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../support/process.ts';
import { type Contender, type Job, PROGRAM } from './contender.ts';

/** Where `npm install wireit` was done; set by whoever starts the contender. */
export const WIREIT_AT = 'BENCH_WIREIT';

/** wireit with a script a step and one that needs them all; nothing comes from its cache. */
export const wireit: Contender = async (job) => {
  const modules = join(process.env[WIREIT_AT] ?? '', 'node_modules');
  symlinkSync(modules, join(job.folder, 'node_modules'));
  writeFileSync(join(job.folder, 'package.json'), JSON.stringify(packageOf(job)));
  const env = {
    ...process.env,
    WIREIT_PARALLEL: String(job.concurrency),
    WIREIT_CACHE: 'none',
    WIREIT_LOGGER: 'quiet',
  };
  const { code, ms, stdout, stderr } = await run('npm', ['run', '--silent', 'all'], { cwd: job.folder, env });
  if (code !== 0) throw new Error(`wireit ended with ${code}: ${stdout}${stderr}`);
  return ms;
};

function packageOf({ steps }: Job): object {
  const names = Array.from({ length: steps }, (_, at) => `s${at}`);
  return {
    name: 'bench',
    scripts: Object.fromEntries([...names, 'all'].map((name) => [name, 'wireit'])),
    wireit: {
      ...Object.fromEntries(names.map((name) => [name, { command: PROGRAM }])),
      all: { dependencies: names },
    },
  };
}
