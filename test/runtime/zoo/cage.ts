import { readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Proof, ProofLevel, StopRung } from '../../../machines/protocol.ts';
import type { Registry } from '../../../src/agents/index.ts';
import { startTimeOf } from '../../../src/process/index.ts';
import type { Runtime } from '../../../src/runtime/run.ts';
import { ANIMALS, type Animal, type Mode, contentOf, reported } from '../../process/zoo/keeper.ts';
import { folder, until } from '../../process/support.ts';
import { expectTruth, runs } from '../../support/truth.ts';
import { type Rig, startRun } from '../rig.ts';

/** What ends the animals: a command, a limit, or their own exit. */
export const ENDINGS = ['stop', 'limit', 'exit'] as const;
export type Ending = (typeof ENDINGS)[number];

/** One animal as the step of a run; the step has its name. */
export interface Cage {
  animal: Animal;
  /** The folder that all its processes have in their command lines. */
  zoo: string;
}

/** The whole zoo in one run, every animal a step beside the others. */
export interface Zoo {
  rig: Rig;
  cages: Cage[];
  mode: Mode;
  /** Those who were there when all was ready, and still ran at the moment `run.settled` was journaled. */
  atSettled: number[];
}

const CONTAIN = { search: 'none', cgroup: 'cgroup', pidns: 'pidns' } as const satisfies Record<Mode, string>;
export const LEVELS = {
  search: 'searched',
  cgroup: 'contained',
  pidns: 'contained',
} as const satisfies Record<Mode, ProofLevel>;

const LEAVE = new URL('leave.sh', import.meta.url).pathname;

/** Commands have 3 s after TERM; here they have less, so that the rounds are many. */
function hurry({ kit }: Runtime): void {
  const { registry } = kit;
  const stop = [
    { do: 'SIGTERM', graceMs: 40 },
    { do: 'SIGKILL', graceMs: 1_000 },
  ] satisfies StopRung[];
  const resolve: Registry['resolve'] = async (name, use) => {
    const found = await registry.resolve(name, use);
    if (found.type !== 'agent') return found;
    return { ...found, agent: { ...found.agent, settings: { ...found.agent.settings, stop } } };
  };
  Object.assign(kit, { registry: { ...registry, resolve } });
}

/** Starts every animal and waits until each has reported all its processes, or its program has ended. */
export async function openZoo(mode: Mode, ending: Ending): Promise<Zoo> {
  const cages = (Object.keys(ANIMALS) as Animal[]).map((animal): Cage => {
    const zoo = folder();
    symlinkSync('/bin/sleep', join(zoo, 'sleep'));
    return { animal, zoo };
  });
  const rig = startRun(
    {
      version: 1,
      limits: { concurrency: cages.length },
      defaults: { contain: CONTAIN[mode], proof: LEVELS[mode] },
      steps: cages.map(({ animal, zoo }) => ({ id: animal, needs: [], run: commandFor(animal, zoo, ending) })),
    },
    { before: hurry },
  );
  const zoo: Zoo = { rig, cages, mode, atSettled: [] };
  await Promise.all(cages.map((cage) => until(`${cage.animal} to be ready`, () => isReady(zoo, cage))));
  watchTheEnd(zoo);
  return zoo;
}

function commandFor(animal: Animal, zoo: string, ending: Ending): string[] {
  const script = new URL(`../../process/zoo/${animal}.sh`, import.meta.url).pathname;
  return ending === 'exit' ? ['/bin/sh', LEAVE, script, zoo, String(ANIMALS[animal])] : ['/bin/sh', script, zoo];
}

function isReady({ rig }: Zoo, { animal, zoo }: Cage): boolean {
  if (reported(zoo).length >= ANIMALS[animal]) return true;
  // A namespace ends with its program, and whoever else was to report may not have come to it.
  return rig.records.some((record) => record.type === 'attempt.exited' && record.step === animal);
}

/** Everybody who runs now, by pid and start time, is to be gone when the run says that it has settled. */
function watchTheEnd({ rig, cages, mode, atSettled }: Zoo): void {
  const watched = [...census(cages.filter(({ animal }) => !mayHide(mode, animal))).values()]
    .flat()
    .map((pid) => ({ pid, startTime: startTimeOf(pid) }));
  rig.runtime.journal.onAppend(({ type }) => {
    if (type !== 'run.settled') return;
    for (const { pid, startTime } of watched) {
      if (startTime !== null && startTimeOf(pid) === startTime && runs(pid)) atSettled.push(pid);
    }
  });
}

/** The one that sheds everything before anybody can have looked is out of reach where nothing holds it. */
export const mayHide = (mode: Mode, animal: Animal): boolean => mode === 'search' && animal === 'shed-all';

export async function endZoo({ rig, cages }: Zoo, ending: Ending): Promise<void> {
  switch (ending) {
    case 'stop':
      rig.stop();
      break;
    case 'limit':
      for (const { animal } of cages) rig.extend(0, animal);
      break;
    case 'exit':
      break;
  }
  await rig.ended;
}

/** Who of each animal still runs, found without any of what is tested here; ended now, however it hid. */
export function clearOut({ cages }: Zoo): Map<Animal, number[]> {
  const left = census(cages);
  for (const pid of [...left.values()].flat()) process.kill(pid, 'SIGKILL');
  return left;
}

function census(cages: readonly Cage[]): Map<Animal, number[]> {
  const found = new Map<Animal, number[]>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const command = contentOf(`/proc/${pid}/cmdline`);
    const cage = cages.find(({ zoo }) => command.includes(zoo));
    if (cage !== undefined) found.set(cage.animal, [...(found.get(cage.animal) ?? []), Number(pid)]);
  }
  return found;
}

export const proofOf = ({ rig }: Zoo, { animal }: Cage): Proof =>
  JSON.parse(readFileSync(rig.dir.attempt(animal, 1).proof, 'utf8')) as Proof;

export const expectTrueRecord = ({ rig: { dir, runtime, inspector } }: Zoo): void =>
  void expectTruth({ dir, runtime, inspector });
