import type { AgentAdapter, AgentEvent, AgentSession, AgentUse, Launch, LaunchRequest, Reply } from './adapter.ts';
import { mailboxEnvironment } from '../mailbox/index.ts';
import { NOTHING } from './honours.ts';
import { handOver } from './delivery.ts';
import { type ChildExit, agentExitFailure, exitFailure } from './exit.ts';
import { withoutLastNewline } from './text.ts';

/** Bytes of stdout that are kept as the output; the raw stdout file has the rest. */
export const OUTPUT_LIMIT = 200 * 1024;

/**
 * Any program. Its stdout is its output, and its exit code 0 is its success.
 *
 * A command step brings its own command and gets no stdin. An agent with this adapter is given the task as its
 * definition says; when it fails, the last line of its stderr may say that its model did.
 */
export const commandAdapter: AgentAdapter = {
  id: 'command',
  plain: true,
  capabilities: {
    steerLive: false,
    followUp: 'none',
    abort: 'signal',
    resume: false,
    mailbox: 'declared',
    chooseSessionId: false,
    structured: 'none',
    partialText: false,
    cost: false,
    emptyOutput: 'result',
  },
  stopLadder: [
    { do: 'SIGTERM', graceMs: 3000 },
    { do: 'SIGKILL', graceMs: 1000 },
  ],
  modes: [{ name: null, honours: { ...NOTHING, task: true } }],
  program: null,
  launch,
  open: createCommandSession,
};

function launch(request: LaunchRequest): Launch {
  const { settings, run, task, cwd, mailbox } = request;
  const common = { env: mailboxEnvironment(request.env, mailbox ?? {}), cwd, exit: 'own' } as const;
  if (typeof run === 'string') return { ...common, argv: [run], shell: true, stdin: { type: 'none' } };
  if (run !== null) return { ...common, argv: run, shell: false, stdin: { type: 'none' } };
  const argv = [...(settings.command ?? []), ...(settings.args ?? [])];
  if (task === null) return { ...common, argv, shell: false, stdin: { type: 'none' } };
  return { ...common, shell: false, ...handOver(task, argv, request) };
}

function createCommandSession({ task, run, mailbox }: LaunchRequest): AgentSession {
  const use: AgentUse = run === null ? 'task' : 'run';
  const output = createHead(OUTPUT_LIMIT);
  let over = false;
  return {
    start: () => reply([]),
    push(chunk) {
      if (over || chunk.length === 0) return reply([]);
      output.add(chunk);
      return reply([{ t: 'activity', progress: true }]);
    },
    finish: () => reply([]),
    abort: () => ({ ...reply([]), supported: false }),
    wrapUp: () => ({ ...reply([]), supported: false }),
    steer: () => ({ ...reply([]), verdict: over ? 'too-late' : mailbox === null ? 'unsupported' : 'mailbox' }),
    exited(exit) {
      if (over) return reply([]);
      over = true;
      return reply([endOf(exit, output.take(), task, use)]);
    },
  };
}

function endOf(
  exit: ChildExit,
  output: { text: string; truncated: boolean },
  task: string | null,
  use: AgentUse,
): AgentEvent {
  // A command step has no model: what its stderr says of rates and keys is about something else.
  const failure = use === 'run' ? exitFailure(exit, task) : agentExitFailure(exit, task, 'last-line');
  if (failure !== null) return { t: 'error', failure };
  const text = output.truncated ? output.text : withoutLastNewline(output.text);
  return { t: 'final', text, stop: 'stop', truncated: output.truncated };
}

/** The first `limit` bytes of a stream as text: characters cut by a chunk are joined, one cut by the limit is left out. */
function createHead(limit: number): {
  add(chunk: Uint8Array): void;
  take(): { text: string; truncated: boolean };
} {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const parts: string[] = [];
  let room = limit;
  let truncated = false;
  return {
    add(chunk) {
      if (chunk.length > room) truncated = true;
      if (room === 0) return;
      const taken = chunk.subarray(0, room);
      room -= taken.length;
      parts.push(decoder.decode(taken, { stream: true }));
    },
    take() {
      // Flushing turns an unfinished character into a replacement mark: right for the end of a stream, wrong for our cut.
      if (!truncated) parts.push(decoder.decode());
      return { text: parts.join(''), truncated };
    },
  };
}

function reply(events: AgentEvent[]): Reply {
  return { events, send: [], closeStdin: false };
}
