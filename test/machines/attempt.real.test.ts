import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type AnyActorRef, type AnyMachineSnapshot, type EventObject, createActor, fromCallback } from 'xstate';
import { describe, expect, test } from 'vitest';
import { type AttemptContext } from '../../machines/attempt.ts';
import { attemptMachine, fill, terminationMachine } from '../../machines/index.ts';
import { EXIT_GRACE } from '../../machines/policy/defaults.ts';
import type { AttemptInput, JournalBody } from '../../machines/protocol.ts';
import type { AgentAdapter } from '../../src/agents/index.ts';
import { child } from '../../src/runtime/child.ts';
import { tree } from '../../src/runtime/tree.ts';
import { type FakeChild, startFakeAgents } from '../../src/testing/fake-agent/index.ts';
import { type PathModel, StepClock, TransitionCoverage } from '../../src/testing/index.ts';
import { deferred, makeFifo, makeKit } from '../support/kit.ts';
import { type Chosen, Deliveries, choosePaths, follow, inParallel } from '../support/walk.ts';
import { AT, LADDER, attemptModel } from './models.ts';

/**
 * The attempt machine with its real ports: a child process that does what the path says and nothing by itself, the
 * real search for what is left of it, and a clock that stands still. After each event the state has to be the one
 * that the pure machine predicts.
 */

/** What cannot be had from real processes at will, and why; walked below with faulty ports. */
const NOT_FEASIBLE: Record<string, string> = {
  'attempt.draining xstate.after.drainLimit.attempt.draining #0':
    'the child port drains in 8 s at most, the limit is 10 s: a net under a port that never says so',
  'attempt.reaping child.exited #0':
    'the exit of a child that was killed has to reach the loop later than the answer of a search that was begun after it: a race nobody can arrange',
  'attempt.reaping xstate.after.reapLimit.attempt.reaping #0':
    'the exit and the drain are told within 8 s, the limit is 10 s: a net under a port that never says so',
};

/* ------------------------------------------------------------------ the model of the real world */

const context = (snapshot: AnyMachineSnapshot): AttemptContext => snapshot.context as AttemptContext;

const real: PathModel = {
  ...attemptModel,
  // Of outcomes that change no state one is enough.
  variants: (type, snapshot) => {
    const all = attemptModel.variants(type, snapshot);
    return type === 'child.drained' || type === 'xstate.done.actor.termination' ? all.slice(0, 1) : all;
  },
  feasible(snapshot, event) {
    if (attemptModel.feasible?.(snapshot, event) === false) return false;
    const { pid, exit, end, model } = context(snapshot);
    const alive = pid !== null && exit === null;
    switch (event.type) {
      // The puppet speaks while it lives; what it says by the way is said once, while it works.
      case 'child.active':
      case 'child.tool':
      case 'child.usage':
      case 'child.session':
        return snapshot.value === 'running';
      case 'child.model':
        return snapshot.value === 'running' && model === null && end === null;
      case 'child.ended':
        return alive;
      // A tree that holds a living leader is not gone, and its slot is not free.
      case 'termination.released':
      case 'xstate.done.actor.termination':
        return exit !== null;
      case 'child.exited':
        return alive && snapshot.value !== 'reaping';
      case 'xstate.after.drainLimit.attempt.draining':
      case 'xstate.after.reapLimit.attempt.reaping':
        return false;
      default:
        return true;
    }
  },
};

/** An adapter that gives up on a line of garbage: none of ours does yet. */
const easilyBroken = (adapter: AgentAdapter): AgentAdapter => ({
  ...adapter,
  open(request) {
    const session = adapter.open(request);
    return {
      start: () => session.start(),
      finish: () => session.finish(),
      abort: () => session.abort(),
      exited: (exit) => session.exited(exit),
      push(chunk) {
        if (!Buffer.from(chunk).includes('%garbage%')) return session.push(chunk);
        return { events: [{ t: 'broken', reason: 'garbage' }], send: [], closeStdin: false };
      },
    };
  },
});

/* ------------------------------------------------------------------ one walk */

