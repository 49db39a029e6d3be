/** The candidate that a misspelt word was most likely meant to be, or null when none is near. */
function suggest(word: string, candidates: Iterable<string>): string | null {
  const wanted = word.toLowerCase();
  if (wanted.length > MAX_LENGTH) return null;
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - wanted.length) >= bestDistance) continue;
    const found = distance(wanted, candidate.toLowerCase());
    if (found < bestDistance) {
      best = candidate;
      bestDistance = found;
    }
  }
  return best;
}

/** ` Did you mean "x"?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const found = suggest(word, candidates);
  return found === null ? '' : ` Did you mean "${found}"?`;
}

const MAX_LENGTH = 100;

/** Insertions, deletions, substitutions and swaps of neighbours, one each. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const now = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(at(last, column) + 1, at(now, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, at(before, column - 2) + 1);
      now.push(cost);
    }
    before = last;
    last = now;
  }
  return at(last, b.length);
}

function at(row: number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
