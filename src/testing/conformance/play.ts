import {
  type Agent,
  type AgentEvent,
  type AgentSession,
  type LaunchRequest,
  type Reply,
  createRegistry,
} from '../../agents/index.ts';
import type { Captured, Expected, PlayedExit, Subject } from './subject.ts';

export const TASK = 'Do the task that nobody may repeat.';

/** The agent of a subject, in the wire mode of an occasion. */
export function agentOf({ agent }: Subject, mode?: string): Agent {
  const name = 'subject';
  const settings = { ...agent, name, ...(mode === undefined ? {} : { mode }) };
  const found = createRegistry({ [name]: settings }, { env: {} }).get(name, 'task');
  if (found.type !== 'agent') throw new Error(found.message);
  return found.agent;
}

export function requestFor({ settings }: Agent, change: Partial<LaunchRequest> = {}): LaunchRequest {
  return {
    settings,
    task: TASK,
    run: null,
    model: null,
    cwd: '/',
    env: {},
    privateDir: '/run/attempts/conformance/1',
    sessionDir: '/run/sessions',
    resume: null,
    mailbox: null,
    ...change,
  };
}

type Asked = Pick<Captured, 'mode' | 'model' | 'resume'>;

/** What an agent was asked when its stream was captured. */
export function askedOf({ model, resume }: Asked): Pick<LaunchRequest, 'model' | 'resume'> {
  return { model: model ?? null, resume: resume === undefined ? null : { session: resume } };
}

export function open(subject: Subject, asked: Asked): AgentSession {
  const agent = agentOf(subject, asked.mode);
  return agent.adapter.open(requestFor(agent, askedOf(asked)));
}

/** What a session told and sent over a whole stdout and the exit, in chunks of `size` bytes. */
export interface Played {
  /** Without `activity`, which depends on the chunks. */
  events: AgentEvent[];
  sent: string[];
}

export function play(session: AgentSession, stdout: Uint8Array, exit: PlayedExit, size = Infinity): Played {
  const events: AgentEvent[] = [];
  const sent: string[] = [];
  const take = (reply: Reply): void => {
    events.push(...reply.events.filter(({ t }) => t !== 'activity'));
    sent.push(...reply.send);
  };
  take(session.start());
  for (let at = 0; at < stdout.length; at += size) {
    take(session.push(stdout.subarray(at, Math.min(stdout.length, at + size))));
  }
  take(session.exited({ stderrTail: '', ...exit }));
  return { events, sent };
}

export type End = Extract<AgentEvent, { t: 'final' | 'error' }>;

/** The end that stands; a string says what is wrong when there is not exactly one that was not taken back. */
export function endOf(events: readonly AgentEvent[]): End | string {
  let standing: End | null = null;
  for (const event of events) {
    if (event.t === 'resumed') standing = null;
    if (event.t !== 'final' && event.t !== 'error') continue;
    if (standing !== null) return 'told two ends';
    standing = event;
  }
  return standing ?? 'told no end';
}

/** What is not as expected, in words; null when all is. */
export function difference(events: readonly AgentEvent[], expected: Expected): string | null {
  const end = endOf(events);
  if (typeof end === 'string') return end;
  const told = end.t === 'final' ? { final: end.text, stop: end.stop } : { failure: end.failure.code };
  const wanted =
    expected.failure === undefined
      ? { final: expected.final, stop: expected.stop ?? 'stop' }
      : { failure: expected.failure };
  if (JSON.stringify(told) !== JSON.stringify(wanted)) return `told ${show(told)} and not ${show(wanted)}`;
  const usage = events.findLast((event) => event.t === 'usage')?.usage;
  if (expected.usage !== undefined && show(rounded(usage)) !== show(rounded(expected.usage))) {
    return `counted ${show(usage)} and not ${show(expected.usage)}`;
  }
  const session = events.findLast((event) => event.t === 'session')?.session;
  if (expected.session !== undefined && session !== expected.session) return `told the session ${show(session)}`;
  return null;
}

export const show = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 300);

/** Keys in one order, and a sum of prices without its last digits. */
function rounded(usage: Expected['usage']): object | undefined {
  if (usage === undefined) return undefined;
  const { input, output, cacheRead, cacheWrite, turns, tools, costUsd = -1 } = usage;
  return { input, output, cacheRead, cacheWrite, turns, tools, costUsd: costUsd.toFixed(9) };
}
