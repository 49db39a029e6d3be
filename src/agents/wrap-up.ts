const MINUTE_MS = 60_000;

/** What an agent is told whose time runs out: how much is left, and what to do with it. */
export function wrapUpMessage(leftMs: number): string {
  return (
    `Your time is running out: ${timeLeft(leftMs)} left. Start nothing new. ` +
    'Come to an end now: give your result as far as you have it, and say what is still open.'
  );
}

/** In words, rounded down, so that nobody is promised more than there is. */
function timeLeft(leftMs: number): string {
  if (leftMs >= 2 * MINUTE_MS) return `about ${Math.floor(leftMs / MINUTE_MS)} minutes are`;
  const seconds = Math.floor(leftMs / 1000);
  if (seconds < 1) return 'less than a second is';
  return seconds === 1 ? 'about 1 second is' : `about ${seconds} seconds are`;
}
