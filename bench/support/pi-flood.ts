import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * A program that prints what pi 0.73 printed for one long answer: with every delta a record with all of the message so far,
 * twice. So the bytes grow with the square of the answer.
 *
 *   node pi-flood.js <characters of the answer> <updates> <gate> [times]
 *
 * It waits for the file `<gate>.1` before the first update; after the last it makes `<gate>.done` and waits for `<gate>.2`.
 * `times`: how often each record holds the message, 1 or 2.
 */
const [chars = 320_000, updates = 1_260] = process.argv.slice(2, 4).map(Number);
const [gate = '', times = '2'] = process.argv.slice(4, 6);
const CHUNK = 256 * 1024;

const words = Buffer.from('All work and no play makes a dull boy. '.repeat(Math.ceil(chars / 39)).slice(0, chars));
let kept: Buffer[] = [];
let size = 0;

async function put(...parts: (Buffer | string)[]): Promise<void> {
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    kept.push(bytes);
    size += bytes.length;
  }
  if (size > CHUNK) await flush();
}

/** No faster than it is read. */
async function flush(): Promise<void> {
  const bytes = Buffer.concat(kept);
  kept = [];
  size = 0;
  if (!process.stdout.write(bytes)) await new Promise((resolve) => process.stdout.once('drain', resolve));
}

async function passed(n: number): Promise<void> {
  await flush();
  while (!existsSync(`${gate}.${n}`)) await pause(5);
}

const record = (value: object): string => `${JSON.stringify(value)}\n`;
const HEAD = '{"role":"assistant","content":[{"type":"text","text":"';
const TAIL = '"}],"provider":"fake","model":"m"}';

process.stdin.resume();
await put(record({ type: 'session', version: 3, id: 'flood' }), record({ type: 'agent_start' }));
await put(record({ type: 'turn_start' }), `{"type":"message_start","message":${HEAD}${TAIL}}\n`);
await passed(1);
for (let n = 1; n <= updates; n += 1) {
  const so = words.subarray(0, Math.floor((chars * n) / updates));
  await put('{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"a"');
  if (times === '2') await put(',"partial":', HEAD, so, TAIL);
  await put('},"message":', HEAD, so, TAIL, '}\n');
}
await flush();
writeFileSync(`${gate}.done`, '');
await passed(2);
const message = {
  role: 'assistant',
  content: [{ type: 'text', text: words.toString() }],
  provider: 'fake',
  model: 'm',
  usage: { input: 100, output: 80_000, cacheRead: 0, cacheWrite: 0, totalTokens: 80_100, cost: { total: 0.1 } },
  stopReason: 'stop',
};
await put(record({ type: 'message_end', message }), record({ type: 'turn_end', message, toolResults: [] }));
await put(record({ type: 'agent_end', messages: [message] }));
await flush();
process.exit();
