import { basename } from 'node:path';
import type { JournalRecord, StepId } from '../../machines/protocol.ts';
import { type Container, type Kin, type TreeTarget, createKin, isSame, probeContainment } from '../process/index.ts';
import { type LaunchRecord, type RunDir, faultIn, readProof, readRecord } from '../record/index.ts';

/** A launch as the journal has it. */
export interface Launch {
  step: StepId;
  attempt: number;
  epoch: number;
  token: string;
  /** Null when its start did not get into the journal. */
  leader: { pid: number; startTime: number | null } | null;
}

/** Every launch of a journal, in order. */
export function launchesIn(records: readonly JournalRecord[]): Launch[] {
  const launches = new Map<string, Launch>();
  for (const record of records) {
    if (record.type === 'attempt.launching') {
      const { step, attempt, epoch, token } = record;
      launches.set(`${step}/${attempt}`, { step, attempt, epoch, token, leader: null });
    }
    if (record.type === 'attempt.started') {
      const launch = launches.get(`${record.step}/${record.attempt}`);
      if (launch !== undefined) launch.leader = { pid: record.pid, startTime: record.startTime };
    }
  }
  return [...launches.values()];
}

/** A launch with everything by which its processes can be known again. */
export interface Traces extends Launch {
  target: TreeTarget;
  /** Its proof said that it is gone, but for those that were to stay. */
  keeps: boolean;
}

/** No process and no session has this number. */
const NOBODY = -1;

/**
 * Collects them: leader and token from the journal, the container from `launch.json`, and whoever its proof named, by
 * pid and start time.
 *
 * While the leader runs, its group and session count. Once it has gone their number may have been given to others
 * since, and nothing would tell: then only token, container and recorded identities count.
 */
export async function tracesOf(dir: RunDir, launch: Launch): Promise<Traces> {
  const { step, attempt, token } = launch;
  const paths = dir.attempt(step, attempt);
  const kin = createKin();
  const keeps = remember(kin, paths.proof);
  const leader = launch.leader ?? { pid: NOBODY, startTime: null };
  const pgid = launch.leader !== null && isSame(leader.pid, leader.startTime) ? leader.pid : NOBODY;
  const container = await containerIn(paths.launch, token);
  return { ...launch, keeps, target: { pgid, token, leader, kin, container } };
}

function remember(kin: Kin, path: string): boolean {
  const reading = readProof(path);
  if (reading.type !== 'ok') return false;
  const { members, kept, verdict } = reading.value;
  for (const { pid, startTime, by } of [...members, ...kept]) if (startTime !== null) kin.add(pid, startTime, by);
  return verdict === 'gone' && kept.length > 0;
}

/** A namespace has no name to find it by: it ends with its first process, and who is in it has the other marks. */
async function containerIn(path: string, token: string): Promise<Container | null> {
  const reading = readRecord<LaunchRecord>(path, (json) => faultIn(json, { step: 'string', argv: 'array' }));
  const group = reading.type === 'ok' ? (reading.value.container?.path ?? null) : null;
  // The group of another attempt is none of ours, whatever the record says.
  if (group === null || !basename(group).endsWith(token)) return null;
  const opened = (await probeContainment()).reopenCgroup(group);
  return opened.type === 'opened' ? opened.container : null;
}
