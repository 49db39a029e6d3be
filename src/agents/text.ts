import { stripVTControlCharacters } from 'node:util';

/** Texts that came from a child, made fit for a message to people. */

/** Longest text of a model or a child that goes into a failure message, in UTF-16 units. */
export const MESSAGE_LIMIT = 500;
/** A task shorter than this is a word like any other; masking it would only garble messages. */
const MASK_FROM = 8;

/** At most `limit` UTF-16 units, an ellipsis in the last place when something was cut; never half a character. */
export function bounded(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** One line without colours, BOM and control characters. */
export function plain(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/[\p{Cc}\uFEFF]/gu, '')
    .trim();
}

/** The last line that says something, bounded; '' when there is none. */
export function lastLine(text: string): string {
  const line = text.split('\n').findLast((candidate) => plain(candidate) !== '');
  return line === undefined ? '' : bounded(plain(line), MESSAGE_LIMIT);
}

/** What the agent was told: its task, or that and messages to it. It goes on no record. */
export type Told = string | null | readonly [task: string, ...messages: string[]];

/**
 * The text with `[task]` in place of the task and `[message]` in place of a message, where they are quoted whole
 * (plainly or inside JSON). A part that is quoted alone is not recognised.
 */
export function withoutTold(text: string, told: Told): string {
  const [task = null, ...messages] = typeof told === 'string' || told === null ? [told] : told;
  let safe = masked(text, task, '[task]');
  for (const message of messages) safe = masked(safe, message, '[message]');
  return safe;
}

function masked(text: string, own: string | null, mask: string): string {
  if (own === null || own.trim().length < MASK_FROM) return text;
  let safe = text;
  for (const quoted of new Set([own, own.trim()])) {
    safe = safe.replaceAll(quoted, mask).replaceAll(JSON.stringify(quoted).slice(1, -1), mask);
  }
  return safe;
}

/** A foreign text for a failure message: one line without what the agent was told, bounded. */
export function foreignMessage(text: string, told: Told): string {
  return bounded(plain(withoutTold(text, told).replaceAll(/\s+/g, ' ')), MESSAGE_LIMIT);
}

/** A step's output is the final text without its last newline; only one is taken. */
export function withoutLastNewline(text: string): string {
  return text.replace(/\r?\n$/, '');
}
