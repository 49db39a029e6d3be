/**
 * From the stop to gone: a tree of 11 processes, two of them in sessions of their own, among 500 bystanders. Beside it what
 * others do, and whom they leave behind. JSON on stdout, a table on stderr.
 *
 *   npm run bench:stop [-- --rounds 25 --bystanders 500]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { probeContainment } from '../src/process/index.ts';
import { rounded, table } from './support/stats.ts';
import { TREE_SIZE, clear, crowd, newTree } from './support/stopped-tree.ts';
import { type Stopper, type Times, stoppers } from './support/stoppers.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '25' }, bystanders: { type: 'string', default: '500' } },
});
const rounds = Number(values.rounds);

interface Stopped extends Times {
  left: number;
}

const { cgroup } = await probeContainment();
const all = Object.entries<Stopper>(stoppers);
const contenders = all.filter(([name]) => cgroup.type === 'available' || !name.includes('control group'));
const folder = mkdtempSync(join(tmpdir(), 'bench-stop-'));
const bystanders = await crowd(Number(values.bystanders));
try {
  const measured = new Map<string, Stopped[]>(contenders.map(([name]) => [name, []]));
  // The first round is a warm-up.
  for (let round = 0; round <= rounds; round += 1) {
    const at = round % contenders.length;
    for (const [name, stop] of [...contenders.slice(at), ...contenders.slice(0, at)]) {
      const stopped = await once(stop, `${round}-${name.replaceAll(/\W/g, '-')}`);
      if (round > 0) measured.get(name)?.push(stopped);
    }
  }
  report(measured);
} finally {
  process.kill(-bystanders.pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

async function once(stop: Stopper, name: string): Promise<Stopped> {
  const tree = newTree(folder, name);
  try {
    const times = await stop(tree, join(folder, 'state'));
    return { ...times, left: clear(tree) };
  } finally {
    clear(tree);
  }
}

function report(measured: ReadonlyMap<string, Stopped[]>): void {
  const rows = Object.fromEntries([...measured].map(([name, stops]) => [name, rowOf(stops)]));
  const search = rows['kill(-pgid) and one search']?.p95 ?? Number.NaN;
  const ours = rows['coxswain'];
  const result = {
    job: { processes: TREE_SIZE, bystanders: Number(values.bystanders), rounds },
    machine: { cpus: cpus().length, model: cpus()[0]?.model ?? null, node: process.version },
    /** Of the p95 to that of `kill(-pgid)` and one search; at most 3 is the aim. */
    ratio: {
      settled: rounded((ours?.p95 ?? Number.NaN) / search),
      attempt: rounded((ours?.attempt?.p95 ?? Number.NaN) / search),
    },
    rows,
  };
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  const lines = Object.entries(rows).flatMap(([name, { p50, p95, slowest, left, attempt }]) => [
    [name, ...[p50, p95, slowest, left].map(String)],
    ...(attempt === undefined
      ? []
      : [['  the attempt alone', String(attempt.p50), String(attempt.p95), String(attempt.slowest), '']]),
  ]);
  process.stderr.write(`${table([['', 'p50 ms', 'p95 ms', 'slowest', 'left'], ...lines])}\n`);
}

interface Spread {
  p50: number;
  p95: number;
  slowest: number;
}

function rowOf(stops: readonly Stopped[]): Spread & { left: number; attempt?: Spread } {
  const parts = stops.flatMap(({ part }) => (part === undefined ? [] : [part]));
  const left = Math.max(...stops.map((one) => one.left));
  return { ...spread(stops.map(({ ms }) => ms)), left, ...(parts.length === 0 ? {} : { attempt: spread(parts) }) };
}

function spread(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => rounded(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN);
  return { p50: at(0.5), p95: at(0.95), slowest: at(1) };
}
