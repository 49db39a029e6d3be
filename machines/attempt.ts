import { type DoneActorEvent, assertEvent, sendTo, setup } from 'xstate';
import { outranks, outcomeOf } from './policy/cause.ts';
import { DRAIN_LIMIT, EXIT_GRACE, REAP_LIMIT } from './policy/defaults.ts';
import { NO_USAGE, causeOfEnd } from './policy/outcome.ts';
import { port } from './port.ts';
import { summarize } from './policy/proof.ts';
import type {
  AgentEnd,
  AttemptInput,
  AttemptOutput,
  Cause,
  ChildCommand,
  ChildEvent,
  EndEvent,
  Exit,
  Failure,
  Instant,
  JournalBody,
  OpenTool,
  Proof,
  ReleasedEvent,
  StopRung,
  TerminationInput,
  TreeEvent,
  Usage,
} from './protocol.ts';

export interface AttemptContext extends AttemptInput {
  pid: number | null;
  startTime: number | null;
  /** Why it could not be started. */
  unstarted: Failure | null;
  /** What the protocol said of the work; taken back by `child.resumed`. */
  end: AgentEnd | null;
  exit: Exit | null;
  drained: boolean;
  /** Latched; null while nobody has ended the attempt. */
  cause: Cause | null;
  forcedExit: boolean;
  proof: Proof | null;
  usage: Usage;
  session: string | null;
  tool: OpenTool | null;
  lastActivityAt: Instant | null;
  lastProgressAt: Instant | null;
}

type Event = ChildEvent | EndEvent | ReleasedEvent;

const tell = (command: ChildCommand): ChildCommand => command;

/** Beyond this nothing changes the outcome: the end record and the exit have both been seen. */
const isCommitted = (context: AttemptContext): boolean =>
  context.exit !== null && (context.end !== null || context.drained);

const base = setup({
  types: {
    context: {} as AttemptContext,
    input: {} as AttemptInput,
    events: {} as Event,
    output: {} as AttemptOutput,
  },
  actors: {
    child: port<ChildCommand, AttemptInput, undefined, ChildEvent>('child'),
    termination: port<TreeEvent, TerminationInput, Proof, ReleasedEvent>('termination'),
  },
  actions: {
    /** Filled with the journal by the runtime. */
    record: (_args, _body: JournalBody) => {},
    /** Filled by the runtime: the whole proof goes to a file, the journal carries its summary. */
    keep: (_args, _kept: { step: string; n: number; proof: Proof }) => {},
    /** Listed as late: known, and without consequence. */
    passOver: () => {},
  },
});

