/**
 * The detached runner: owns one run directory, which its launcher has made, and ends with the run's exit code.
 * Arguments: state root, run id.
 */
import { readFileSync } from 'node:fs';
import { nestOfEntered } from '../nest/index.ts';
import type { ResolvedPlan } from '../plan/index.ts';
import { runDir } from '../record/index.ts';
import type { RunnerMessage } from './detach.ts';
import { begin } from './start.ts';
import { superviseProcess } from './supervise.ts';

async function main([root, id]: string[]): Promise<number> {
  if (root === undefined || id === undefined) throw new Error('usage: runner <root> <id>');
  const dir = runDir(root, id);
  // Our own launcher wrote it a moment ago, checked.
  const plan = JSON.parse(readFileSync(dir.plan, 'utf8')) as ResolvedPlan;
  const { exitCode } = await superviseProcess(() => begin(plan, dir, { nest: nestOfEntered(process.env, id) }));
  const ready: RunnerMessage = { type: 'ready' };
  // A launcher that has gone is no fault of the run: the error has nobody to go to.
  process.send?.(ready, undefined, {}, () => {});
  if (process.connected) process.disconnect();
  return exitCode;
}

try {
  // Everything is on record; what a library left open must not keep us.
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
