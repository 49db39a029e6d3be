import type { AssistantMessage } from './records.ts';

/**
 * Where a pi run stands, and whether its end may be told.
 *
 * An `agent_end` is not the end before pi 1: a retry, a compaction or a queued message may follow it. There the
 * end has to be confirmed: in rpc mode by a state that is at rest, in json mode by the exit; pi 1 says
 * `agent_settled`. The first end that is told stands; another one without a new start in between changes nothing.
 */
export interface Course {
  phase: Phase;
  /** The end has been told. */
  told: boolean;
  /** pi 1 or later: `agent_settled` will come. */
  settles: boolean;
  /** The last assistant message of the current run. */
  last: AssistantMessage | null;
}

/** `ended`: an `agent_end` came. `between`: it will go on by itself (a retry waits, the context is compacted). */
export type Phase = 'idle' | 'running' | 'ended' | 'between' | 'settled';

export type CourseEvent =
  | { type: 'run-started' }
  | { type: 'assistant'; message: AssistantMessage }
  | { type: 'run-ended'; willRetry: boolean | null; last: AssistantMessage | null }
  | { type: 'settled' }
  | { type: 'goes-on' }
  | { type: 'gave-up' };

/** What a record changed. */
export type Turn =
  | 'nothing'
  /** The end that was told was none. */
  | 'resumed'
  /** A run ended, and whether that is the end is still to be found out. */
  | 'ended'
  /** This is the end. */
  | 'settled'
  /** An end after the end. */
  | 'second-end';

export const START: Course = { phase: 'idle', told: false, settles: false, last: null };

/** The next course, and what the event changed. Pure. */
export function follow(course: Course, event: CourseEvent): { course: Course; turn: Turn } {
  switch (event.type) {
    case 'run-started':
      return {
        course: { ...course, phase: 'running', told: false, last: null },
        turn: course.told ? 'resumed' : 'nothing',
      };
    case 'assistant':
      if (isAtEnd(course)) return { course, turn: 'nothing' };
      return { course: { ...course, phase: 'running', last: event.message }, turn: 'nothing' };
    case 'run-ended':
      return runEnded(course, event);
    case 'settled':
      return settled(course);
    case 'goes-on':
      if (!isAtEnd(course)) return { course, turn: 'nothing' };
      return { course: { ...course, phase: 'between', told: false }, turn: course.told ? 'resumed' : 'nothing' };
    case 'gave-up':
      if (course.phase !== 'between') return { course, turn: 'nothing' };
      return { course: { ...course, phase: 'ended' }, turn: course.settles ? 'nothing' : 'ended' };
  }
}

function runEnded(course: Course, event: Extract<CourseEvent, { type: 'run-ended' }>): { course: Course; turn: Turn } {
  if (isAtEnd(course)) return { course, turn: 'second-end' };
  const next = {
    ...course,
    last: event.last ?? course.last,
    settles: course.settles || event.willRetry !== null,
  };
  if (event.willRetry === true) return { course: { ...next, phase: 'between' }, turn: 'nothing' };
  return { course: { ...next, phase: 'ended' }, turn: next.settles ? 'nothing' : 'ended' };
}

function settled(course: Course): { course: Course; turn: Turn } {
  if (course.phase === 'settled') return { course, turn: 'second-end' };
  if (course.phase === 'idle') return { course, turn: 'nothing' };
  const next: Course = { ...course, phase: 'settled', settles: true };
  return { course: next, turn: course.told ? 'nothing' : 'settled' };
}

/** Its run has ended, and nothing yet says that it goes on. */
export const isAtEnd = (course: Course): boolean => course.phase === 'ended' || course.phase === 'settled';
