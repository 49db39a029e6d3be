import { join } from 'node:path';
import type { Failure, LeasedSession, PrepareInput } from '../../machines/protocol.ts';
import type { Agent, SessionRequest } from '../agents/index.ts';
import type { Holder, LeaseRecord } from '../host/index.ts';
import type { RenderedStep } from '../plan/index.ts';
import { readJournal, readProof, runDir } from '../record/index.ts';
import type { Kit } from './kit.ts';
import { environment, sessionsFor } from './launching.ts';
import { launchesIn, tracesOf } from './recorded.ts';

export type LeaseResult = { type: 'ok'; lease: LeasedSession | null } | { type: 'refused'; failure: Failure };

/** Takes the session that an attempt will work in: nobody else may write into it until the attempt is proven gone. */
export async function leaseFor(
  kit: Kit,
  { step, n, session: resumed }: PrepareInput,
  { agent, texts, token }: { agent: Agent; texts: RenderedStep; token: string },
): Promise<LeaseResult> {
  // Commands have none, and there may be hundreds of them.
  if (!agent.adapter.capabilities.resume) return { type: 'ok', lease: null };
  const request: SessionRequest = {
    settings: agent.settings,
    env: environment(kit, agent.settings.env, texts.env),
    privateDir: kit.dir.attempt(step, n).path,
    sessionDir: sessionsFor(kit, agent.settings),
    resume: resumed === null ? null : { session: resumed },
  };
  const path = sessionOf(kit, agent, request);
  if (path === null) return { type: 'ok', lease: null };
  const at = kit.now();
  const taken = await kit.leases.take({ step, attempt: n, token, session: path, at }, (record) => isGone(kit, record));
  switch (taken.type) {
    case 'ok': {
      const [before] = taken.lease.tookOver;
      const from = before === undefined ? null : { run: before.run, step: before.step, attempt: before.attempt };
      return { type: 'ok', lease: { session: nameOf(path), from } };
    }
    case 'busy':
      return { type: 'refused', failure: busy(nameOf(path), taken.holder) };
    case 'trouble': {
      const message = `the session ${nameOf(path)} could not be taken, so nothing was started: ${taken.message}`;
      return { type: 'refused', failure: { code: 'resources-exhausted', message } };
    }
  }
}

/** A new session of an agent that names it by itself is nobody's before; one that is gone on with is known by its name. */
function sessionOf(kit: Kit, { adapter }: Agent, request: SessionRequest): string | null {
  const path = adapter.sessionPath?.(request) ?? null;
  if (path !== null || request.resume === null) return path;
  return join(kit.dir.root, 'sessions', adapter.id, nameOf(request.resume.session));
}

const nameOf = (path: string): string => path.split(/[\\/]/).at(-1) ?? '';

function busy(session: string, { why, path, record }: Holder): Failure {
  if (record === null) {
    const message = `the session ${session} may be in use: its lease ${path} cannot be read; remove it when nothing uses the session`;
    return { code: 'session-busy', message, detail: { lease: path } };
  }
  const { run, step, attempt, owner } = record;
  const who = `step ${step}, attempt ${attempt}, of run ${run}`;
  const words: Record<Holder['why'], string> = {
    alive: `is in use by ${who} (process ${owner.pid})`,
    elsewhere: `is in use by ${who} on another machine, ${owner.host}; if that has ended, remove ${path}`,
    unproven: `was in use by ${who}, whose runner has died; whether nothing is left of it is not proven: coxswain doctor --run ${run} looks, and ends it with --end`,
    unreadable: '',
  };
  return {
    code: 'session-busy',
    message: `the session ${session} ${words[why]}`,
    detail: { run, step, attempt, pid: owner.pid, host: owner.host, why },
  };
}

/** Of an attempt whose runner has died: its proof says so, or a search now finds nobody. */
async function isGone(kit: Kit, { run, step, attempt, token }: LeaseRecord): Promise<boolean> {
  const dir = runDir(kit.dir.root, run);
  const proof = readProof(dir.attempt(step, attempt).proof);
  if (proof.type === 'ok' && proof.value.verdict === 'gone') return true;
  const { records } = readJournal(dir.journal, { maxBytes: Number.MAX_SAFE_INTEGER });
  const launch = launchesIn(records).find((one) => one.token === token);
  const traces = await tracesOf(dir, launch ?? { step, attempt, epoch: 1, token, leader: null });
  const look = await kit.sweeper.look(traces.target);
  return look.type === 'looked' && look.members.length === 0;
}
