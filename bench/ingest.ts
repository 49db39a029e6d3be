/**
 * How fast the records of an agent are taken in, against JSON.parse alone of the same lines; and whether long lines
 * stay linear. One process, bytes from memory in chunks of 64 KiB. JSON on stdout, a table on stderr.
 *
 *   npm run bench:ingest [-- --rounds 9 --records 100000]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { ingest } from './support/ingest.ts';
import { longLine, piLines } from './support/pi-lines.ts';
import { median, rounded, table } from './support/stats.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, records: { type: 'string', default: '100000' } },
});
const rounds = Number(values.rounds);
const MB = 1e6;

const small = linesOf(piLines(Number(values.records)));
const five = linesOf(Array.from({ length: 6 }, (_, at) => longLine(5 * MB, at)));
const ten = linesOf(Array.from({ length: 6 }, (_, at) => longLine(10 * MB, at)));
const times = { parse: [] as number[], ingest: [] as number[], five: [] as number[], ten: [] as number[] };

// The first round is a warm-up.
for (let round = 0; round <= rounds; round += 1) {
  const one = {
    parse: timed(() => {
      for (const line of small.lines) JSON.parse(line);
    }),
    ingest: inFolder((folder) => timed(() => ingest(small.bytes, folder))),
    five: inFolder((folder) => timed(() => ingest(five.bytes, folder))),
    ten: inFolder((folder) => timed(() => ingest(ten.bytes, folder))),
  };
  if (round === 0) continue;
  for (const name of ['parse', 'ingest', 'five', 'ten'] as const) times[name].push(one[name]);
}

const perMb = (name: 'parse' | 'ingest' | 'five' | 'ten', { bytes }: { bytes: Buffer }): number =>
  median(times[name]) / (bytes.length / MB);
const result = {
  records: small.lines.length,
  megabytes: rounded(small.bytes.length / MB, 1),
  rounds,
  /** 1 is as fast as JSON.parse alone. */
  ofParse: rounded(median(times.parse.map((ms, round) => ms / (times.ingest[round] ?? Number.NaN)))),
  recordsPerSecond: Math.round((small.lines.length / median(times.ingest)) * 1_000),
  msPerMb: {
    parse: rounded(perMb('parse', small), 3),
    ingest: rounded(perMb('ingest', small), 3),
    linesOf5Mb: rounded(perMb('five', five), 3),
    linesOf10Mb: rounded(perMb('ten', ten), 3),
  },
  /** Of a megabyte in a long line to one in small lines; at most 2 is the aim. */
  longToSmall: rounded(perMb('ten', ten) / perMb('ingest', small)),
  /** Of lines twice as long; 2 is linear. */
  twiceTheLength: rounded(median(times.ten) / median(times.five)),
};
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
process.stderr.write(
  `${table([
    ['', 'ms a MB', 'x JSON.parse'],
    ['JSON.parse alone', String(result.msPerMb.parse), '1'],
    ['taken in', String(result.msPerMb.ingest), String(result.ofParse)],
    ['lines of 5 MB', String(result.msPerMb.linesOf5Mb), ''],
    ['lines of 10 MB', String(result.msPerMb.linesOf10Mb), ''],
  ])}\n`,
);

function linesOf(lines: string[]): { lines: string[]; bytes: Buffer } {
  return { lines, bytes: Buffer.from(`${lines.join('\n')}\n`) };
}

function timed(work: () => void): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'bench-ingest-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
