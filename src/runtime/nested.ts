import { sendCommand } from '../inbox/light.ts';
import { type LiveNested, liveNested } from '../nest/index.ts';
import type { Kit } from './kit.ts';

/** How often we ask whether they have ended. */
const POLL_MS = 50;

export interface NestedBelow {
  /**
   * Tells the runs that the attempt has started to end, also those that begin while we wait, and calls `ended` when
   * none of them goes on. Null: there are none.
   */
  end(command: 'stop' | 'interrupt', ended: () => void): { targets: number } | null;
  /** They are no longer waited for. */
  leave(): void;
}

/** The runs that one attempt has started. They are other processes', with an inbox each. */
export function nestedBelow(kit: Kit, attempt: { step: string; n: number }): NestedBelow {
  const told = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const live = (): LiveNested[] => liveNested(kit.nest, attempt);

  const tell = (runs: LiveNested[], command: 'stop' | 'interrupt'): void => {
    for (const { dir } of runs) {
      if (told.has(dir.id)) continue;
      told.add(dir.id);
      // One that cannot be told is told again at the next look; one that does not obey is ended with the processes.
      void sendCommand(dir, { type: command, source: `ancestor:${kit.runId}` }).then(
        (sent) => sent.type === 'refused' && told.delete(dir.id),
        () => told.delete(dir.id),
      );
    }
  };

  return {
    end(command, ended) {
      const first = live();
      if (first.length === 0) return null;
      tell(first, command);
      const wait = kit.guard(() => {
        const runs = live();
        tell(runs, command);
        // Nobody waits for a run whose process is gone.
        if (runs.some(({ owned }) => owned)) timer = setTimeout(wait, POLL_MS);
        else ended();
      });
      timer = setTimeout(wait, POLL_MS);
      return { targets: first.length };
    },
    leave() {
      clearTimeout(timer);
    },
  };
}
