import { closeSync, existsSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type AnyMachineSnapshot, type EventObject, createActor, fromCallback } from 'xstate';
import { describe, expect, test } from 'vitest';
import type { TerminationContext } from '../../machines/termination.ts';
import { fill, terminationMachine } from '../../machines/index.ts';
import { LOOK_LIMIT, MAX_ROUNDS } from '../../machines/policy/defaults.ts';
import type { Member, StopRung, TerminationInput } from '../../machines/protocol.ts';
import { type Look, startTimeOf } from '../../src/process/index.ts';
import { child } from '../../src/runtime/child.ts';
import { isEmptied } from '../../src/runtime/table.ts';
import { tree } from '../../src/runtime/tree.ts';
import { type PathModel, StepClock, TransitionCoverage } from '../../src/testing/index.ts';
import { type TestKit, attemptInput, deferred, makeFifo, makeKit } from '../support/kit.ts';
import { type Chosen, Deliveries, choosePaths, follow, inParallel } from '../support/walk.ts';
import { AT } from './models.ts';

/**
 * The termination machine with the real tree port, on real process trees: a leader and a grandchild in its group that
 * take no notice of SIGINT and SIGTERM, and where the path wants it a stray in a session of its own, known by its
 * token only. They end when they are told, or by SIGKILL.
 */

/** What cannot be had from real processes at will, and why; walked below with other eyes. */
const NOT_FEASIBLE: Record<string, string> = {
  'termination.looking tree.blind #0': 'needs a machine whose process list cannot be read',
  'termination.looking tree.looked #5':
    'needs a process that outlives every SIGKILL (uninterruptible, or of another user)',
  'termination.looking xstate.after.lookLimit.termination.looking #0':
    'a search gives up after 1 s and says so, the limit is 10 s: a net under one that never answers',
};

/* ------------------------------------------------------------------ the model of the real world */

const ABORT: StopRung = { do: 'abort', graceMs: 2_000 };
const INT: StopRung = { do: 'SIGINT', graceMs: 1_000 };
const TERM: StopRung = { do: 'SIGTERM', graceMs: 3_000 };
const KILL: StopRung = { do: 'SIGKILL', graceMs: 1_000 };

interface World extends PathModel {
  input: TerminationInput;
  /** `pi` has an abort, a command has none. */
  adapter: 'pi' | 'command';
}

/** Two searches that find nobody, one after the other. */
const nobody: EventObject = { type: 'tree.looked', at: AT, members: [], level: 'searched', search: 1 } as never;
const nobodyAgain: EventObject = { type: 'tree.looked', at: AT, members: [], level: 'searched', search: 2 } as never;
const somebody: EventObject = {
  type: 'tree.looked',
  at: AT,
  members: [{ pid: 7, startTime: 70, by: 'token', command: 'sleep' }] satisfies Member[],
  level: 'searched',
  search: 1,
} as never;

function world(why: TerminationInput['why'], ladder: StopRung[], adapter: World['adapter'] = 'command'): World {
  return {
    machine: terminationMachine,
    adapter,
    input: { step: 'a', n: 1, why, ladder, policy: 'end', released: false, at: AT },
    variants: (type) => (type === 'tree.looked' ? [nobody, nobodyAgain, somebody] : [{ type, at: AT } as EventObject]),
    identity: ({ context }) => [context.rung, context.rounds, context.members.length, context.cleanSearch],
    feasible: (snapshot, event) => feasible(snapshot, event, adapter),
  };
}

function feasible({ value, context }: AnyMachineSnapshot, event: EventObject, adapter: World['adapter']): boolean {
  const { ladder, rung, rounds, why, cleanSearch } = context as TerminationContext;
  const refused = value === 'asking' && ladder[rung]?.do === 'abort' && adapter === 'command';
  switch (event.type) {
    case 'tree.refused':
      return refused;
    case 'tree.applied':
      return !refused && (value === 'asking' || value === 'forcing');
    case 'tree.emptied':
      // Said in answer to a look when the group was empty before.
      return !refused && (value !== 'looking' || (why === 'leftovers' && rounds === 0));
    case 'tree.looked':
      // After SIGKILL nobody is there, and after nobody nobody again.
      if (event === somebody) return rounds === 0;
      return event === (cleanSearch === 0 ? nobody : nobodyAgain);
    case 'tree.blind':
    case 'xstate.after.lookLimit.termination.looking':
      return false;
    default:
      return !refused;
  }
}

