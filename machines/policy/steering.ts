import type {
  Instant,
  SteerStatus,
  SteeringCounts,
  StepId,
  Target,
  TargetState,
  UndeliveredReason,
} from '../protocol.ts';

/** Plain functions for steering requests: what the machine and the fold of the journal have in common. */

/** Requests that are open at one time; one more is not taken on. */
export const MOST_STEERS = 64;
/** Requests, and asks, that are shown after their end. */
export const MOST_RECENT = 20;
/** Targets of one request that are shown. */
const MOST_TARGETS = 16;

/** What makes a request, but for what becomes of it. */
export type Request = Pick<SteerStatus, 'id' | 'source' | 'mode' | 'text' | 'at'> & {
  expiresAt: Instant | null;
  targets: readonly Target[];
};

const OPEN: readonly TargetState[] = ['scheduled', 'recovering', 'routed', 'queued'];

export const isOpen = ({ state }: Pick<Target, 'state'>): boolean => OPEN.includes(state);

/** As far as the slowest of those that are open; when none is, delivered if everybody took it. */
export function stateOf(targets: readonly Target[]): TargetState {
  const open = OPEN.find((state) => targets.some((target) => target.state === state));
  if (open !== undefined) return open;
  return targets.length > 0 && targets.every(({ state }) => state === 'delivered') ? 'delivered' : 'undelivered';
}

export const isPartial = (targets: readonly Target[]): boolean =>
  stateOf(targets) === 'undelivered' && targets.some(({ state }) => state === 'delivered');

/** A target in another state; what is not open any more stays as it is. */
export function moved<T extends Target>(targets: readonly T[], step: StepId, to: Partial<T> & Pick<T, 'state'>): T[] {
  return targets.map((target) => (target.step === step && isOpen(target) ? { ...target, ...to } : target));
}

const plain = ({ step, state, reason, recovered }: Target): Target => ({
  step,
  state,
  ...(reason === undefined ? {} : { reason }),
  ...(recovered === undefined ? {} : { recovered }),
});

/** What is shown of a request. `endedAt`: when the last of its targets had its end. */
export function steerStatus(request: Request, endedAt: Instant): SteerStatus {
  const { id, source, mode, text, at, expiresAt, targets } = request;
  const state = stateOf(targets);
  const reason = targets.find((target) => target.state === 'undelivered')?.reason;
  const ended = state === 'delivered' || state === 'undelivered';
  return {
    id,
    source,
    mode,
    text,
    at,
    ...(expiresAt === null ? {} : { expiresAt }),
    state,
    ...(state === 'undelivered' && reason !== undefined ? { reason } : {}),
    ...(isPartial(targets) ? { partial: true } : {}),
    ...(targets.some(({ recovered }) => recovered === true) ? { recovered: true } : {}),
    targets: targets.slice(0, MOST_TARGETS).map(plain),
    targetCount: targets.length,
    ...(ended ? { endedAt } : {}),
  };
}

/** A request that was not taken on. */
export function refusedStatus(
  request: Pick<SteerStatus, 'id' | 'source' | 'mode' | 'text' | 'at'> & { reason: UndeliveredReason },
): SteerStatus {
  const { id, source, mode, text, at, reason } = request;
  return { id, source, mode, text, at, state: 'undelivered', reason, targets: [], targetCount: 0, endedAt: at };
}

/** Totals of what has ended. */
export type Totals = Pick<SteeringCounts, 'delivered' | 'undelivered' | 'partial' | 'late'>;
export const NO_TOTALS: Totals = { delivered: 0, undelivered: 0, partial: 0, late: 0 };

export const counted = (totals: Totals, ended: SteerStatus): Totals => ({
  ...totals,
  delivered: totals.delivered + (ended.state === 'delivered' ? 1 : 0),
  undelivered: totals.undelivered + (ended.state === 'undelivered' ? 1 : 0),
  partial: totals.partial + (ended.partial === true ? 1 : 0),
});

/** The ledger: totals of what has ended, and a gauge of what has not. */
export function steeringOf(
  totals: Totals,
  recent: readonly SteerStatus[],
  open: readonly SteerStatus[],
): { counts: SteeringCounts; recent: SteerStatus[] } {
  const gauge = (state: TargetState): number => open.filter((one) => one.state === state).length;
  const counts: SteeringCounts = {
    requested: totals.delivered + totals.undelivered + open.length,
    scheduled: gauge('scheduled'),
    recovering: gauge('recovering'),
    routed: gauge('routed'),
    queued: gauge('queued'),
    ...totals,
  };
  return { counts, recent: [...recent, ...open] };
}

/** One more at the end, the oldest dropped. */
export const kept = <T>(recent: readonly T[], one: T): T[] => [...recent, one].slice(-MOST_RECENT);
