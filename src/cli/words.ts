import type { Usage } from '../client.ts';

/** A length of time for people: `0.8 s`, `42 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** The time between two instants; until `now` where the second is not known yet; empty without the first. */
export function span(from: string | undefined, to: string | undefined, now = Date.now()): string {
  return from === undefined ? '' : duration((to === undefined ? now : Date.parse(to)) - Date.parse(from));
}

/** `512`, `4.2k`, `1.3M`. */
export function short(n: number): string {
  if (n < 1000) return String(n);
  return n < 999_950 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1_000_000).toFixed(1)}M`;
}

/** Empty where an agent told nothing. */
export function tokens(usage: Usage | undefined): string {
  const sum = usage === undefined ? 0 : usage.input + usage.output;
  return sum === 0 ? '' : `${short(sum)} tokens`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** Text of others on one line, without control characters: it must not steer the terminal. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

/** Text of others with its lines and tabs kept, and every other control character left out. */
export function plainText(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '');
}

export function cut(text: string, most: number): string {
  const all = characters(text);
  return all.length <= most ? text : `${all.slice(0, Math.max(0, most - 1)).join('')}…`;
}

/** Rows with their columns under each other; the last column is not padded. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, characters(cell).length);
  }
  return rows.map((row) =>
    row
      .map((cell, index) =>
        index === row.length - 1 ? cell : cell + ' '.repeat((widths[index] ?? 0) - characters(cell).length),
      )
      .join('  ')
      .trimEnd(),
  );
}

/** A word as a shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** No half of a surrogate pair. */
function characters(text: string): string[] {
  return Array.from(text);
}
