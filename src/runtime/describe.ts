import { inspect } from 'node:util';

/** Causes of causes: more say nothing more. */
const DEPTH = 3;
const MAX_CHARS = 500;

/**
 * What was thrown, in words: name, message, code and the causes behind it, at most 500 characters. Not redacted.
 * Anything can be thrown, so nothing of it is trusted to work.
 */
export function describeError(thrown: unknown): string {
  try {
    return chain(thrown).join('; caused by ').slice(0, MAX_CHARS);
  } catch {
    return 'something that cannot be described was thrown';
  }
}

function chain(thrown: unknown): string[] {
  const links = [inWords(thrown)];
  for (let link = causeOf(thrown); link !== undefined && links.length < DEPTH; link = causeOf(link)) {
    links.push(inWords(link));
  }
  return links;
}

const causeOf = (thrown: unknown): unknown => (thrown instanceof Error ? thrown.cause : undefined);

function inWords(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  if (!(thrown instanceof Error)) return inspect(thrown, { depth: 0 });
  const code = 'code' in thrown && typeof thrown.code === 'string' ? ` (${thrown.code})` : '';
  return `${thrown.name}: ${thrown.message}${code}`;
}
