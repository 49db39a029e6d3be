import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { AgentEvent, AgentSession } from '../../src/agents/index.ts';
import {
  OK,
  TASK,
  assistant,
  ends,
  failing,
  lines,
  open,
  prompted,
  runEnd,
  runEndsFor,
  runStart,
  settled,
  state,
  toolEnd,
  toolStart,
} from './drive.ts';

const user = (text: string): unknown => ({ type: 'message_end', message: { role: 'user', content: text } });
const queue = (steering: string[], followUp: string[] = []): unknown => ({ type: 'queue_update', steering, followUp });
const answered = (id: string, change: Record<string, unknown> = {}): string =>
  lines({ id: `coxswain-message-${id}`, type: 'response', command: 'steer', success: true, ...change });
const update = { type: 'message_update', assistantMessageEvent: {} };

/** A pi whose work has begun, and what is told of messages. */
class Talk {
  readonly pi: AgentSession;
  readonly events: AgentEvent[] = [];
  readonly sent: Record<string, unknown>[] = [];

  constructor(change: Parameters<typeof open>[1] = {}) {
    this.pi = open('pi', change);
    this.#take(this.pi.start());
  }

  static working(): Talk {
    const talk = new Talk();
    talk.say(lines(runStart, user(TASK)));
    return talk;
  }

  #take({ events, send }: { events: AgentEvent[]; send: string[] }): void {
    this.events.push(...events);
    this.sent.push(...send.map((line) => JSON.parse(line) as Record<string, unknown>));
  }

  say(stdout: string): this {
    this.#take(this.pi.push(Buffer.from(stdout)));
    return this;
  }

  steer(id: string, text = `text of ${id}`, mode: 'now' | 'next' | 'auto' = 'now'): string {
    const { verdict, ...reply } = this.pi.steer({ id, text, mode });
    this.#take(reply);
    return verdict;
  }

  exit(): this {
    this.#take(this.pi.exited({ ...OK, stderrTail: '' }));
    return this;
  }

  fate(id: string): string[] {
    return fateOf(this.events, id);
  }
}

/** pi said that its run has ended, and a message is on its way to it. */
const withLateMessage = (): Talk => {
  const talk = Talk.working().say(lines(assistant('the answer'), runEnd));
  talk.steer('m');
  return talk;
};

/** The model fails on a message. */
const failingOn = (): Talk => {
  const talk = Talk.working();
  talk.steer('m');
  return talk.say(answered('m') + lines(user('text of m'), failing('overloaded'), runEnd));
};

const fateOf = (events: readonly AgentEvent[], id: string): string[] =>
  events.flatMap((event) =>
    event.t === 'steer' && event.id === id ? [event.state === 'undelivered' ? event.reason : event.state] : [],
  );

describe.each(['pi-0.73.1', 'pi-1.6.0'])('captured from %s', (version) => {
  const captured = (name: string): Buffer =>
    readFileSync(new URL(`../fixtures/${version}/${name}.jsonl`, import.meta.url));
  const play = (name: string, messages: [id: string, text: string, mode: 'now' | 'next'][], size: number) => {
    const pi = open('pi', { task: 'hello' });
    const events = [...pi.start().events];
    for (const [id, text, mode] of messages) events.push(...pi.steer({ id, text, mode }).events);
    const bytes = captured(name);
    for (let at = 0; at < bytes.length; at += size) events.push(...pi.push(bytes.subarray(at, at + size)).events);
    events.push(...pi.exited({ ...OK, stderrTail: '' }).events);
    return events.filter(({ t }) => t !== 'activity');
  };

  test.each([1, 7, 4096])('messages to a tool at work, in chunks of %i', (size) => {
    const events = play(
      'rpc-steer-and-follow-up',
      [
        ['a', 'STEER one', 'now'],
        ['b', 'FOLLOW one', 'next'],
        ['c', 'STEER two', 'now'],
        ['d', 'never sent', 'next'],
      ],
      size,
    );
    for (const id of ['a', 'b', 'c']) expect(fateOf(events, id)).toEqual(['queued', 'taken', 'delivered']);
    expect(fateOf(events, 'd')).toEqual(['step-ended']);
    const told = events.flatMap((event) => (event.t === 'steer' && event.state === 'delivered' ? [event.id] : []));
    expect(told).toEqual(['a', 'c', 'b']);
  });

  test.each([1, 7, 4096])('a message taken into an aborted turn, in chunks of %i', (size) => {
    const events = play('rpc-abort-in-tool', [['a', 'queued before abort', 'now']], size);
    expect(fateOf(events, 'a')).toEqual(['queued', 'taken', 'aborted']);
  });

  test.each([1, 7, 4096])('a message before the task was begun, in chunks of %i', (size) => {
    const events = play('rpc-steer-when-idle', [['a', 'steer when idle', 'now']], size);
    expect(fateOf(events, 'a')).toEqual(['queued', 'taken', 'delivered']);
  });
});

