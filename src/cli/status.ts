import { type OwnerState, type RunDir, type Status, status as readStatus } from '../client.ts';
import { EXIT } from './codes.ts';
import { headline, stepRow, waitingWords } from './describe.ts';
import { type PlaceOptions, failNotFound, failUnreadable } from './finding.ts';
import { type Io, fail, printJson } from './io.ts';
import { count, cut, oneLine, table } from './words.ts';

export interface StatusOptions extends PlaceOptions {
  json?: boolean;
}

/** Steps shown; all are in the JSON. */
const MOST_STEPS = 200;
const NAME_CHARS = 40;

export async function status(run: string, options: StatusOptions, io: Io): Promise<number> {
  const reading = readStatus(run, { root: options.root, env: io.env });
  switch (reading.type) {
    case 'ok': {
      if (reading.owner === 'lost') fail(io, EXIT.unreadable, lostWords(reading.status));
      if (options.json === true) await printJson(io, withOwner(reading.status, reading.owner));
      else await io.out.write(`${page(reading.status, reading).join('\n')}\n`);
      return reading.owner === 'lost' ? EXIT.unreadable : EXIT.ok;
    }
    case 'unwritten': {
      const words = reading.owner === 'lost' ? 'its runner died before it began' : 'it is just beginning';
      return fail(io, EXIT.unreadable, `run ${reading.id} has no status yet: ${words} (${reading.dir.path})`);
    }
    case 'corrupt':
    case 'newer':
      return failUnreadable(io, reading);
    case 'missing':
    case 'ambiguous':
      return failNotFound(io, reading);
  }
}

function lostWords({ owner }: Status): string {
  return `the runner is gone (process ${owner.pid}); the state below is the last it wrote`;
}

/** The record, and what only a look from here can tell of its owner. */
function withOwner(record: Status, state: OwnerState): object {
  if (state === 'lost') return { ...record, owner: { ...record.owner, lost: true } };
  return state === 'elsewhere' ? { ...record, owner: { ...record.owner, elsewhere: true } } : record;
}

function page(record: Status, { dir, owner }: { dir: RunDir; owner: OwnerState }): string[] {
  const { id, name, epoch, steps } = record;
  const shown = steps.slice(0, MOST_STEPS);
  const hidden = steps.length - shown.length;
  return [
    `${id}  ${oneLine(name)}${epoch > 1 ? `  epoch ${epoch}` : ''}`,
    headline(record),
    ...table(shown.map((step) => stepRow(step))).map((row) => `  ${row}`),
    ...(hidden > 0 ? [`  and ${count(hidden, 'more step')}: see --json`] : []),
    ...parentLine(record),
    ...nestedLines(record),
    ...waitingLines(record, owner),
    ...ownerLine(record, owner),
    ...(record.deadlineAt === undefined || owner === 'released' ? [] : [`ends at ${record.deadlineAt} at the latest`]),
    ...(record.persistence === undefined ? [] : ['the record could not be written; the runner tries again']),
    `files: ${dir.path}`,
  ];
}

function parentLine({ parent }: Status): string[] {
  if (parent === undefined) return [];
  const { run, step, attempt, depth } = parent;
  return [oneLine(`started by run ${run}, step ${step}, attempt ${attempt} (depth ${depth})`)];
}

function nestedLines({ nested }: Status): string[] {
  if (nested === undefined) return [];
  const { total, runs } = nested;
  const rows = runs.map(({ id, state, step, counts, asks = 0, name }) => {
    const steps = Object.values(counts).reduce((sum, some) => sum + some, 0);
    const wait = asks === 0 ? '' : `${count(asks, 'question')} open`;
    return [id, state, `${counts.completed ?? 0}/${steps} steps`, step, cut(name, NAME_CHARS), wait].map(oneLine);
  });
  const hidden = total - runs.length;
  return [
    `its steps have started ${count(total, 'run')}:`,
    ...table(rows).map((row) => `  ${row}`),
    ...(hidden > 0 ? [`  and ${count(hidden, 'more', 'more')}: see coxswain list`] : []),
  ];
}

/** Where nobody runs it any more nobody waits. */
function waitingLines(record: Status, state: OwnerState): string[] {
  const words = state === 'released' || state === 'lost' ? null : waitingWords(record);
  return words === null ? [] : [`${words}: coxswain asks ${record.id}`];
}

function ownerLine({ owner }: Status, state: OwnerState): string[] {
  switch (state) {
    case 'released':
    case 'lost':
      return [];
    case 'alive':
      return [`runner: process ${owner.pid}`];
    case 'elsewhere':
      return [`runner: process ${owner.pid} on ${oneLine(owner.host)}, which cannot be seen from here`];
  }
}
