import { type DoneActorEvent, assertEvent } from 'xstate';
import { stepActor } from './actor-ids.ts';
import { outranks } from './policy/cause.ts';
import { outcomeOfRun } from './policy/outcome.ts';
import { NO_TOTALS } from './policy/steering.ts';
import { planOf, schedule } from './policy/schedule.ts';
import { later, overAlready } from './policy/time.ts';
import { type RunContext, type RunMachineEvent, base } from './run-base.ts';
import * as commands from './run-commands.ts';
import { causeOfCommand, neverStarted, settle, settledRecord, tellStepOver, waitingEnded } from './run-commands.ts';
import * as messages from './run-messages.ts';
import { seeBelow } from './run-nested.ts';
import type {
  Answer,
  Cause,
  EndEvent,
  FinalizeInput,
  FinalizeOutput,
  StepId,
  StepInput,
  StepNotice,
  StepOutput,
} from './protocol.ts';

export type { RunContext } from './run-base.ts';

function causeIn(event: RunMachineEvent, { limitMs, deadlineAt }: RunContext): Cause | null {
  switch (event.type) {
    case 'run.end':
    case 'run.refuse':
      return event.cause;
    case 'deadline.reached':
      return { type: 'run-deadline', at: event.at, limitMs: limitMs ?? 0, ...overAlready(limitMs, deadlineAt) };
    case 'run.command':
      return causeOfCommand(event.command, event.at);
    case 'run.begin':
    case 'record.degraded':
    case 'record.restored':
    case 'clock.jumped':
    case 'model.failed':
    case 'step.released':
    case 'attempt.live':
    case 'attempt.over':
    case 'command.heard':
    case 'steer.heard':
    case 'steer.hand':
    case 'steer.waits':
    case 'steer.missed':
    case 'steer.recovery':
    case 'ask.asked':
    case 'ask.gone':
    case 'messages.over':
    case 'nested.seen':
    case 'finalize.settled':
    case 'finalize.published':
    case 'finalize.degraded':
    case 'finalize.restored':
      return null;
  }
}

