import { type Listing, list as listRuns } from '../client.ts';
import { EXIT } from './codes.ts';
import { type PlaceOptions, describeUnreadable } from './finding.ts';
import { type Io, printJson } from './io.ts';
import { count, cut, oneLine, span, table } from './words.ts';

export interface ListOptions extends PlaceOptions {
  active?: boolean;
  json?: boolean;
}

const NAME_CHARS = 40;
const MOST_INDENT = 8;

export async function list(options: ListOptions, io: Io): Promise<number> {
  const all = listRuns({ root: options.root, env: io.env });
  const runs = options.active === true ? all.runs.filter(({ active }) => active) : all.runs;
  const unreadable = all.corrupt.length + all.newer.length;
  const code = unreadable === 0 ? EXIT.ok : EXIT.unreadable;
  if (options.json === true) await printJson(io, recordOf({ ...all, runs }));
  else await io.out.write(`${[...rowsOf(runs), ...others(all)].join('\n')}\n`);
  return code;
}

/** Runs as their `status.json` has them. */
function recordOf({ runs, unwritten, corrupt, newer }: Listing): object {
  return {
    v: 1,
    runs: runs.map(({ status }) => status),
    unwritten: unwritten.map(({ id, dir, since }) => ({ id, directory: dir.path, since })),
    corrupt: corrupt.map(({ id, path, reason }) => ({ id, path, reason })),
    newer: newer.map(({ id, path, version }) => ({ id, path, version })),
  };
}

function rowsOf(runs: Listing['runs']): string[] {
  if (runs.length === 0) return ['no runs'];
  const rows = inTree(runs).map(({ run: { id, status, owner }, depth }) => {
    const steps = `${status.counts.completed}/${status.steps.length} steps`;
    const note = owner === 'lost' ? 'its runner is gone' : owner === 'elsewhere' ? `on ${status.owner.host}` : '';
    const name = cut(oneLine(status.name), NAME_CHARS);
    return [
      `${'  '.repeat(Math.min(depth, MOST_INDENT))}${id}`,
      status.state,
      status.startedAt.slice(0, 19).replace('T', ' '),
      span(status.startedAt, status.endedAt),
      steps,
      name,
      note,
    ];
  });
  return table([['run', 'state', 'started (UTC)', 'time', 'done', 'name', ''], ...rows]);
}

type Listed = Listing['runs'][number];

/** Each nested run after the run it belongs to, where that is listed. */
function inTree(runs: Listed[]): { run: Listed; depth: number }[] {
  const listed = new Set(runs.map(({ id }) => id));
  const below = new Map<string | null, Listed[]>();
  for (const run of runs) {
    const parent = parentOf(run.status.parent, listed);
    below.set(parent, [...(below.get(parent) ?? []), run]);
  }
  const rows: { run: Listed; depth: number }[] = [];
  const add = (parent: string | null, depth: number): void => {
    const children = below.get(parent) ?? [];
    // Once: a record that makes a run its own ancestor must not keep us.
    below.delete(parent);
    for (const run of children) {
      rows.push({ run, depth });
      add(run.id, depth + 1);
    }
  };
  add(null, 0);
  for (const parent of below.keys()) add(parent, 0);
  return rows;
}

/** From the file of another process. */
function parentOf(parent: unknown, listed: ReadonlySet<string>): string | null {
  const run = typeof parent === 'object' && parent !== null && 'run' in parent ? parent.run : null;
  return typeof run === 'string' && listed.has(run) ? run : null;
}

function others({ unwritten, corrupt, newer }: Listing): string[] {
  const lines = [
    ...unwritten.map(({ id, dir }) => `${id}  has no status yet: ${dir.path}`),
    ...corrupt.map((run) => `${run.id}  ${describeUnreadable({ type: 'corrupt', ...run })}`),
    ...newer.map((run) => `${run.id}  ${describeUnreadable({ type: 'newer', ...run })}`),
  ];
  return lines.length === 0 ? [] : ['', `${count(lines.length, 'run')} without a readable status:`, ...lines];
}
