/**
 * A child that does again what one was captured to do: `replay.js <stream> <code or signal> <stderr> [ignored…]`.
 *
 * It begins when something comes on stdin or stdin is closed. An answer of JSON-RPC waits for the request with its number,
 * for as long as stdin is open. What it prints is cut in pieces that are no lines.
 */
import { readFileSync } from 'node:fs';
import { once } from 'node:events';

const PIECE_BYTES = 997;
const [file = '', end = '0', stderr = ''] = process.argv.slice(2);

const stdin = { heard: '', closed: false };
let wake = (): void => {};
process.stdin.on('data', (chunk: Buffer) => {
  stdin.heard += chunk.toString('utf8');
  wake();
});
process.stdin.on('end', () => {
  stdin.closed = true;
  wake();
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition() && !stdin.closed) await new Promise<void>((resolve) => (wake = resolve));
}

/** The number of the request that a line answers; null: it is no answer. */
function answers(line: string): number | null {
  if (!line.startsWith('{"jsonrpc"')) return null;
  const { id, method } = JSON.parse(line) as { id?: unknown; method?: unknown };
  return typeof id === 'number' && method === undefined ? id : null;
}

async function print(text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (!process.stdout.write(bytes.subarray(at, at + PIECE_BYTES))) await once(process.stdout, 'drain');
  }
}

await until(() => stdin.heard !== '');
if (stdin.heard === '') process.stderr.write('replay: nothing came on stdin\n');
for (const line of readFileSync(file, 'utf8').split(/(?<=\n)/)) {
  const id = answers(line);
  if (id !== null) await until(() => stdin.heard.includes(`"id":${id},`));
  await print(line);
}
process.stderr.write(stderr);
await Promise.all(
  [process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write('', resolve))),
);
if (/^\d+$/.test(end)) process.exit(Number(end));
else process.kill(process.pid, end);
// Some signals come a moment later.
setInterval(() => {}, 1000);