/** One writer: one child process working on one step, from the launch to the proof of its end. */
export const attemptMachine = base
  .extend({
    guards: {
      committed: ({ context }) => isCommitted(context),
      strongest: ({ context, event }) => event.type === 'end' && outranks(event.cause, context.cause),
      ended: ({ context }) => context.cause !== null,
      reaped: ({ context }) => context.exit !== null && context.drained,
    },
    delays: { exitGrace: EXIT_GRACE, drainLimit: DRAIN_LIMIT, reapLimit: REAP_LIMIT },
    actions: {
      recordLaunching: base.enqueueActions(({ context, enqueue }) => {
        const { at, step, n, token, agent } = context;
        enqueue({ type: 'record', params: { type: 'attempt.launching', at, step, attempt: n, token, agent } });
      }),
      recordStarted: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'child.started');
        const { at, pid, startTime } = event;
        enqueue({
          type: 'record',
          params: { type: 'attempt.started', at, step: context.step, attempt: context.n, pid, startTime },
        });
      }),
      recordExited: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'child.exited');
        const { at, code, signal } = event;
        enqueue({
          type: 'record',
          params: { type: 'attempt.exited', at, step: context.step, attempt: context.n, code, signal },
        });
      }),
      recordLate: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'end');
        const won = context.cause ?? conclude(context).cause;
        const { step, n: attempt } = context;
        enqueue({
          type: 'record',
          params: { type: 'cause.late', at: event.cause.at, step, attempt, cause: event.cause, won },
        });
      }),
      keepProof: base.enqueueActions(({ context, enqueue }) => {
        const { step, n } = context;
        const proof = proofOf(context);
        if (proof !== null) enqueue({ type: 'keep', params: { step, n, proof } });
      }),
      recordClosed: base.enqueueActions(({ context, enqueue }) => {
        enqueue({ type: 'record', params: closedRecord(context) });
      }),
      finish: sendTo('child', tell({ type: 'child.finish' })),
      release: base.enqueueActions(({ self, enqueue }) => {
        if (self._parent) enqueue.sendTo(self._parent, { type: 'attempt.released' });
      }),
      latch: base.assign(({ event }) => {
        assertEvent(event, 'end');
        return { cause: event.cause, at: event.cause.at };
      }),
      latchBroken: base.assign(({ event }) => {
        assertEvent(event, 'child.broken');
        return { cause: { type: 'protocol-error', at: event.at, reason: event.reason }, at: event.at };
      }),
      noteStarted: base.assign(({ event }) => {
        assertEvent(event, 'child.started');
        return { pid: event.pid, startTime: event.startTime, at: event.at, lastActivityAt: event.at };
      }),
      noteUnstarted: base.assign(({ event }) => {
        assertEvent(event, 'child.unstarted');
        return { unstarted: event.failure, at: event.at };
      }),
      noteEnd: base.assign(({ event }) => {
        assertEvent(event, 'child.ended');
        return { end: event.end, at: event.at };
      }),
      takeEndBack: base.assign(({ event }) => {
        assertEvent(event, 'child.resumed');
        return { end: null, at: event.at };
      }),
      noteExit: base.assign(({ event }) => {
        assertEvent(event, 'child.exited');
        return { exit: { at: event.at, code: event.code, signal: event.signal }, at: event.at, tool: null };
      }),
      noteDrained: base.assign(({ event }) => {
        assertEvent(event, 'child.drained');
        return { drained: true, end: event.end, at: event.at };
      }),
      noteForcedExit: base.assign({ forcedExit: true }),
      noteProof: base.assign(({ event }) => {
        const proof = (event as unknown as DoneActorEvent<Proof>).output;
        return { proof, at: proof.at };
      }),
      noteActive: base.assign(({ context, event }) => {
        assertEvent(event, 'child.active');
        return { lastActivityAt: event.at, lastProgressAt: event.progress ? event.at : context.lastProgressAt };
      }),
      noteTool: base.assign(({ event }) => {
        assertEvent(event, 'child.tool');
        return { tool: event.tool === null ? null : { ...event.tool, since: event.at } };
      }),
      noteUsage: base.assign(({ event }) => {
        assertEvent(event, 'child.usage');
        return { usage: event.usage };
      }),
      noteSession: base.assign(({ event }) => {
        assertEvent(event, 'child.session');
        return { session: event.session };
      }),
      noteModel: base.assign(({ event }) => {
        assertEvent(event, 'child.model');
        return { model: event.model };
      }),
    },
  })
  .createMachine({
    id: 'attempt',
    description: 'One child process working on one step',
    context: ({ input }) => ({
      ...input,
      pid: null,
      startTime: null,
      unstarted: null,
      end: null,
      exit: null,
      drained: false,
      cause: null,
      forcedExit: false,
      proof: null,
      usage: NO_USAGE,
      session: null,
      tool: null,
      lastActivityAt: null,
      lastProgressAt: null,
    }),
    entry: 'recordLaunching',
    invoke: {
      id: 'child',
      src: 'child',
      input: ({ context: { step, n, token, agent, model, ladder, at } }) => ({
        step,
        n,
        token,
        agent,
        model,
        ladder,
        at,
      }),
    },
    initial: 'starting',
    on: {
      'child.active': { actions: 'noteActive' },
      'child.tool': { actions: 'noteTool' },
      'child.usage': { actions: 'noteUsage' },
      'child.session': { actions: 'noteSession' },
      'child.model': { actions: 'noteModel' },
      'child.ended': { actions: 'noteEnd' },
      // Once the attempt is ending, what the agent makes of it no longer matters.
      'child.resumed': { actions: 'passOver' },
      'child.broken': { actions: 'passOver' },
      end: [
        { guard: 'committed', actions: 'recordLate' },
        { guard: 'strongest', actions: 'latch' },
        { actions: 'recordLate' },
      ],
    },
    states: {
      starting: {
        description: 'Journal first, then the spawn',
        on: {
          'child.started': [
            { guard: 'ended', target: 'terminating', actions: ['noteStarted', 'recordStarted'] },
            { target: 'running', actions: ['noteStarted', 'recordStarted'] },
          ],
          'child.unstarted': { target: 'closed', actions: 'noteUnstarted' },
        },
      },
      running: {
        on: {
          'child.ended': { target: 'finishing', actions: 'noteEnd' },
          'child.broken': { target: 'terminating', actions: 'latchBroken' },
          'child.exited': { target: 'draining', actions: ['noteExit', 'recordExited'] },
          end: { target: 'terminating', actions: 'latch' },
        },
      },
      finishing: {
        description: 'The work is done; the process is asked to exit and given its grace',
        entry: 'finish',
        on: {
          'child.resumed': { target: 'running', actions: 'takeEndBack' },
          'child.exited': { target: 'draining', actions: ['noteExit', 'recordExited'] },
          end: { target: 'terminating', actions: 'latch' },
        },
        after: { exitGrace: { target: 'terminating', actions: 'noteForcedExit' } },
      },
      draining: {
        description: 'It has exited; what it wrote is read to its end, or as long as is reasonable',
        on: { 'child.drained': { target: 'terminating', actions: 'noteDrained' } },
        after: { drainLimit: 'terminating' },
      },
      terminating: {
        description: 'Its process tree is ended, or found to have ended',
        invoke: {
          id: 'termination',
          src: 'termination',
          input: ({ context }) => ({
            step: context.step,
            n: context.n,
            why: context.exit === null ? 'stop' : 'leftovers',
            ladder: ladderFor(context),
            at: context.at,
          }),
          onDone: { target: 'reaping', actions: 'noteProof' },
        },
        on: {
          'termination.released': { actions: 'release' },
          // It has dropped its work, as it was asked to: now it can exit by itself, sooner than by a signal.
          'child.ended': { actions: ['noteEnd', 'finish'] },
          'child.exited': { actions: ['noteExit', 'recordExited'] },
          'child.drained': { actions: 'noteDrained' },
        },
      },
      reaping: {
        description: 'The tree has been looked at; the exit and the last bytes may still be on their way',
        always: { guard: 'reaped', target: 'closed' },
        on: {
          'child.exited': { actions: ['noteExit', 'recordExited'] },
          'child.drained': { actions: 'noteDrained' },
        },
        after: { reapLimit: 'closed' },
      },
      closed: { type: 'final', entry: ['keepProof', 'recordClosed'] },
    },
    output: ({ context }) => conclude(context),
    options: { maxIterations: 1_000 },
  });

