import { yaml } from './heavy.ts';

export interface Duplicate {
  key: string;
  /** Where it is, and where the first of the same name is, in characters from the start of the text. */
  offset: number;
  first: number;
}

/** Keys that a mapping has more than once, in one pass over the tree; aliases are not followed. */
export function duplicateKeys(contents: unknown): Duplicate[] {
  const { isMap, isPair, isScalar, isSeq } = yaml();
  const found: Duplicate[] = [];
  const open: unknown[] = [contents];
  while (open.length > 0) {
    const node = open.pop();
    if (isSeq(node)) for (const item of node.items) if (isMap(item) || isSeq(item)) open.push(item);
    if (!isMap(node)) continue;
    const seen = new Map<string, number>();
    for (const pair of node.items) {
      if (!isPair(pair) || !isScalar(pair.key)) continue;
      const key = String(pair.key.value);
      const offset = pair.key.range?.[0] ?? 0;
      const first = seen.get(key);
      if (first === undefined) seen.set(key, offset);
      else found.push({ key, offset, first });
      if (isMap(pair.value) || isSeq(pair.value)) open.push(pair.value);
    }
  }
  return found.toSorted((a, b) => a.offset - b.offset);
}