const worlds: World[] = [
  world('stop', [ABORT, TERM, KILL], 'pi'),
  world('stop', [ABORT, INT, TERM, KILL]),
  world('stop', [ABORT, KILL]),
  world('stop', [KILL]),
  world('leftovers', [ABORT, TERM, KILL]),
  world('leftovers', [KILL]),
];

/* ------------------------------------------------------------------ real trees */

/**
 * Deaf: what is ignored stays ignored over an exec. Each says that it is up; the leader waits for a word through
 * the first fifo and ends with its grandchild, the stray waits for one through the second.
 */
const LEADER = `
trap '' INT TERM
sleep 120 & grandchild=$!
if [ "$3" = stray ]; then setsid sh -c 'echo $$ > "$2/stray"; read word < "$1"' sh "$2/stray.fifo" "$2" </dev/null >/dev/null 2>&1 & fi
echo $$ > "$2/leader"
read word < "$1"
kill -9 $grandchild
`;

interface Tree {
  kit: TestKit;
  tellLeader(): void;
  tellStray(): void;
  openSearch(): void;
  dispose: () => Promise<void>;
}

async function growTree(model: World, withStray: boolean): Promise<Tree> {
  let gate = deferred();
  const kit = makeKit(
    {
      version: 1,
      steps: [{ id: 'a', agent: 'fake', task: 'x' }],
      agents: { fake: { adapter: model.adapter, command: ['sh'] } },
    },
    (sweeper) => ({
      ...sweeper,
      async look(target, how) {
        await gate.promise;
        gate = deferred();
        return sweeper.look(target, how);
      },
    }),
  );
  const folder = kit.dir.path;
  const script = join(folder, 'leader.sh');
  writeFileSync(script, LEADER);
  const [leader, stray] = ['leader.fifo', 'stray.fifo'].map((name) => fifoAt(join(folder, name)));
  const token = await kit.prepare('a');
  const prepared = kit.prepared.get('a');
  if (prepared === undefined || leader === undefined || stray === undefined) throw new Error('not prepared');
  const command = ['sh', script, leader.path, folder, withStray ? 'stray' : 'alone'];
  kit.prepared.set('a', {
    ...prepared,
    agent: { ...prepared.agent, settings: { ...prepared.agent.settings, command } },
  });
  const input = attemptInput({ token, at: AT });
  const port = createActor(child(kit), { input }).start();
  await until('the tree stands', () => existsSync(join(folder, 'leader')));
  if (withStray) await until('the stray stands', () => existsSync(join(folder, 'stray')));
  if (model.input.why === 'leftovers') {
    leader.tell();
    // And its grandchild, which it has killed: a killed process takes a moment to be gone.
    await until('the group is empty', () => {
      const entry = kit.table.get('a', 1);
      return entry !== undefined && isEmptied(entry);
    });
  }
  return {
    kit,
    tellLeader: leader.tell,
    tellStray: stray.tell,
    openSearch: () => gate.resolve(),
    dispose: async () => {
      port.stop();
      gate.resolve();
      leader.close();
      stray.close();
      await kit.dispose();
    },
  };
}

function fifoAt(path: string) {
  makeFifo(path);
  // For reading too: opening does not wait for the other side then.
  const fd = openSync(path, 'r+');
  return { path, tell: () => void writeSync(fd, 'go\n'), close: () => closeSync(fd) };
}

async function until(what: string, condition: () => boolean): Promise<void> {
  for (const end = performance.now() + 10_000; !condition(); await pause(2)) {
    if (performance.now() > end) throw new Error(`in vain waited until ${what}`);
  }
}

/* ------------------------------------------------------------------ one walk */

async function walk(chosen: Chosen<World>, coverage: TransitionCoverage): Promise<void> {
  const { model, path } = chosen;
  const grown = await growTree(model, path.events.includes(somebody));
  const { kit } = grown;
  const deliveries = new Deliveries();
  const clock = new StepClock();
  const actor = createActor(terminationMachine.provide({ actors: { tree: fill(tree(kit)) } }), {
    input: model.input,
    clock,
    inspect: (event) => {
      coverage.inspect(event);
      deliveries.inspect(event);
    },
  });
  const cause = (event: EventObject): null => {
    const { rung, ladder, members } = actor.getSnapshot().context;
    const { value } = actor.getSnapshot();
    if (event.type === 'tree.emptied' && value === 'asking') {
      if (members.length > 0) grown.tellStray();
      else grown.tellLeader();
    }
    if (event.type === 'tree.looked') grown.openSearch();
    if (event.type.includes('rungGrace')) clock.advance(ladder[rung]?.graceMs ?? 0);
    if (event.type.includes('killVerify')) clock.advance(KILL.graceMs);
    return null;
  };
  try {
    actor.start();
    await follow(chosen, deliveries, cause);
    const strays = existsSync(join(kit.dir.path, 'stray'))
      ? [Number(readFileSync(join(kit.dir.path, 'stray'), 'utf8'))]
      : [];
    // By its token, or because it was seen below the leader before that was gone.
    expect(actor.getSnapshot().context.leftovers.map(({ pid, by }) => [pid, by])).toEqual(
      strays.map((pid) => [pid, expect.stringMatching(/^(?:token|descent)$/)]),
    );
    expect(kit.faults).toEqual([]);
  } finally {
    actor.stop();
    await grown.dispose();
  }
}

