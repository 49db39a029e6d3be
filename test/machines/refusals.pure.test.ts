import { describe, expect, test } from 'vitest';
import { type CommandView, MOST_STEPS, refusal } from '../../machines/policy/commands.ts';
import type { Command } from '../../machines/protocol.ts';
import { AT, RUN_INPUT, STOP } from './models.ts';

/** Whoever is refused is told which run, step, ask or request it is about, and in what state that is. */

const view: CommandView = {
  run: 'running',
  cause: null,
  step: (id) => (({ a: 'live', b: 'pending', c: 'failed', d: 'paused' }) as const)[id] ?? null,
  anyLive: true,
  listens: () => true,
  anyPaused: true,
  steps: 4,
  ask: (id) => (({ open: 'open', over: 'ended' }) as const)[id] ?? null,
  openSteers: 0,
};
const text = { chars: 4, sha256: '0123456789ab' };
const some = { id: 'x', source: 's' };
const [plan] = RUN_INPUT.steps;
if (plan === undefined) throw new Error('bug: no step');
const step = (id: string, needs: string[] = []) => ({ ...plan, id, needs });

const cases: [string, Partial<CommandView>, Command, string][] = [
  ['not-begun', { run: 'queued' }, { type: 'stop', ...some }, 'has not begun'],
  ['already-ended', { run: 'finalizing' }, { type: 'stop', ...some }, 'the end of the run is decided'],
  ['already-ended', {}, { type: 'stop', ...some, step: 'c' }, 'step c has failed'],
  ['run-ended', { run: 'failed' }, { type: 'stop', ...some }, 'the run has ended: failed'],
  ['stopping', { run: 'stopping', cause: STOP }, { type: 'resume', ...some }, 'being ended (stop)'],
  ['unknown-step', {}, { type: 'stop', ...some, step: 'nobody' }, 'no step nobody'],
  ['unknown-step', {}, { type: 'append', ...some, steps: [step('e', ['nobody'])] }, 'no step nobody'],
  [
    'unknown-step',
    { run: 'stopping' },
    { type: 'steer', ...some, step: 'nobody', mode: 'now', text },
    'no step nobody',
  ],
  ['not-running', {}, { type: 'extend', ...some, step: 'b', deadlineAt: AT, limitMs: 1 }, 'step b waits for its turn'],
  ['not-paused', {}, { type: 'resume', ...some, step: 'a' }, 'step a runs'],
  ['not-paused', { anyPaused: false }, { type: 'resume', ...some }, 'no step is paused'],
  ['step-exists', {}, { type: 'append', ...some, steps: [step('a')] }, 'there is a step a already'],
  ['too-many', { steps: MOST_STEPS }, { type: 'append', ...some, steps: [step('e')] }, `has ${MOST_STEPS} steps`],
  ['invalid', {}, { type: 'append', ...some, steps: [] }, 'no steps in it'],
  ['unknown-ask', {}, { type: 'answer', ...some, ask: 'q', text }, 'no ask q'],
  ['not-waiting', {}, { type: 'answer', ...some, ask: 'over', text }, 'ask over has been answered'],
  ['step-ended', {}, { type: 'steer', ...some, step: 'c', mode: 'now', text }, 'step c has failed'],
  ['step-ended', { anyLive: false }, { type: 'steer', ...some, mode: 'now', text }, 'no step runs'],
  [
    'unsupported',
    { listens: () => false },
    { type: 'steer', ...some, step: 'a', mode: 'now', text },
    'step a cannot be',
  ],
  ['unsupported', { listens: () => false }, { type: 'steer', ...some, mode: 'now', text }, 'no step that runs'],
  ['inbox-full', { openSteers: 64 }, { type: 'steer', ...some, mode: 'now', text }, '64 messages are open'],
  ['run-ended', { run: 'stopping', cause: STOP }, { type: 'steer', ...some, mode: 'now', text }, 'being ended (stop)'],
];

describe('a refusal', () => {
  test.each(cases)('%s says what it is about: %o', (reason, here, command, words) => {
    const found = refusal({ ...view, ...here }, command);
    expect(found?.reason).toBe(reason);
    expect(found?.detail).toContain(words);
  });

  test('shows no name from outside at any length', () => {
    const found = refusal(view, { type: 'answer', ...some, ask: 'q'.repeat(10_000), text });
    expect(found?.detail.length).toBeLessThan(150);
  });
});
