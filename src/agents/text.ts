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

/**
 * The text with `[task]` in place of the task, where it is quoted whole (plainly or inside JSON).
 * A part of the task that is quoted alone is not recognised.
 */
export function withoutTask(text: string, task: string | null): string {
  if (task === null || task.trim().length < MASK_FROM) return text;
  let safe = text;
  for (const quoted of new Set([task, task.trim()])) {
    safe = safe.replaceAll(quoted, '[task]').replaceAll(JSON.stringify(quoted).slice(1, -1), '[task]');
  }
  return safe;
}

/** A foreign text for a failure message: one line without the task, bounded. */
export function foreignMessage(text: string, task: string | null): string {
  return bounded(plain(withoutTask(text, task).replaceAll(/\s+/g, ' ')), MESSAGE_LIMIT);
}

/** A step's output is the final text without its last newline; only one is taken. */
export function withoutLastNewline(text: string): string {
  return text.replace(/\r?\n$/, '');
}
