import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { type JournalRecord, type Status, fold, project, stable } from '../../machines/index.ts';
import { type RunDir, readJournal } from '../../src/record/index.ts';
import type { Runtime } from '../../src/runtime/run.ts';
import type { Inspector } from './inspector.ts';

/** The record of an ended run, as it lies on the disk. */
export interface OnDisk {
  records: JournalRecord[];
  status: Status;
  result: Record<string, unknown> & { state: string; steps: ResultStep[] };
  report: string;
}

interface ResultStep {
  id: string;
  state: string;
  output: { text?: string; path?: string; bytes?: number } | null;
  outputState: string;
  attempts: {
    outcome: string;
    exit: number | null;
    signal: string | null;
    forcedExit: boolean;
    class: string | null;
  }[];
}

export function readRecord(dir: RunDir): OnDisk {
  return {
    records: readWhole(dir.journal),
    status: JSON.parse(readFileSync(dir.status, 'utf8')) as Status,
    result: JSON.parse(readFileSync(dir.result, 'utf8')) as OnDisk['result'],
    report: readFileSync(dir.report, 'utf8'),
  };
}

function readWhole(path: string): JournalRecord[] {
  const records: JournalRecord[] = [];
  for (let from = 0; ;) {
    const page = readJournal(path, { from });
    records.push(...page.records);
    if (page.nextOffset === from) return records;
    from = page.nextOffset;
  }
}

export interface TruthOptions {
  dir: RunDir;
  /** Left out where the machines are gone: after a crash, or in another process. */
  runtime?: Runtime;
  inspector?: Inspector;
  /** Attempts that are not proven gone: the run stays listed. */
  unproven?: boolean;
  /** Processes that stay, because the plan lets them. */
  kept?: readonly number[];
}

/** What holds at the end of every run, however it went. Returns the record for more questions. */
export function expectTruth({ dir, runtime, inspector, unproven = false, kept = [] }: TruthOptions): OnDisk {
  const record = readRecord(dir);
  const { records, status, result } = record;
  expectOneState(records, status, runtime);
  expect(result.state, 'result and status agree').toBe(status.state);
  expectWholeJournal(records);
  expectModes(dir.path);
  expect(existsSync(dir.activeMarker), 'listed as active').toBe(unproven);
  expectNobodyLeft(records, kept);
  if (inspector !== undefined) {
    expect({ deadLetters: inspector.deadLetters, unhandled: inspector.unhandled }).toEqual({
      deadLetters: [],
      unhandled: [],
    });
  }
  return record;
}

/** fold(events.jsonl) = stable(status.json) = stable(project(snapshot)) at equal seq. */
function expectOneState(records: JournalRecord[], status: Status, runtime: Runtime | undefined): void {
  const last = records.at(-1)?.seq ?? 0;
  const settled = records.find(({ type }) => type === 'run.settled')?.seq ?? Number.POSITIVE_INFINITY;
  expect(fold(records.filter(({ seq }) => seq <= status.seq)), 'fold = status.json').toEqual(stable(status));
  // The announcement comes after the last status.
  expect(status.seq, 'the last status reflects the end').toBeGreaterThanOrEqual(settled);
  if (runtime === undefined) return;
  const projected = project(runtime.snapshot, { seq: last, updatedAt: '' });
  expect(stable(projected), 'fold = project(snapshot)').toEqual(fold(records));
}

function expectWholeJournal(records: JournalRecord[]): void {
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
  expect(records.filter(({ type }) => type === 'run.settled')).toHaveLength(1);
  const attempts = (wanted: 'attempt.launching' | 'attempt.closed'): string[] =>
    records.flatMap((one) => (one.type === wanted ? [`${one.step}#${one.attempt}`] : [])).toSorted();
  expect(attempts('attempt.closed'), 'every launch is closed').toEqual(attempts('attempt.launching'));
}

function expectModes(path: string): void {
  const wrong = [path, ...readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name))]
    // What a child declares there is its own, within a folder of ours.
    .filter((name) => basename(dirname(name)) !== 'survivors')
    .map((name) => ({ name, stat: statSync(name) }))
    .filter(({ stat }) => (stat.mode & 0o777) !== (stat.isDirectory() ? 0o700 : 0o600))
    .map(({ name, stat }) => `${(stat.mode & 0o777).toString(8)} ${name}`);
  expect(wrong, 'modes').toEqual([]);
}

/** Nobody carries a token of the run any more, but for those who are kept. Zombies carry none. */
export function expectNobodyLeft(records: readonly JournalRecord[], kept: readonly number[] = []): void {
  const tokens = records.flatMap((one) => (one.type === 'attempt.launching' ? [one.token] : []));
  const left = carriersOf(tokens).filter((one) => !kept.includes(Number.parseInt(one, 10)));
  expect(left, 'processes with a token of the run').toEqual([]);
}

function carriersOf(tokens: readonly string[]): string[] {
  if (tokens.length === 0) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      const entry = textOf(`/proc/${pid}/environ`)
        .split('\0')
        .find((one) => one.startsWith('COXSWAIN_TOKEN='));
      return entry !== undefined && entry.split(/[=,]/).some((part) => tokens.includes(part));
    })
    .map((pid) => `${pid} ${textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`);
}

/** Whether a process runs: not gone, and no zombie. */
export function runs(pid: number): boolean {
  const stat = textOf(`/proc/${pid}/stat`);
  return stat !== '' && !'ZX'.includes(stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
