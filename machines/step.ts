import { type DoneActorEvent, assertEvent, sendTo, setup } from 'xstate';
import { outcomeOf, outcomeOfWaiting, outranks } from './policy/cause.ts';
import { classOf } from './policy/failure.ts';
import { settleAttempt } from './policy/outcome.ts';
import { isProven } from './policy/proof.ts';
import { COOL_DOWN, type Decision, chanceOf, decide, firstTry, retryAfterMs } from './policy/retry.ts';
import { between, earlier, later, overAlready } from './policy/time.ts';
import { port } from './port.ts';
import type {
  AttemptInput,
  AttemptNews,
  AttemptOutput,
  Cause,
  Cooling,
  DeadlineCommand,
  DeadlineNotice,
  EndEvent,
  Failure,
  Instant,
  JournalBody,
  LeasedSession,
  MessageNotice,
  PrepareInput,
  PrepareOutput,
  StepBefore,
  StepInput,
  StepNews,
  StepNotice,
  StepOutcome,
  StepOutput,
  StepPlan,
  Rung,
  Tries,
} from './protocol.ts';

export interface StepContext {
  plan: StepPlan;
  /** Number of the first attempt since it was started, or resumed. */
  firstAttempt: number;
  /** Number of the attempt that is next or under way. */
  n: number;
  startedAt: Instant;
  at: Instant;
  token: string;
  ladder: Rung[];
  /** Sessions of its agent can be gone on with. */
  resumes: boolean;
  listens: boolean;
  /** Those before a pause included. */
  attempts: AttemptOutput[];
  /** The agent's session that its attempts go on in, after a pause. */
  session: string | null;
  /** What its attempt has to itself, or will have; null: nothing. */
  lease: LeasedSession | null;
  /** What the next attempt is to put right, and in which session; null: it is not there for a repair. */
  repair: { failure: Failure; session: string | null; spentMs: number } | null;
  /** Candidates and tries; decides what comes after an attempt that failed. */
  tries: Tries;
  /** The wait before the next attempt, in milliseconds. */
  delayMs: number;
  /** Why each attempt was followed by another, or why not. */
  notes: Record<number, string>;
  limitMs: number | null;
  /** The instant that it was moved to; null: it was not. */
  limitAt: Instant | null;
  /** When it was set. */
  limitSetAt: Instant;
  /** Of the run. */
  deadlineAt: Instant | null;
  cooling: Cooling;
  seed: number;
  /** Why the step is to end, while that is not yet its attempt's affair. */
  cause: Cause | null;
  /** What its attempt was told to end for. Where it came too late for the attempt, there is no other one. */
  ending: Cause | null;
  /** Commands to end it that came too late for the attempt: whether they did anything is known when it has closed. */
  unheard: { command: string; at: Instant }[];
  failure: Failure | null;
}

type Event =
  EndEvent | StepNotice | AttemptNews | { type: 'deadline.reached'; at: Instant } | { type: 'attempt.released' };

const base = setup({
  types: { context: {} as StepContext, input: {} as StepInput, events: {} as Event, output: {} as StepOutput },
  actors: {
    prepare: port<{ type: 'none' }, PrepareInput, PrepareOutput>('prepare'),
    attempt: port<
      EndEvent | DeadlineNotice | MessageNotice,
      AttemptInput,
      AttemptOutput,
      { type: 'attempt.released' } | AttemptNews
    >('attempt'),
    deadline: port<DeadlineCommand, { limitMs: number | null }, undefined, { type: 'deadline.reached'; at: Instant }>(
      'deadline',
    ),
  },
  actions: {
    /** Filled with the journal by the runtime. */
    record: (_args, _body: JournalBody) => {},
    /** Filled by the runtime: others may have the session that this attempt had. */
    release: (_args, _of: { step: string; n: number }) => {},
  },
});

const news = (event: StepNews): StepNews => event;