describe('a message', () => {
  test.each([
    ['now', 'steer'],
    ['next', 'follow_up'],
    ['auto', 'steer'],
  ] as const)('%s, to a pi at work: %s', (mode, type) => {
    const talk = Talk.working();
    expect(talk.steer('m', 'Hurry.', mode)).toBe('sent');
    expect(talk.sent.at(-1)).toEqual({ id: 'coxswain-message-m', type, message: 'Hurry.' });
  });

  test('auto, to a pi that has just ended a run: after it', () => {
    const talk = Talk.working().say(lines(assistant('done'), runEnd));
    expect(talk.steer('m', 'Hurry.', 'auto')).toBe('sent');
    expect(talk.sent.at(-1)).toMatchObject({ type: 'follow_up' });
  });

  test.each([
    ['an answer', lines(assistant('yes'))],
    ['the first piece of an answer', lines(update)],
    ['a tool', lines(toolStart('bash'))],
  ])('is delivered by %s after it', (_what, after) => {
    const talk = Talk.working();
    talk.steer('m', 'Hurry.');
    talk.say(lines(queue(['Hurry.'])) + answered('m') + lines(queue([]), user('Hurry.')));
    expect(talk.fate('m')).toEqual(['queued', 'taken']);
    // The beginning of a message and of a turn say nothing: an abort has them too.
    talk.say(lines({ type: 'message_start', message: { role: 'assistant' } }, { type: 'turn_start' }));
    expect(talk.fate('m')).toEqual(['queued', 'taken']);
    talk.say(after);
    expect(talk.fate('m')).toEqual(['queued', 'taken', 'delivered']);
    talk.say(lines(assistant('done'), runEnd)).exit();
    expect(talk.fate('m')).toHaveLength(3);
  });

  test('that is not taken is not delivered by what comes', () => {
    const talk = Talk.working();
    talk.steer('m');
    talk.say(answered('m') + lines(update, toolStart('bash'), toolEnd('bash', false), assistant('hm', 'toolUse')));
    expect(talk.fate('m')).toEqual(['queued']);
  });

  test('of several equal ones, those for now first, in their order', () => {
    const talk = Talk.working();
    talk.steer('later', 'Same.', 'next');
    talk.steer('first', 'Same.');
    talk.steer('second', 'Same.');
    talk.say(lines(queue(['Same.', 'Same.'], ['Same.'])));
    for (const id of ['first', 'second', 'later']) {
      talk.say(lines(user('Same.')));
      expect(talk.fate(id)).toEqual(['queued', 'taken']);
      talk.say(lines(assistant('yes')));
      expect(talk.fate(id)).toEqual(['queued', 'taken', 'delivered']);
    }
  });

  test('that says what the task says is not the task', () => {
    const talk = new Talk();
    talk.steer('m', TASK);
    talk.say(lines(runStart, queue([TASK]), user(TASK), update));
    expect(talk.fate('m')).toEqual(['queued']);
    talk.say(lines(user(TASK), update));
    expect(talk.fate('m')).toEqual(['queued', 'taken', 'delivered']);
  });

  test('that names a skill is known by what pi makes of it', () => {
    const talk = Talk.working();
    talk.steer('m', '/skill:review please');
    talk.steer('n', 'plain');
    talk.say(lines(queue(['The whole skill. please']), queue(['The whole skill. please', 'plain'])));
    expect([talk.fate('m'), talk.fate('n')]).toEqual([['queued'], ['queued']]);
    talk.say(lines(queue(['plain']), user('The whole skill. please'), update));
    expect(talk.fate('m')).toEqual(['queued', 'taken', 'delivered']);
    expect(talk.fate('n')).toEqual(['queued']);
  });

  test('that pi refuses has failed', () => {
    const talk = Talk.working();
    talk.steer('m', '/deploy now');
    talk.say(answered('m', { success: false, error: 'Extension command "/deploy" cannot be queued' }));
    expect(talk.fate('m')).toEqual(['failed']);
    talk.say(answered('m')).exit();
    expect(talk.fate('m')).toEqual(['failed']);
  });

  test('on which the model fails is delivered by the retry, or has failed', () => {
    const retry = lines({
      type: 'auto_retry_start',
      attempt: 1,
      maxAttempts: 3,
      delayMs: 1,
      errorMessage: 'overloaded',
    });
    expect(
      failingOn()
        .say(retry + lines(runStart, update))
        .fate('m'),
    ).toEqual(['queued', 'taken', 'delivered']);
    expect(failingOn().say(state()).exit().fate('m')).toEqual(['queued', 'taken', 'failed']);
  });

  test('in a run that broke off is aborted', () => {
    const talk = Talk.working();
    talk.steer('m');
    talk.say(
      lines(user('text of m'), { ...(runEnd as object), messages: [{ role: 'assistant', stopReason: 'aborted' }] }),
    );
    expect(talk.fate('m')).toEqual(['taken', 'aborted']);
  });

  test.each([
    ['sent', '', ['step-ended']],
    ['queued', answered('m'), ['queued', 'step-ended']],
    ['taken', lines(user('text of m')), ['taken', 'aborted']],
  ])('that was only %s when pi exits has its end', (_state, stdout, fate) => {
    const talk = Talk.working();
    talk.steer('m');
    expect(talk.say(stdout).exit().fate('m')).toEqual(fate);
  });

  test('is too late after the end that was told', () => {
    const talk = Talk.working().say(lines(assistant('done'), runEnd) + state());
    expect(talk.steer('m')).toBe('too-late');
    expect(talk.exit().steer('n')).toBe('too-late');
    expect(talk.sent.filter(({ type }) => type === 'steer')).toEqual([]);
  });

  test('one-way is for the mailbox, if there is one', () => {
    const mailbox = { steer: '/s', ask: '/a' };
    expect(new Talk({ mode: 'json' }).steer('m')).toBe('unsupported');
    const talk = new Talk({ mode: 'json', mailbox });
    expect(talk.steer('m')).toBe('mailbox');
    expect(talk.exit().steer('m')).toBe('too-late');
    expect(open('command', { run: ['x'] }).steer({ id: 'm', text: 'x', mode: 'now' }).verdict).toBe('unsupported');
    expect(open('command', { run: ['x'], mailbox }).steer({ id: 'm', text: 'x', mode: 'now' }).verdict).toBe('mailbox');
  });

  test('that a model error quotes is not told', () => {
    const talk = Talk.working();
    talk.steer('m', 'the secret of this message');
    talk.say(
      lines(user('the secret of this message'), failing('400 bad: the secret of this message'), runEnd) + state(),
    );
    expect(ends(talk.events)).toMatchObject([{ failure: { message: '400 bad: [message]' } }]);
  });
});

