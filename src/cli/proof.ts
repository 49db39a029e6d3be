import { type RunProof, proof } from '../client.ts';
import { EXIT } from './codes.ts';
import type { PlaceOptions } from './finding.ts';
import { type Io, fail } from './io.ts';
import { count } from './words.ts';

/** What became of everything a run started, in words: `gone (searched), 3 attempts`. */
export function proofWords({ verdict, level, launches, attempts }: RunProof): string {
  switch (verdict) {
    case 'not-started':
      return 'nothing was started';
    case 'gone':
      return `gone (${level}), ${count(launches, 'attempt')}`;
    case 'survived': {
      const survivors = attempts.reduce((sum, attempt) => sum + attempt.survivors, 0);
      return `${count(survivors, 'process', 'processes')} survived (${level})`;
    }
    case 'unknown':
      return `unknown: ${count(launches, 'launch', 'launches')}, ${attempts.filter(isGone).length} proven gone`;
  }
}

/** The exit code of a run that has ended: `code`, unless nobody can say that everything it started is gone. */
export function checkProof(id: string, code: number, { root }: PlaceOptions, io: Io): number {
  const found = proof(id, { root, env: io.env });
  const words = found === null ? 'there is no readable proof of it' : proofWords(found);
  const fine = found?.verdict === 'gone' || found?.verdict === 'not-started';
  return fine ? code : fail(io, EXIT.incomplete, `not everything that was started is known to be gone: ${words}`);
}

function isGone({ verdict }: RunProof['attempts'][number]): boolean {
  return verdict === 'gone';
}