/** What the step's own limit or a request from the run says, as one typed cause. */
function causeIn(event: Event, { limitMs, limitAt }: StepContext): Cause | null {
  switch (event.type) {
    case 'end':
      return event.cause;
    case 'deadline.reached':
      return { type: 'step-limit', at: event.at, limitMs: limitMs ?? 0, ...overAlready(limitMs, limitAt) };
    case 'attempt.released':
    case 'deadline.moved':
    case 'step.extend':
    case 'models.cooling':
    case 'steer':
    case 'steer.recover':
    case 'steer.recovery':
    case 'ask.settled':
    case 'attempt.live':
    case 'command.heard':
    case 'steer.heard':
    case 'ask.asked':
    case 'ask.gone':
      return null;
  }
}

/** One unit of work, from its preparation to its settling. */
export const stepMachine = base
  .extend({
    guards: {
      ready: ({ event }) => (event as unknown as DoneActorEvent<PrepareOutput>).output.type === 'ready',
      /** It was ended for the sake of a message, and can be gone on with: nobody of it is left. */
      recovers: ({ context, event }) => recovers(context, attemptIn(event)),
      triesAgain: ({ context, event }) => decisionAfter(context, attemptIn(event)).type !== 'settle',
      endsInstead: ({ context, event }) => endsInstead(context, attemptIn(event)),
      tooLate: ({ event }) => event.type === 'command.heard' && event.undecided === true,
    },
    delays: { backOff: ({ context }) => context.delayMs },
    actions: {
      /** Most steps have no limit of their own, and an actor less is a tenth of what the others cost. */
      watchLimit: base.enqueueActions(({ context: { limitMs }, enqueue }) => {
        if (limitMs !== null) enqueue.spawnChild('deadline', { id: 'deadline', input: { limitMs } });
      }),
      recordStarted: base.enqueueActions(({ context, enqueue }) => {
        enqueue({ type: 'record', params: { type: 'step.started', at: context.startedAt, step: context.plan.id } });
      }),
      recordSettled: base.enqueueActions(({ context, enqueue }) => {
        const { step, outcome: state, cause, failure, attempts, notes, at } = conclude(context);
        const note = notes[attempts.at(-1)?.n ?? 0];
        enqueue({
          type: 'record',
          params: {
            type: 'step.settled',
            at,
            step,
            state,
            cause,
            ...(failure === null ? {} : { error: failure }),
            ...(note === undefined ? {} : { note }),
          },
        });
      }),
      latch: base.assign(({ context, event }) => {
        const cause = causeIn(event, context);
        return cause !== null && outranks(cause, context.cause) ? { cause, at: cause.at } : {};
      }),
      endAttempt: base.enqueueActions(({ context, event, enqueue }) => {
        const cause = causeIn(event, context);
        if (cause === null) return;
        const command = event.type === 'end' && event.command !== undefined ? { command: event.command } : {};
        enqueue(sendTo('attempt', { type: 'end', cause, ...command } satisfies EndEvent));
        if (outranks(cause, context.ending)) enqueue.assign({ ending: cause });
      }),
      /** Between attempts nothing stands against an end. */
      tellTaken: base.enqueueActions(({ context, event, self, enqueue }) => {
        assertEvent(event, 'end');
        const { command, cause } = event;
        if (command === undefined || !self._parent) return;
        enqueue.sendTo(
          self._parent,
          news({ type: 'command.heard', at: cause.at, step: context.plan.id, command, taken: true }),
        );
      }),
      passUp: base.enqueueActions(({ event, self, enqueue }) => {
        if (self._parent) enqueue.sendTo(self._parent, event);
      }),
      passDown: base.enqueueActions(({ event, enqueue }) => {
        enqueue(sendTo('attempt', event));
      }),
      passRecoveryDown: base.enqueueActions(({ context, event, self, enqueue }) => {
        assertEvent(event, 'steer.recover');
        if (event.attempt === context.n) enqueue(sendTo('attempt', event));
        else if (self._parent) enqueue.sendTo(self._parent, unrecovered(context, event));
      }),
      tellUnrecovered: base.enqueueActions(({ context, event, self, enqueue }) => {
        assertEvent(event, 'steer.recover');
        if (self._parent) enqueue.sendTo(self._parent, unrecovered(context, event));
      }),
      /** The attempt it was meant for has closed, which its sender is told. */
      passOver: () => {},
      tellOver: base.enqueueActions(({ context, event, self, enqueue }) => {
        const { n: attempt, at } = attemptIn(event);
        if (self._parent)
          enqueue.sendTo(self._parent, news({ type: 'attempt.over', at, step: context.plan.id, attempt }));
      }),
      noteReady: base.assign(({ event }) => {
        const output = (event as unknown as DoneActorEvent<PrepareOutput>).output;
        if (output.type !== 'ready') return {};
        const { token, ladder, resumes, listens, lease, at } = output;
        return { token, ladder, resumes, listens, lease, at };
      }),
      recordLeased: base.enqueueActions(({ context, enqueue }) => {
        const { lease, at, plan, n: attempt } = context;
        if (lease !== null)
          enqueue({ type: 'record', params: { type: 'session.leased', at, step: plan.id, attempt, ...lease } });
      }),
      /** Not before it is proven that nothing is left which could write into it. */
      releaseSession: base.enqueueActions(({ context, event, enqueue }) => {
        const { lease, plan } = context;
        const { n, at, proof } = attemptIn(event);
        if (lease === null || !isProven(proof, plan.proof)) return;
        const { session } = lease;
        enqueue({ type: 'release', params: { step: plan.id, n } });
        enqueue({ type: 'record', params: { type: 'session.released', at, step: plan.id, attempt: n, session } });
        enqueue.assign({ lease: null });
      }),
      noteRefused: base.assign(({ event }) => {
        const output = (event as unknown as DoneActorEvent<PrepareOutput>).output;
        return output.type === 'refused' ? { failure: output.failure, at: output.at } : {};
      }),
      noteAttempt: base.assign(({ context, event }) => {
        const attempt = attemptIn(event);
        const note = recovers(context, attempt) ? RECOVERY : decisionAfter(context, attempt).note;
        const notes = note === null ? context.notes : { ...context.notes, [attempt.n]: note };
        return { attempts: [...context.attempts, attempt], notes, at: attempt.at };
      }),
      holdWord: base.assign(({ context, event }) => {
        assertEvent(event, 'command.heard');
        return { unheard: [...context.unheard, { command: event.command, at: event.at }] };
      }),
      tellHeld: base.enqueueActions(({ context, event, self, enqueue }) => {
        const taken = endsInstead(context, attemptIn(event));
        for (const { command, at } of context.unheard) {
          const heard = news({ type: 'command.heard', at, step: context.plan.id, command, taken });
          if (self._parent) enqueue.sendTo(self._parent, heard);
        }
        enqueue.assign({ unheard: [] });
      }),
      /** It would have been tried again: so this is an end as in the wait before that. */
      endInstead: base.assign(({ context }) => ({ cause: context.ending })),
      planRetry: base.assign(({ context, event }) => {
        const attempt = attemptIn(event);
        const decision = decisionAfter(context, attempt);
        if (decision.type === 'settle') return {};
        const next = { tries: decision.tries, delayMs: decision.delayMs, n: context.n + 1 };
        return { ...next, repair: repairAfter(context, attempt, decision) };
      }),
      recordRetry: base.enqueueActions(({ context, event, enqueue }) => {
        const attempt = attemptIn(event);
        const decision = decisionAfter(context, attempt);
        if (decision.type === 'settle') return;
        const { delayMs, note, tries } = decision;
        const model = tries.models[tries.model] ?? null;
        enqueue({
          type: 'record',
          params: {
            type: 'step.backing-off',
            at: attempt.at,
            step: context.plan.id,
            attempt: attempt.n,
            class: decision.class,
            ...(decision.type === 'repair' ? { repair: true as const } : {}),
            delayMs,
            model,
            note,
          },
        });
      }),
      planRecovery: base.assign(({ context, event }) => ({
        n: context.n + 1,
        session: attemptIn(event).session ?? context.session,
        // The session knows by now what was wrong.
        repair: null,
      })),
      recordRecovering: base.enqueueActions(({ context, event, enqueue }) => {
        const { at, n: attempt, cause } = attemptIn(event);
        if (cause.type !== 'recovery') return;
        const { request } = cause;
        const step = context.plan.id;
        enqueue({ type: 'record', params: { type: 'step.recovering', at, step, attempt, request, note: RECOVERY } });
      }),
      /** A model that failed is left alone by the other steps for a while. */
      reportModel: base.enqueueActions(({ context, event, self, enqueue }) => {
        const attempt = attemptIn(event);
        const { tries, plan } = context;
        const model = tries.models[tries.model];
        if (model === undefined || !self._parent) return;
        const kind = classOf(attempt, plan.retry.rules, ranMs(attempt));
        if (kind !== 'model' && kind !== 'next-model') return;
        const until = later(attempt.at, retryAfterMs(attempt) ?? COOL_DOWN);
        enqueue.sendTo(self._parent, { type: 'model.failed', step: plan.id, model, until });
      }),
      noteBackedOff: base.assign(({ context }) => ({ at: later(context.at, context.delayMs) })),
      noteDeadline: base.assign(({ event }) => {
        assertEvent(event, 'deadline.moved');
        return { deadlineAt: event.deadlineAt };
      }),
      noteCooling: base.assign(({ event }) => {
        assertEvent(event, 'models.cooling');
        return { cooling: event.cooling };
      }),
      extend: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'step.extend');
        const { at, limitMs, deadlineAt: limitAt } = event;
        enqueue.assign({ limitMs, limitAt, limitSetAt: at });
        if (context.limitMs === null) enqueue.spawnChild('deadline', { id: 'deadline', input: { limitMs } });
        else enqueue.sendTo('deadline', { type: 'deadline.set', limitMs } satisfies DeadlineCommand);
        enqueue({ type: 'record', params: { type: 'step.extended', at, step: context.plan.id, limitMs } });
      }),
      tellDeadline: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, ['deadline.moved', 'step.extend']);
        const notice: DeadlineNotice = { type: 'deadline.moved', at: event.at, deadlineAt: deadlineOf(context) };
        enqueue.sendTo('attempt', notice);
      }),
      freeSlot: base.enqueueActions(({ context, self, enqueue }) => {
        if (self._parent) enqueue.sendTo(self._parent, { type: 'step.released', step: context.plan.id });
      }),
    },
  })
  .createMachine({
    id: 'step',
    description: 'One unit of work of the plan',
    context: ({ input }) => ({
      plan: input.plan,
      firstAttempt: input.firstAttempt,
      n: input.firstAttempt,
      startedAt: input.before?.startedAt ?? input.at,
      at: input.at,
      token: '',
      ladder: [],
      resumes: false,
      listens: false,
      attempts: [...(input.before?.attempts ?? [])],
      session: input.before?.session ?? null,
      lease: null,
      repair: null,
      tries: input.before?.tries ?? firstTry(input.plan.models, input.cooling, input.at),
      delayMs: 0,
      notes: { ...input.before?.notes },
      limitMs: input.before === null ? input.plan.timeoutMs : input.before.limitMs,
      limitAt: null,
      limitSetAt: input.at,
      deadlineAt: input.deadlineAt,
      cooling: { ...input.cooling },
      seed: input.seed,
      cause: null,
      ending: null,
      unheard: [],
      failure: null,
    }),
    entry: ['recordStarted', 'watchLimit'],
    initial: 'preparing',
    on: {
      'deadline.moved': { actions: 'noteDeadline' },
      'models.cooling': { actions: 'noteCooling' },
      'step.extend': { actions: 'extend' },
      steer: { actions: 'passOver' },
      'steer.recover': { actions: 'tellUnrecovered' },
      'ask.settled': { actions: 'passOver' },
    },
    states: {
      preparing: {
        description: 'The task is filled in, the agent found, its session taken',
        invoke: {
          id: 'prepare',
          src: 'prepare',
          input: ({ context }) => ({ step: context.plan.id, n: context.n, session: sessionOf(context) }),
          onDone: [
            { guard: 'ready', target: 'attempting', actions: ['noteReady', 'recordLeased'] },
            { target: 'settled', actions: 'noteRefused' },
          ],
        },
        on: {
          end: { target: 'settled', actions: ['latch', 'tellTaken'] },
          'deadline.reached': { target: 'settled', actions: 'latch' },
        },
      },
      attempting: {
        invoke: {
          id: 'attempt',
          src: 'attempt',
          input: ({ context }) => ({
            step: context.plan.id,
            n: context.n,
            token: context.token,
            agent: context.plan.agent,
            model: context.tries.models[context.tries.model] ?? null,
            ladder: context.ladder,
            limits: { ...context.plan.limits, attemptMs: leftOf(context) },
            leftovers: context.plan.leftovers,
            delivery: context.tries.delivery,
            deadlineAt: deadlineOf(context),
            session: sessionOf(context),
            resumes: context.resumes,
            expects: context.plan.expects ?? null,
            repair: context.repair?.failure ?? null,
            listens: context.listens,
            at: context.at,
          }),
          onDone: [
            {
              guard: 'endsInstead',
              target: 'settled',
              actions: ['tellHeld', 'releaseSession', 'reportModel', 'noteAttempt', 'endInstead'],
            },
            {
              guard: 'recovers',
              target: 'preparing',
              actions: ['tellHeld', 'releaseSession', 'tellOver', 'recordRecovering', 'noteAttempt', 'planRecovery'],
            },
            {
              guard: 'triesAgain',
              target: 'backingOff',
              actions: [
                'tellHeld',
                'releaseSession',
                'tellOver',
                'recordRetry',
                'reportModel',
                'noteAttempt',
                'planRetry',
              ],
            },
            { target: 'settled', actions: ['tellHeld', 'releaseSession', 'reportModel', 'noteAttempt'] },
          ],
        },
        on: {
          end: { actions: 'endAttempt' },
          'deadline.reached': { actions: 'endAttempt' },
          'deadline.moved': { actions: ['noteDeadline', 'tellDeadline'] },
          'step.extend': { actions: ['extend', 'tellDeadline'] },
          'attempt.released': { actions: 'freeSlot' },
          steer: { actions: 'passDown' },
          'steer.recover': { actions: 'passRecoveryDown' },
          'ask.settled': { actions: 'passDown' },
          'attempt.live': { actions: 'passUp' },
          'command.heard': [{ guard: 'tooLate', actions: 'holdWord' }, { actions: 'passUp' }],
          'steer.heard': { actions: 'passUp' },
          'steer.recovery': { actions: 'passUp' },
          'ask.asked': { actions: 'passUp' },
          'ask.gone': { actions: 'passUp' },
        },
      },
      backingOff: {
        description: 'The last attempt failed and is proven gone; the next one comes after a wait',
        on: {
          end: { target: 'settled', actions: ['latch', 'tellTaken'] },
          'deadline.reached': { target: 'settled', actions: 'latch' },
        },
        after: { backOff: { target: 'preparing', actions: 'noteBackedOff' } },
      },
      settled: { type: 'final', entry: 'recordSettled' },
    },
    output: ({ context }) => conclude(context),
    options: { maxIterations: 1_000 },
  });

