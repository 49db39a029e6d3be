import type { Failure } from '../../../machines/protocol.ts';
import type { DrainEnd } from '../drain.ts';
import type { Started } from '../handlers.ts';
import type { LaunchSpec } from '../launch.ts';

/** What the runner tells its nursery. `id` names a child between the two: numbers of processes come later, and come again. */
export type ToNursery =
  | { type: 'launch'; id: number; token: string; spec: Omit<LaunchSpec, 'contain'> }
  | { type: 'write'; id: number; text: string }
  | { type: 'close-stdin'; id: number };

/** What happens to a child, in order; several at a time. */
export type FromNursery = { type: 'ready' } | { type: 'news'; news: News[] };

export type News =
  | { type: 'started'; id: number; process: Started }
  | { type: 'unstarted'; id: number; failure: Failure }
  | { type: 'stdout' | 'stderr'; id: number; chunk: Uint8Array }
  | { type: 'exited'; id: number; code: number | null; signal: string | null }
  | { type: 'drained'; id: number; how: DrainEnd };
