/**
 * So many idle inboxes in one process: `node inbox-idle.js <count> <folder> <seconds>`. Prints what they cost while nothing
 * happens, and how long one command takes among them.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Inbox, openInbox } from '../src/inbox/index.ts';
import { makeControl } from './support/control.ts';

const [count = '1000', folder = '', seconds = '10'] = process.argv.slice(2);
const before = process.memoryUsage.rss();
const opening = performance.now();
const delivered: string[] = [];
const dirs = Array.from({ length: Number(count) }, (_, n) => makeControl(join(folder, String(n))));
const inboxes: Inbox[] = dirs.map((dir) => openInbox({ dir, deliver: ({ id }) => delivered.push(id) }));
const openMs = performance.now() - opening;
// What belongs to the opening: a folder that has just been made is looked at once more, and V8 gives memory back, in two
// collections some ten seconds after the last big one.
await pause(12_000);
globalThis.gc?.();
await pause(20_000);
const { user, system } = process.cpuUsage();
const began = performance.now();
await pause(Number(seconds) * 1_000);
const used = process.cpuUsage();
const percent = ((used.user - user + used.system - system) / 1_000 / (performance.now() - began)) * 100;

const dir = dirs[dirs.length >> 1];
if (dir === undefined) throw new Error('there is no inbox');
writeFileSync(join(dir.controlTemp, 'x'), '{"v":1,"type":"stop"}');
const sent = performance.now();
renameSync(join(dir.controlTemp, 'x'), join(dir.control, 'x.json'));
while (delivered.length === 0 && performance.now() - sent < 10_000) await pause(0);
const deliveryMs = performance.now() - sent;
const rssMb = (process.memoryUsage.rss() - before) / 1e6;
process.stdout.write(
  `${JSON.stringify({ inboxes: inboxes.length, cpuPercent: percent, openMs, deliveryMs, rssMb })}\n`,
);
process.exit();
