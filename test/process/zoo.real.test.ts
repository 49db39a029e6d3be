import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { hostPlatform, probeContainment, startTimeOf, suspects, type Containment } from '../../src/process/index.ts';
import { plainEnv, until } from './support.ts';
import {
  ANIMALS,
  capture,
  census,
  contentOf,
  end,
  reported,
  type Animal,
  type Captive,
  type Ending,
  type Mode,
} from './zoo/keeper.ts';

/** How often each animal is met; more in the torture run. */
const ROUNDS = Number(process.env['COXSWAIN_ROUNDS'] ?? 1);
const BYSTANDERS = 500;

const animals = Object.keys(ANIMALS) as Animal[];
const containment: Containment = await probeContainment();
const modes: { mode: Mode; missing: string | null }[] = [
  { mode: 'search', missing: hostPlatform().list === 'proc' ? null : 'there is no /proc' },
  { mode: 'cgroup', missing: containment.cgroup.type === 'available' ? null : containment.cgroup.detail },
  { mode: 'pidns', missing: containment.pidns.type === 'available' ? null : containment.pidns.detail },
];

let crowd: ChildProcess | undefined;

beforeAll(async () => {
  const script = `i=0; while [ $i -lt ${BYSTANDERS} ]; do sleep 7200 & i=$((i+1)); done; echo ready; wait`;
  const started = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  crowd = started;
  await new Promise((resolve) => started.stdout.once('data', resolve));
});

afterAll(() => {
  if (crowd?.pid !== undefined) process.kill(-crowd.pid, 'SIGKILL');
});

/** Whoever is left after a test of these is ended by the census, however it hid; and no control group is left. */
const cages: Captive[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const { zoo, container } of cages.splice(0)) {
    container?.kill();
    for (const pid of census(zoo)) process.kill(pid, 'SIGKILL');
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await until('the container to be removed', () => container?.remove() ?? true);
  }
});

describe.each(modes)('zoo, $mode', ({ mode, missing }) => {
  const rest = missing === null ? '' : ` (skipped: ${missing})`;
  for (const animal of animals) {
    it.skipIf(missing !== null)(`${animal}${rest}`, async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        // oxlint-disable-next-line no-await-in-loop -- round after round
        const { ending, left, removed } = await meet(animal, mode);
        expect(ending.verdict).toBe('gone');
        expect(ending.look.level).toBe(mode === 'search' ? 'searched' : 'contained');
        // Without a container one is out of reach, and the level has said so.
        expect(left.length).toBeLessThanOrEqual(mode === 'search' && animal === 'shed-all' ? 1 : 0);
        expect(ending.found).toEqual(expect.arrayContaining(mode === 'search' ? (FOUND_BY[animal] ?? []) : []));
        expect(removed).toBe(true);
      }
    });
  }
});

/** The one way in which the hidden one of these can be found. */
const FOUND_BY: Partial<Record<Animal, string[]>> = {
  'double-fork': ['token'],
  'shed-with-parent': ['descent'],
  'shed-with-pipe': ['pipe'],
};

async function meet(animal: Animal, mode: Mode): Promise<{ ending: Ending; left: number[]; removed: boolean }> {
  const captive = await capture(animal, mode, containment);
  cages.push(captive);
  const ending = await end(captive);
  return { ending, left: census(captive.zoo), removed: captive.container?.remove() ?? true };
}

describe.runIf(hostPlatform().list === 'proc')('nobody else is signalled', () => {
  it('neither who was there before, nor who sits in the work tree, nor the user’s shell, nor the runner', async () => {
    const sent = watchSignals();
    for (const { mode, missing } of modes) {
      if (missing !== null) continue;
      for (const animal of ['fork-chain', 'double-fork', 'shed-with-pipe', 'job-control'] as const) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await amongStrangers(animal, mode, sent);
      }
    }
    expect(sent.length).toBeGreaterThan(0);
  });
});

interface Sent {
  pid: number;
  /** What showed, at the moment of the signal, whom it went to. Empty in the middle of an exec. */
  shows: string;
}

function watchSignals(): Sent[] {
  const sent: Sent[] = [];
  const real = process.kill.bind(process);
  vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
    if (signal !== 0) sent.push({ pid, shows: contentOf(`/proc/${Math.abs(pid)}/cmdline`) });
    return real(pid, signal);
  });
  return sent;
}

/** One in the work tree and one as a shell beside the runner; both younger than the attempt, and both come out unharmed. */
async function amongStrangers(animal: Animal, mode: Mode, sent: Sent[]): Promise<void> {
  const captive = await capture(animal, mode, containment);
  cages.push(captive);
  const options: SpawnOptions = { env: plainEnv, stdio: ['pipe', 'ignore', 'ignore'] };
  const sitter = spawn('sleep', ['600'], { ...options, cwd: captive.zoo });
  const shell = spawn('/bin/sh', ['-c', 'read x'], { ...options, detached: true });
  try {
    const seen = await suspects(captive.target, captive.zoo);
    expect(seen?.map(({ pid }) => pid)).toContain(sitter.pid);
    const from = sent.length;
    expect((await end(captive)).verdict).toBe('gone');
    expect([sitter.signalCode, sitter.exitCode, shell.signalCode, shell.exitCode]).toEqual([null, null, null, null]);
    for (const { pid, shows } of sent.slice(from)) {
      const ours = pid < 0 ? -pid === captive.target.pgid : shows === '' || shows.includes(captive.zoo);
      expect(ours, `signalled ${pid}: ${shows}`).toBe(true);
      expect([process.pid, process.ppid, sitter.pid, shell.pid, crowd?.pid]).not.toContain(Math.abs(pid));
      expect(startTimeOf(Math.abs(pid)) ?? Infinity).toBeGreaterThanOrEqual(captive.target.leader.startTime ?? 0);
    }
    expect(reported(captive.zoo).length).toBeGreaterThan(0);
  } finally {
    sitter.kill('SIGKILL');
    shell.kill('SIGKILL');
  }
}
