import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { AgentSettings } from '../../agents/index.ts';
import { formatPlanErrors, loadConfig } from '../../plan/index.ts';
import { type Lived, live } from './live.ts';
import { agentOf } from './play.ts';
import { type Captured, type Expected, type Lacking, OCCASIONS, type Occasion, type Subject } from './subject.ts';

/** What an agent is told so that an occasion comes about, and what a careful person reads in what it does then. */
export interface Trial {
  task: string;
  expect: Expected;
  model?: string;
}

export interface TrialOptions {
  /** Heads its column. */
  name: string;
  /** As a plan or a config file defines it, with its `command`: that is what is started. */
  agent: Omit<AgentSettings, 'name'>;
  prints: Subject['prints'];
  trials: Partial<Record<Occasion, Trial | Lacking>>;
  /** A folder of the caller's, who removes it. */
  dir: string;
}

/**
 * Starts an agent once for each occasion there is a trial for, and keeps what it printed: with that everything can be asked of it
 * (`conform`, `conformLive`). `aborted` is asked to stop, or killed, when its first tool runs, or with its first output where
 * it tells of none; `resume` goes on in the session that `reply` has left. One after the other.
 */
export async function captureSubject({ name, agent, prints, trials, dir }: TrialOptions): Promise<Subject> {
  const empty = { lacks: 'not tried' };
  const occasions = Object.fromEntries(OCCASIONS.map((occasion) => [occasion, empty])) as Subject['occasions'];
  const subject: Subject = { name, agent, prints, occasions };
  let session: string | null = null;
  for (const occasion of OCCASIONS) {
    const trial = trials[occasion];
    if (trial === undefined) continue;
    if ('lacks' in trial) {
      occasions[occasion] = trial;
      continue;
    }
    const folder = join(dir, occasion);
    mkdirSync(folder, { recursive: true });
    const resume = occasion === 'resume' ? session : null;
    const lived = await tried(subject, trial, { dir: folder, resume, breakOff: occasion === 'aborted' });
    if (occasion === 'reply') session = sessionIn(lived);
    occasions[occasion] = captured(trial, lived, resume);
  }
  return subject;
}

async function tried(
  subject: Subject,
  { task, model }: Trial,
  { dir, resume, breakOff }: { dir: string; resume: string | null; breakOff: boolean },
): Promise<Lived> {
  const { command = [] } = subject.agent;
  const { abort } = agentOf(subject).adapter.capabilities;
  let isAsked = false;
  return live(subject, {
    dir,
    command,
    task,
    ...(model === undefined ? {} : { model }),
    ...(resume === null ? {} : { resume: { session: resume } }),
    on(event, child) {
      const begun = event.t === 'toolStart' || (subject.prints === 'text' && event.t === 'activity');
      if (!breakOff || isAsked || !begun) return;
      isAsked = true;
      if (abort === 'protocol') child.abort();
      else child.kill('SIGTERM');
    },
  });
}

function captured({ expect, model }: Trial, { stdout, exit }: Lived, resume: string | null): Captured {
  return {
    stdout,
    exit,
    ...(model === undefined ? {} : { model }),
    ...(resume === null ? {} : { resume }),
    expect: resume === null ? expect : { session: resume, ...expect },
  };
}

const sessionIn = ({ events }: Lived): string | null =>
  events.findLast((event) => event.t === 'session')?.session ?? null;

/** An agent of a config file, as a run would take it. Throws, with its place, what is wrong with it. */
export async function readAgent(file: string, name: string): Promise<Omit<AgentSettings, 'name'>> {
  const path = resolve(file);
  const loaded = await loadConfig({ cwd: dirname(path), here: process.cwd(), file: path });
  if (loaded.type === 'invalid') throw new Error(formatPlanErrors(loaded.errors));
  const { definitions, broken } = loaded.config;
  const settings = definitions[name];
  if (settings === undefined) throw new Error(broken[name] ?? `${path} defines no agent "${name}"`);
  const { name: _name, ...agent } = settings;
  return agent;
}
