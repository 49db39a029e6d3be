import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import type { PlanSource } from '../index.ts';
import type { AttachedOptions } from './attached.ts';
import { EXIT } from './codes.ts';
import { configOf } from './config.ts';
import { rootFlag } from './finding.ts';
import { type Io, fail, printJson } from './io.ts';
import { type Wanted, choose } from './source.ts';
import { quoted } from './words.ts';

export interface RunOptions extends AttachedOptions, Wanted {
  cwd?: string;
  detach?: boolean;
}

/** A mistake in the call is told before the library is loaded. */
export async function run(options: RunOptions, io: Io): Promise<number> {
  const chosen = choose(options);
  if (chosen.type === 'usage') return fail(io, EXIT.usage, chosen.message);
  const source = await withTaskFromInput(chosen.source);
  const { cwd, ...rest } = options;
  const placed = { ...rest, ...(cwd === undefined ? {} : { cwd: resolve(cwd) }) };
  if (options.detach === true) return detached(source, placed, io);
  const { attached } = await import('./attached.ts');
  const { code } = await attached(source, placed, io);
  return code;
}

/** A long task does not fit into an argument, and arguments can be read by others. */
async function withTaskFromInput(source: PlanSource): Promise<PlanSource> {
  if (!('task' in source) || source.task.task !== '-') return source;
  return { task: { ...source.task, task: await readAll(process.stdin) } };
}

async function detached(source: PlanSource, options: AttachedOptions, io: Io): Promise<number> {
  const { root, id, cwd, json } = options;
  const { startDetached } = await import('../index.ts');
  const started = await startDetached(source, {
    env: io.env,
    ...configOf(options),
    ...(root === undefined ? {} : { root }),
    ...(id === undefined ? {} : { id }),
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (json === true) {
    await printJson(io, started);
    return EXIT.ok;
  }
  const flag = rootFlag(options, quoted);
  io.out.line(started.id);
  io.err.line(`It runs in the background as process ${started.pid}.`);
  io.err.line(`next: coxswain wait ${started.id}${flag}, or status, logs -f, stop`);
  return EXIT.ok;
}