/** One execution of a plan; the root of its actors. */
export const runMachine = base
  .extend({
    guards: {
      strongest: ({ context, event }) => {
        const cause = causeIn(event, context);
        return cause !== null && outranks(cause, context.cause);
      },
      refused: ({ context, event }) => commands.refusalIn(context, event) !== null,
      repeated: ({ context, event }) => commands.isRepeated(context, commands.commandIn(event)),
      endsStep: ({ event }) => !commands.endsRun(commands.commandIn(event)),
      endsRun: ({ event }) => commands.endsRun(commands.commandIn(event)),
      appends: ({ event }) => commands.commandIn(event)?.type === 'append',
      resumes: ({ event }) => commands.commandIn(event)?.type === 'resume',
      extends: ({ event }) => commands.commandIn(event)?.type === 'extend',
      steers: ({ event }) => commands.commandIn(event)?.type === 'steer',
      recovers: ({ context, event }) => event.type === 'steer.missed' && messages.mayRecover(context, event),
      answersAsk: ({ event }) => commands.commandIn(event)?.type === 'answer',
      ofSteering: ({ event }) => actorIn(event).startsWith('steer:'),
      ofAsk: ({ event }) => actorIn(event).startsWith('ask:'),
      nobodyLive: ({ context }) => context.live.length === 0,
      recordedCompleted: ({ context, event }) => isRecorded(event) && context.outcome?.state === 'completed',
      recordedFailed: ({ context, event }) => isRecorded(event) && context.outcome?.state === 'failed',
      recordedStopped: ({ context, event }) => isRecorded(event) && context.outcome?.state === 'stopped',
      recordedPaused: ({ context, event }) => isRecorded(event) && context.outcome?.state === 'paused',
    },
    actions: {
      begin: base.assign(({ event }) => {
        assertEvent(event, ['run.begin', 'run.refuse']);
        const deadlineAt = event.type === 'run.begin' ? event.deadlineAt : null;
        return { startedAt: event.at, at: event.at, deadlineAt };
      }),
      recordStarted: base.enqueueActions(({ context, enqueue }) => {
        const { id: run, name, steps, limits, labels, owner, startedAt: at, deadlineAt, parent } = context;
        enqueue({
          type: 'record',
          params: {
            type: 'run.started',
            at,
            run,
            name,
            steps,
            limits,
            labels,
            owner,
            deadlineAt,
            ...(parent === undefined ? {} : { parent }),
          },
        });
      }),
      /** Starts what can start and skips what never can. */
      startSteps: base.enqueueActions(({ context, enqueue }) => {
        const { at, waiting, live, released, settled, steps, limits, deadlineAt, cooling } = context;
        const { concurrency } = limits;
        const next = schedule({ plan: steps, waiting, live, released, settled, concurrency });
        if (next.start.length === 0 && next.skip.length === 0) return;
        const skipped = next.skip.map(({ step, because }) =>
          neverStarted(step, { type: 'dependency', at, step: because }),
        );
        const gone = new Set([...next.start, ...skipped.map((one) => one.step)]);
        enqueue.assign({
          waiting: waiting.filter((id) => !gone.has(id)),
          live: [...live, ...next.start],
          ...(skipped.length === 0 ? {} : { settled: settle(settled, skipped) }),
        });
        for (const one of skipped) {
          enqueue({ type: 'record', params: settledRecord(one) });
          tellStepOver(context, enqueue, one);
        }
        for (const id of next.start) {
          const plan = planOf(steps, id);
          if (plan !== undefined) {
            const seed = context.seed + steps.indexOf(plan);
            const before = context.resumed[id] ?? null;
            const firstAttempt = (before?.attempts.at(-1)?.n ?? 0) + 1;
            const input: StepInput = { plan, firstAttempt, before, deadlineAt, cooling, seed, at };
            enqueue.spawnChild('step', { id: stepActor(id), input });
          }
        }
      }),
      settleStep: base.enqueueActions(({ context, event, enqueue }) => {
        const { output } = event as unknown as DoneActorEvent<StepOutput>;
        const without = (ids: StepId[]): StepId[] => ids.filter((id) => id !== output.step);
        enqueue.stopChild(stepActor(output.step));
        enqueue.assign({
          live: without(context.live),
          released: without(context.released),
          settled: settle(context.settled, [output]),
          open: context.open.filter(({ step }) => step !== output.step),
          at: output.at,
        });
        const attempt = context.attempts[output.step];
        if (attempt !== undefined) {
          const { step, at } = output;
          const over = { type: 'attempt.over', at, step, attempt } as const;
          messages.endAttempt(context, enqueue, over);
          // Of one that is paused the step is not over: it can be spoken to when it is resumed.
          if (output.outcome === 'paused') messages.tellAttemptOver(context, enqueue, over);
        }
        tellStepOver(context, enqueue, output);
        // It had no word left for these: its end says what came of them.
        for (const { id, type, step } of context.open) {
          if (step !== output.step) continue;
          const taken = output.cause.type === type;
          const verdict: Pick<Answer, 'verdict' | 'reason' | 'detail'> = taken
            ? { verdict: 'applied' }
            : commands.tooLate(step, `had come to its end before it: ${output.outcome}`);
          enqueue({ type: 'answer', params: { id, command: type, ...verdict, at: output.at } });
        }
      }),
      releaseSlot: base.assign(({ context, event }) => {
        assertEvent(event, 'step.released');
        const { step } = event;
        if (!context.live.includes(step) || context.released.includes(step)) return {};
        return { released: [...context.released, step] };
      }),
      coolModel: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'model.failed');
        const { step, model, until } = event;
        const cooling = { ...context.cooling, [model]: until };
        enqueue.assign({ cooling });
        const notice: StepNotice = { type: 'models.cooling', cooling };
        // The step it failed has moved on by itself, or has settled.
        const others = context.live.filter((id) => id !== step);
        for (const id of others) enqueue.sendTo(stepActor(id), notice);
      }),
      /** Limits run on the monotonic clock; what readers see is wall time, and follows the wall clock. */
      followClock: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'clock.jumped');
        const { at, byMs } = event;
        const from = context.deadlineAt;
        enqueue({ type: 'record', params: { type: 'clock.jumped', at, byMs } });
        if (from === null) return;
        const to = later(from, byMs);
        enqueue.assign({ deadlineAt: to });
        enqueue({ type: 'record', params: { type: 'run.deadline-moved', at, from, to } });
        const notice: StepNotice = { type: 'deadline.moved', at, deadlineAt: to };
        for (const id of context.live) enqueue.sendTo(stepActor(id), notice);
      }),
      /** Listed as late: known, and without consequence. */
      passOver: () => {},
      latch: base.assign(({ context, event }) => {
        const cause = causeIn(event, context);
        return cause === null ? {} : { cause, at: cause.at };
      }),
      recordStopping: base.enqueueActions(({ context, enqueue }) => {
        const { cause, at } = context;
        if (cause !== null) enqueue({ type: 'record', params: { type: 'run.stopping', at, cause } });
      }),
      endSteps: base.enqueueActions(({ context, enqueue }) => {
        const { cause, live } = context;
        if (cause === null) return;
        for (const id of live) enqueue.sendTo(stepActor(id), { type: 'end', cause } satisfies EndEvent);
      }),
      /** What waits does not start. What was paused is not gone on with when somebody stops the run for good. */
      settleWaiting: base.enqueueActions(({ context, enqueue }) => {
        const { cause, waiting, settled } = context;
        if (cause === null) return;
        const paused = cause.type === 'stop' ? settled.filter(({ outcome }) => outcome === 'paused') : [];
        const outputs = [
          ...paused.map((one): StepOutput => ({ ...one, outcome: 'stopped', cause, before: null, at: cause.at })),
          ...waiting.map((id) => waitingEnded(context, id, cause)),
        ];
        if (outputs.length === 0) return;
        const rest = paused.length === 0 ? settled : settled.filter((one) => !paused.includes(one));
        enqueue.assign({ waiting: [], settled: settle(rest, outputs) });
        for (const one of outputs) enqueue({ type: 'record', params: settledRecord(one) });
      }),
      /** When those that are ending just now have ended: they hear nothing any more. */
      windUp: base.enqueueActions(({ self, enqueue }) => {
        enqueue.sendTo(self, { type: 'messages.over' });
      }),
      acceptCommand: commands.acceptCommand,
      answerApplied: commands.answerApplied,
      answerRepeated: commands.answerRepeated,
      refuse: commands.refuse,
      endStep: commands.endStep,
      hearOfCommand: commands.hearOfCommand,
      resumeSteps: commands.resumeSteps,
      append: commands.append,
      extend: commands.extend,
      openSteering: messages.openSteering,
      endSteering: messages.endSteering,
      handOver: messages.handOver,
      tellQueued: messages.tellQueued,
      hearOfSteer: messages.hearOfSteer,
      askRecovery: messages.askRecovery,
      hearOfRecovery: messages.hearOfRecovery,
      noteLive: messages.noteLive,
      noteOver: messages.noteOver,
      tellRunOver: messages.tellRunOver,
      openAsk: messages.openAsk,
      withdrawAsk: messages.withdrawAsk,
      answerAsk: messages.answerAsk,
      endAsk: messages.endAsk,
      seeBelow,
      recordLate: base.enqueueActions(({ context, event, enqueue }) => {
        const cause = causeIn(event, context);
        const won = context.outcome?.cause ?? context.cause;
        if (cause === null || won === null) return;
        enqueue({ type: 'record', params: { type: 'cause.late', at: cause.at, cause, won } });
      }),
      /** What was latched gives way to something stronger, and stays on record. */
      recordOvertaken: base.enqueueActions(({ context, event, enqueue }) => {
        const won = causeIn(event, context);
        const { cause } = context;
        if (won === null || cause === null) return;
        enqueue({ type: 'record', params: { type: 'cause.late', at: won.at, cause, won } });
      }),
      decide: base.assign(({ context }) => ({
        outcome: outcomeOfRun(context.cause, context.settled, context.at),
      })),
      recordFinalizing: base.enqueueActions(({ context, enqueue }) => {
        enqueue({ type: 'record', params: { type: 'run.finalizing', at: context.at } });
      }),
      noteEnded: base.assign(({ event }) => {
        assertEvent(event, 'finalize.published');
        return { endedAt: event.at };
      }),
      noteDegraded: base.assign({ degraded: true }),
      noteRestored: base.assign({ degraded: false }),
      noteRecorded: base.assign({ recorded: true }),
    },
  })
  .createMachine({
    id: 'run',
    description: 'One execution of a plan, the root of its actors',
    context: ({ input }) => ({
      ...input,
      steps: [...input.steps],
      startedAt: '',
      endedAt: null,
      deadlineAt: null,
      limitMs: input.limits.timeoutMs,
      at: '',
      waiting: input.steps.map((step) => step.id),
      live: [],
      released: [],
      settled: [],
      resumed: {},
      attempts: {},
      cooling: {},
      open: [],
      steers: [],
      steering: { totals: NO_TOTALS, recent: [] },
      unheard: [],
      recovery: null,
      asks: [],
      asked: [],
      nested: [],
      cause: null,
      outcome: null,
      recorded: false,
      degraded: false,
    }),
    initial: 'queued',
    on: {
      'record.degraded': { actions: 'noteDegraded' },
      'record.restored': { actions: 'noteRestored' },
    },
    states: {
      queued: {
        on: {
          'run.command': {
            actions: ['acceptCommand', 'refuse'],
          },
          'run.begin': { target: 'active', actions: ['begin', 'recordStarted'] },
          'run.refuse': {
            target: 'finalizing',
            actions: ['begin', 'recordStarted', 'latch', 'recordStopping', 'settleWaiting'],
          },
        },
      },
      active: {
        tags: 'active',
        description: 'Work is going on, or is being ended; the run deadline holds for both',
        invoke: [
          {
            id: 'deadline',
            src: 'deadline',
            input: ({ context }) => ({ limitMs: context.limits.timeoutMs }),
          },
          { id: 'nest', src: 'nest', input: { look: 'again' } },
        ],
        initial: 'running',
        on: {
          'step.released': { actions: 'releaseSlot' },
          'model.failed': { actions: 'coolModel' },
          'clock.jumped': { actions: 'followClock' },
          'attempt.live': { actions: 'noteLive' },
          'attempt.over': { actions: 'noteOver' },
          'command.heard': { actions: 'hearOfCommand' },
          'steer.hand': { actions: 'handOver' },
          'steer.waits': { actions: 'tellQueued' },
          'steer.heard': { actions: 'hearOfSteer' },
          'steer.missed': { actions: 'passOver' },
          'steer.recovery': { actions: 'hearOfRecovery' },
          'ask.asked': { actions: 'openAsk' },
          'ask.gone': { actions: 'withdrawAsk' },
          'nested.seen': { actions: 'seeBelow' },
          'xstate.done.actor.*': [
            { guard: 'ofSteering', actions: 'endSteering' },
            { guard: 'ofAsk', actions: 'endAsk' },
            { actions: 'settleStep' },
          ],
        },
        states: {
          running: {
            description:
              'When nothing runs and nothing can start, it has ended: what is paused or waits for that is left so',
            entry: 'startSteps',
            always: { guard: 'nobodyLive', target: '#run.finalizing' },
            on: {
              'step.released': { actions: ['releaseSlot', 'startSteps'] },
              'xstate.done.actor.*': [
                { guard: 'ofSteering', actions: 'endSteering' },
                { guard: 'ofAsk', actions: 'endAsk' },
                { actions: ['settleStep', 'startSteps'] },
              ],
              'run.command': [
                { guard: 'repeated', actions: 'answerRepeated' },
                {
                  guard: 'refused',
                  actions: ['acceptCommand', 'refuse'],
                },
                { guard: 'endsRun', target: 'stopping', actions: ['acceptCommand', 'latch', 'answerApplied'] },
                { guard: 'appends', actions: ['acceptCommand', 'append', 'startSteps', 'answerApplied'] },
                { guard: 'resumes', actions: ['acceptCommand', 'resumeSteps', 'startSteps', 'answerApplied'] },
                { guard: 'extends', actions: ['acceptCommand', 'extend', 'answerApplied'] },
                { guard: 'steers', actions: ['acceptCommand', 'openSteering'] },
                { guard: 'answersAsk', actions: ['acceptCommand', 'answerAsk', 'answerApplied'] },
                { actions: ['acceptCommand', 'endStep', 'startSteps'] },
              ],
              'steer.missed': [{ guard: 'recovers', actions: 'askRecovery' }, { actions: 'passOver' }],
              'run.end': { target: 'stopping', actions: 'latch' },
              'deadline.reached': { target: 'stopping', actions: 'latch' },
            },
          },
          stopping: {
            description: 'Everything live is being ended; nothing starts any more',
            entry: ['recordStopping', 'settleWaiting', 'tellRunOver', 'endSteps'],
            always: { guard: 'nobodyLive', target: '#run.finalizing' },
            on: {
              'run.command': [
                { guard: 'repeated', actions: 'answerRepeated' },
                {
                  guard: 'refused',
                  actions: ['acceptCommand', 'refuse'],
                },
                { guard: 'extends', actions: ['acceptCommand', 'extend', 'answerApplied'] },
                { guard: 'endsStep', actions: ['acceptCommand', 'endStep'] },
                {
                  guard: 'strongest',
                  actions: [
                    'acceptCommand',
                    'recordOvertaken',
                    'latch',
                    'recordStopping',
                    'settleWaiting',
                    'endSteps',
                    'answerApplied',
                  ],
                },
                { actions: ['acceptCommand', 'answerApplied'] },
              ],
              'run.end': [
                { guard: 'strongest', actions: ['recordOvertaken', 'latch', 'recordStopping', 'endSteps'] },
                { actions: 'recordLate' },
              ],
              'deadline.reached': [
                { guard: 'strongest', actions: ['recordOvertaken', 'latch', 'recordStopping', 'endSteps'] },
                { actions: 'recordLate' },
              ],
            },
          },
        },
      },
      finalizing: {
        tags: 'active',
        description: 'The outcome is decided and is being made durable',
        entry: ['decide', 'recordFinalizing', 'windUp'],
        invoke: {
          id: 'finalize',
          src: 'finalize',
          input: ({ context }) => finalizeInput(context),
          onDone: [
            { guard: 'recordedCompleted', target: 'completed', actions: 'noteRecorded' },
            { guard: 'recordedFailed', target: 'failed', actions: 'noteRecorded' },
            { guard: 'recordedStopped', target: 'stopped', actions: 'noteRecorded' },
            { guard: 'recordedPaused', target: 'paused', actions: 'noteRecorded' },
            { target: 'unrecorded' },
          ],
        },
        on: {
          'run.command': [{ guard: 'repeated', actions: 'answerRepeated' }, { actions: ['acceptCommand', 'refuse'] }],
          'messages.over': { actions: 'tellRunOver' },
          'run.end': { actions: 'recordLate' },
          'clock.jumped': { actions: 'passOver' },
          'xstate.done.actor.*': [
            { guard: 'ofSteering', actions: 'endSteering' },
            { guard: 'ofAsk', actions: 'endAsk' },
          ],
          'finalize.degraded': { actions: 'noteDegraded' },
          'finalize.restored': { actions: 'noteRestored' },
        },
        initial: 'closing',
        states: {
          closing: {
            description: 'What the runs below have come to is looked at once more',
            invoke: { id: 'nest', src: 'nest', input: { look: 'once' } },
            on: {
              'nested.seen': { actions: 'seeBelow' },
              'finalize.settled': 'settled',
            },
          },
          settled: {
            description: 'run.settled is on disk, its result is not yet: nobody is told of an end that cannot be read',
            on: { 'finalize.published': { target: 'publishing', actions: 'noteEnded' } },
          },
          publishing: { description: 'The result is on disk: the end is told' },
        },
      },
      completed: { type: 'final', tags: 'final' },
      failed: { type: 'final', tags: 'resting' },
      stopped: { type: 'final', tags: 'final' },
      paused: { type: 'final', tags: 'resting' },
      unrecorded: { type: 'final', description: 'The end could not be written; nothing claims one' },
    },
    output: ({ context }) => ({ outcome: finalizeInput(context).outcome, recorded: context.recorded }),
    options: { maxIterations: 1_000 },
  });

const isRecorded = (event: unknown): boolean => (event as DoneActorEvent<FinalizeOutput>).output.recorded;

const finalizeInput = (context: RunContext): FinalizeInput => ({
  outcome: context.outcome ?? outcomeOfRun(context.cause, context.settled, context.at),
  at: context.at,
});

/** The id of the actor whose end this is. */
const actorIn = (event: unknown): string => (event as DoneActorEvent).actorId;