function conclude(context: StepContext): StepOutput {
  const { plan, attempts, notes, startedAt, at } = context;
  const settled = verdict(context);
  const before = settled.outcome === 'paused' ? beforeOf(context) : null;
  return { step: plan.id, attempts, notes, startedAt, at, before, ...settled };
}

/** What it goes on from when it is resumed: the same session, the same tries, what is left of its limit. */
function beforeOf(context: StepContext): StepBefore {
  const { startedAt, attempts, notes, tries, at } = context;
  const end = stepDeadline(context);
  const session = attempts.at(-1)?.session ?? context.session;
  return { startedAt, attempts, notes, tries, session, limitMs: end === null ? null : Math.max(0, between(at, end)) };
}

const attemptIn = (event: unknown): AttemptOutput => (event as DoneActorEvent<AttemptOutput>).output;

const ranMs = ({ startedAt, exit, at }: AttemptOutput): number =>
  startedAt === null ? 0 : between(startedAt, exit?.at ?? at);

/** Why another attempt is made, for people. */
const RECOVERY = 'nothing was heard of a message: interrupted, and resumed for it';

const recovers = ({ plan }: StepContext, { cause, proof }: AttemptOutput): boolean =>
  cause.type === 'recovery' && (plan.retry.unproven || isProven(proof, plan.proof));