/**
 * The agent is started by a shell that leaves a process behind: one that shed session and token, so that no search
 * finds it, and holds the agent's stderr. It passes on what comes through a fifo, and ends with it.
 */
function heldBy(fifo: string, command: readonly string[]): string[] {
  const script = 'env -u COXSWAIN_TOKEN setsid cat "$1" >&2 </dev/null & shift; exec "$@"';
  return ['sh', '-c', script, 'sh', fifo, ...command];
}

interface World {
  agent(): Promise<FakeChild>;
  actor: AnyActorRef;
  clock: StepClock;
  releasePipes(): void;
  openSearch(): void;
}

/** Causes one event of a path; null where that takes no time. */
function cause(event: EventObject, { actor, clock, ...world }: World): Promise<void> | null {
  const tell = async (order: (agent: FakeChild) => Promise<void>): Promise<void> => order(await world.agent());
  switch (event.type) {
    case 'child.started':
    case 'child.unstarted':
    case 'termination.released':
      return null;
    case 'end':
      actor.send(event);
      return null;
    case 'child.active':
      return tell((agent) => agent.stderr('.'));
    case 'child.tool':
      return tell((agent) => agent.toolStart('bash'));
    case 'child.usage':
      return tell((agent) => agent.usage({ input: 1 }));
    case 'child.session':
      return tell((agent) => agent.raw('{"type":"session","id":"s1"}\n'));
    case 'child.model':
      return tell((agent) => agent.say('hello'));
    case 'child.ended': {
      const { end } = event as unknown as { end: { type: string } };
      return tell((agent) => agent.finish(end.type === 'success' ? {} : { errorMessage: '400 bad' }));
    }
    case 'child.resumed':
      return tell((agent) => agent.say('one more thing'));
    case 'child.broken':
      return tell((agent) => agent.raw('%garbage%\n'));
    case 'child.exited':
      return tell((agent) => agent.exit(0));
    case 'child.drained':
      world.releasePipes();
      return null;
    case 'xstate.done.actor.termination':
      world.openSearch();
      return null;
    case 'xstate.after.exitGrace.attempt.finishing':
      clock.advance(EXIT_GRACE);
      return null;
    default:
      throw new Error(`nobody knows how to cause ${event.type}`);
  }
}

async function walk(chosen: Chosen<PathModel>, coverage: TransitionCoverage): Promise<void> {
  const agents = await startFakeAgents();
  const missing = chosen.path.events.some((event) => event.type === 'child.unstarted');
  const settings = agents.settings();
  const gate = deferred();
  const kit = makeKit(
    {
      version: 1,
      steps: [{ id: 'a', agent: 'fake', task: 'x' }],
      agents: { fake: { adapter: settings.adapter, mode: 'rpc', command: ['sh'] } },
    },
    (sweeper) => ({
      ...sweeper,
      look: async (target) => {
        await gate.promise;
        return sweeper.look(target);
      },
    }),
  );
  const fifo = join(kit.dir.path, 'fifo');
  makeFifo(fifo);
  const holder = hold(fifo);
  const token = await kit.prepare('a', easilyBroken);
  const prepared = kit.prepared.get('a');
  if (prepared === undefined) throw new Error('not prepared');
  const command = missing ? ['/nowhere/to/be/found'] : heldBy(fifo, settings.command ?? []);
  kit.prepared.set('a', { ...prepared, agent: { ...prepared.agent, settings: { ...settings, command } } });

  const deliveries = new Deliveries();
  const clock = new StepClock();
  const machine = attemptMachine.provide({
    actors: {
      child: fill(child(kit)),
      termination: fill(terminationMachine.provide({ actors: { tree: fill(tree(kit)) } })),
    },
    actions: {
      record: (_: unknown, body: JournalBody) => kit.record(body),
      keep: (_: unknown, kept) => kit.keepProof(kept),
    },
  });
  const actor = createActor(machine, {
    input: { step: 'a', n: 1, token, agent: 'fake', model: null, ladder: LADDER, at: AT } satisfies AttemptInput,
    clock,
    inspect: (event) => {
      coverage.inspect(event);
      deliveries.inspect(event);
    },
  });
  const agent = once(async () => {
    const one = await agents.next();
    for (const what of ['SIGTERM', 'SIGINT', 'abort', 'stdin-close'] as const) await one.ignore(what);
    await holder.holds(kit.dir.attempt('a', 1).stderr);
    return one;
  });
  const world: World = { agent, actor, clock, releasePipes: holder.release, openSearch: gate.resolve };
  try {
    actor.start();
    await follow(chosen, deliveries, (event) => cause(event, world));
    expect(kit.faults).toEqual([]);
  } finally {
    // Only a holder that has come up can be let go.
    if (!missing) await holder.holds(kit.dir.attempt('a', 1).stderr);
    actor.stop();
    gate.resolve();
    holder.release();
    await kit.dispose();
    await agents.dispose();
  }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}

