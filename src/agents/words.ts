import type { LaunchRequest } from './adapter.ts';

/** What an agent is told that goes on in an earlier session. */

/** To a session that has the task already. */
export const GO_ON = 'You were interrupted. Go on where you left off.';

/** What a child is told first: its task, or what it is to do in the session that it goes on in. */
export function firstWords({ task, resume }: Pick<LaunchRequest, 'task' | 'resume'>): string {
  return resume === null ? (task ?? '') : (resume.say ?? GO_ON);
}

/** The same for a session of which we cannot know whether it had begun. */
export function firstWordsAgain({ task, resume }: Pick<LaunchRequest, 'task' | 'resume'>): string {
  return resume === null ? (task ?? '') : (resume.say ?? goOnWith(task ?? ''));
}

/** As `GO_ON`, for a session of which we cannot know whether it had begun. */
export function goOnWith(task: string): string {
  return `If you have begun with this task, go on where you left off; you were interrupted. The task:\n\n${task}`;
}
