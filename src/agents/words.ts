/** What an agent is told that goes on in an earlier session. */

/** To a session that has the task already. */
export const GO_ON = 'You were interrupted. Go on where you left off.';

/** As `GO_ON`, for a session of which we cannot know whether it had begun. */
export function goOnWith(task: string): string {
  return `If you have begun with this task, go on where you left off; you were interrupted. The task:\n\n${task}`;
}
