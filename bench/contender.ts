/**
 * One contender in a process of its own: `node contender.js <name> <steps> <concurrency> <folder> [parts]`.
 * Warms up with a job of the same size, runs the job, prints `{ ms, rssMb, cpuMs, newFileMs }`; with `parts` also where
 * the time went, and then the milliseconds are those of a process that is being watched. `cpuMs` is that of the process
 * and of all it has started.
 */
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Contender } from './contenders/contender.ts';
import { type Parts, partsOf } from './support/parts.ts';

/** Loaded one at a time: what a contender does not use must not weigh on its process. */
const contenders = {
  raw: async () => (await import('./contenders/raw.ts')).raw,
  'execa-lean': async () => (await import('./contenders/execa-lean.ts')).execaLean,
  actors: async () => (await import('./contenders/actors.ts')).actors,
  coxswain: async () => (await import('./contenders/coxswain.ts')).coxswain,
  parallel: async () => (await import('./contenders/parallel.ts')).parallel,
  wireit: async () => (await import('./contenders/wireit.ts')).wireit,
} satisfies Record<string, () => Promise<Contender>>;

const [name = '', steps = '', concurrency = '', folder = '', watched] = process.argv.slice(2);
if (!Object.hasOwn(contenders, name)) throw new Error(`there is no contender "${name}"`);
const contender = await contenders[name as keyof typeof contenders]();
const job = { steps: Number(steps), concurrency: Number(concurrency) };
// Peers run in processes of their own: there is nothing in this one to warm.
if (name !== 'parallel' && name !== 'wireit') await contender({ ...job, folder: fresh('warm-up') });

const newFileMs = timeOfNewFile(fresh('files'));
const before = cpuMs();
let ms = Number.NaN;
const measure = async (): Promise<void> => {
  ms = await contender({ ...job, folder: fresh('measured') });
};
let parts: Parts | undefined;
if (watched === 'parts') parts = await partsOf(measure);
else await measure();
const rssMb = process.memoryUsage.rss() / 1e6;
process.stdout.write(`${JSON.stringify({ ms, rssMb, cpuMs: cpuMs() - before, newFileMs, parts })}\n`);

function fresh(part: string): string {
  const path = join(folder, part);
  mkdirSync(path);
  return path;
}

/** What this file system takes to make a file. It is bench/steps.ts that says why one has to know. */
function timeOfNewFile(path: string): number {
  const FILES = 50;
  const begun = performance.now();
  for (let i = 0; i < FILES; i += 1) closeSync(openSync(join(path, String(i)), 'wx'));
  return (performance.now() - begun) / FILES;
}

/** Of this process and of all that it, or what it started, has waited for; in steps of 10 ms. See proc_pid_stat(5). */
function cpuMs(): number {
  const fields = readFileSync('/proc/self/stat', 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
}
