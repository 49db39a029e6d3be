import { isDeepStrictEqual } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { decide } from '../../src/inbox/decide.ts';
import type { Before, Decision } from '../../src/inbox/decision.ts';
import { maxCommandBytes } from '../../src/inbox/bounds.ts';
import { Fuzz, SENTINEL } from './fuzz.ts';

const SEED = 20_261_201;
const COUNT = 100_000;
const NOW = Date.parse('2026-12-01T10:00:00.000Z');
const SAFE_ID = /^[\w-][\w.~-]{0,99}$/;

/** What is wrong with a decision; empty is nothing. */
function faults(decision: Decision): string[] {
  if (decision.type === 'unfinished') return [];
  const { text, ...recorded } = { text: null, ...decision };
  const raw = decision.type === 'deliver' && decision.command.type === 'append';
  const words = raw ? '' : JSON.stringify(recorded);
  return [
    ...(SAFE_ID.test(decision.id) ? [] : [`the id ${decision.id}`]),
    ...('sha256' in decision && !/^[0-9a-f]{12}$/.test(decision.sha256) ? ['the digest'] : []),
    ...(words.includes(SENTINEL) ? ['it quotes the text'] : []),
    ...(words.length > 6_000 ? [`it has ${words.length} characters`] : []),
    ...(text !== null && Buffer.byteLength(text) > maxCommandBytes ? ['the text is too long'] : []),
    ...(decision.type === 'deliver' ? unfit(decision.command) : []),
  ];
}

function unfit(command: Extract<Decision, { type: 'deliver' }>['command']): string[] {
  if (command.type !== 'extend') return [];
  const ok =
    Number.isSafeInteger(command.limitMs) && command.limitMs >= 0 && !Number.isNaN(Date.parse(command.deadlineAt));
  return ok ? [] : ['the deadline'];
}

test(`${COUNT} commands, random and mutated (seed ${SEED}): each is judged, none throws, none is quoted`, () => {
  // Many of them are no JSON, and most of what an error costs is its stack.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  onTestFinished(() => void (Error.stackTraceLimit = stackTraceLimit));
  const fuzz = new Fuzz(SEED);
  const known = new Map<string, Before>();
  const counts = new Map<string, number>();
  const wrong: string[] = [];
  for (let n = 0; n < COUNT; n += 1) {
    const entry = { name: fuzz.name(), found: { type: 'text' as const, text: fuzz.text(), settled: n % 2 === 0 } };
    const world = { nowMs: NOW, before: (id: string) => known.get(id) ?? null };
    const decision = decide(entry, world);
    for (const fault of faults(decision))
      wrong.push(`${fault} of number ${n}: ${JSON.stringify(entry).slice(0, 1_000)}`);
    counts.set(decision.type, (counts.get(decision.type) ?? 0) + 1);
    if (decision.type !== 'deliver' && decision.type !== 'reject') continue;
    if (n % 7 === 0 && !isDeepStrictEqual(decide(entry, world), decision)) wrong.push(`number ${n} is judged twice`);
    known.set(decision.id, { sha256: decision.sha256 });
    if (known.size > 5_000) known.clear();
  }
  console.info(JSON.stringify(Object.fromEntries(counts)));
  expect(wrong).toEqual([]);
  expect([...counts.keys()].toSorted()).toEqual(['conflict', 'deliver', 'reject', 'repeat', 'unfinished']);
  for (const count of counts.values()) expect(count).toBeGreaterThan(COUNT / 500);
});
