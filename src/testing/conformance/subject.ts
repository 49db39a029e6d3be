import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Usage } from '../../../machines/protocol.ts';
import type { AgentSettings } from '../../agents/index.ts';

/** An agent whose adapter is asked: its definition, and what it printed on occasions that every agent has. */
export interface Subject {
  /** Heads its column: a client and its version. */
  name: string;
  /** As a plan defines it; the `command` is only started live. */
  agent: Omit<AgentSettings, 'name'>;
  /** What its stdout is: one JSON record a line, or text that is the answer. */
  prints: 'records' | 'text';
  occasions: Record<Occasion, Captured | Lacking>;
}

export const OCCASIONS = [
  /** It answers. */
  'reply',
  /** It uses a tool, and answers. */
  'tool',
  /** The provider refuses the request, the key, the rate; it is down. */
  'rejected',
  'auth',
  'rate-limit',
  'down',
  /** The answer is cut by the length limit. */
  'length',
  /** It ends well and says nothing. */
  'empty',
  /** It is made to stop while a tool runs. */
  'aborted',
  /** It goes on in an earlier session. */
  'resume',
  /** It is given a message while it works. */
  'steering',
] as const;
export type Occasion = (typeof OCCASIONS)[number];

/** A whole stdout, how the process went, and what a careful person reads in that. */
export interface Captured {
  stdout: Uint8Array;
  exit: PlayedExit;
  /** Wire mode, where it is not that of the definition. */
  mode?: string;
  /** The model it was told to use, and the session it was told to go on in. */
  model?: string;
  resume?: string;
  expect: Expected;
  /** Of the steering: the message that the stream shows to be taken. */
  message?: string;
}

export interface PlayedExit {
  code: number | null;
  signal: string | null;
  stderrTail?: string;
}

/** Why there is nothing to look at, in a few words. */
export interface Lacking {
  lacks: string;
}

/** Either a `final` text or a `failure`; what is left out is not compared. */
export interface Expected {
  final?: string;
  stop?: 'stop' | 'length';
  failure?: string;
  usage?: Usage;
  session?: string;
}

export const isCaptured = (occasion: Captured | Lacking): occasion is Captured => 'stdout' in occasion;

/**
 * A subject from a data file:
 * `{ name, agent, prints, streams: <folder>, occasions: { <occasion>: <case> | { case, message } | { lacks } } }`.
 * The folder, relative to the file, has `<case>.jsonl` (`.txt` for text) and `expected.json`: a list of
 * `{ case, code, signal, stderrTail?, mode?, model?, resume?, final?, stop?, failure?, usage?, session? }`.
 */
export function readSubject(file: string): Subject {
  const { name, agent, prints, streams, occasions } = readJson(file) as SubjectFile;
  const folder = resolve(file, '..', streams);
  const table = readJson(join(folder, 'expected.json')) as Row[];
  const read = (occasion: Occasion): Captured | Lacking => {
    const named = occasions[occasion];
    if (named === undefined) return { lacks: 'not captured' };
    if (typeof named === 'object' && 'lacks' in named) return named;
    const { case: wanted, ...more } = typeof named === 'string' ? { case: named } : named;
    const row = table.find((candidate) => candidate.case === wanted);
    if (row === undefined) throw new Error(`${file}: ${join(streams, 'expected.json')} has no case "${wanted}"`);
    return { ...captured(row, join(folder, `${wanted}.${prints === 'text' ? 'txt' : 'jsonl'}`)), ...more };
  };
  const all = OCCASIONS.map((occasion) => [occasion, read(occasion)] as const);
  return { name, agent, prints, occasions: Object.fromEntries(all) as Subject['occasions'] };
}

interface SubjectFile extends Omit<Subject, 'occasions'> {
  streams: string;
  occasions: Partial<Record<Occasion, string | { case: string; message?: string } | Lacking>>;
}

interface Row extends Expected, PlayedExit {
  case: string;
  mode?: string;
  model?: string;
  resume?: string;
}

function captured({ case: _case, code, signal, stderrTail = '', ...row }: Row, file: string): Captured {
  const { mode, model, resume, ...expect } = row;
  return {
    stdout: readFileSync(file),
    exit: { code, signal, stderrTail },
    ...(mode === undefined ? {} : { mode }),
    ...(model === undefined ? {} : { model }),
    ...(resume === undefined ? {} : { resume }),
    expect,
  };
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
