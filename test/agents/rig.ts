import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Usage } from '../../machines/protocol.ts';
import {
  type AgentEvent,
  type AgentSession,
  type AgentSettings,
  type Launch,
  type LaunchRequest,
  type PermissionAnswer,
  type Reply,
  createRegistry,
} from '../../src/agents/index.ts';
import { type PlayedExit, TASK, endOf, play } from './drive.ts';

export type Name = 'acp' | 'claude' | 'codex' | 'pi';
export type Change = Partial<LaunchRequest> & { given?: Partial<AgentSettings> };

/** A session, and the launch it belongs to, as the runtime would ask for them. */
export function openAgent(
  name: Name,
  { given = {}, ...change }: Change = {},
): { session: AgentSession; launch: Launch } {
  const found = createRegistry({ [name]: { name, adapter: name, ...given } }, { env: {} }).get(name, 'task');
  if (found.type !== 'agent') throw new Error(found.message);
  const { adapter, settings } = found.agent;
  const request: LaunchRequest = {
    settings,
    task: TASK,
    run: null,
    model: null,
    cwd: '/project',
    env: {},
    privateDir: '/run/attempts/ask/1',
    sessionDir: '/run/sessions',
    resume: null,
    mailbox: null,
    ...change,
  };
  return { session: adapter.open(request), launch: adapter.launch(request) };
}

/* ------------------------------------------------------------------ captured streams */

interface Expected {
  case: string;
  mode?: string;
  code: number | null;
  signal: string | null;
  final?: string;
  stop?: string;
  failure?: string;
  usage?: Usage;
}

export const fixtures = (folder: string): URL => new URL(`../fixtures/${folder}/`, import.meta.url);
export const fixture = (folder: string, file: string): Buffer => readFileSync(new URL(file, fixtures(folder)));
export const streamsOf = (folder: string): string[] =>
  readdirSync(fixtures(folder)).filter((file) => file.endsWith('.jsonl'));

/** An end in the words of the table. */
const summary = (end: ReturnType<typeof endOf>): Pick<Expected, 'final' | 'stop' | 'failure'> =>
  end.t === 'final' ? { final: end.text, stop: end.stop } : { failure: end.failure.code };

/** One test for each captured stream of a client: what it ended with, what it used, in chunks of any size. */
export function testCaptured(name: Name, folder: string): void {
  const table = JSON.parse(fixture(folder, 'expected.json').toString()) as Expected[];

  test('every captured stream is in the table', () => {
    expect(streamsOf(folder).toSorted()).toEqual(table.map((row) => `${row.case}.jsonl`).toSorted());
  });

  test.each(table)('$case', (row) => {
    const bytes = fixture(folder, `${row.case}.jsonl`);
    const given = row.mode === undefined ? {} : { mode: row.mode };
    const run = (size: number) => play(openAgent(name, { given }).session, bytes, row, size);
    const events = run(Infinity);

    expect(summary(endOf(events))).toEqual({ final: row.final, stop: row.stop, failure: row.failure });
    const usages = events.flatMap((event) => (event.t === 'usage' ? [event.usage] : []));
    const { costUsd, ...counts } = usages.at(-1) ?? {};
    const { costUsd: cost, ...expectedCounts } = row.usage ?? {};
    expect(counts).toEqual(expectedCounts);
    // Unknown is not zero.
    expect(costUsd === undefined).toBe(cost === undefined);
    expect(costUsd ?? 0).toBeCloseTo(cost ?? 0, 9);
    expect(events.filter((event) => event.t === 'toolStart')).toHaveLength(row.usage?.tools ?? 0);

    for (const size of [1, 7, 4096]) expect(run(size)).toEqual(events);
  });
}

/* ------------------------------------------------------------------ a talk */

/** A child that a test speaks for, and what is told of it. */
export class Talk {
  readonly session: AgentSession;
  readonly events: AgentEvent[] = [];
  readonly sent: Record<string, unknown>[] = [];
  closed = false;

  constructor(name: Name, change: Change = {}) {
    this.session = openAgent(name, change).session;
    this.take(this.session.start());
  }

  take({ events, send, closeStdin }: Reply): void {
    this.events.push(...events);
    this.sent.push(...send.map((line) => JSON.parse(line) as Record<string, unknown>));
    this.closed ||= closeStdin;
  }

  say(...records: unknown[]): this {
    this.take(this.session.push(Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''))));
    return this;
  }

  steer(id: string, mode: 'now' | 'next' | 'auto' = 'now', text = `text of ${id}`): string {
    const { verdict, ...reply } = this.session.steer({ id, text, mode });
    this.take(reply);
    return verdict;
  }

  abort(): this {
    this.take(this.session.abort());
    return this;
  }

  wrapUp(): this {
    this.take(this.session.wrapUp(60_000));
    return this;
  }

  answer(ask: string, answer: PermissionAnswer): this {
    if (this.session.answer === undefined) throw new Error('it cannot be answered');
    this.take(this.session.answer(ask, answer));
    return this;
  }

  exit(change: Partial<PlayedExit> = {}): this {
    this.take(this.session.exited({ code: 0, signal: null, stderrTail: '', ...change }));
    return this;
  }

  /** What was told of one message, in order. */
  fate(id: string): string[] {
    return this.events.flatMap((event) =>
      event.t === 'steer' && event.id === id ? [event.state === 'undelivered' ? event.reason : event.state] : [],
    );
  }

  ends(): AgentEvent[] {
    return this.events.filter(({ t }) => t === 'final' || t === 'error' || t === 'resumed');
  }
}

/** What a failed agent said, in one line of a test. */
export const codeOf = (events: readonly AgentEvent[]): string => {
  const end = endOf(events);
  return end.t === 'error' ? end.failure.code : 'final';
};