describe('an end with a message in the queue is none', () => {
  test('it is taken along with another prompt', () => {
    const talk = withLateMessage();
    // Not known yet whether pi has it.
    talk.say(state());
    expect(ends(talk.events)).toEqual([]);
    talk.say(answered('m')).say(state({ pendingMessageCount: 1 }));
    expect(talk.sent.at(-1)).toMatchObject({ id: 'coxswain-one-more', type: 'prompt' });
    // Once is enough, however often it says that it is at rest.
    const prompts = (): number => talk.sent.filter(({ type }) => type === 'prompt').length;
    const before = prompts();
    talk.say(lines(queue(['text of m']))).say(state({ pendingMessageCount: 1 }));
    expect(prompts()).toBe(before);
    talk.say(lines({ id: 'coxswain-one-more', type: 'response', command: 'prompt', success: true }));
    talk.say(
      lines(runStart, user('One more message for you follows.'), user('text of m'), assistant('and this'), runEnd),
    );
    expect(ends(talk.events)).toEqual([]);
    talk.say(state());
    expect(ends(talk.events)).toMatchObject([{ t: 'final', text: 'and this' }]);
    expect(talk.fate('m')).toEqual(['queued', 'taken', 'delivered']);
  });

  test('pi 1 says that it has settled, and it is asked all the same', () => {
    const talk = Talk.working();
    talk.steer('m');
    talk.say(answered('m') + lines(assistant('the answer'), runEndsFor(false), settled));
    expect(ends(talk.events)).toEqual([]);
    talk.say(state({ pendingMessageCount: 1 }));
    expect(talk.sent.at(-1)).toMatchObject({ id: 'coxswain-one-more' });
    talk.say(lines(runStart, user('text of m'), assistant('and this'), runEndsFor(false), settled));
    expect(ends(talk.events)).toMatchObject([{ t: 'final', text: 'and this' }]);
  });

  test('after a failure it stays in the queue', () => {
    const talk = Talk.working();
    talk.steer('m');
    talk.say(answered('m') + lines(failing('no'), runEnd) + state({ pendingMessageCount: 1 }));
    expect(ends(talk.events)).toMatchObject([{ t: 'error' }]);
    expect(talk.exit().fate('m')).toEqual(['queued', 'step-ended']);
  });

  test('a pi that takes no further prompt has ended, and the message has failed', () => {
    const talk = withLateMessage();
    talk.say(answered('m')).say(state({ pendingMessageCount: 1 }));
    talk.say(lines({ id: 'coxswain-one-more', type: 'response', command: 'prompt', success: false, error: 'no' }));
    // Unless it goes on by itself.
    talk.say(state({ isStreaming: true, pendingMessageCount: 1 }));
    expect(ends(talk.events)).toEqual([]);
    talk.say(lines(queue(['text of m']))).say(state({ pendingMessageCount: 1 }));
    expect(talk.fate('m')).toEqual(['queued', 'failed']);
    expect(ends(talk.events)).toMatchObject([{ t: 'final', text: 'the answer' }]);
  });
});

