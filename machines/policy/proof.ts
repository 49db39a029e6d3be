import type { Proof, ProofSummary } from '../protocol.ts';

/** What status and journal carry of a proof; the whole of it is the attempt's proof.json. */
export const summarize = (proof: Proof): ProofSummary => ({
  verdict: proof.verdict,
  level: proof.level,
  leftovers: proof.leftovers.length,
  kept: proof.kept.length,
  survivors: proof.members.length,
  ...(proof.reason === undefined ? {} : { reason: proof.reason }),
});