/** The other end of the fifo: what comes through keeps the pipe from being called quiet. */
function hold(fifo: string) {
  // For reading too: opening does not wait for the other side then.
  let fd: number | null = openSync(fifo, 'r+');
  const timer = setInterval(() => {
    if (fd !== null) writeSync(fd, '.');
  }, 50);
  return {
    /** Resolves when the holder has the pipe. */
    async holds(stderr: string): Promise<void> {
      while (!readFileSync(stderr, { encoding: 'utf8', flag: 'a+' }).includes('.')) await pause(5);
    },
    release: (): void => {
      clearInterval(timer);
      if (fd !== null) closeSync(fd);
      fd = null;
    },
  };
}

/* ------------------------------------------------------------------ tests */

describe('attempt on real child processes', () => {
  test('every feasible transition is walked, and each path ends where the pure machine says', async () => {
    const coverage = new TransitionCoverage(attemptMachine);
    const chosen = choosePaths([real]);
    await inParallel(chosen, 3, (one) => walk(one, coverage));
    const feasible = coverage.total - Object.keys(NOT_FEASIBLE).length;
    console.info(`${coverage.toString()} on ${chosen.length} paths of real processes; ${feasible} are feasible`);
    expect(coverage.missing()).toEqual(Object.keys(NOT_FEASIBLE));
  });

  const PID = 2 ** 30;
  const started: EventObject = { type: 'child.started', at: AT, pid: PID, startTime: 1 } as never;
  const exited: EventObject = { type: 'child.exited', at: AT, code: null, signal: 'SIGKILL' } as never;

  test.each([
    ['attempt.draining xstate.after.drainLimit.attempt.draining #0', [started, exited], 10_000, 'terminating'],
    ['attempt.reaping child.exited #0', [started, 'end', 'gone', exited], 0, 'reaping'],
    ['attempt.reaping xstate.after.reapLimit.attempt.reaping #0', [started, 'end', 'gone'], 10_000, 'closed'],
  ] as const)('%s: with a port that sends what no real one would', (name, events, ms, value) => {
    const coverage = new TransitionCoverage(attemptMachine);
    const clock = new StepClock();
    const ports: { childSays?: (event: EventObject) => void; finishTree?: () => void } = {};
    const machine = attemptMachine.provide({
      actors: {
        child: fill(fromCallback<never, AttemptInput>(({ sendBack }) => void (ports.childSays = sendBack)) as never),
        termination: fill(
          terminationMachine.provide({
            actors: {
              tree: fill(
                fromCallback(({ sendBack }) => {
                  ports.finishTree = () => {
                    sendBack({ type: 'tree.emptied', at: AT });
                    sendBack({ type: 'tree.looked', at: AT, members: [], level: 'searched' });
                  };
                }) as never,
              ),
            },
          }),
        ),
      },
    });
    const actor = createActor(machine, { input: attemptModel.input as AttemptInput, clock, inspect: coverage.inspect });
    actor.start();
    for (const event of events) {
      if (event === 'end') actor.send({ type: 'end', cause: { type: 'stop', at: AT, source: 'test' } });
      else if (event === 'gone') ports.finishTree?.();
      else ports.childSays?.(event);
    }
    clock.advance(ms);
    expect(actor.getSnapshot().value).toBe(value);
    expect(coverage.missing()).not.toContain(name);
    actor.stop();
  });
});
