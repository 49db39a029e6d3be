/**
 * What a step costs: command steps of /bin/true, against raw spawns, execa alone, the actors without a record, GNU
 * parallel and wireit. JSON on stdout, a table on stderr.
 *
 *   npm run bench:steps [-- --rounds 9 --steps 300 --concurrency 8 --folder DIR]
 *
 * Nothing is removed before the end. ext4 without a journal passes over the inodes of files that were deleted in the last
 * minutes, one by one, each time a file is made: after a `rm -r` of some thousand files a new one takes 0.9 ms instead of
 * 0.02. The time of a new file is measured beside every round and printed, so that one sees what kind of day it is.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { WIREIT_AT } from './contenders/wireit.ts';
import type { Part, Parts } from './support/parts.ts';
import { installWireit, lookForParallel, type Missing } from './support/peers.ts';
import { run } from './support/process.ts';
import { median, rounded, table } from './support/stats.ts';

const LADDER = ['raw', 'execa-lean', 'actors', 'coxswain'] as const;
const PEERS = ['parallel', 'wireit'] as const;
type Name = (typeof LADDER)[number] | (typeof PEERS)[number];

interface Measured {
  ms: number;
  rssMb: number;
  cpuMs: number;
  newFileMs: number;
  parts?: Parts;
}

interface Row {
  msPerStep: number;
  cpuMsPerStep: number;
  rssMb: number;
  toExeca: number;
  toRaw: number;
  fastest: number;
  slowest: number;
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    steps: { type: 'string', default: '300' },
    concurrency: { type: 'string', default: '8' },
    folder: { type: 'string', default: tmpdir() },
  },
});
const rounds = Number(values.rounds);
const steps = Number(values.steps);

const wireit = installWireit();
const folders = mkdtempSync(join(values.folder, 'bench-steps-'));
try {
  const missing: Record<(typeof PEERS)[number], Missing> = { parallel: lookForParallel(), wireit: wireit.missing };
  const names: Name[] = [...LADDER, ...PEERS.filter((peer) => missing[peer] === null)];
  const measured = new Map<Name, Measured[]>(names.map((name) => [name, []]));
  const watched: Measured[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // Another order each round: what one leaves behind does not always meet the same one.
    const order = [...names.slice(round % names.length), ...names.slice(0, round % names.length)];
    for (const name of order) measured.get(name)?.push(await once(name));
    watched.push(await once('coxswain', 'parts'));
    process.stderr.write(`round ${round + 1} of ${rounds}\n`);
  }
  report(measured, watched, missing);
} finally {
  rmSync(wireit.folder, { recursive: true, force: true });
  rmSync(folders, { recursive: true, force: true });
}

/** One contender, once, in a fresh process and a fresh folder. */
async function once(name: Name, ...more: string[]): Promise<Measured> {
  const folder = mkdtempSync(join(folders, `${name}-`));
  const contender = fileURLToPath(new URL('contender.js', import.meta.url));
  const args = [contender, name, values.steps, values.concurrency, folder, ...more];
  const env = { ...process.env, [WIREIT_AT]: wireit.folder };
  const { code, stdout, stderr } = await run(process.execPath, args, { env });
  if (code !== 0) throw new Error(`${name} failed: ${stderr}`);
  return JSON.parse(stdout) as Measured;
}

function report(
  measured: ReadonlyMap<Name, Measured[]>,
  watched: readonly Measured[],
  missing: Readonly<Record<string, Missing>>,
): void {
  const rows = Object.fromEntries([...measured].map(([name]) => [name, rowOf(name, measured)]));
  const parts = partsPerStep(watched);
  const absent = Object.fromEntries(Object.entries(missing).filter(([, why]) => why !== null));
  const machine = { cpus: cpus().length, model: cpus()[0]?.model ?? null, node: process.version };
  const { concurrency } = values;
  const newFileMs = rounded(median([...measured.values()].flat().map((one) => one.newFileMs)), 3);
  const job = { steps, concurrency: Number(concurrency), rounds };
  const result = { job, machine: { ...machine, newFileMs }, rows, parts, missing: absent };
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  process.stderr.write(`\n${tableOf(rows, parts, absent)}\nA new file takes ${newFileMs} ms here today.\n`);
}

function rowOf(name: Name, measured: ReadonlyMap<Name, Measured[]>): Row {
  const all = measured.get(name) ?? [];
  const ms = all.map((one) => one.ms / steps);
  // Round by round: what slowed a whole round down slowed both.
  const to = (other: Name): number =>
    rounded(median((measured.get(other) ?? []).map((base, round) => (all[round]?.ms ?? Number.NaN) / base.ms)));
  return {
    msPerStep: rounded(median(ms), 3),
    cpuMsPerStep: rounded(median(all.map((one) => one.cpuMs / steps)), 3),
    rssMb: Math.round(median(all.map((one) => one.rssMb))),
    toExeca: to('execa-lean'),
    toRaw: to('raw'),
    fastest: rounded(Math.min(...ms), 3),
    slowest: rounded(Math.max(...ms), 3),
  };
}

/** Milliseconds a step, of the runner's thread, while it is being watched. */
function partsPerStep(watched: readonly Measured[]): Partial<Parts> {
  const names = Object.keys(watched[0]?.parts ?? {}) as Part[];
  return Object.fromEntries(
    names.map((part) => [part, rounded(median(watched.map((one) => (one.parts?.[part] ?? 0) / steps)), 3)]),
  );
}

function tableOf(
  rows: Readonly<Record<string, Row>>,
  parts: Partial<Parts>,
  absent: Readonly<Record<string, Missing>>,
): string {
  const head = ['', 'ms a step', 'x execa lean', 'x raw', 'cpu ms', 'RSS MB', 'fastest', 'slowest'];
  const lines = Object.entries(rows).map(([name, row]) => [
    name,
    ...[row.msPerStep, row.toExeca, row.toRaw, row.cpuMsPerStep, row.rssMb, row.fastest, row.slowest].map(String),
  ]);
  const ladder = LADDER.map((name, at): string[] => {
    const below = LADDER[at - 1];
    const ms = rows[name]?.msPerStep ?? Number.NaN;
    const more = below === undefined ? ms : ms - (rows[below]?.msPerStep ?? Number.NaN);
    return [name, String(ms), `+${rounded(more, 3)}`];
  });
  const shares = Object.entries(parts).map(([part, ms]) => [part, String(ms)]);
  const peers = Object.entries(absent).map(([name, why]) => `${name}: ${String(why)}`);
  return [
    table([head, ...lines]),
    `\nThe ladder, ms a step\n${table(ladder)}`,
    `\nWhere the thread of coxswain is, ms a step (watched)\n${table(shares)}`,
    ...peers,
  ].join('\n');
}
