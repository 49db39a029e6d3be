/** How long a provider asks to be left alone, read from what it says. Moments in time are not read: no clock here. */

const UNITS: readonly [RegExp, number][] = [
  [/^(?:ms|milliseconds?)$/, 1],
  [/^(?:s|secs?|seconds?)$/, 1000],
  [/^(?:m|mins?|minutes?)$/, 60_000],
  [/^(?:h|hrs?|hours?)$/, 3_600_000],
  [/^(?:d|days?)$/, 86_400_000],
];
const UNIT = '(?:milliseconds?|seconds?|minutes?|hours?|days?|secs?|mins?|hrs?|ms|s|m|h|d)(?![a-z])';
const PART = String.raw`\d{1,12}(?:\.\d{1,12})?\s?${UNIT}`;
const DURATION = String.raw`(${PART}(?:(?:\s|,|and){0,5}${PART}){0,4})`;

/** "retry-after-ms: 500", "retry-after: 30" (seconds), as headers are quoted. */
const HEADER_MS = /retry[-_ ]?after[-_ ]?ms["']?\s{0,3}[:=]\s{0,3}["']?(\d{1,15}(?:\.\d{1,9})?)/i;
const HEADER = /retry[-_ ]?after["']?(?:\s{0,3}[:=]\s{0,3}["']?|\s)(\d{1,12}(?:\.\d{1,9})?)(?![\d.-]|\s?[a-z])/i;
/** "Please try again in 6m0s", "retry after 30 seconds", "wait 5 minutes", "resets in 2h". */
const SENTENCE = new RegExp(
  String.raw`\b(?:try(?:ing)? again|retry(?:ing)?|wait|available(?: again)?|resets?)\s(?:in |after |for |at least |about ){0,2}[~≈]?\s?${DURATION}`,
  'i',
);
/** "Server requested 3600s retry delay". */
const REQUESTED = new RegExp(String.raw`\brequested (?:a |an )?${DURATION} (?:retry )?delay`, 'i');

/** Whole milliseconds, or null when the text names no span of time to wait for. */
export function waitInText(text: string): number | null {
  const headerMs = HEADER_MS.exec(text)?.[1];
  if (headerMs !== undefined) return whole(Number(headerMs));
  const header = HEADER.exec(text)?.[1];
  if (header !== undefined) return whole(Number(header) * 1000);
  const duration = (SENTENCE.exec(text) ?? REQUESTED.exec(text))?.[1];
  return duration === undefined ? null : durationMs(duration);
}

/** Fields of a parsed body. A number without a unit is seconds, as in the header, unless the name says "ms". */
export function waitInFields(fields: Readonly<Record<string, unknown>>): number | null {
  for (const [name, value] of Object.entries(fields)) {
    const key = name.toLowerCase().replaceAll(/[-_]/g, '');
    const wait = WAITS.has(key) ? readWait(value, key.endsWith('ms') ? 1 : 1000) : null;
    if (wait !== null) return wait;
  }
  return null;
}

const WAITS = new Set(['retryafterms', 'retryafter', 'retryafterseconds', 'retrydelay', 'resetsinseconds']);

function readWait(value: unknown, unitMs: number): number | null {
  if (typeof value === 'number') return whole(value * unitMs);
  if (typeof value !== 'string' || value.length > 60) return null;
  return /^\d{1,15}(?:\.\d{1,9})?$/.test(value) ? whole(Number(value) * unitMs) : durationMs(value);
}

/** "6m0s", "34.07s", "1 hour and 5 minutes"; null for anything else. */
function durationMs(text: string): number | null {
  let sum: number | null = null;
  for (const [, amount, unit] of text.toLowerCase().matchAll(/(\d{1,12}(?:\.\d{1,12})?)\s?([a-z]+)/g)) {
    const factor = UNITS.find(([name]) => name.test(unit ?? ''))?.[1];
    if (factor !== undefined) sum = (sum ?? 0) + Number(amount) * factor;
  }
  return sum === null ? null : whole(sum);
}

const whole = (ms: number): number | null => (ms >= 0 && ms <= Number.MAX_SAFE_INTEGER ? Math.ceil(ms) : null);
