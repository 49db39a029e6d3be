import {
  type AgentEvent,
  type AgentSession,
  type AgentSettings,
  type LaunchRequest,
  createRegistry,
} from '../../src/agents/index.ts';

/** How a played child ends. */
export interface PlayedExit {
  code: number | null;
  signal: string | null;
  stderrTail?: string;
}

export const OK: PlayedExit = { code: 0, signal: null };
export const TASK = 'Do the task that nobody may repeat.';

type Definition = Pick<AgentSettings, 'mode' | 'permissions'>;

/** A session as the runtime would open it. */
export function open(name: string, change: Partial<LaunchRequest> & Partial<Definition> = {}): AgentSession {
  const { mode, permissions, ...request } = change;
  const settings = {
    name,
    adapter: name,
    ...(name === 'acp' ? { command: ['agent'] } : {}),
    ...(mode === undefined ? {} : { mode }),
    ...(permissions === undefined ? {} : { permissions }),
  };
  const lookup = createRegistry({ [name]: settings }, { env: {} }).get(name, name === 'command' ? 'run' : 'task');
  if (lookup.type !== 'agent') throw new Error(lookup.message);
  const { adapter, settings: resolved } = lookup.agent;
  return adapter.open({
    settings: resolved,
    task: TASK,
    run: null,
    model: null,
    cwd: '/',
    env: {},
    privateDir: '/run/attempts/ask/1',
    sessionDir: '/run/sessions',
    resume: null,
    mailbox: null,
    ...request,
  });
}

/** Plays a whole stdout and the exit, in chunks of `size` bytes. Without `activity`, which depends on the chunks. */
export function play(
  session: AgentSession,
  stdout: string | Uint8Array,
  exit: PlayedExit = OK,
  size = Infinity,
): AgentEvent[] {
  const bytes = typeof stdout === 'string' ? Buffer.from(stdout) : stdout;
  const events = [...session.start().events];
  for (let at = 0; at < bytes.length; at += size) {
    events.push(...session.push(bytes.subarray(at, Math.min(bytes.length, at + size))).events);
  }
  events.push(...session.exited({ stderrTail: '', ...exit }).events);
  return events.filter((event) => event.t !== 'activity');
}

type End = Extract<AgentEvent, { t: 'final' | 'error' }>;

/** The end that stands, after checking that there is exactly one that was not taken back. */
export function endOf(events: readonly AgentEvent[]): End {
  let standing: End | null = null;
  for (const event of events) {
    if (event.t === 'resumed') {
      if (standing === null) throw new Error('resumed without an end before it');
      standing = null;
    }
    if (event.t !== 'final' && event.t !== 'error') continue;
    if (standing !== null) throw new Error('two ends');
    standing = event;
  }
  if (standing === null) throw new Error('no end');
  return standing;
}

/** Records as pi writes them. */
export const lines = (...records: unknown[]): string => records.map((record) => `${JSON.stringify(record)}\n`).join('');

export const assistant = (text: string, stop = 'stop', more: Record<string, unknown> = {}): unknown => ({
  type: 'message_end',
  message: {
    role: 'assistant',
    content: text === '' ? [] : [{ type: 'text', text }],
    provider: 'fake',
    model: 'm',
    usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, cost: { total: 0.5 } },
    stopReason: stop,
    ...more,
  },
});
export const failing = (errorMessage: string): unknown => assistant('', 'error', { errorMessage });
export const runStart = { type: 'agent_start' };
/** As before pi 1, and as since. */
export const runEnd = { type: 'agent_end', messages: [] };
export const runEndsFor = (willRetry: boolean): unknown => ({ ...runEnd, willRetry });
export const settled = { type: 'agent_settled', aborted: false };
export const toolStart = (name: string, id = 't1'): unknown => ({
  type: 'tool_execution_start',
  toolCallId: id,
  toolName: name,
  args: { command: 'x' },
});
export const toolEnd = (name: string, isError: boolean, id = 't1'): unknown => ({
  type: 'tool_execution_end',
  toolCallId: id,
  toolName: name,
  result: { content: [{ type: 'text', text: 'out' }] },
  isError,
});

export const notes = (events: readonly AgentEvent[], kind: string): string[] =>
  events.flatMap((event) => (event.t === 'note' && event.kind === kind ? [event.text] : []));

/** Answers of pi to our commands. */
export const state = (change: Record<string, unknown> = {}): string =>
  lines({
    id: 'coxswain-state',
    type: 'response',
    command: 'get_state',
    success: true,
    data: { isStreaming: false, isCompacting: false, pendingMessageCount: 0, messageCount: 2, ...change },
  });
export const prompted = (change: Record<string, unknown> = {}): string =>
  lines({ id: 'coxswain-prompt', type: 'response', command: 'prompt', success: true, ...change });
export const ends = (events: readonly AgentEvent[]): AgentEvent[] =>
  events.filter(({ t }) => t === 'final' || t === 'error' || t === 'resumed');
