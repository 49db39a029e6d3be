import type { ChildHandlers } from './handlers.ts';
import { type Child, type Clock, type LaunchSpec, launchBy, type OwnChild } from './launch.ts';
import { type Nursery, openNursery } from './nursery/nursery.ts';
import { spawnLean } from './spawn.ts';

/**
 * Starts a child as one of this process, through execa, in a process group and session of its own whose number is the
 * child's pid.
 *
 * The child is not ended when this process ends. Handlers must not throw.
 * In a container (`contain`) a few lines of shell go ahead of the program: `started` comes when they are inside,
 * before the program's first instruction, some 2 ms later than otherwise. If they fail to get there, `unstarted` comes
 * after they have ended.
 */
export const launch = (spec: LaunchSpec, handlers: ChildHandlers, options: { clock?: Clock } = {}): OwnChild =>
  launchBy(spawnLean, spec, handlers, options);

/**
 * What a nursery costs: a process of 45 MB, and about so much of a core to start it. Measured by bench/steps.ts, beside
 * what it saves: 1.0 ms of the runner's thread a launch at 90 MB, 2.5 ms at 170 MB.
 */
const NURSERY_MS = 60;
/** The least that a launch here blocks this process, by the same measure. */
const LAUNCH_MS = 1;

/** Starts the children of one run. */
export interface Launcher {
  /** As `launch`. `token` is the one in the child's environment. */
  launch(spec: LaunchSpec, token: string, handlers: ChildHandlers): Child;
  /** Resolves when nothing of the launcher itself is left. For when no child is left. */
  close(): Promise<void>;
}

export interface LauncherOptions {
  /** Children that are sure to come. @default 0 */
  expected?: number;
  /** The nursery has ended by itself, and children with it or without anybody to say what becomes of them. */
  onLost: (error: Error) => void;
  /** @default 60 ms */
  priceMs?: number;
}

/**
 * Children are born here, until that has blocked this process for as long as a nursery costs, or is sure to; then they
 * are born in one. So a run of a few agents never has it, and one of hundreds of steps, or one inside a large host, soon
 * has. Children in containers are always born here.
 */
export function createLauncher({ expected = 0, onLost, priceMs = NURSERY_MS }: LauncherOptions): Launcher {
  let spentMs = expected * LAUNCH_MS;
  let nursery: Nursery | null = null;
  return {
    launch(spec, token, handlers) {
      const { contain = null, ...rest } = spec;
      if (contain === null && nursery?.ready === true) return nursery.launch(rest, token, handlers);
      const begun = performance.now();
      const child = launch(spec, handlers);
      spentMs += performance.now() - begun;
      if (spentMs >= priceMs && contain === null) nursery ??= openNursery(onLost);
      return child;
    },
    async close() {
      await nursery?.close();
    },
  };
}
