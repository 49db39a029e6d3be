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
  let cost: number | null = null;
  return {
    message({ usage }) {
      sum.turns += 1;
      if (usage === null) return;
      sum.input += usage.input;
      sum.output += usage.output;
      sum.cacheRead += usage.cacheRead;
      sum.cacheWrite += usage.cacheWrite;
      if (usage.cost !== null) cost = (cost ?? 0) + usage.cost;
    },
    tool() {
      sum.tools += 1;
    },
    total: () => (cost === null ? { ...sum } : { ...sum, costUsd: cost }),
  };
}