/** A look that answers as it is told, over a tree that exists. */
async function withOtherEyes(look: () => Promise<Look>, clock: StepClock, coverage: TransitionCoverage) {
  const model = world('leftovers', [TERM, KILL]);
  const grown = await growTree(model, false);
  Object.assign(grown.kit.sweeper, { look });
  const actor = createActor(terminationMachine.provide({ actors: { tree: fill(tree(grown.kit)) } }), {
    input: model.input,
    clock,
    inspect: coverage.inspect,
  });
  actor.start();
  return { actor, dispose: grown.dispose };
}

/* ------------------------------------------------------------------ tests */

describe('termination on real process trees', () => {
  test('every feasible transition is walked, and each path ends where the pure machine says', async () => {
    const coverage = new TransitionCoverage(terminationMachine);
    const chosen = choosePaths(worlds);
    await inParallel(chosen, 4, (one) => walk(one, coverage));
    const reachable = coverage.total - Object.keys(NOT_FEASIBLE).length;
    console.info(`${coverage.toString()} on ${chosen.length} paths of real processes; ${reachable} are feasible`);
    expect(coverage.missing()).toEqual(Object.keys(NOT_FEASIBLE));
  });

  test('a list of processes that cannot be read ends as unknown, with the reason', async () => {
    const coverage = new TransitionCoverage(terminationMachine);
    const blind: Look = { type: 'blind', reason: 'no /proc', level: 'group', serial: 1 };
    const { actor, dispose } = await withOtherEyes(async () => blind, new StepClock(), coverage);
    await until('it has ended', () => actor.getSnapshot().status === 'done');
    expect(actor.getSnapshot().output).toMatchObject({ verdict: 'unknown', level: 'group', reason: 'no /proc' });
    expect(coverage.missing()).not.toContain('termination.looking tree.blind #0');
    await dispose();
  });

  test('somebody who outlives every SIGKILL is named as a survivor after so many rounds', async () => {
    const coverage = new TransitionCoverage(terminationMachine);
    const clock = new StepClock();
    // Ourselves, whom nothing of ours ever signals.
    const us: Member = { pid: process.pid, startTime: startTimeOf(process.pid), by: 'token', command: 'vitest' };
    let looks = 0;
    const look = async (): Promise<Look> => {
      looks += 1;
      return { type: 'looked', members: [us], level: 'searched', serial: looks };
    };
    const { actor, dispose } = await withOtherEyes(look, clock, coverage);
    await until('it has ended', () => {
      clock.advance(3_000);
      return actor.getSnapshot().status === 'done';
    });
    expect(actor.getSnapshot().output).toMatchObject({ verdict: 'survived', members: [us], leftovers: [us] });
    expect(looks).toBe(MAX_ROUNDS);
    expect(coverage.missing()).not.toContain('termination.looking tree.looked #5');
    await dispose();
  });

  test('a search that never answers ends as unknown', async () => {
    const coverage = new TransitionCoverage(terminationMachine);
    const clock = new StepClock();
    const { actor, dispose } = await withOtherEyes(() => new Promise(() => {}), clock, coverage);
    clock.advance(LOOK_LIMIT);
    expect(actor.getSnapshot().output).toMatchObject({ verdict: 'unknown', reason: expect.any(String) });
    expect(coverage.missing()).toEqual(expect.not.arrayContaining(Object.keys(NOT_FEASIBLE).slice(2)));
    await dispose();
  });

  test('where nobody answers it never says gone', () => {
    const clock = new StepClock();
    const silent = terminationMachine.provide({ actors: { tree: fill(fromCallback(() => {}) as never) } });
    const actor = createActor(silent, { input: worlds[0]?.input as TerminationInput, clock }).start();
    clock.advance(60_000);
    expect(actor.getSnapshot().output).toMatchObject({ verdict: 'unknown' });
    actor.stop();
  });
});
