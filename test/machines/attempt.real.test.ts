import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type AnyActorRef, type AnyMachineSnapshot, type EventObject, createActor, fromCallback } from 'xstate';
import { describe, expect, test } from 'vitest';
import { type AttemptContext } from '../../machines/attempt-outcome.ts';
import { activityMachine, attemptMachine, fill, terminationMachine } from '../../machines/index.ts';
import { EXIT_GRACE, QUIET_AFTER, REVIEW_LIMIT } from '../../machines/policy/defaults.ts';
import type {
  ActivityEvent,
  ActivityInput,
  AgentEnd,
  AttemptInput,
  AttemptLimits,
  JournalBody,
} from '../../machines/protocol.ts';
import type { AgentAdapter } from '../../src/agents/index.ts';
import { beginCheck, check } from '../../src/runtime/check.ts';
import { child } from '../../src/runtime/child.ts';
import { tree } from '../../src/runtime/tree.ts';
import { type FakeChild, startFakeAgents } from '../../src/testing/fake-agent/index.ts';
import { type PathModel, StepClock, TransitionCoverage } from '../../src/testing/index.ts';
import { attemptInput, deferred, makeFifo, makeKit } from '../support/kit.ts';
import { type Chosen, Deliveries, choosePaths, follow, inParallel } from '../support/walk.ts';
import { AT, LADDER, NO_LIMITS, attemptModel } from './models.ts';

/**
 * The attempt machine with its real ports: a child process that does what the path says and nothing by itself, the
 * real search for what is left of it, and a clock that stands still. After each event the state has to be the one
 * that the pure machine predicts.
 */

/** What cannot be had from real processes at will, and why; walked below with faulty ports. */
const NOT_FEASIBLE: Record<string, string> = {
  'attempt activity.changed #0':
    'whoever watches is stopped in the step that ends the work, and what it said before has been heard: a net',
  'attempt child.ended #0':
    'the end record has to be read later than the exit is told: a race of the pipe with the signal of the child, which nobody can arrange',
  'attempt child.listens #0':
    'a pi can be spoken to from the beginning; a program that says so later is one of the runtime tests of commands',
  'attempt limit.reached #0': 'as for activity.changed',
  'attempt.draining xstate.after.drainLimit.attempt.draining #0':
    'the child port drains in 8 s at most, the limit is 10 s: a net under a port that never says so',
  'attempt.reaping child.exited #0':
    'the exit of a child that was killed has to reach the loop later than the answer of a search that was begun after it: a race nobody can arrange',
  'attempt.reaping xstate.after.reapLimit.attempt.reaping #0':
    'the exit and the drain are told within 8 s, the limit is 10 s: a net under a port that never says so',
  'attempt.working.reviewing activity.changed #0':
    'while it reviews its silence is held to be none, and what was heard before has been told: a net',
};

/* ------------------------------------------------------------------ the model of the real world */

const context = (snapshot: AnyMachineSnapshot): AttemptContext => snapshot.context as AttemptContext;

const ONE_IS_ENOUGH: ReadonlySet<string> = new Set(['xstate.done.actor.termination', 'xstate.done.actor.check']);