/** An agent that has finished its work is not asked to drop it. */
function ladderFor(context: AttemptContext): StopRung[] {
  return context.forcedExit ? context.ladder.filter((rung) => rung.do !== 'abort') : context.ladder;
}

function conclude(context: AttemptContext): AttemptOutput {
  const end = endOf(context);
  const cause: Cause =
    context.unstarted === null
      ? (context.cause ?? causeOfEnd(end, context.exit?.at ?? context.at))
      : { type: 'failure', at: context.at, reason: context.unstarted.code };
  return {
    n: context.n,
    outcome: outcomeOf(cause),
    cause,
    failure: failureFor(context, cause, end),
    exit: context.exit,
    forcedExit: context.forcedExit,
    usage: context.usage,
    session: context.session,
    model: context.model,
    proof: proofOf(context),
    at: context.at,
  };
}

/**
 * The agent's verdict, held against its exit: whoever says that the work is done and then ends with another exit code
 * than 0, without having been asked by us, did not do it. A signal after a clean end is not its own doing.
 */
function endOf(context: AttemptContext): AgentEnd {
  const { end, exit, forcedExit } = context;
  if (end === null) return { type: 'failure', failure: noEnd(context) };
  if (end.type === 'failure' || forcedExit || exit === null || exit.code === null || exit.code === 0) return end;
  const message = `it said that the work was done, and then ended with exit code ${exit.code}`;
  return { type: 'failure', failure: { code: 'exit-code', message, detail: { exitCode: exit.code } } };
}

function failureFor(context: AttemptContext, cause: Cause, end: AgentEnd): Failure | null {
  if (context.unstarted !== null) return context.unstarted;
  if (cause.type === 'protocol-error') return { code: 'protocol', message: cause.reason };
  return cause.type === 'failure' && end.type === 'failure' ? end.failure : null;
}

const noEnd = (context: AttemptContext): Failure => ({
  code: 'no-end-record',
  message: `attempt ${context.n} gave no end record that could be read`,
});

/** Without a process there is nothing to prove; a process that was never looked for is not proven gone. */
function proofOf({ proof, pid, at }: AttemptContext): Proof | null {
  if (proof !== null || pid === null) return proof;
  const reason = 'it was never looked for';
  return { verdict: 'unknown', level: 'group', members: [], leftovers: [], signals: [], reason, at };
}

function closedRecord(context: AttemptContext): JournalBody {
  const { n, outcome, cause, failure, forcedExit, model, session, usage, proof, at } = conclude(context);
  return {
    type: 'attempt.closed',
    at,
    step: context.step,
    attempt: n,
    outcome,
    cause,
    ...(failure === null ? {} : { error: failure }),
    forcedExit,
    model,
    session,
    usage,
    proof: proof === null ? null : summarize(proof),
  };
}
