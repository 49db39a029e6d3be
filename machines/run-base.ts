import { setup } from 'xstate';
import type { Totals } from './policy/steering.ts';
import { port } from './port.ts';
import type {
  Answer,
  AskEvent,
  AskInput,
  AskOutput,
  AskStatus,
  Cause,
  Command,
  Cooling,
  DeadlineCommand,
  EndEvent,
  FinalizeEvent,
  FinalizeInput,
  FinalizeOutput,
  Instant,
  JournalBody,
  NestedSeen,
  Progress,
  RunEvent,
  RunInput,
  RunOutcome,
  RunOutput,
  StepBefore,
  StepId,
  StepInput,
  StepNews,
  StepNotice,
  StepOutput,
  SteerStatus,
  SteeringEvent,
  SteeringInput,
  SteeringNews,
  SteeringOutput,
} from './protocol.ts';

export interface RunContext extends RunInput {
  startedAt: Instant;
  endedAt: Instant | null;
  deadlineAt: Instant | null;
  /** What the deadline was set to when it was set last, in milliseconds. */
  limitMs: number | null;
  at: Instant;
  /** Not started and not settled, in plan order. */
  waiting: StepId[];
  live: StepId[];
  /** Live steps whose slot is free again. */
  released: StepId[];
  /** In the order of settling. A paused one is taken out again when it is resumed. */
  settled: StepOutput[];
  /** What steps that were resumed go on from. */
  resumed: Record<StepId, StepBefore>;
  /** Attempts that can be spoken to, by step. */
  attempts: Record<StepId, number>;
  /** Models that failed a moment ago, and until when they are left alone. */
  cooling: Cooling;
  /** Commands that a step has to say a word of. */
  open: OpenCommand[];
  /** Steering requests that are open, in order, and the steps they are for. */
  steers: { id: string; steps: StepId[] }[];
  /** Of those that have ended. */
  steering: { totals: Totals; recent: SteerStatus[] };
  /** Messages that were with an agent when their time was over: it may still take them. The oldest are dropped. */
  unheard: { id: string; step: StepId }[];
  /** The one message for which a step is, or was, interrupted and resumed; asked: nothing has been done yet. */
  recovery: { id: string; step: StepId; state: 'asked' | 'taken' } | null;
  /** Asks that are open, in order. */
  asks: { id: string; step: StepId; attempt: number }[];
  /** The last asks that have ended. */
  asked: AskStatus[];
  /** Runs that its children have started, in the order in which they were seen. */
  nested: NestedSeen[];
  /** Latched; null while nobody has ended the run. */
  cause: Cause | null;
  /** Decided when finalizing is entered: the commit point. */
  outcome: RunOutcome | null;
  recorded: boolean;
  degraded: boolean;
}

export interface OpenCommand {
  id: string;
  type: Command['type'];
  step: StepId;
}

/** Said by the run to itself: nothing will start any more, and nobody will answer. */
type WindUp = { type: 'messages.over' };
export type RunMachineEvent = RunEvent | FinalizeEvent | WindUp;
type None = { type: 'none' };
type NestEvent = Extract<RunEvent, { type: 'nested.seen' }>;

/** What the run machine is made with: its types, its ports, and the actions that the runtime fills. */
export const base = setup({
  types: {
    context: {} as RunContext,
    input: {} as RunInput,
    events: {} as RunMachineEvent,
    output: {} as RunOutput,
    tags: {} as 'active' | 'resting' | 'final',
  },
  actors: {
    step: port<EndEvent | StepNotice, StepInput, StepOutput, StepNews>('step'),
    steering: port<SteeringEvent, SteeringInput, SteeringOutput, SteeringNews>('steering'),
    ask: port<AskEvent, AskInput, AskOutput>('ask'),
    deadline: port<DeadlineCommand, { limitMs: number | null }, undefined, { type: 'deadline.reached'; at: Instant }>(
      'deadline',
    ),
    nest: port<None, { look: 'again' | 'once' }, undefined, NestEvent>('nest'),
    finalize: port<None, FinalizeInput, FinalizeOutput, FinalizeEvent>('finalize'),
  },
  actions: {
    /** Filled with the journal by the runtime. */
    record: (_args, _body: JournalBody) => {},
    /** Filled with the bus by the runtime: the one final verdict on a command, journaled and on its receipt. */
    answer: (_args, _answer: Answer) => {},
    /** Filled by the runtime: what is known of a command before that. */
    progress: (_args, _progress: Progress) => {},
  },
});
