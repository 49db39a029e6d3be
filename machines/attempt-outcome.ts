import { outcomeOf } from './policy/cause.ts';
import { isNatural, judge } from './policy/judge.ts';
import { causeOfEnd } from './policy/outcome.ts';
import { summarize } from './policy/proof.ts';
import type {
  Activity,
  AgentEnd,
  AttemptInput,
  AttemptOutput,
  Cause,
  Exit,
  Failure,
  Findings,
  Instant,
  JournalBody,
  OpenTool,
  Proof,
  Rung,
  Usage,
} from './protocol.ts';

/** What an attempt knows, and what that comes to. */

export interface AttemptContext extends AttemptInput {
  pid: number | null;
  startTime: number | null;
  /** Digest of what was started. */
  launch: string | null;
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
  tool: OpenTool | null;
  activity: Activity;
  /** What it last said of its background review; null: it has none. */
  review: { seq: number; active: boolean } | null;
  /** Until then its review is waited for, once the work is done. */
  reviewBy: Instant | null;
  /** When the process was there. */
  startedAt: Instant | null;
  /** Any sign of life. */
  active: boolean;
  sideEffects: boolean;
  lastActivityAt: Instant | null;
  lastProgressAt: Instant | null;
  /** The end that the agent was told of; null before. */
  wrappingUpFor: Instant | null;
  /** What it has to show, once that was looked at. */
  findings: Findings | null;
}

/** Beyond this nothing changes the outcome: the end record and the exit have both been seen. */
export const isCommitted = (context: AttemptContext): boolean =>
  context.exit !== null && (context.end !== null || context.drained);

/** There is something to look for, and nothing else stands against it by now. */
export const asksForCheck = (context: AttemptContext): boolean =>
  context.expects !== null && context.cause === null && context.end !== null && endedNaturally(context.end, context);

/** An agent that has finished its work is not asked to drop it; what was interrupted interrupts what it has started. */
export function ladderFor({ ladder, forcedExit, cause }: Pick<AttemptContext, 'ladder' | 'forcedExit' | 'cause'>) {
  return ladder.flatMap((rung): Rung[] => {
    if (rung.do === 'abort' && forcedExit) return [];
    const pauses = cause?.type === 'interrupt' || cause?.type === 'recovery';
    if (rung.do === 'stop-nested' && pauses) return [{ ...rung, do: 'interrupt-nested' }];
    return [rung];
  });
}

/** Of an end that is certain: whether it leaves anything to decide. */
export const undecided = (context: AttemptContext): { undecided?: true } =>
  context.cause === null && (asksForCheck(context) || conclude(context).outcome === 'failed')
    ? { undecided: true }
    : {};

export function conclude(context: AttemptContext): AttemptOutput {
  const end = endOf(context);
  const cause: Cause =
    context.unstarted === null
      ? (context.cause ?? causeOfEnd(end, context.exit?.at ?? context.at))
      : { type: 'failure', at: context.at, reason: context.unstarted.code };
  return {
    n: context.n,
    token: context.token,
    outcome: outcomeOf(cause),
    cause,
    failure: failureFor(context, cause, end),
    exit: context.exit,
    forcedExit: context.forcedExit,
    active: context.active,
    sideEffects: context.sideEffects,
    startedAt: context.startedAt,
    usage: context.usage,
    session: context.session,
    model: context.model,
    proof: proofOf(context),
    ...(context.launch === null ? {} : { launch: context.launch }),
    at: context.at,
  };
}

/**
 * The agent's verdict, held against its exit, against what it has to show and what it left behind.
 * A signal after a clean end is not its own doing.
 */
function endOf(context: AttemptContext): AgentEnd {
  const { end, findings } = context;
  if (end === null) return { type: 'failure', failure: noEnd(context) };
  if (!endedNaturally(end, context)) {
    return end.type === 'failure' ? end : { type: 'failure', failure: wrongExit(context) };
  }
  const against = judge(end, findings);
  if (against !== null) return { type: 'failure', failure: against };
  return leftBehind(context) ?? (end.type === 'success' ? end : { type: 'success', chars: 0, stop: 'stop' });
}

/**
 * Whoever says that the work is done and then ends with another exit code than 0, without having been asked by us, did
 * not do it.
 */
function endedNaturally(end: AgentEnd, { exit, forcedExit }: AttemptContext): boolean {
  return isNatural(end) && (forcedExit || exit === null || exit.code === null || exit.code === 0);
}

function wrongExit({ exit }: AttemptContext): Failure {
  const exitCode = exit?.code ?? null;
  const message = `it said that the work was done, and then ended with exit code ${exitCode}`;
  return { code: 'exit-code', message, detail: { exitCode } };
}

function leftBehind({ proof, leftovers }: AttemptContext): AgentEnd | null {
  if (leftovers !== 'fail' || proof === null || proof.leftovers.length === 0) return null;
  const who = proof.leftovers.map(({ pid, command }) => `${pid} (${command})`).join(', ');
  return {
    type: 'failure',
    failure: { code: 'leftovers', message: `it left processes behind: ${who}; they were ended` },
  };
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
export function proofOf({ proof, pid, at }: AttemptContext): Proof | null {
  if (proof !== null || pid === null) return proof;
  const reason = 'it was never looked for';
  return { verdict: 'unknown', level: 'group', members: [], leftovers: [], kept: [], signals: [], reason, at };
}

export function closedRecord(context: AttemptContext): JournalBody {
  const { n, outcome, cause, failure, forcedExit, model, session, usage, proof, launch, at } = conclude(context);
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
    ...(launch === undefined ? {} : { launch }),
  };
}
