import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { ChildEvent } from '../../machines/protocol.ts';
import type { AgentEvent } from '../../src/agents/index.ts';
import type { Transcript } from '../../src/record/index.ts';
import type { Kit } from '../../src/runtime/kit.ts';
import { Listener } from '../../src/runtime/listener.ts';

/** What an attempt is told of what its agent says. */

let ms = 0;
beforeEach(() => {
  ms = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ms);
  return () => clock.mockRestore();
});

const nowhere = { append: () => {} } as unknown as Transcript;
const kit = {
  now: () => new Date(ms).toISOString(),
  touch: () => {},
  redact: (text: string) => text,
} as unknown as Kit;

function listen(required: string[] = []) {
  const told: ChildEvent[] = [];
  const submitted: unknown[] = [];
  const listener = new Listener(kit, (event) => void told.push(event), {
    transcript: () => nowhere,
    allowEmpty: false,
    required,
    submit: (value) => void submitted.push(value),
  });
  return { listener, told, submitted, hear: (...events: AgentEvent[]) => listener.hear(events) };
}

const progress = (told: ChildEvent[]) => told.flatMap((one) => (one.type === 'child.active' ? [one.progress] : []));
const start = (id: string, name: string): AgentEvent => ({ t: 'toolStart', id, name, input: {} });
const end = (id: string, name: string): AgentEvent => ({
  t: 'toolEnd',
  id,
  name,
  ok: true,
  output: '',
  truncated: false,
});
const open = (told: ChildEvent[]) => {
  const last = told.findLast((one) => one.type === 'child.tool');
  return last?.type === 'child.tool' ? last.tool && [last.tool.id, Date.parse(last.tool.since)] : undefined;
};

describe('activity', () => {
  test('is told at most ten times a second', () => {
    const { listener, told } = listen();
    for (; ms < 1_000; ms += 1) listener.active(ms % 2 === 0);
    // Progress and noise, each at most so often.
    expect(progress(told).filter((one) => one)).toHaveLength(10);
    expect(told.length).toBeLessThanOrEqual(20);
  });

  test('noise on one stream never hides the progress on the other', () => {
    const { listener, told } = listen();
    // Every 60 ms a line on stderr, and right behind each tenth a record of progress.
    for (let line = 0; line < 100; line += 1) {
      ms = line * 60;
      listener.active(false);
      ms += 1;
      if (line % 10 === 0) listener.active(true);
    }
    expect(progress(told).filter((one) => one)).toHaveLength(10);
  });
});

describe('tools', () => {
  test('the oldest that is open counts, from its own start', () => {
    const { told, hear } = listen();
    hear(start('1', 'bash'));
    ms = 400;
    hear(start('2', 'bash'));
    expect(open(told)).toEqual(['1', 0]);
    ms = 800;
    hear(end('1', 'bash'));
    expect(open(told)).toEqual(['2', 400]);
    hear(end('2', 'bash'));
    expect(open(told)).toBeNull();
  });

  test('S030: the end of one that is not open ends nothing', () => {
    const { told, hear } = listen();
    hear(start('x', 'X'), end('y', 'Y'));
    expect(open(told)).toEqual(['x', 0]);
  });

  test('one that may change something is told as such, once', () => {
    const { told, hear } = listen();
    hear(start('1', 'read'), start('2', 'bash'), end('1', 'read'), end('2', 'bash'));
    expect(told.flatMap((one) => (one.type === 'child.tool' ? [one.mayChange] : []))).toEqual([
      false,
      true,
      false,
      false,
    ]);
  });
});

describe('tools that an agent is to have', () => {
  const final: AgentEvent = { t: 'final', text: 'Done.', stop: 'stop', truncated: false };

  test('and says that it lacks are told with its end', () => {
    const { listener, hear } = listen(['Bash', 'mcp__db__query']);
    hear({ t: 'client', client: { tools: ['Bash', 'Read'] } }, final);
    expect(listener.end()).toMatchObject({ type: 'success', lacks: ['mcp__db__query'] });
    // It says so again with each turn, and a server may have come up.
    hear({ t: 'client', client: { tools: ['Bash', 'mcp__db__query'] } });
    expect(listener.end()).not.toHaveProperty('lacks');
  });

  test('of a client that does not say what it has nothing is known', () => {
    const { listener, hear } = listen(['Bash']);
    hear({ t: 'client', client: { version: '1.0.0' } }, final);
    expect(listener.end()).not.toHaveProperty('lacks');
    expect(listener.acknowledged).toEqual({ version: '1.0.0' });
  });
});

const says = (text: string): AgentEvent => ({ t: 'message', role: 'assistant', text });

describe('what counts at its end', () => {
  const failing = (name: string): AgentEvent[] => [start('1', name), { ...end('1', name), ok: false } as AgentEvent];
  const final: AgentEvent = { t: 'final', text: 'done', stop: 'stop', truncated: false };

  test.each<[string, AgentEvent[], string | undefined]>([
    ['a tool that failed, and nothing after it', failing('bash'), 'bash'],
    ['and words after it', [...failing('bash'), says('It failed.')], undefined],
    ['and words of nothing', [...failing('bash'), says(' ')], 'bash'],
    ['and words of somebody else', [...failing('bash'), { t: 'message', role: 'user', text: 'go on' }], 'bash'],
    ['and another tool that did well', [...failing('bash'), start('2', 'read'), end('2', 'read')], undefined],
    ['and a value that was handed in', [...failing('bash'), { t: 'submitted', value: 1 }], undefined],
    ['the tool that takes the value', failing('structured_output'), undefined],
  ])('%s', (_, events, failedTool) => {
    const { listener, hear } = listen();
    hear(...events, final);
    expect(listener.end()).toEqual({ type: 'success', chars: 4, stop: 'stop', ...(failedTool && { failedTool }) });
  });

  test('what it said last, and what it handed in', () => {
    const { listener, submitted, hear } = listen();
    hear(says('first'), says('last'), says(''), { t: 'submitted', value: { a: 1 } });
    expect(listener.lastWords).toBe('last');
    expect(submitted).toEqual([{ a: 1 }]);
  });
});
