import type { Run } from '../../index.ts';
import type { Io } from '../io.ts';
import { liveView } from './live.ts';
import { plainView } from './plain.ts';
import type { View } from './view.ts';

export interface ViewOptions {
  plain?: boolean;
  json?: boolean;
}

/** The view that fits the output: none for programs, a block on a terminal, else lines. */
export function viewOf(run: Run, { plain = false, json = false }: ViewOptions, io: Io): View {
  if (json) return { close: () => Promise.resolve() };
  const dumb = io.env['TERM'] === 'dumb' || (io.env['NO_COLOR'] ?? '') !== '';
  return io.out.isTerminal && !plain && !dumb ? liveView(run, io.out) : plainView(run, io.out);
}
