import type { Usage } from '../../../machines/protocol.ts';
import type { AssistantMessage } from './records.ts';

/**
 * What one pi process has used. Each assistant message counts once, those that failed and were retried too:
 * they were paid for. pi's `input` is without what came from the cache.
 */
export interface Tally {
  message(message: AssistantMessage): void;
  tool(): void;
  total(): Usage;
}

export function createTally(): Tally {
  const sum = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 0, tools: 0 };
  /** Null once a message used something and nobody says what that cost. */
  let cost: number | null = 0;
  let said = false;
  return {
    message({ usage }) {
      sum.turns += 1;
      if (usage === null) return;
      sum.input += usage.input;
      sum.output += usage.output;
      sum.cacheRead += usage.cacheRead;
      sum.cacheWrite += usage.cacheWrite;
      const anything = usage.input + usage.output + usage.cacheRead + usage.cacheWrite > 0;
      // A model without a price costs 0 here; so nobody knows whether it was free.
      const known = usage.cost !== null && (usage.cost > 0 || !anything);
      if (known) said = true;
      if (!known && anything) cost = null;
      else if (cost !== null) cost += usage.cost ?? 0;
    },
    tool() {
      sum.tools += 1;
    },
    total: () => (cost === null || !said ? { ...sum } : { ...sum, costUsd: cost }),
  };
}
