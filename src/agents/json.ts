/** Reading values nobody has checked: whatever a child prints, reading it throws nothing. */

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const NOTHING: Fields = {};
export const fields = (value: unknown): Fields => (isFields(value) ? value : NOTHING);
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const string = (value: unknown): string => (typeof value === 'string' ? value : '');
export const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
/** A number of something: no number is none. */
export const count = (value: unknown): number => Math.max(0, number(value) ?? 0);

/** A name or an id: it is kept, so it has a limit. */
export const name = (value: unknown): string => string(value).slice(0, 256);

/** What stands in a line of a stream of JSON records. */
export type Line =
  | { type: 'record'; record: Fields }
  | { type: 'blank' }
  /** Words for people: a banner, a warning. */
  | { type: 'text'; text: string }
  /** It begins like a record and is none. */
  | { type: 'bad'; chars: number };

export function readLine(line: Buffer): Line {
  // Takes a BOM and a CR too.
  const text = line.toString('utf8').trim();
  if (text === '') return { type: 'blank' };
  if (!text.startsWith('{')) return { type: 'text', text };
  try {
    return { type: 'record', record: fields(JSON.parse(text)) };
  } catch {
    return { type: 'bad', chars: text.length };
  }
}
