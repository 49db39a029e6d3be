/**
 * One way to learn of files in a process of its own: `node inbox-watcher.js <contender> <folder> [megabytes a second]`. Tells
 * its parent each name with the time it heard of it. With megabytes it reads, meanwhile, a child that prints so many.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, unlinkSync, watch } from 'node:fs';
import { join } from 'node:path';
import { watch as chokidar } from 'chokidar';
import { openInbox } from '../src/inbox/index.ts';
import { createLineSplitter } from '../src/process/index.ts';
import { controlAt } from './support/control.ts';

/** `at`: nanoseconds of the monotonic clock, which all processes of a machine share. */
export type WatcherMessage = { ready: true } | { name: string; at: string } | { bytes: number };

type Start = (folder: string, heard: (name: string) => void) => void;

/** They remove what they have heard of, as an inbox does. */
const contenders: Record<string, Start> = {
  'fs.watch': (folder, heard) => {
    const { control } = controlAt(folder);
    const seen = new Set<string>();
    watch(control, () => {
      for (const name of readdirSync(control)) {
        if (!name.endsWith('.json') || seen.has(name)) continue;
        seen.add(name);
        heard(name);
        unlinkSync(join(control, name));
      }
    });
  },
  chokidar: (folder, heard) => {
    const { control } = controlAt(folder);
    chokidar(control, { depth: 0, ignoreInitial: true }).on('add', (path) => {
      if (!path.endsWith('.json')) return;
      heard(path.slice(control.length + 1));
      unlinkSync(path);
    });
  },
  coxswain: (folder, heard) => {
    const inbox = openInbox({
      dir: controlAt(folder),
      deliver: ({ id, type: command }) => {
        heard(`${id}.json`);
        inbox.answer({ id, command, verdict: 'applied', at: new Date().toISOString() });
      },
    });
  },
};

/** Short lines, so many megabytes of them a second. */
const PRINTER = `
  const line = JSON.stringify({ type: 'message_update', delta: 'x'.repeat(60) }) + '\\n';
  const block = Buffer.from(line.repeat(Math.ceil(65536 / line.length)));
  const rate = Number(process.argv[1]) * 1e6;
  const began = performance.now();
  let sent = 0;
  (function go() {
    while (sent < (performance.now() - began) / 1000 * rate) {
      sent += block.length;
      if (!process.stdout.write(block)) return void process.stdout.once('drain', go);
    }
    setTimeout(go, 1);
  })();`;

const [name = '', folder = '', megabytes = '0'] = process.argv.slice(2);
const start = contenders[name];
if (start === undefined) throw new Error(`there is no contender "${name}"`);
const send = (message: WatcherMessage): void => void process.send?.(message);
start(folder, (file) => send({ name: file, at: process.hrtime.bigint().toString() }));
let printer: ChildProcess | null = null;
if (Number(megabytes) > 0) {
  const child = spawn(process.execPath, ['-e', PRINTER, megabytes], { stdio: ['ignore', 'pipe', 'inherit'] });
  printer = child;
  let lines = 0;
  let bytes = 0;
  const splitter = createLineSplitter({ line: () => (lines += 1), tooLong: () => {} });
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    splitter.push(chunk);
  });
  setInterval(() => send({ bytes }), 200);
}
process.on('message', () => {
  printer?.kill('SIGKILL');
  process.exit();
});
// Watches take a moment to be there.
setTimeout(() => send({ ready: true }), 500);
