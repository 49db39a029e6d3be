import { type AttemptAgain, type LookedAgain, type SeenAgain, lookAgain as look } from '../index.ts';
import { EXIT } from './codes.ts';
import { type PlaceOptions, failNotFound, failUnreadable, rootFlag } from './finding.ts';
import { type Io, fail, printJson } from './io.ts';
import { count, oneLine, quoted, table } from './words.ts';

export interface LookAgainOptions extends PlaceOptions {
  end?: boolean;
  json?: boolean;
}

/** `doctor --run`: what a run has left, looked for again. */
export async function lookAgain(run: string, options: LookAgainOptions, io: Io): Promise<number> {
  const looked = await look(run, { root: options.root, env: io.env, end: options.end === true });
  if (looked.type !== 'looked') return failed(looked, io);
  if (options.json === true) {
    const { type: _, ...seen } = looked;
    await printJson(io, { v: 1, ...seen });
  } else await io.out.write(`${linesOf(looked, options).join('\n')}\n`);
  return codeOf(looked);
}

function failed(looked: Exclude<LookedAgain, SeenAgain>, io: Io): number {
  switch (looked.type) {
    case 'refused':
      return fail(io, EXIT.refused, looked.message);
    case 'corrupt':
    case 'newer':
      return failUnreadable(io, looked);
    case 'missing':
    case 'ambiguous':
      return failNotFound(io, looked);
  }
}

/** While a run goes on it is right that somebody is there. */
function codeOf({ run, verdict }: SeenAgain): number {
  return run === 'running' || verdict === 'gone' || verdict === 'not-started' ? EXIT.ok : EXIT.incomplete;
}

const RUNS: Record<SeenAgain['run'], string> = {
  running: 'goes on',
  ended: 'has ended',
  'owner-lost': 'has no runner any more',
};

function linesOf({ id, run, attempts, verdict, reason }: SeenAgain, options: LookAgainOptions): string[] {
  const lines = [`run ${id} ${RUNS[run]}`, ...attempts.flatMap(attemptLines)];
  if (verdict === 'not-started') lines.push('nothing was started');
  if (reason !== undefined) lines.push(`not everything is known: ${reason}`);
  const there = attempts.some(({ members, kept }) => members.length + kept.length > 0);
  if (there && run !== 'running' && options.end !== true) {
    lines.push('', `end them: coxswain doctor --run ${quoted(id)} --end${rootFlag(options, quoted)}`);
  }
  return lines;
}

function attemptLines({ step, attempt, verdict, level, members, kept, signals, reason }: AttemptAgain): string[] {
  const why = reason === undefined ? '' : `: ${oneLine(reason)}`;
  const sent = signals.length === 0 ? '' : `, after ${signals.map(({ rung }) => rung).join(', ')}`;
  const stay = kept.length === 0 ? '' : `, and ${count(kept.length, 'process', 'processes')} kept`;
  const words = verdict === 'survived' ? `${count(members.length, 'process', 'processes')} there` : verdict;
  const rows = [...members, ...kept].map(({ pid, command, by }) => [`    ${pid}`, oneLine(command), `by ${by}`]);
  return [`  ${step}#${attempt}  ${words} (${level})${stay}${sent}${why}`, ...table(rows)];
}
