/** Inputs for parsers: captured streams with things wrong in them, and noise. Each is played again by its seed. */

export type Pick = (below: number) => number;

/** A small generator with a seed (mulberry32). */
export function random(seed: number): Pick {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export const one = <T>(pick: Pick, list: readonly T[]): T => list[pick(list.length)] as T;

const ODD = [
  'null',
  '42',
  '-1e999',
  '[]',
  '{}',
  '""',
  '{"type":1}',
  '{"type":"result"}',
  '{"type":"message_end"}',
  '{"type":"agent_end","messages":{}}',
  '{"jsonrpc":"2.0","id":3}',
  '{"jsonrpc":"2.0","id":null,"error":{}}',
  '[[[[',
  '\u0000',
  '\u2028',
  '{',
];

/** One of the streams with lines dropped, doubled, swapped for those of others, values changed, and bytes changed. */
export function mutant(pick: Pick, streams: readonly (readonly string[])[]): Buffer {
  const out: string[] = [];
  for (const line of one(pick, streams)) {
    const dice = pick(14);
    if (dice === 0) continue;
    if (dice === 1) out.push(line);
    if (dice === 2) out.push(one(pick, one(pick, streams)) ?? '');
    if (dice === 3) out.push(one(pick, ODD));
    if (dice === 4) out.push(json(pick, 4));
    out.push(dice === 5 ? line.replaceAll(/"[a-z_]+"|\d+|true|false|null/gi, (word) => changed(pick, word)) : line);
  }
  const bytes = Buffer.from(out.join(one(pick, ['\n', '\n', '\n', '\r\n'])));
  for (let n = pick(6); n > 0 && bytes.length > 0; n -= 1) bytes[pick(bytes.length)] = pick(256);
  // Cut in the middle of its last line, now and then.
  return pick(6) === 0 ? bytes.subarray(0, pick(bytes.length + 1)) : bytes;
}

const changed = (pick: Pick, word: string): string => (pick(8) === 0 ? one(pick, ODD) : word);

export function noise(pick: Pick): Buffer {
  const bytes = Buffer.alloc(pick(400));
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = pick(5) === 0 ? 0x0a : pick(256);
  return bytes;
}

const KEYS = [
  'type',
  'id',
  'method',
  'params',
  'item',
  'message',
  'content',
  'usage',
  'error',
  'turn',
  'threadId',
  'text',
];

/** Any JSON, with keys that mean something. */
function json(pick: Pick, depth: number): string {
  const dice = pick(depth > 0 ? 7 : 5);
  if (dice === 5) return `[${Array.from({ length: pick(4) }, () => json(pick, depth - 1)).join(',')}]`;
  if (dice < 6) return one(pick, ['null', 'true', '7', '-0.5', '"text"', '"item/started"', '"result"', '"system"']);
  return `{${Array.from({ length: pick(5) }, () => `"${one(pick, KEYS)}":${json(pick, depth - 1)}`).join(',')}}`;
}