/** The clock moves only where a path wants it: one limit a model, so that no other one is met on the way. */
const real = (watched: Partial<AttemptLimits>, expects: AttemptInput['expects'] = null): PathModel => ({
  ...attemptModel,
  input: attemptInput({ ladder: LADDER, limits: { ...NO_LIMITS, ...watched }, expects, at: AT }),
  // Of outcomes that change no state one is enough.
  variants: (type, snapshot) => {
    const all = attemptModel.variants(type, snapshot);
    if (type !== 'child.drained') return ONE_IS_ENOUGH.has(type) ? all.slice(0, 1) : all;
    // The last word is what it said before, and without one it has failed.
    const said = context(snapshot).end?.type ?? 'failure';
    return all.filter((event) => (event as unknown as { end: AgentEnd }).end.type === said);
  },
  feasible(snapshot, event) {
    if (attemptModel.feasible?.(snapshot, event) === false) return false;
    // Nobody holds up the look at what it has to show.
    if (snapshot.matches('checking')) return event.type === 'xstate.done.actor.check';
    const { pid, exit, drained, end, model, limits } = context(snapshot);
    const works = snapshot.matches({ working: 'running' });
    const alive = pid !== null && exit === null;
    switch (event.type) {
      // The puppet speaks while it lives; what it says by the way is said once, while it works.
      case 'child.usage':
      case 'child.session':
        return works;
      case 'child.listens':
        return false;
      case 'child.tool':
        return works || (alive && snapshot.matches('terminating'));
      // Whoever holds its pipe goes on when it has gone.
      case 'child.active':
        return works || snapshot.matches('draining');
      case 'child.model':
        return works && model === null && end === null;
      case 'limit.reached':
      case 'xstate.after.wrapUpTime.attempt.working.running':
        return works && limits.attemptMs !== null;
      case 'activity.changed':
        return works && limits.stall !== null;
      // Another limit is shorter.
      case 'xstate.after.reviewLimit.attempt.working.reviewing':
        return limits.attemptMs === null;
      case 'child.ended':
        return alive;
      // Its slot is free before, if nobody was left at the end of the pipes.
      case 'termination.released':
        return exit !== null && !drained;
      // A tree that holds a living leader is not gone.
      case 'xstate.done.actor.termination':
        return exit !== null;
      // Its words about messages come back from the port; its questions lie in its mailbox while that is looked at.
      case 'child.steer':
        return works;
      case 'child.asked':
      case 'child.ask-gone':
        return works || (alive && snapshot.matches('terminating'));
      // It lies in its mailbox as well.
      case 'child.review':
        return alive && (snapshot.matches('working') || snapshot.matches('terminating'));
      case 'child.exited':
        return alive && !snapshot.matches('reaping');
      case 'xstate.after.drainLimit.attempt.draining':
      case 'xstate.after.reapLimit.attempt.reaping':
        return false;
      default:
        return true;
    }
  },
});

const ATTEMPT_MS = 10_000;
const STALL_MS = QUIET_AFTER + 10_000;
/** One that goes on in a session, and can be gone on with: little happens to it. */
const resumed: PathModel = {
  ...real({}),
  input: attemptInput({ ladder: LADDER, limits: NO_LIMITS, session: 's1', resumes: true, at: AT }),
  feasible: (snapshot, event) =>
    ['child.started', 'steer.recover', 'child.exited', 'child.drained', 'xstate.done.actor.termination'].includes(
      event.type,
    ) && real({}).feasible?.(snapshot, event) !== false,
};
const FILES = { value: false, repairs: 0, files: ['a.txt'], changes: false };
const worlds = [
  real({ attemptMs: ATTEMPT_MS }, FILES),
  real({ stall: { afterMs: STALL_MS, action: 'stop' } }),
  resumed,
];

