import { writeFileSync } from 'node:fs';
import type { AttemptInput } from '../../machines/protocol.ts';
import { earlier, later } from '../../machines/policy/time.ts';
import type { Launch, LaunchRequest } from '../agents/index.ts';
import type { MailboxPaths } from '../mailbox/index.ts';
import { nestEnv } from '../nest/index.ts';
import { type Container, TOKEN_ENV, tokenValue } from '../process/index.ts';
import { type AttemptPaths, type LaunchRecord, type Written, digest, makeDir, troubleOf } from '../record/index.ts';
import { DEADLINE_ENV, inheritedDeadline } from './inherited.ts';
import type { Kit } from './kit.ts';
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
  return {
    settings: agent.settings,
    task: texts.task,
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
    sessionDir: kit.dir.sessions,
    resume: input.session === null ? null : { session: input.session },
    mailbox,
  };
}

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

/**
 * Writes `launch.json`: what is started, without the task and without any value of the environment; and flushes the
 * journal, because whoever recovers after a crash has to know of the launch before there is a process.
 */
export function recordLaunch(
  kit: Kit,
  paths: AttemptPaths,
  input: AttemptInput,
  request: LaunchRequest,
  launch: Launch & { contain: Container | null },
): Written {
  const { contain } = launch;
  const record: LaunchRecord = {
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
    task: request.task === null ? null : digest(request.task),
    container: contain === null ? null : { kind: contain.kind, path: contain.path },
    at: input.at,
  };
  try {
    for (const folder of launch.folders ?? []) makeDir(folder);
    for (const { path, text } of launch.files ?? []) writeFileSync(path, text, { mode: 0o600 });
    writeFileSync(paths.launch, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    return kit.journal.flush();
  } catch (error) {
    return troubleOf(error);
  }
}