function unrecovered(
  { plan }: StepContext,
  { at, id, attempt }: Extract<StepNotice, { type: 'steer.recover' }>,
): StepNews {
  return { type: 'steer.recovery', at, step: plan.id, attempt, id, taken: false };
}

function decisionAfter(context: StepContext, attempt: AttemptOutput): Decision {
  const { tries, plan, cooling, seed, attempts } = context;
  const chance = chanceOf(seed, attempt.n);
  const { retry, proof } = plan;
  const took = ranMs(attempt);
  const left = leftOf(context);
  return decide(tries, {
    attempt,
    ranMs: took,
    retry,
    repairs: plan.expects?.repairs ?? 0,
    leftMs: left === null ? null : left - took,
    // A repair goes on with what those before it have done.
    sideEffects: attempt.sideEffects || (context.repair !== null && attempts.some((one) => one.sideEffects)),
    proof,
    cooling,
    at: attempt.at,
    chance,
  });
}

/** It would be tried again, and was told to end when that was too late for the attempt. */
const endsInstead = (context: StepContext, attempt: AttemptOutput): boolean =>
  context.ending !== null && (recovers(context, attempt) || decisionAfter(context, attempt).type !== 'settle');

/** A repair that fails for another reason is tried again as it was; a try at the task is not there for repairs. */
function repairAfter(context: StepContext, attempt: AttemptOutput, decision: Decision): StepContext['repair'] {
  const { repair } = context;
  const spentMs = (repair?.spentMs ?? 0) + ranMs(attempt);
  if (decision.type === 'repair' && attempt.failure !== null) {
    return { failure: attempt.failure, session: decision.session, spentMs };
  }
  return decision.type === 'retry' && decision.class !== 'task' && repair !== null ? { ...repair, spentMs } : null;
}

