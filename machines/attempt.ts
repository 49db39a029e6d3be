import { type DoneActorEvent, assertEvent, sendTo, setup } from 'xstate';
import { stallCause, endKnown, wrapUpLeft, wrapUpAfter } from './attempt-limits.ts';
import {
  type AttemptContext,
  asksForCheck,
  closedRecord,
  conclude,
  isCommitted,
  ladderFor,
  proofOf,
  undecided,
} from './attempt-outcome.ts';
import { outranks } from './policy/cause.ts';
import { DRAIN_LIMIT, EXIT_GRACE, REAP_LIMIT, REVIEW_LIMIT } from './policy/defaults.ts';
import { nothingSeen } from './policy/judge.ts';
import { NO_USAGE } from './policy/outcome.ts';
import { between, later } from './policy/time.ts';
import { port } from './port.ts';
import type {
  ActivityEvent,
  ActivityInput,
  ActivityNews,
  AttemptInput,
  AttemptNews,
  AttemptOutput,
  Cause,
  CheckInput,
  ChildCommand,
  ChildEvent,
  DeadlineNotice,
  EndEvent,
  Findings,
  JournalBody,
  MessageNotice,
  Proof,
  ReleasedEvent,
  TerminationInput,
  TreeEvent,
} from './protocol.ts';

type Event = ChildEvent | EndEvent | DeadlineNotice | MessageNotice | ReleasedEvent | ActivityNews;

const tell = (command: ChildCommand): ChildCommand => command;
const news = (event: AttemptNews): AttemptNews => event;
const toActivity = (event: ActivityEvent): ActivityEvent => event;

