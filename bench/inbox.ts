/**
 * From the rename of a command file to its delivery, against raw fs.watch and chokidar alone in the same run: idle, and
 * while the process reads a child that prints 50 MB/s. And what idle inboxes cost. JSON on stdout, a table on stderr.
 *
 *   npm run bench:inbox [-- --files 200 --rounds 3 --idle 1000 --seconds 30]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { WatcherMessage } from './inbox-watcher.ts';
import { makeControl } from './support/control.ts';
import { run } from './support/process.ts';
import { rounded, table } from './support/stats.ts';

const { values } = parseArgs({
  options: {
    files: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '3' },
    idle: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '30' },
  },
});
const files = Number(values.files);
const contenders = ['fs.watch', 'chokidar', 'coxswain'] as const;
type Name = (typeof contenders)[number];
const loads = [0, 50] as const;
/** A file that has not been heard of by then is missed. */
const PATIENCE_MS = 5_000;
const BETWEEN_MS = 5;

// Memory where there is some: ext4 makes files slowly for minutes after many were removed.
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'bench-inbox-'));

interface Measured {
  ms: number[];
  missed: number;
  megabytes: number[];
}

try {
  const measured = new Map<string, Measured>();
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const load of loads) {
      for (let at = 0; at < contenders.length; at += 1) {
        const name = contenders[(at + round) % contenders.length] as Name;
        const one = await watchOnce(name, load, join(folder, `${name}-${load}-${round}`));
        const all = measured.get(`${name} ${load}`) ?? { ms: [], missed: 0, megabytes: [] };
        measured.set(`${name} ${load}`, all);
        all.ms.push(...one.ms);
        all.missed += one.missed;
        all.megabytes.push(...one.megabytes);
      }
    }
  }
  report(measured, await idle());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function watchOnce(name: Name, load: number, place: string): Promise<Measured> {
  const { control, controlTemp } = makeControl(place);
  const watcher = fork(fileURLToPath(new URL('./inbox-watcher.js', import.meta.url)), [name, place, String(load)]);
  const heard = new Map<string, bigint>();
  let bytes = 0;
  const ready = new Promise<void>((resolve) => {
    watcher.on('message', (message: WatcherMessage) => {
      if ('ready' in message) resolve();
      else if ('bytes' in message) bytes = message.bytes;
      else if (!heard.has(message.name)) heard.set(message.name, BigInt(message.at));
    });
  });
  await Promise.race([ready, once(watcher, 'exit').then(() => Promise.reject(new Error(`${name} has gone`)))]);
  const [bytesBefore, began] = [bytes, performance.now()];
  const sent = new Map<string, bigint>();
  for (let n = 0; n < files; n += 1) {
    const file = `${String(n).padStart(5, '0')}.json`;
    writeFileSync(join(controlTemp, file), JSON.stringify({ v: 1, type: 'stop', source: 'bench' }));
    sent.set(file, process.hrtime.bigint());
    renameSync(join(controlTemp, file), join(control, file));
    await pause(BETWEEN_MS);
  }
  const end = performance.now() + PATIENCE_MS;
  while (heard.size < files && performance.now() < end) await pause(20);
  const megabytes = (bytes - bytesBefore) / 1e3 / (performance.now() - began);
  await endOf(watcher);
  const ms = [...heard].map(([file, at]) => Number(at - (sent.get(file) ?? at)) / 1e6);
  return { ms, missed: files - heard.size, megabytes: load === 0 ? [] : [megabytes] };
}

async function endOf(watcher: ChildProcess): Promise<void> {
  const ended = once(watcher, 'exit');
  watcher.send('end');
  await ended;
}

interface Idle {
  inboxes: number;
  cpuPercent: number;
  openMs: number;
  deliveryMs: number;
  rssMb: number;
}

async function idle(): Promise<Idle> {
  const script = fileURLToPath(new URL('./inbox-idle.js', import.meta.url));
  const args = ['--expose-gc', script, values.idle, join(folder, 'idle'), values.seconds];
  const { code, stdout, stderr } = await run(process.execPath, args, { cwd: folder });
  if (code !== 0) throw new Error(`the idle inboxes ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Idle;
}

function report(measured: ReadonlyMap<string, Measured>, inboxes: Idle): void {
  const rows = Object.fromEntries(
    loads.map((load) => [
      load === 0 ? 'idle' : `${load} MB/s`,
      Object.fromEntries(contenders.map((name) => [name, spread(measured.get(`${name} ${load}`))])),
    ]),
  );
  const idleCost = Object.fromEntries(Object.entries(inboxes).map(([name, value]) => [name, rounded(value as number)]));
  const result = {
    job: { files, rounds: Number(values.rounds), betweenMs: BETWEEN_MS },
    machine: { cpus: cpus().length, model: cpus()[0]?.model ?? null, node: process.version },
    /** p99 of ours minus that of chokidar alone, in milliseconds; at most 10 is the aim. */
    behindChokidarMs: Object.fromEntries(
      Object.entries(rows).map(([load, row]) => [
        load,
        rounded((row['coxswain']?.p99 ?? NaN) - (row['chokidar']?.p99 ?? NaN)),
      ]),
    ),
    rows,
    /** At most 0.5 % of a core is the aim. */
    idle: idleCost,
  };
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  const lines = Object.entries(rows).flatMap(([load, row]) =>
    Object.entries(row).map(([name, { p50, p99, most, missed }]) => [
      `${name}, ${load}`,
      ...[p50, p99, most, missed].map(String),
    ]),
  );
  process.stderr.write(`${table([['', 'p50 ms', 'p99 ms', 'slowest', 'missed'], ...lines])}\n`);
  process.stderr.write(`${inboxes.inboxes} idle inboxes: ${rounded(inboxes.cpuPercent)} % of a core\n`);
}

function spread(measured: Measured | undefined): Record<'p50' | 'p99' | 'most' | 'missed' | 'megabytes', number> {
  const { ms, missed, megabytes } = measured ?? { ms: [], missed: 0, megabytes: [] };
  const sorted = ms.toSorted((a, b) => a - b);
  const at = (share: number): number => rounded(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN);
  const rate = megabytes.reduce((sum, one) => sum + one, 0) / Math.max(1, megabytes.length);
  return { p50: at(0.5), p99: at(0.99), most: at(1), missed, megabytes: rounded(rate, 1) };
}