/** In which session of its agent the next attempt goes on. */
const sessionOf = ({ repair, session }: StepContext): string | null => (repair === null ? session : repair.session);

/** What is left of the attempt's own limit for one that repairs it, or goes on with it for the sake of a message. */
function leftOf({ plan, repair, attempts }: StepContext): number | null {
  const { attemptMs } = plan.limits;
  if (attemptMs === null) return null;
  const last = attempts.at(-1);
  const recovered = last?.cause.type === 'recovery' && last.startedAt !== null ? between(last.startedAt, last.at) : 0;
  return Math.max(0, attemptMs - (repair?.spentMs ?? 0) - recovered);
}

/** When the step's own limit is over. */
const stepDeadline = ({ limitSetAt, limitMs }: StepContext): Instant | null =>
  limitMs === null ? null : later(limitSetAt, limitMs);
/** The earliest end that is known. */
const deadlineOf = (context: StepContext): Instant | null => earlier(context.deadlineAt, stepDeadline(context));

function verdict(context: StepContext): { outcome: StepOutcome; cause: Cause; failure: Failure | null } {
  const last = context.attempts.at(-1);
  // Ended in a wait: the cause is the step's own, what the last attempt said stays beside it.
  if (context.cause !== null && last !== undefined) {
    return { outcome: outcomeOf(context.cause), cause: context.cause, failure: last.failure };
  }
  if (last !== undefined && context.failure === null) return settleAttempt(last, context.plan.proof);
  if (context.cause !== null) {
    const { cause } = context;
    return { outcome: cause.type === 'step-limit' ? 'failed' : outcomeOfWaiting(cause), cause, failure: null };
  }
  const { failure, at } = context;
  return { outcome: 'failed', cause: { type: 'failure', at, reason: failure?.code ?? 'spawn-failed' }, failure };
}
