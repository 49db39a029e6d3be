/** Text as the picture sets it: lines of coloured spans, measured without a font. */

export type Tone = 'name' | 'title' | 'event' | 'guard' | 'action' | 'muted';

export interface Span {
  text: string;
  tone: Tone;
}

export interface Line {
  spans: Span[];
  /** Font size in px. */
  size: number;
  /** Empty space above the line in px. */
  above?: number;
}

/** Font sizes in px. */
export const SIZE = { title: 17, name: 13, body: 12, small: 11 } as const;

/**
 * Advance of one character in em. The widest of the fonts named in the SVG takes 0.62 (SF Mono),
 * the usual ones 0.60 (Menlo, DejaVu) and 0.55 (Consolas): text never comes out wider than measured.
 */
const ADVANCE = 0.625;

/** Height of a line in em. */
const LEADING = 1.36;

/** Width in px, an upper bound. Characters beyond ASCII may come from another font and count double. */
export function textWidth(text: string, size: number): number {
  let cells = 0;
  for (const char of text) cells += char > '\u007E' ? 2 : 1;
  return cells * size * ADVANCE;
}

export function lineWidth(line: Line): number {
  return line.spans.reduce((sum, span) => sum + textWidth(span.text, line.size), 0);
}

export function lineHeight(line: Line): number {
  return line.size * LEADING + (line.above ?? 0);
}

/** From the top of a line, with the space above it, to where its letters stand. */
export function baseline(line: Line): number {
  return line.size * LEADING * 0.74 + (line.above ?? 0);
}

export function blockSize(lines: readonly Line[]): { width: number; height: number } {
  return {
    width: Math.max(0, ...lines.map(lineWidth)),
    height: lines.reduce((sum, line) => sum + lineHeight(line), 0),
  };
}

/**
 * Sets spans into lines of at most `columns` characters. Breaks after spaces, else inside a word at a dot, an underscore
 * or before a capital, else anywhere. Lines after the first start with `indent` spaces.
 */
export function wrap(spans: readonly Span[], columns: number, size: number, indent = 2): Line[] {
  const rows: Span[][] = [[]];
  let used = 0;
  for (const { text, tone } of spans.flatMap((span) => pieces(span, columns - indent))) {
    if (used > 0 && used + text.trimEnd().length > columns) {
      rows.push(indent > 0 ? [{ text: ' '.repeat(indent), tone }] : []);
      used = indent;
    }
    rows.at(-1)?.push({ text, tone });
    used += text.length;
  }
  return rows.map((row) => ({ spans: merge(row), size }));
}

/** Cuts a span where a line may end. A piece keeps the space behind it. */
function pieces(span: Span, longest: number): Span[] {
  const words = span.text.match(/\S+\s*|\s+/g) ?? [];
  return words.flatMap((word) => cut(word, longest)).map((text) => ({ text, tone: span.tone }));
}

function cut(word: string, longest: number): string[] {
  if (word.trimEnd().length <= longest) return [word];
  const parts = word.split(/(?<=[._:-])|(?=[A-Z])/);
  const packed: string[] = [];
  for (const part of parts) {
    const last = packed.at(-1);
    if (last !== undefined && last.length + part.trimEnd().length <= longest) packed[packed.length - 1] = last + part;
    else packed.push(part);
  }
  return packed.flatMap((part) => chop(part, longest));
}

function chop(text: string, longest: number): string[] {
  if (text.trimEnd().length <= longest) return [text];
  return [text.slice(0, longest), ...chop(text.slice(longest), longest)];
}

/** Joins neighbours of one tone and drops the space at the line's end. */
function merge(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last?.tone === span.tone) last.text += span.text;
    else merged.push({ ...span });
  }
  const last = merged.at(-1);
  if (last !== undefined) last.text = last.text.trimEnd();
  return merged.filter((span) => span.text !== '');
}
