import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Containment, hostPlatform, probeContainment } from '../../src/process/index.ts';
import type { Mode } from '../process/zoo/keeper.ts';
import {
  type Cage,
  ENDINGS,
  LEVELS,
  type Ending,
  type Zoo,
  clearOut,
  endZoo,
  expectTrueRecord,
  mayHide,
  openZoo,
  proofOf,
} from './zoo/cage.ts';

/** In a round every animal is met once, side by side in one run; more in the torture run. */
const ROUNDS = Number(process.env['COXSWAIN_ROUNDS'] ?? 20);
const BYSTANDERS = 500;

const containment: Containment = await probeContainment();
const missing: Record<Mode, string | null> = {
  search: hostPlatform().list === 'proc' ? null : 'there is no /proc',
  cgroup: containment.cgroup.type === 'available' ? null : containment.cgroup.detail,
  pidns: containment.pidns.type === 'available' ? null : containment.pidns.detail,
};
const modes = ['search', 'cgroup', 'pidns'] as const satisfies Mode[];
const available = modes.filter((mode) => missing[mode] === null);

let crowd: ChildProcess | undefined;

beforeAll(async () => {
  const script = `i=0; while [ $i -lt ${BYSTANDERS} ]; do sleep 600 & i=$((i+1)); done; echo ready; wait`;
  const started = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  crowd = started;
  await new Promise((resolve) => started.stdout.once('data', resolve));
});

afterAll(() => {
  if (crowd?.pid !== undefined) process.kill(-crowd.pid, 'SIGKILL');
});

describe('the zoo as a run leaves nobody', () => {
  test.each(ENDINGS)('ended by %s', { timeout: 60_000 + ROUNDS * 10_000 }, async (ending) => {
    // All modes beside each other: nothing is shared between runs.
    const met = await Promise.all(available.map((mode) => meetAll(mode, ending)));
    expect(met.every((rounds) => rounds > 0)).toBe(true);
  });

  test.for(modes)('in every mode: %s', (mode, { skip }) => {
    const why = missing[mode];
    if (why !== null) skip(why);
    expect(available).toContain(mode);
  });
});

test.runIf(hostPlatform().list === 'proc')('none of the bystanders was signalled', () => {
  const pid = crowd?.pid ?? 0;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ');
  expect(children).toHaveLength(BYSTANDERS);
});

/** The rounds are dealt out in turn to modes and endings, at least one each. */
async function meetAll(mode: Mode, ending: Ending): Promise<number> {
  const place = modes.indexOf(mode) + modes.length * ENDINGS.indexOf(ending);
  const ways = modes.length * ENDINGS.length;
  const rounds = Math.max(1, Math.floor((ROUNDS + ways - 1 - place) / ways));
  for (let round = 0; round < rounds; round += 1) {
    // oxlint-disable-next-line no-await-in-loop -- round after round
    await meet(mode, ending);
  }
  return rounds;
}

async function meet(mode: Mode, ending: Ending): Promise<void> {
  const zoo = await openZoo(mode, ending);
  await endZoo(zoo, ending);
  const left = clearOut(zoo);
  expect(zoo.atSettled, `${mode}: ran when the run had settled`).toEqual([]);
  for (const cage of zoo.cages) {
    const most = mayHide(mode, cage.animal) ? 1 : 0;
    expect(left.get(cage.animal)?.length ?? 0, `${mode}: ${cage.animal} is left`).toBeLessThanOrEqual(most);
    expectProof(zoo, cage);
  }
  expectTrueRecord(zoo);
}

/** It names how each was found and what was sent when. */
function expectProof(zoo: Zoo, cage: Cage): void {
  const proof = proofOf(zoo, cage);
  expect(proof, cage.animal).toMatchObject({ verdict: 'gone', level: LEVELS[zoo.mode], members: [], kept: [] });
  for (const member of proof.leftovers) {
    expect(member).toMatchObject({ pid: expect.any(Number), startTime: expect.any(Number) });
  }
  const times = proof.signals.map(({ at }) => Date.parse(at));
  expect(times, 'times of the signals').toEqual(times.toSorted((a, b) => a - b));
  expect(Date.parse(proof.at)).toBeGreaterThanOrEqual(times.at(-1) ?? 0);
  if (zoo.mode !== 'search') return;
  const found = proof.leftovers.map(({ by }) => by);
  expect(found, cage.animal).toEqual(expect.arrayContaining(FOUND_BY[cage.animal] ?? []));
}

/** The one way in which the hidden one of these can be found. */
const FOUND_BY: Partial<Record<Cage['animal'], string[]>> = {
  'double-fork': ['token'],
  'shed-with-parent': ['descent'],
  'shed-with-pipe': ['pipe'],
};
