import type { Proof, ProofLevel, ProofSummary } from '../protocol.ts';

const LEVELS: readonly ProofLevel[] = ['group', 'searched', 'contained'];

/** Gone, looked at as well as it was asked for. An attempt that never had a process is gone at any level. */
export const isProven = (proof: Proof | null, asked: ProofLevel): boolean =>
  proof === null || (proof.verdict === 'gone' && LEVELS.indexOf(proof.level) >= LEVELS.indexOf(asked));

/** What status and journal carry of a proof; the whole of it is the attempt's proof.json. */
export const summarize = (proof: Proof): ProofSummary => ({
  verdict: proof.verdict,
  level: proof.level,
  leftovers: proof.leftovers.length,
  kept: proof.kept.length,
  survivors: proof.members.length,
  ...(proof.reason === undefined ? {} : { reason: proof.reason }),
});
