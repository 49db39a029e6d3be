import { describe, expect, it } from 'vitest';
import { createLineSplitter } from '../../src/process/index.ts';

interface Seen {
  lines: string[];
  long: number[];
}

function split(chunks: Buffer[], maxLineBytes?: number): Seen {
  const seen: Seen = { lines: [], long: [] };
  const splitter = createLineSplitter({
    ...(maxLineBytes === undefined ? {} : { maxLineBytes }),
    line: (bytes) => seen.lines.push(bytes.toString('latin1')),
    tooLong: (bytes) => seen.long.push(bytes),
  });
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return seen;
}

/** The same in the plainest way. */
function naive(bytes: Buffer, max: number): Seen {
  const pieces = bytes.toString('latin1').split('\n');
  if (pieces.at(-1) === '') pieces.pop();
  return { lines: pieces.filter((p) => p.length <= max), long: pieces.map((p) => p.length).filter((n) => n > max) };
}

/** A small seeded generator, so that a failure can be repeated. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const known = (line: string): string => (line.startsWith('aab') ? 'aab' : line);

describe('createLineSplitter', () => {
  it('agrees with a plain split over random bytes in random chunks', () => {
    for (let seed = 1; seed <= 400; seed += 1) {
      const below = random(seed);
      const bytes = Buffer.from(Array.from({ length: below(300) }, () => (below(8) === 0 ? 10 : below(256))));
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length;) {
        const next = at + below(40);
        chunks.push(bytes.subarray(at, next));
        at = next;
      }
      const max = below(2) === 0 ? 1_000 : below(20);
      expect({ seed, ...split(chunks, max) }).toEqual({ seed, ...naive(bytes, max) });
    }
  });

  it('keeps no more than the head of a line that is known by it, however it comes', () => {
    for (let seed = 1; seed <= 400; seed += 1) {
      const below = random(seed);
      // Few kinds of bytes, so that heads are met often.
      const bytes = Buffer.from(Array.from({ length: below(200) }, () => [10, 97, 97, 98][below(4)] ?? 97));
      const seen: Seen = { lines: [], long: [] };
      const asked: string[] = [];
      const splitter = createLineSplitter({
        maxLineBytes: 12,
        head: { bytes: 3, suffices: (head) => (asked.push(head.toString()), head.toString() === 'aab') },
        line: (line) => seen.lines.push(line.toString()),
        tooLong: (length) => seen.long.push(length),
      });
      for (let at = 0; at < bytes.length;) {
        const next = at + 1 + below(9);
        splitter.push(bytes.subarray(at, next));
        at = next;
      }
      splitter.end();
      const plain = naive(bytes, 12);
      expect(asked.every((head) => head.length === 3)).toBe(true);
      expect(seen.long).toEqual(plain.long);
      expect({ seed, lines: seen.lines.map(known) }).toEqual({ seed, lines: plain.lines.map(known) });
    }
  });

  it('splits at 0x0A only: U+2028, U+2029, U+0085 and CR pass', () => {
    const text = 'a\u2028b\u2029c\u0085d\re\r\nf';
    const lines: string[] = [];
    const splitter = createLineSplitter({ line: (bytes) => lines.push(bytes.toString()), tooLong: () => {} });
    splitter.push(Buffer.from(text));
    splitter.end();
    expect(lines).toEqual(['a\u2028b\u2029c\u0085d\re\r', 'f']);
  });

  it('keeps characters whole that come one byte at a time', () => {
    const text = 'é 漢字 🚣\nlast';
    const lines: string[] = [];
    const splitter = createLineSplitter({ line: (bytes) => lines.push(bytes.toString()), tooLong: () => {} });
    for (const byte of Buffer.from(text)) splitter.push(Buffer.from([byte]));
    splitter.end();
    expect(lines).toEqual(['é 漢字 🚣', 'last']);
  });

  it('gives a view of the chunk for a line that lies within it, and own bytes for one that does not', () => {
    const seen: Buffer[] = [];
    const splitter = createLineSplitter({ line: (bytes) => seen.push(bytes), tooLong: () => {} });
    const chunk = Buffer.from('one\ntwo\nthr');
    splitter.push(chunk);
    splitter.push(Buffer.from('ee\nfour'));
    splitter.push(Buffer.from(' and on\n'));
    expect(seen.map(String)).toEqual(['one', 'two', 'three', 'four and on']);
    expect(seen[0]?.buffer).toBe(chunk.buffer);
    expect(seen[0]?.byteOffset).toBe(chunk.byteOffset);
  });

  it('drops a line over the limit up to its newline, says so once, and goes on', () => {
    const chunks = ['ok\nxxxx', 'xxxx', 'xxxx\nfine\n', 'yyyyyyyyy'].map((text) => Buffer.from(text));
    expect(split(chunks, 8)).toEqual({ lines: ['ok', 'fine'], long: [12, 9] });
  });

  it('stays linear on a long line in small chunks', () => {
    const chunk = Buffer.alloc(1_024, 'x');
    let length = 0;
    const splitter = createLineSplitter({ line: (bytes) => (length = bytes.length), tooLong: () => {} });
    const startedAt = performance.now();
    for (let i = 0; i < 16 * 1_024; i += 1) splitter.push(chunk);
    splitter.end();
    expect(length).toBe(16 * 1_024 * 1_024);
    // Quadratic would be 128 GB of copies.
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
