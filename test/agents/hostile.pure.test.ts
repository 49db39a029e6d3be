import { describe, expect, test } from 'vitest';
import type { AgentEvent, AgentSession } from '../../src/agents/index.ts';
import { mutant, noise, one, random } from '../support/mutants.ts';
import { expectSame } from '../support/same.ts';
import { endOf, notes, play } from './drive.ts';
import { type Change, type Name, fixture, openAgent, streamsOf } from './rig.ts';

/** `COXSWAIN_ROUNDS=100000` before a release. */
const ROUNDS = Number(process.env['COXSWAIN_ROUNDS'] ?? 400);

const KINDS: readonly { name: Name; given: NonNullable<Change['given']>; folder: string }[] = [
  { name: 'claude', given: {}, folder: 'claude-2.1.197' },
  { name: 'codex', given: { mode: 'exec' }, folder: 'codex-0.171.0' },
  { name: 'codex', given: { mode: 'app-server' }, folder: 'codex-0.171.0' },
];
const titleOf = ({ name, given }: (typeof KINDS)[number]): string => [name, given.mode ?? ''].join(' ').trim();
const MESSAGE_LIMIT = 500;

describe.each(KINDS.map((kind) => [titleOf(kind), kind] as const))('%s', (_title, { name, given, folder }) => {
  const streams = streamsOf(folder).map((file) => fixture(folder, file).toString().split('\n').filter(Boolean));
  const fresh = (): AgentSession => openAgent(name, { given }).session;

  test(
    'any bytes: nothing is thrown, there is exactly one end, and chunks change nothing',
    () => {
      const kinds = new Set<string>();
      for (let seed = 1; seed <= ROUNDS; seed += 1) {
        const pick = random(seed);
        const bytes = pick(8) === 0 ? noise(pick) : mutant(pick, streams);
        const exit = one(pick, [
          { code: 0, signal: null },
          { code: 1, signal: null },
          { code: null, signal: 'SIGTERM' },
        ]);
        const talk = (size: number): AgentEvent[] => disturbed(fresh(), bytes, exit, size, seed);
        const whole = talk(Infinity);
        const end = endOf(whole);
        kinds.add(end.t === 'final' ? 'final' : end.failure.code);
        expect(end.t === 'error' ? end.failure.message.length : 0).toBeLessThanOrEqual(MESSAGE_LIMIT + 100);
        expectSame(play(fresh(), bytes, exit, 1 + pick(64)), play(fresh(), bytes, exit), () => `seed ${seed}`);
      }
      // The inputs are worth something only if they reach many ends.
      expect(kinds.size).toBeGreaterThan(5);
      expect(kinds).toContain('final');
    },
    30_000 + ROUNDS * 20,
  );

  test('garbage between the records changes nothing but for notes', () => {
    for (const file of streamsOf(folder)) {
      const clean = fixture(folder, file).toString();
      const dirty = clean.replaceAll('\n', '\n(node:1) Warning: something\n{"half\n\n\uFEFF\r\n');
      const events = play(fresh(), dirty);
      expect(events.filter(({ t }) => t !== 'note')).toEqual(play(fresh(), clean).filter(({ t }) => t !== 'note'));
      expect(notes(events, 'bad-record').length).toBeGreaterThan(0);
    }
  });

  test('a last line that is cut off is no record, and one without its newline is', () => {
    for (const file of streamsOf(folder)) {
      const clean = fixture(folder, file);
      expect(play(fresh(), clean.subarray(0, -1))).toEqual(play(fresh(), clean));
      const cut = play(fresh(), clean.subarray(0, -9));
      expect(notes(cut, 'bad-record')).toHaveLength(1);
      endOf(cut);
    }
  });

  test('a line of many megabytes is dropped, with a note, and what follows is read', () => {
    const huge = Buffer.concat([Buffer.from('{"type":"'), Buffer.alloc(16 * 1024 * 1024, 0x61), Buffer.from('"}\n')]);
    const clean = fixture(folder, streamsOf(folder).find((file) => file.startsWith('multi')) ?? '');
    const events = play(fresh(), Buffer.concat([huge, clean]), undefined, 1024 * 1024);
    expect(notes(events, 'line-too-long')).toHaveLength(1);
    expect(events.filter(({ t }) => t !== 'note')).toEqual(play(fresh(), clean).filter(({ t }) => t !== 'note'));
  });
});

/** As `play`, with messages, an interrupt and a call to wrap up in between. What is sent is JSON. */
function disturbed(
  session: AgentSession,
  bytes: Buffer,
  exit: { code: number | null; signal: string | null },
  size: number,
  seed: number,
): AgentEvent[] {
  const pick = random(seed);
  const events: AgentEvent[] = [];
  const steered: string[] = [];
  const take = ({ events: more, send }: { events: AgentEvent[]; send: string[] }): void => {
    events.push(...more);
    for (const line of send) JSON.parse(line);
  };
  take(session.start());
  const step = Math.min(size, 1 + Math.floor(bytes.length / 4));
  for (let at = 0; at < bytes.length; at += step) {
    take(session.push(bytes.subarray(at, at + step)));
    const dice = pick(8);
    if (dice < 3) {
      const id = `m${steered.length}`;
      const { verdict, ...reply } = session.steer({ id, text: 'a message', mode: one(pick, ['now', 'next', 'auto']) });
      if (verdict === 'sent') steered.push(id);
      take(reply);
    }
    if (dice === 3) take(session.wrapUp(1000));
    if (dice === 4) take(session.abort());
  }
  take(session.exited({ ...exit, stderrTail: '' }));
  take(session.push(bytes));
  take(session.exited({ ...exit, stderrTail: '' }));
  // Each message has exactly one final word.
  for (const id of steered) {
    const last = events.filter((event) => event.t === 'steer' && event.id === id && isLast(event.state));
    expect(last, `seed ${seed}, ${id}`).toHaveLength(1);
  }
  return events.filter(({ t }) => t !== 'activity');
}

const isLast = (state: string): boolean => state === 'delivered' || state === 'undelivered';
