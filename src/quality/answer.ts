/**
 * What an answer holds, where an agent has no way to hand in a value but its last words: the whole text as JSON, or the one
 * fenced block in it that is a JSON object. Two such blocks say nothing about which of them is meant.
 */
export type Answered =
  | { type: 'value'; value: unknown }
  | { type: 'none' }
  /** It was meant to be JSON and is not. */
  | { type: 'broken' }
  | { type: 'ambiguous'; candidates: number };

/** More are not looked at. */
const MOST_BLOCKS = 1_000;

export function valueIn(text: string): Answered {
  const whole = parsed(text);
  if (whole !== undefined) return { type: 'value', value: whole };
  let broken = /^\s*[[{]/.test(text);
  const objects: unknown[] = [];
  for (const { label, body } of fencedIn(text).slice(0, MOST_BLOCKS)) {
    const isCalled = /^json\b/i.test(label);
    if (!isCalled && !/^\s*\{/.test(body)) continue;
    const value = parsed(body);
    if (isObject(value)) objects.push(value);
    else if (isCalled && value === undefined) broken = true;
  }
  if (objects.length > 1) return { type: 'ambiguous', candidates: objects.length };
  if (objects.length === 1) return { type: 'value', value: objects[0] };
  return { type: broken ? 'broken' : 'none' };
}

interface Fenced {
  label: string;
  body: string;
}

/** Code blocks between fences, as Markdown has them; one that is never closed goes to the end. */
function fencedIn(text: string): Fenced[] {
  const found: Fenced[] = [];
  let open: { fence: string; label: string; lines: string[] } | null = null;
  for (const line of text.split(/\r?\n/)) {
    const [, fence = '', rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (open === null) {
      if (fence !== '') open = { fence, label: rest.trim(), lines: [] };
    } else if (fence.startsWith(open.fence) && rest.trim() === '') {
      found.push({ label: open.label, body: open.lines.join('\n') });
      open = null;
    } else open.lines.push(line);
  }
  if (open !== null) found.push({ label: open.label, body: open.lines.join('\n') });
  return found;
}

/** The whole text as JSON, and nothing else: what a command prints. */
export function valueOf(text: string): Answered {
  const value = parsed(text);
  if (value !== undefined) return { type: 'value', value };
  return { type: text.trim() === '' ? 'none' : 'broken' };
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** `undefined`: it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
