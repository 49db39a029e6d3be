import { renameSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { AttemptInput } from '../../machines/protocol.ts';
import { earlier, later } from '../../machines/policy/time.ts';
import type { Agent, AgentSettings, Launch, LaunchRequest } from '../agents/index.ts';
import type { MailboxPaths } from '../mailbox/index.ts';
import { nestEnv } from '../nest/index.ts';
import { type ResolvedStep, outputFiles } from '../plan/index.ts';
import { type Container, TOKEN_ENV, tokenValue } from '../process/index.ts';
import { repairWords, withDemands } from '../quality/index.ts';
import {
  type Acknowledged,
  type AttemptPaths,
  type LaunchFacts,
  type LaunchRecord,
  type Written,
  faultIn,
  makeDir,
  readRecord,
  sharedSessionsDir,
  troubleOf,
} from '../record/index.ts';
import { DEADLINE_ENV, inheritedDeadline } from './inherited.ts';
import type { Kit } from './kit.ts';
import { type Differences, differencesOf, digestOf, factsOf } from './launch-facts.ts';
import type { Prepared } from './prepared.ts';
import { SURVIVORS_ENV, survivorsDir } from './survivors.ts';

/** What the adapter is asked to launch. */
export function requestFor(
  kit: Kit,
  input: AttemptInput,
  { agent, step, texts, token }: Prepared,
  paths: AttemptPaths,
  mailbox: MailboxPaths | null,
): LaunchRequest {
  const { schema = null } = step.output ?? {};
  return {
    settings: agent.settings,
    task: texts.task === null ? null : taskFor(input, step, agent, texts.task),
    run: texts.run,
    model: input.model,
    delivery: input.delivery,
    cwd: step.cwd,
    env: {
      ...environment(kit, agent.settings.env, texts.env),
      ...deadlineFor(kit, input),
      ...(step.survivors === 'declared' ? { [SURVIVORS_ENV]: survivorsDir(kit, input) } : {}),
      ...nestEnv(kit.nest, input),
      [TOKEN_ENV]: tokenValue(kit.env[TOKEN_ENV], token),
    },
    privateDir: paths.path,
    sessionDir: sessionsFor(kit, agent.settings),
    resume: resumeOf(input, agent),
    ...(schema === null ? {} : { output: { schema } }),
    mailbox,
  };
}

/** What the agent has to show is a part of its task; and a try that begins anew is told what was wrong with the last. */
function taskFor(input: AttemptInput, { cwd, output }: ResolvedStep, { adapter }: Agent, task: string): string {
  if (output === null) return task;
  const { structured } = adapter.capabilities;
  const told = withDemands(task, {
    schema: structured === 'none' ? output.schema : null,
    byTool: structured === 'tool' && output.schema !== null,
    files: outputFiles(output).map((file) => resolve(cwd, file)),
  });
  // In the session of the last one the task is what it was.
  return input.repair === null || input.session !== null
    ? told
    : `${told}\n\n${repairWords(input.repair, structured === 'tool')}`;
}

function resumeOf({ session, repair }: AttemptInput, { adapter }: Agent): LaunchRequest['resume'] {
  if (session === null) return null;
  const byTool = adapter.capabilities.structured === 'tool';
  return { session, ...(repair === null ? {} : { say: repairWords(repair, byTool) }) };
}

/** Where the sessions of this agent are kept: with the run, or where other runs find them. */
export const sessionsFor = ({ dir }: Kit, { session }: AgentSettings): string =>
  session?.type === 'shared' ? sharedSessionsDir(dir.root) : dir.sessions;

/** What a child of this agent gets of the runner's environment, and of its step. */
export function environment(
  kit: Kit,
  allowed: readonly string[] | undefined,
  ofStep: Readonly<Record<string, string>>,
): Record<string, string> {
  const inherited = allowed === undefined ? kit.env : pick(kit.env, allowed);
  return { ...inherited, ...ofStep };
}

/** When the child is ended at the latest: of the run, the step, the attempt and whoever started us, the earliest. */
function deadlineFor(kit: Kit, { at, deadlineAt, limits }: AttemptInput): Record<string, string> {
  const ofAttempt = limits.attemptMs === null ? null : later(at, limits.attemptMs);
  const first = earlier(earlier(deadlineAt, ofAttempt), inheritedDeadline(kit.env));
  return first === null ? {} : { [DEADLINE_ENV]: first };
}

function pick(env: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = env[name];
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

/** Adds what the client has said of itself. What cannot be written is not missed: it decides nothing. */
export function recordAcknowledged(paths: AttemptPaths, record: LaunchRecord, acknowledged: Acknowledged): Written {
  const next = `${paths.launch}.next`;
  try {
    writeFileSync(next, `${JSON.stringify({ ...record, acknowledged } satisfies LaunchRecord)}\n`, { mode: 0o600 });
    renameSync(next, paths.launch);
    return { type: 'ok' };
  } catch (error) {
    return troubleOf(error);
  }
}

/** What is started, and what of it is not as it was when its session was begun. */
export interface Recorded {
  record: LaunchRecord & { digest: string };
  differences: Differences;
}

/** The record of a launch, without the task and without any value of the environment. Writes nothing. */
export function launchRecord(
  kit: Kit,
  input: AttemptInput,
  { agent, version }: Pick<Prepared, 'agent' | 'version'>,
  request: LaunchRequest,
  launch: Launch & { contain: Container | null },
): Recorded {
  const { contain } = launch;
  const facts = factsOf(agent, request, launch, { version, redact: kit.redact });
  const differences = input.session === null ? NO_DIFFERENCES : differencesSince(kit, input, facts);
  const differs = [...differences.refused, ...differences.noted];
  const record: Recorded['record'] = {
    v: 1,
    step: input.step,
    attempt: input.n,
    agent: input.agent,
    model: request.model,
    argv: (launch.redactedArgv ?? launch.argv).map(kit.redact),
    shell: launch.shell,
    cwd: launch.cwd,
    env: Object.keys(launch.env).toSorted(),
    stdin: launch.stdin.type,
    exit: launch.exit,
    task: facts.task,
    container: contain === null ? null : { kind: contain.kind, path: contain.path },
    at: input.at,
    facts,
    digest: digestOf(facts),
    ...(differs.length === 0 ? {} : { differs }),
  };
  return { record, differences };
}

const NO_DIFFERENCES: Differences = { refused: [], noted: [] };

/** Against the attempt before, which was held against the one before it. One of which nothing is known differs in nothing. */
function differencesSince(kit: Kit, { step, n }: AttemptInput, facts: LaunchFacts): Differences {
  if (n <= 1) return NO_DIFFERENCES;
  const { launch } = kit.dir.attempt(step, n - 1);
  const reading = readRecord<LaunchRecord>(launch, (json) => faultIn(json, { step: 'string' }));
  const before = reading.type === 'ok' ? reading.value.facts : undefined;
  return before === undefined ? NO_DIFFERENCES : differencesOf(before, facts);
}

/**
 * Writes `launch.json` and the files that the launch names; and flushes the journal, because whoever recovers after a crash
 * has to know of the launch before there is a process.
 */
export function recordLaunch(kit: Kit, paths: AttemptPaths, { record }: Recorded, launch: Launch): Written {
  try {
    for (const folder of launch.folders ?? []) makeDir(folder);
    for (const { path, text } of launch.files ?? []) writeFileSync(path, text, { mode: 0o600 });
    writeFileSync(paths.launch, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    return kit.journal.flush();
  } catch (error) {
    return troubleOf(error);
  }
}
