/**
 * What a quadratic stream costs a runner: pi 0.73 printed 404 MB for an answer of 320 KB. How fast it is taken in, against
 * Node reading the same program's output and dropping it; by how much the runner's memory grows; how long its journal is.
 * Each run is a process of its own. JSON on stdout, a table on stderr. Linux only, for the peak of the memory.
 *
 *   npm run bench:flood [-- --rounds 5 --chars 320000 --updates 1260]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { start } from '../src/index.ts';
import { median, rounded, table } from './support/stats.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    chars: { type: 'string', default: '320000' },
    updates: { type: 'string', default: '1260' },
    /** Of the process that is measured. */
    as: { type: 'string' },
  },
});
const PROGRAM = fileURLToPath(new URL('./support/pi-flood.js', import.meta.url));
const MB = 1024 * 1024;

interface Measured {
  ms: number;
  /** From before the stream to its peak. */
  grownBytes: number;
  bytes: number;
  journalBytes: number;
}

const peak = (name: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1024;

/** Nothing but reading. */
async function bare(folder: string): Promise<Measured> {
  const gate = join(folder, 'gate');
  const child = spawn(process.execPath, [PROGRAM, values.chars, values.updates, gate], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let bytes = 0;
  const first = once(child.stdout, 'data');
  child.stdout.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await first;
  const before = peak('VmRSS');
  const begun = performance.now();
  for (const n of [1, 2]) writeFileSync(`${gate}.${n}`, '');
  await once(child, 'close');
  return { ms: performance.now() - begun, grownBytes: peak('VmHWM') - before, bytes, journalBytes: 0 };
}

/** A whole run, to the exit of its agent. */
async function whole(folder: string): Promise<Measured> {
  const gate = join(folder, 'gate');
  const command = [process.execPath, PROGRAM, values.chars, values.updates, gate];
  const run = await start(
    {
      plan: {
        version: 1,
        cwd: folder,
        agents: { flood: { adapter: 'pi', mode: 'json', command } },
        steps: [{ id: 'a', agent: 'flood', task: 'Say it.' }],
      },
    },
    { root: join(folder, 'state') },
  );
  for await (const { steps } of run.watch()) if (steps[0]?.lastActivityAt !== undefined) break;
  const before = peak('VmRSS');
  const begun = Date.now();
  for (const n of [1, 2]) writeFileSync(`${gate}.${n}`, '');
  const { outcome } = await run.ended();
  if (outcome.state !== 'completed') throw new Error(`the run ended as ${outcome.state}`);
  const journal = readFileSync(join(run.directory, 'events.jsonl'));
  // What comes after it, the proof and the record of the end, is no reading.
  const exited = /"ts":"([^"]+)","type":"attempt\.exited"/.exec(journal.toString())?.[1] ?? '';
  const ms = Date.parse(exited) - begun;
  return { ms, grownBytes: peak('VmHWM') - before, bytes: 0, journalBytes: journal.length };
}

async function measured(as: string): Promise<Measured> {
  const args = ['--as', as, '--chars', values.chars, '--updates', values.updates];
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(child, 'close');
  return JSON.parse(text) as Measured;
}

async function asked(as: string): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-flood-'));
  try {
    return await (as === 'bare' ? bare(folder) : whole(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (values.as === undefined) {
  const all = { bare: [] as Measured[], whole: [] as Measured[] };
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const as of ['bare', 'whole'] as const) all[as].push(await measured(as));
  }
  const bytes = all.bare[0]?.bytes ?? 0;
  const ms = (as: 'bare' | 'whole'): number => median(all[as].map((one) => one.ms));
  const grown = (as: 'bare' | 'whole'): number => Math.max(...all[as].map((one) => one.grownBytes)) / MB;
  const result = {
    megabytes: rounded(bytes / 1e6, 1),
    rounds: all.whole.length,
    /** 1 is as fast as reading alone; at least 0.6 is the aim. */
    ofBare: rounded(median(all.bare.map((one, at) => one.ms / (all.whole[at]?.ms ?? Number.NaN)))),
    ms: { bare: rounded(ms('bare'), 0), whole: rounded(ms('whole'), 0) },
    /** The largest growth of any round; less than 64 is the aim. */
    grownMiB: { bare: rounded(grown('bare'), 1), whole: rounded(grown('whole'), 1) },
    /** Less than 2,048 is the aim. */
    journalKiB: rounded(Math.max(...all.whole.map((one) => one.journalBytes)) / 1024, 1),
  };
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  process.stderr.write(
    `${table([
      ['', 'ms', 'x reading', 'MiB grown'],
      ['reading alone', String(result.ms.bare), '1', String(result.grownMiB.bare)],
      ['a run', String(result.ms.whole), String(result.ofBare), String(result.grownMiB.whole)],
    ])}\n`,
  );
} else {
  process.stdout.write(JSON.stringify(await asked(values.as)));
}
