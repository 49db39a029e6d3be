import { describe, expect, test } from 'vitest';
import type { Usage } from '../../machines/protocol.ts';
import { addUsage, NO_USAGE } from '../../machines/policy/outcome.ts';
import type { AgentSettings } from '../../src/agents/index.ts';
import { type PlayedExit, assistant, lines, open, play, runEnd, runStart } from './drive.ts';

const KILLED: PlayedExit = { code: null, signal: 'SIGKILL' };

const used = (agent: string, records: unknown[], exit?: PlayedExit, more: Pick<AgentSettings, 'mode'> = {}) => {
  const texts = [1, 7, Infinity].map((size) => {
    const usages = play(open(agent, more), lines(...records), exit, size).filter((event) => event.t === 'usage');
    return JSON.stringify(usages.at(-1)?.usage);
  });
  // However the bytes are cut, each part is counted once.
  expect(new Set(texts).size).toBe(1);
  return JSON.parse(texts[0] ?? 'null') as Usage | null;
};

const piSays = (input: number, cost?: number) =>
  assistant('so', 'stop', {
    usage: { input, output: 0, cacheRead: 0, cacheWrite: 0, ...(cost === undefined ? {} : { cost: { total: cost } }) },
  });
const PI = { mode: 'json' };
const claudeSays = (id: string, text: string) => ({
  type: 'assistant',
  message: { id, role: 'assistant', content: [{ type: 'text', text }], usage: { input_tokens: 50 } },
});
const codexTotal = (input: number) => ({ type: 'turn.completed', usage: { input_tokens: input, output_tokens: 0 } });
const part = (costUsd?: number, turns = 1): Usage => ({
  ...NO_USAGE,
  input: 10,
  turns,
  ...(costUsd === undefined ? {} : { costUsd }),
});

describe('S075: what was used is counted, also by who failed or was killed', () => {
  test('pi: each message, whatever comes after it', () => {
    expect(used('pi', [runStart, piSays(600), piSays(400, 1), runEnd], undefined, PI)).toMatchObject({ input: 1_000 });
    expect(used('pi', [runStart, piSays(50)], KILLED, PI)).toMatchObject({ input: 50, turns: 1 });
  });

  test('Claude Code: each message once, of which every part of an answer speaks', () => {
    expect(used('claude', [claudeSays('m1', 'a'), claudeSays('m1', 'b')], KILLED)).toMatchObject({ input: 50 });
  });

  test('Codex: the last total of the thread', () => {
    const exec = { mode: 'exec' };
    expect(used('codex', [{ type: 'turn.started' }, codexTotal(1_000)], undefined, exec)).toMatchObject({
      input: 1_000,
    });
  });
});

describe('S076: a cost that nobody says is not known', () => {
  test('pi: known when every message says one, as far as any was used', () => {
    expect(used('pi', [runStart, piSays(1, 0.25), piSays(1, 0.25), runEnd], undefined, PI)?.costUsd).toBe(0.5);
    expect(used('pi', [runStart, piSays(1, 0.25), piSays(1), runEnd], undefined, PI)).not.toHaveProperty('costUsd');
    // What failed before it used anything cost nothing; a model without a price has a cost of 0 as well.
    expect(used('pi', [runStart, piSays(0, 0), piSays(1, 0.25), runEnd], undefined, PI)?.costUsd).toBe(0.25);
    expect(used('pi', [runStart, piSays(5, 0), runEnd], undefined, PI)).not.toHaveProperty('costUsd');
  });

  test('Codex has none', () => {
    const end = { type: 'turn.completed', usage: { input_tokens: 5, output_tokens: 1 } };
    expect(used('codex', [{ type: 'turn.started' }, end], undefined, { mode: 'exec' })).not.toHaveProperty('costUsd');
  });

  test('a sum is known when each of its parts is, and who used nothing has no say', () => {
    expect(addUsage(part(0.25), part(0.5)).costUsd).toBe(0.75);
    expect(addUsage(part(0.25), part())).not.toHaveProperty('costUsd');
    expect(addUsage(part(), part(0.25))).not.toHaveProperty('costUsd');
    expect(addUsage(part(0.25), NO_USAGE).costUsd).toBe(0.25);
    expect(addUsage(NO_USAGE, NO_USAGE)).not.toHaveProperty('costUsd');
    expect(addUsage(part(0), part(0)).costUsd).toBe(0);
    // And what is unknown stays so, whatever comes after it.
    expect(addUsage(addUsage(part(), part(1)), part(1))).not.toHaveProperty('costUsd');
  });
});