/** An adapter that gives up on a line of garbage: none of ours does yet. */
const easilyBroken = (adapter: AgentAdapter): AgentAdapter => ({
  ...adapter,
  open(request) {
    const session = adapter.open(request);
    return {
      start: () => session.start(),
      finish: () => session.finish(),
      abort: () => session.abort(),
      wrapUp: (leftMs) => session.wrapUp(leftMs),
      steer: (message) => session.steer(message),
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
 * finds it, and holds the agent's stderr. It passes on what comes through a fifo, and ends with it. `leavesOne`: one more
 * stays behind in the agent's own group, and holds nothing.
 */
function heldBy(fifo: string, command: readonly string[], { leavesOne }: { leavesOne: boolean }): string[] {
  const left = leavesOne ? 'sleep 600 >/dev/null 2>&1 </dev/null & ' : '';
  const script = `${left}env -u COXSWAIN_TOKEN setsid cat "$1" >&2 </dev/null & shift; exec "$@"`;
  return ['sh', '-c', script, 'sh', fifo, ...command];
}

interface World {
  agent(): Promise<FakeChild>;
  actor: AnyActorRef;
  clock: StepClock;
  deliveries: Deliveries;
  /** Of a question that was not asked before. */
  askId(): string;
  releasePipes(): void;
  openSearch(): void;
}

/** Causes one event of a path; null where that takes no time. */
function cause(event: EventObject, { actor, clock, deliveries, ...world }: World): Promise<void> | null {
  const tell = async (order: (agent: FakeChild) => Promise<void>): Promise<void> => order(await world.agent());
  const state = actor.getSnapshot() as AnyMachineSnapshot;
  /** What makes us end it comes when it stands: one that is asked to end sooner is not deaf yet. */
  const whenItStands = (act: () => void): Promise<void> | null => {
    if (state.matches('working')) return tell(async () => act());
    act();
    return null;
  };
  switch (event.type) {
    case 'child.started':
    case 'child.unstarted':
    case 'termination.released':
    case 'xstate.done.actor.check':
      return null;
    case 'steer':
    case 'ask.settled':
      actor.send(event);
      return null;
    case 'child.steer':
      // There is no text for it: the port says so.
      return tell(async () => actor.send({ type: 'steer', at: AT, id: 'm1', mode: 'now' }));
    case 'child.asked':
      return tell((agent) => agent.ask({ id: world.askId(), text: 'which one?' }));
    case 'child.ask-gone':
      return tell(async (agent) => {
        const id = world.askId();
        await agent.ask({ id, text: 'which one?' });
        await (deliveries.take({ type: 'child.asked' }) ?? deliveries.next({ type: 'child.asked' }));
        await agent.withdraw(id);
      });
    case 'child.review': {
      const { seq, active } = event as unknown as { seq: number; active: boolean };
      return tell((agent) => agent.review({ seq, active }));
    }
    case 'deadline.moved':
    case 'steer.recover':
    case 'end':
      return whenItStands(() => actor.send(event));
    case 'child.active':
      return state.matches('draining') ? null : tell((agent) => agent.stderr('.'));
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
    case 'xstate.after.exitGrace.attempt.working.finishing':
      clock.advance(EXIT_GRACE);
      return null;
    case 'xstate.after.reviewLimit.attempt.working.reviewing':
      clock.advance(REVIEW_LIMIT);
      return null;
    case 'xstate.after.wrapUpTime.attempt.working.running':
      return whenItStands(() => clock.advance(ATTEMPT_MS / 2));
    case 'limit.reached':
      return whenItStands(() => clock.advance(ATTEMPT_MS));
    case 'activity.changed':
      return whenItStands(() => {
        clock.advance(QUIET_AFTER);
        if ((event as unknown as { state: string }).state === 'quiet') return;
        // It is quiet before it has stalled.
        deliveries.take(event);
        clock.advance(STALL_MS - QUIET_AFTER);
      });
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
      steps: [{ id: 'a', agent: 'fake', task: 'x', output: { files: FILES.files } }],
      agents: { fake: { adapter: settings.adapter, mode: 'rpc', command: ['sh'] } },
    },
    (sweeper) => ({
      ...sweeper,
      look: async (target, how) => {
        await gate.promise;
        const seen = await sweeper.look(target, how);
        // Whoever holds the pipes is there for the drain, and nobody's leftover.
        return seen.type === 'looked'
          ? { ...seen, members: seen.members.filter((one) => one.command !== 'cat') }
          : seen;
      },
    }),
  );
  const fifo = join(kit.dir.path, 'fifo');
  makeFifo(fifo);
  const holder = hold(fifo);
  const token = await kit.prepare('a', easilyBroken);
  const prepared = kit.prepared.get('a');
  if (prepared === undefined) throw new Error('not prepared');
  const leavesOne = chosen.path.events.some((event) => (event as { emptied?: boolean }).emptied === false);
  const command = missing ? ['/nowhere/to/be/found'] : heldBy(fifo, settings.command ?? [], { leavesOne });
  await beginCheck(kit, kit.step('a'), false);
  kit.prepared.set('a', { ...prepared, agent: { ...prepared.agent, settings: { ...settings, command } } });

  const deliveries = new Deliveries();
  const clock = new StepClock();
  const machine = attemptMachine.provide({
    actors: {
      child: fill(child(kit)),
      activity: fill(activityMachine),
      termination: fill(terminationMachine.provide({ actors: { tree: fill(tree(kit)) } })),
      check: fill(check(kit)),
    },
    actions: {
      record: (_: unknown, body: JournalBody) => kit.record(body),
      keep: (_: unknown, kept) => kit.keepProof(kept),
    },
  });
  const actor = createActor(machine, {
    input: { ...(chosen.model.input as AttemptInput), token },
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
  let asked = 0;
  const askId = (): string => `q${(asked += 1)}`;
  const world: World = {
    askId,
    agent,
    actor,
    clock,
    deliveries,
    releasePipes: holder.release,
    openSearch: gate.resolve,
  };
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

const late = (type: 'limit.reached' | 'activity.changed'): EventObject =>
  (type === 'limit.reached'
    ? { type, cause: { type: 'attempt-limit', at: AT, limitMs: 1 } }
    : { type, at: AT, state: 'quiet' }) as never;

describe('attempt on real child processes', () => {
  test('every feasible transition is walked, and each path ends where the pure machine says', async () => {
    const coverage = new TransitionCoverage(attemptMachine);
    const chosen = choosePaths(worlds);
    await inParallel(chosen, 3, (one) => walk(one, coverage));
    const feasible = coverage.total - Object.keys(NOT_FEASIBLE).length;
    console.info(`${coverage.toString()} on ${chosen.length} paths of real processes; ${feasible} are feasible`);
    expect(coverage.missing()).toEqual(Object.keys(NOT_FEASIBLE));
  });

  const PID = 2 ** 30;
  const started: EventObject = { type: 'child.started', at: AT, pid: PID, startTime: 1 } as never;
  const ended: EventObject = { type: 'child.ended', at: AT, end: { type: 'success', chars: 2, stop: 'stop' } } as never;
  const reviews: EventObject = { type: 'child.review', at: AT, seq: 1, active: true } as never;
  const exited: EventObject = { type: 'child.exited', at: AT, code: null, signal: 'SIGKILL' } as never;

  test.each([
    ['attempt child.ended #0', [started, exited, ended], 0, 'draining'],
    ['attempt child.listens #0', [started, 'end', { type: 'child.listens', at: AT }], 0, 'terminating'],
    ['attempt limit.reached #0', [started, 'end', late('limit.reached')], 0, 'terminating'],
    ['attempt activity.changed #0', [started, 'end', late('activity.changed')], 0, 'terminating'],
    ['attempt.draining xstate.after.drainLimit.attempt.draining #0', [started, exited], 10_000, 'terminating'],
    ['attempt.reaping child.exited #0', [started, 'end', 'gone', exited], 0, 'reaping'],
    ['attempt.reaping xstate.after.reapLimit.attempt.reaping #0', [started, 'end', 'gone'], 10_000, 'closed'],
    [
      'attempt.working.reviewing activity.changed #0',
      [started, reviews, ended, late('activity.changed')],
      0,
      { working: 'reviewing' },
    ],
  ] as const)('%s: with a port that sends what no real one would', (name, events, ms, value) => {
    const coverage = new TransitionCoverage(attemptMachine);
    const clock = new StepClock();
    const ports: { childSays?: (event: EventObject) => void; finishTree?: () => void } = {};
    const machine = attemptMachine.provide({
      actors: {
        child: fill(fromCallback<never, AttemptInput>(({ sendBack }) => void (ports.childSays = sendBack)) as never),
        activity: fill(fromCallback<ActivityEvent, ActivityInput>(() => {})),
        termination: fill(
          terminationMachine.provide({
            actors: {
              tree: fill(
                fromCallback(({ sendBack }) => {
                  ports.finishTree = () => {
                    sendBack({ type: 'tree.emptied', at: AT });
                    sendBack({ type: 'tree.looked', at: AT, members: [], level: 'searched', search: 1 });
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
      else if (event.type === 'limit.reached' || event.type === 'activity.changed') actor.send(event as never);
      else ports.childSays?.(event);
    }
    clock.advance(ms);
    expect(actor.getSnapshot().value).toEqual(value);
    expect(coverage.missing()).not.toContain(name);
    actor.stop();
  });
});
