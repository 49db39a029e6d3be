import type { CST } from 'yaml';

/** A plan needs seven levels. The library composes recursively, and enough brackets end the whole process. */
const MAX_DEPTH = 64;
/** Ten thousand steps have some hundred thousand. */
const MAX_VALUES = 500_000;

export interface Excess {
  offset: number;
  message: string;
}

/** What is too much in a text, before anything is made of it; null when it is in bounds. */
export function checkSize(tokens: readonly CST.Token[]): Excess | null {
  const open: { token: CST.Token; depth: number }[] = tokens.map((token) => ({ token, depth: 0 }));
  let values = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    if (depth > MAX_DEPTH) return { offset: offsetOf(token), message: `is nested more than ${MAX_DEPTH} levels deep` };
    if (token.type === 'document' && token.value !== undefined) open.push({ token: token.value, depth });
    if (!('items' in token)) continue;
    values += token.items.length;
    if (values > MAX_VALUES) return { offset: offsetOf(token), message: `holds more than ${MAX_VALUES} values` };
    for (const item of token.items) {
      if (item.key !== undefined && item.key !== null) open.push({ token: item.key, depth: depth + 1 });
      if (item.value !== undefined) open.push({ token: item.value, depth: depth + 1 });
    }
  }
  return null;
}

function offsetOf(token: CST.Token): number {
  return 'offset' in token ? token.offset : 0;
}