const base = setup({
  types: {
    context: {} as AttemptContext,
    input: {} as AttemptInput,
    events: {} as Event,
    output: {} as AttemptOutput,
  },
  actors: {
    child: port<ChildCommand, AttemptInput, undefined, ChildEvent>('child'),
    activity: port<ActivityEvent, ActivityInput, undefined, ActivityNews>('activity'),
    termination: port<TreeEvent, TerminationInput, Proof, ReleasedEvent>('termination'),
    /** Looks for what the attempt has to show. Always comes to an end, and says in its findings what it could not see. */
    check: port<{ type: 'none' }, CheckInput, Findings>('check'),
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
      strongest: ({ context, event }) => {
        const cause = causeIn(event);
        return cause !== null && outranks(cause, context.cause);
      },
      stallEnds: ({ context, event }) =>
        event.type === 'activity.changed' && event.state === 'stalled' && stallCause(context, event.at) !== null,
      ended: ({ context }) => context.cause !== null,
      underReview: ({ context, event }) =>
        event.type === 'child.ended' && event.end.type === 'success' && context.review?.active === true,
      reviewBegins: ({ context, event }) => reviewIn(context, event)?.active === true,
      reviewEnds: ({ context, event }) => reviewIn(context, event)?.active === false,
      /** Another could go on where this one is. */
      resumable: ({ context }) => context.resumes && context.session !== null,
      untold: ({ context }) => context.wrappingUpFor !== endKnown(context),
      emptied: ({ event }) => isEmptied(event),
      reaped: ({ context }) => context.exit !== null && context.drained,
      toCheck: ({ context }) => context.exit !== null && context.drained && asksForCheck(context),
    },
    delays: {
      exitGrace: EXIT_GRACE,
      reviewLimit: ({ context: { at, reviewBy } }) => (reviewBy === null ? 0 : Math.max(0, between(at, reviewBy))),
      drainLimit: DRAIN_LIMIT,
      reapLimit: REAP_LIMIT,
      wrapUpTime: ({ context }) => wrapUpAfter(context),
    },
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
        const cause = causeIn(event);
        if (cause === null) return;
        const won = context.cause ?? conclude(context).cause;
        const { step, n: attempt } = context;
        enqueue({ type: 'record', params: { type: 'cause.late', at: cause.at, step, attempt, cause, won } });
      }),
      /** What was latched gives way to something stronger, and stays on record. */
      recordOvertaken: base.enqueueActions(({ context, event, enqueue }) => {
        const won = causeIn(event);
        const { step, n: attempt, cause } = context;
        if (won === null || cause === null) return;
        enqueue({ type: 'record', params: { type: 'cause.late', at: won.at, step, attempt, cause, won } });
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
      /** What it has to show is looked at before another step may write there. */
      release: base.enqueueActions(({ context, self, enqueue }) => {
        if (self._parent && context.expects === null) enqueue.sendTo(self._parent, { type: 'attempt.released' });
      }),
      /** Whoever asked for this end hears that it stands: or that one of its kind does. */
      tellTaken: base.enqueueActions(({ context, event, self, enqueue }) => {
        const heard = heardOf(context, event, true);
        if (heard !== null && self._parent) enqueue.sendTo(self._parent, heard);
      }),
      tellSame: base.enqueueActions(({ context, event, self, enqueue }) => {
        const isSame = causeIn(event)?.type === context.cause?.type;
        const heard = heardOf(context, event, isSame);
        if (heard !== null && self._parent) enqueue.sendTo(self._parent, heard);
      }),
      tellTooLate: base.enqueueActions(({ context, event, self, enqueue }) => {
        const heard = heardOf(context, event, false);
        if (heard !== null && self._parent) enqueue.sendTo(self._parent, { ...heard, ...undecided(context) });
      }),
      tellLive: base.enqueueActions(({ context, event, self, enqueue }) => {
        assertEvent(event, 'child.started');
        const { step, n: attempt } = context;
        if (self._parent) enqueue.sendTo(self._parent, news({ type: 'attempt.live', at: event.at, step, attempt }));
      }),
      handSteer: base.enqueueActions(({ event, enqueue }) => {
        assertEvent(event, 'steer');
        enqueue.sendTo('child', tell({ type: 'child.steer', id: event.id, mode: event.mode }));
      }),
      tellRecovers: base.enqueueActions(({ context, event, self, enqueue }) => {
        const heard = recoveryOf(context, event, true);
        if (heard !== null && self._parent) enqueue.sendTo(self._parent, heard);
      }),
      tellUnrecovered: base.enqueueActions(({ context, event, self, enqueue }) => {
        const heard = recoveryOf(context, event, false);
        if (heard !== null && self._parent) enqueue.sendTo(self._parent, heard);
      }),
      latchRecovery: base.assign(({ event }) => {
        assertEvent(event, 'steer.recover');
        const { id: request, at } = event;
        return { cause: { type: 'recovery', at, request }, at };
      }),
      /** It is not spoken to any more. */
      refuseSteer: base.enqueueActions(({ context, event, self, enqueue }) => {
        assertEvent(event, 'steer');
        const { id, at } = event;
        const refused = {
          type: 'steer.heard',
          at,
          step: context.step,
          id,
          state: 'undelivered',
          reason: 'step-ended',
        } as const;
        if (self._parent) enqueue.sendTo(self._parent, news(refused));
      }),
      tellSteer: base.enqueueActions(({ context, event, self, enqueue }) => {
        assertEvent(event, 'child.steer');
        if (self._parent) enqueue.sendTo(self._parent, news({ ...event, type: 'steer.heard', step: context.step }));
      }),
      tellAsked: base.enqueueActions(({ context, event, self, enqueue }) => {
        assertEvent(event, 'child.asked');
        const { step, n: attempt } = context;
        if (self._parent) enqueue.sendTo(self._parent, news({ ...event, type: 'ask.asked', step, attempt }));
      }),
      tellAskGone: base.enqueueActions(({ context, event, self, enqueue }) => {
        assertEvent(event, 'child.ask-gone');
        if (self._parent) enqueue.sendTo(self._parent, news({ ...event, type: 'ask.gone', step: context.step }));
      }),
      handAnswer: base.enqueueActions(({ event, enqueue }) => {
        assertEvent(event, 'ask.settled');
        enqueue.sendTo('child', tell({ type: 'child.answer', ask: event.ask, command: event.command }));
      }),
      /** An agent that waits for a person does not stall. */
      noteWaiting: base.enqueueActions(({ event, enqueue }) => {
        assertEvent(event, 'child.asked');
        enqueue.sendTo('activity', toActivity({ type: 'ask.opened', at: event.at, ask: event.ask }));
      }),
      noteWaitOver: base.enqueueActions(({ event, enqueue }) => {
        assertEvent(event, ['child.ask-gone', 'ask.settled']);
        enqueue.sendTo('activity', toActivity({ type: 'ask.closed', at: event.at, ask: event.ask }));
      }),
      latch: base.assign(({ event }) => {
        const cause = causeIn(event);
        return cause === null ? {} : { cause, at: cause.at };
      }),
      latchStall: base.assign(({ context, event }) => {
        assertEvent(event, 'activity.changed');
        return { cause: stallCause(context, event.at), activity: event.state, at: event.at };
      }),
      noteReview: base.assign(({ context, event }) => {
        const review = reviewIn(context, event);
        return review === null ? {} : { review, at: event.type === 'child.review' ? event.at : context.at };
      }),
      beginReviewing: base.assign(({ context: { at, reviewBy } }) => ({
        activity: 'reviewing',
        reviewBy: reviewBy ?? later(at, REVIEW_LIMIT),
      })),
      endReviewing: base.assign({ activity: 'fresh' }),
      recordReviewing: base.enqueueActions(({ context, enqueue }) => {
        const { at, step, n: attempt, activity: state } = context;
        enqueue({ type: 'record', params: { type: 'activity.changed', at, step, attempt, state } });
      }),
      recordOverdue: base.enqueueActions(({ context, enqueue }) => {
        const { at, step, n: attempt, reviewBy } = context;
        const params = { type: 'review.overdue', at: reviewBy ?? at, step, attempt, limitMs: REVIEW_LIMIT } as const;
        enqueue({ type: 'record', params });
      }),
      /** Its silence is no stall: it has said what it does. */
      holdStill: sendTo('activity', ({ context: { at } }) => toActivity({ type: 'ask.opened', at, ask: REVIEW })),
      letGo: sendTo('activity', ({ context: { at } }) => toActivity({ type: 'ask.closed', at, ask: REVIEW })),
      noteActivity: base.assign(({ event }) => {
        assertEvent(event, 'activity.changed');
        return { activity: event.state };
      }),
      recordActivity: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'activity.changed');
        const { at, state } = event;
        const { step, n: attempt } = context;
        enqueue({ type: 'record', params: { type: 'activity.changed', at, step, attempt, state } });
      }),
      wrapUp: base.enqueueActions(({ context, enqueue }) => {
        enqueue.sendTo('child', tell({ type: 'child.wrap-up', leftMs: wrapUpLeft(context) }));
        enqueue.assign({ wrappingUpFor: endKnown(context) });
      }),
      passOn: base.enqueueActions(({ context, event, enqueue }) => {
        const heard = activityIn(event, context.tool !== null);
        if (heard !== null) enqueue.sendTo('activity', heard);
      }),
      noteDeadline: base.assign(({ event }) => {
        assertEvent(event, 'deadline.moved');
        return { deadlineAt: event.deadlineAt, at: event.at };
      }),
      latchBroken: base.assign(({ event }) => {
        assertEvent(event, 'child.broken');
        return { cause: { type: 'protocol-error', at: event.at, reason: event.reason }, at: event.at };
      }),
      noteStarted: base.assign(({ event }) => {
        assertEvent(event, 'child.started');
        const { pid, startTime, launch = null, at } = event;
        return { pid, startTime, launch, at, startedAt: at, lastActivityAt: at };
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
        return { end: null, reviewBy: null, at: event.at };
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
      noteFindings: base.assign(({ event }) => {
        const findings = (event as unknown as DoneActorEvent<Findings>).output;
        return { findings, at: findings.at };
      }),
      noteUnseen: base.assign(({ context: { expects, at } }) =>
        expects === null ? {} : { findings: nothingSeen(expects, at) },
      ),
      noteActive: base.assign(({ context, event }) => {
        assertEvent(event, 'child.active');
        return {
          active: true,
          lastActivityAt: event.at,
          lastProgressAt: event.progress ? event.at : context.lastProgressAt,
        };
      }),
      noteTool: base.assign(({ context, event }) => {
        assertEvent(event, 'child.tool');
        const { tool, mayChange } = event;
        return {
          active: true,
          tool,
          sideEffects: context.sideEffects || mayChange,
        };
      }),
      noteUsage: base.assign(({ event }) => {
        assertEvent(event, 'child.usage');
        return { usage: event.usage };
      }),
      noteSession: base.assign(({ event }) => {
        assertEvent(event, 'child.session');
        return { session: event.session };
      }),
      noteListens: base.assign({ listens: true }),
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
      launch: null,
      unstarted: null,
      end: null,
      exit: null,
      drained: false,
      cause: null,
      forcedExit: false,
      proof: null,
      usage: NO_USAGE,
      tool: null,
      activity: 'fresh',
      review: null,
      reviewBy: null,
      startedAt: null,
      active: false,
      sideEffects: false,
      lastActivityAt: null,
      lastProgressAt: null,
      wrappingUpFor: null,
      findings: null,
    }),
    entry: 'recordLaunching',
    invoke: {
      id: 'child',
      src: 'child',
      input: ({ context }) => context,
    },
    initial: 'starting',
    on: {
      'child.active': { actions: 'noteActive' },
      'child.tool': { actions: 'noteTool' },
      'child.usage': { actions: 'noteUsage' },
      'child.session': { actions: 'noteSession' },
      'child.model': { actions: 'noteModel' },
      'child.listens': { actions: 'noteListens' },
      'child.ended': { actions: 'noteEnd' },
      // Once the attempt is ending, what the agent makes of it no longer matters.
      'child.resumed': { actions: 'passOver' },
      'child.broken': { actions: 'passOver' },
      'child.steer': { actions: 'tellSteer' },
      'child.asked': { actions: 'tellAsked' },
      'child.ask-gone': { actions: 'tellAskGone' },
      'child.review': { actions: 'noteReview' },
      steer: { actions: 'refuseSteer' },
      'steer.recover': { actions: 'tellUnrecovered' },
      'ask.settled': { actions: 'handAnswer' },
      end: [
        { guard: 'committed', actions: ['recordLate', 'tellTooLate'] },
        { guard: 'strongest', actions: ['tellTaken', 'recordOvertaken', 'latch'] },
        { actions: ['recordLate', 'tellSame'] },
      ],
      'deadline.moved': { actions: 'noteDeadline' },
      // Nobody watches any more; what was on its way arrives late.
      'limit.reached': { actions: 'recordLate' },
      'activity.changed': { actions: 'passOver' },
    },
    states: {
      starting: {
        description: 'Journal first, then the spawn',
        on: {
          'child.started': [
            { guard: 'ended', target: 'terminating', actions: ['noteStarted', 'recordStarted'] },
            { target: 'working', actions: ['noteStarted', 'recordStarted', 'tellLive'] },
          ],
          'child.unstarted': { target: 'closed', actions: 'noteUnstarted' },
        },
      },
      working: {
        description: 'It runs, watched against its limits',
        invoke: {
          id: 'activity',
          src: 'activity',
          input: ({ context }) => ({ limits: context.limits, at: context.at }),
        },
        initial: 'running',
        on: {
          'child.active': { actions: ['noteActive', 'passOn'] },
          'child.tool': { actions: ['passOn', 'noteTool'] },
          'child.asked': { actions: ['tellAsked', 'noteWaiting'] },
          'child.ask-gone': { actions: ['tellAskGone', 'noteWaitOver'] },
          'ask.settled': { actions: ['handAnswer', 'noteWaitOver'] },
          steer: { actions: 'handSteer' },
          'child.exited': { target: 'draining', actions: ['noteExit', 'recordExited'] },
          'limit.reached': { target: 'terminating', actions: 'latch' },
          'activity.changed': [
            { guard: 'stallEnds', target: 'terminating', actions: ['recordActivity', 'latchStall'] },
            { actions: ['recordActivity', 'noteActivity'] },
          ],
          end: { target: 'terminating', actions: ['tellTaken', 'latch'] },
        },
        states: {
          running: {
            after: { wrapUpTime: { guard: 'untold', actions: 'wrapUp' } },
            on: {
              // From now on.
              'deadline.moved': { target: 'running', reenter: true, actions: 'noteDeadline' },
              'steer.recover': [
                { guard: 'resumable', target: '#attempt.terminating', actions: ['tellRecovers', 'latchRecovery'] },
                { actions: 'tellUnrecovered' },
              ],
              'child.ended': [
                { guard: 'underReview', target: 'reviewing', actions: 'noteEnd' },
                { target: 'finishing', actions: 'noteEnd' },
              ],
              'child.broken': { target: '#attempt.terminating', actions: 'latchBroken' },
            },
          },
          reviewing: {
            description: 'The work is done, and reviewed in the background by the child itself: that is waited for',
            entry: ['beginReviewing', 'recordReviewing', 'holdStill'],
            on: {
              'child.review': [
                {
                  guard: 'reviewEnds',
                  target: 'finishing',
                  actions: ['noteReview', 'endReviewing', 'recordReviewing'],
                },
                { actions: 'noteReview' },
              ],
              'child.resumed': {
                target: 'running',
                actions: ['takeEndBack', 'endReviewing', 'recordReviewing', 'letGo'],
              },
              'activity.changed': { actions: 'passOver' },
            },
            after: { reviewLimit: { target: 'finishing', actions: ['endReviewing', 'recordOverdue'] } },
          },
          finishing: {
            description: 'The work is done; the process is asked to exit and given its grace',
            entry: 'finish',
            on: {
              'child.resumed': { target: 'running', actions: 'takeEndBack' },
              'child.review': [
                { guard: 'reviewBegins', target: 'reviewing', actions: 'noteReview' },
                { actions: 'noteReview' },
              ],
            },
            after: { exitGrace: { target: '#attempt.terminating', actions: 'noteForcedExit' } },
          },
        },
      },
      draining: {
        description: 'It has exited; what it wrote is read to its end, or as long as is reasonable',
        on: {
          'child.drained': [
            { guard: 'emptied', target: 'terminating', actions: ['noteDrained', 'release'] },
            { target: 'terminating', actions: 'noteDrained' },
          ],
        },
        after: { drainLimit: 'terminating' },
      },
      terminating: {
        description: 'Its process tree is ended, or found to have ended',
        invoke: {
          id: 'termination',
          src: 'termination',
          input: ({ context, event }) => ({
            step: context.step,
            n: context.n,
            released: isEmptied(event),
            why: context.exit === null ? 'stop' : 'leftovers',
            ladder: ladderFor(context),
            policy: context.cause === null ? context.leftovers : 'end',
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
        always: [
          { guard: 'toCheck', target: 'checking' },
          { guard: 'reaped', target: 'closed' },
        ],
        on: {
          'child.exited': { actions: ['noteExit', 'recordExited'] },
          'child.drained': { actions: 'noteDrained' },
        },
        after: { reapLimit: { target: 'closed', actions: 'noteUnseen' } },
      },
      checking: {
        description: 'It says that the work is done, and nobody of it is left: what it has to show is looked at',
        invoke: {
          id: 'check',
          src: 'check',
          input: ({ context: { step, n } }) => ({ step, n }),
          onDone: { target: 'closed', actions: 'noteFindings' },
        },
      },
      closed: { type: 'final', entry: ['keepProof', 'recordClosed'] },
    },
    output: ({ context }) => conclude(context),
    options: { maxIterations: 1_000 },
  });

/** The word that a command to end it waits for; null where it was no command. */
function heardOf({ step }: AttemptContext, event: Event, taken: boolean): AttemptNews | null {
  if (event.type !== 'end' || event.command === undefined) return null;
  return { type: 'command.heard', at: event.cause.at, step, command: event.command, taken };
}

const isEmptied = (event: Event): boolean => event.type === 'child.drained' && event.emptied;

function recoveryOf({ step, n: attempt }: AttemptContext, event: Event, taken: boolean): AttemptNews | null {
  if (event.type !== 'steer.recover') return null;
  return { type: 'steer.recovery', at: event.at, step, attempt, id: event.id, taken };
}

/** For the activity a review is like somebody who is asked. No ask has this name. */
const REVIEW = 'review';

/** What a report says; null when a later one has come before it. */
function reviewIn({ review }: AttemptContext, event: Event): AttemptContext['review'] {
  if (event.type !== 'child.review' || event.seq <= (review?.seq ?? -1)) return null;
  return { seq: event.seq, active: event.active };
}

function causeIn(event: Event): Cause | null {
  return event.type === 'end' || event.type === 'limit.reached' ? event.cause : null;
}

function activityIn(event: Event, toolOpen: boolean): ActivityEvent | null {
  if (event.type === 'child.active') return { type: 'heard', at: event.at, progress: event.progress };
  if (event.type !== 'child.tool') return null;
  if (event.tool !== null) return { type: 'tool.opened', at: event.at, tool: event.tool };
  return toolOpen ? { type: 'tool.closed', at: event.at } : null;
}