describe('a session', () => {
  test('has the name of the attempt that began it', () => {
    expect(new Talk().events).toEqual([{ t: 'session', session: 'ask.1.jsonl' }]);
    expect(new Talk({ mode: 'json', resume: { session: 'ask.1.jsonl' } }).events).toEqual([
      { t: 'session', session: 'ask.1.jsonl' },
    ]);
  });

  test.each([
    [3, 'You were interrupted. Go on where you left off.'],
    // Interrupted before there was anything to keep.
    [0, TASK],
  ])('of %i messages is gone on with by: %s', (messageCount, message) => {
    const talk = new Talk({ resume: { session: '../elsewhere/ask.1.jsonl' } });
    expect(talk.events).toEqual([{ t: 'session', session: 'ask.1.jsonl' }]);
    expect(talk.sent).toEqual([{ id: 'coxswain-resumed', type: 'get_state' }]);
    const data = { isStreaming: false, isCompacting: false, pendingMessageCount: 0, messageCount };
    talk.say(lines({ id: 'coxswain-resumed', type: 'response', command: 'get_state', success: true, data }));
    expect(talk.sent.at(-1)).toEqual({ id: 'coxswain-prompt', type: 'prompt', message });
    talk.say(prompted() + lines(runStart, user(message), assistant('done'), runEnd) + state());
    expect(ends(talk.events)).toMatchObject([{ t: 'final', text: 'done' }]);
  });
});
