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
  const rows = runs.map(({ id, status, owner }) => {
    const steps = `${status.counts.completed}/${status.steps.length} steps`;
    const note = owner === 'lost' ? 'its runner is gone' : owner === 'elsewhere' ? `on ${status.owner.host}` : '';
    const name = cut(oneLine(status.name), NAME_CHARS);
    return [
      id,
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

function others({ unwritten, corrupt, newer }: Listing): string[] {
  const lines = [
    ...unwritten.map(({ id, dir }) => `${id}  has no status yet: ${dir.path}`),
    ...corrupt.map((run) => `${run.id}  ${describeUnreadable({ type: 'corrupt', ...run })}`),
    ...newer.map((run) => `${run.id}  ${describeUnreadable({ type: 'newer', ...run })}`),
  ];
  return lines.length === 0 ? [] : ['', `${count(lines.length, 'run')} without a readable status:`, ...lines];
}
