import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { randomInt } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import type { InspectionEvent } from 'xstate';
import { outranks } from '../../machines/index.ts';
import type { Cause, CauseType, Command } from '../../machines/protocol.ts';
import { makeFifo } from '../support/kit.ts';
import { expectTruth } from '../support/truth.ts';
import { inParallel } from '../support/walk.ts';
import { startRun } from './rig.ts';

/**
 * The exit of the child, a stop, the deadline of the run and the limit of the step within 10 ms, in random order, on
 * real processes: one end, the status says the same, and of the others it is on record that they came and what won.
 *
 * COXSWAIN_ROUNDS is how often (default 50); COXSWAIN_SEED repeats one round that has failed.
 */

const ROUNDS = Number(process.env['COXSWAIN_ROUNDS'] ?? 50);
const ONE = process.env['COXSWAIN_SEED'];
const SEEDS = ONE === undefined ? Array.from({ length: ROUNDS }, () => randomInt(2 ** 31)) : [Number(ONE)];
const WINDOW_MS = 10;
const AT_ONCE = 3;

/** A small seeded generator. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const furnish = (root: string): void => makeFifo(join(root, 'go'));

/** Each of the four comes at a moment of its own within the window. */
async function round(seed: number): Promise<string> {
  const random = seeded(seed);
  const moment = (): number => Math.round(random() * WINDOW_MS);
  const run = ['sh', '-c', 'read word < go; echo done'];
  const rig = startRun(
    { version: 1, limits: { timeout: '1m' }, steps: [{ id: 'a', run, timeout: '1m' }] },
    { furnish },
  );
  // For reading too: opening does not wait for the other side then.
  const fifo = openSync(join(rig.root, 'go'), 'r+');
  const timers: NodeJS.Timeout[] = [];
  onTestFinished(() => timers.forEach((timer) => clearTimeout(timer)));
  const arrived = new Set<CauseType>();
  rig.inspector.listeners.push((event) => {
    const cause = event.type === '@xstate.event' ? causeOf(event) : null;
    if (cause !== null) arrived.add(cause);
  });
  await rig.recorded('attempt.started');
  const moves: Record<string, (ms: number) => void> = {
    exit: (ms) => void timers.push(setTimeout(() => writeSync(fifo, 'go\n'), ms)),
    stop: (ms) => void timers.push(setTimeout(() => rig.stop(), ms)),
    'run-deadline': (ms) => void rig.extend(ms),
    'step-limit': (ms) => void rig.extend(ms, 'a'),
  };
  for (const move of Object.values(moves)) move(moment());
  const { outcome } = await rig.ended;
  closeSync(fifo);

  const { records, status } = expectTruth(rig);
  const settled = records.filter((one) => one.type === 'run.settled');
  const [closed, ...moreClosed] = records.filter((one) => one.type === 'attempt.closed');
  expect([settled.length, moreClosed.length]).toEqual([1, 0]);
  expect(settled).toMatchObject([{ state: status.state, cause: status.cause }]);
  expect(outcome).toMatchObject({ state: status.state, cause: status.cause });

  // Everything that arose is the cause of the run or of the attempt, or is on record as late.
  const late = records.filter((one) => one.type === 'cause.late');
  const winners = new Set<CauseType | undefined>([status.cause?.type, closed?.cause.type]);
  const raised = new Set<CauseType | undefined>([...winners, ...late.map((one) => one.cause.type)]);
  expect([...arrived].filter((type) => !raised.has(type))).toEqual([]);
  expect(rig.answers.length).toBe(records.filter((one) => one.type === 'command.accepted').length);

  // What won is stronger, unless the end of the work had been seen.
  const exitSeq = records.find((one) => one.type === 'attempt.exited')?.seq ?? 0;
  const fair = ({ seq, cause, won }: { seq: number; cause: Cause; won: Cause }): boolean =>
    outranks(won, cause) || seq > exitSeq;
  expect(late.filter((one) => !fair(one))).toEqual([]);
  expect(status.cause?.type).toBe(strongest([...raised].filter(ofRun), status.cause?.type));
  return `${status.cause?.type}/${closed?.cause.type}`;
}

/** What an event says that reached the run or its step in time. */
function causeOf({ event, actorRef }: InspectionEvent & { type: '@xstate.event' }): CauseType | null {
  const ofStep = 'id' in actorRef && String(actorRef.id).startsWith('step:');
  // The answer to a stop that comes after the outcome was decided is on record by itself.
  const decided = (actorRef.getSnapshot() as { context?: { outcome?: unknown } }).context?.outcome ?? null;
  if (event.type === 'run.command') return isStop(event) && decided === null ? 'stop' : null;
  if (event.type !== 'deadline.reached') return null;
  return ofStep ? 'step-limit' : 'run-deadline';
}

const isStop = (event: object): boolean => 'command' in event && (event.command as Command).type === 'stop';

/** The limit of a step is none of the run's own causes. */
const ofRun = (type: CauseType | undefined): boolean => type === 'stop' || type === 'run-deadline';

function strongest(types: (CauseType | undefined)[], otherwise: CauseType | undefined): CauseType | undefined {
  return types.includes('stop') ? 'stop' : types.includes('run-deadline') ? 'run-deadline' : otherwise;
}

test(`on ${SEEDS.length} rounds there is one end, by the order of causes, and the others are on record`, async () => {
  const ends = new Map<string, number>();
  await inParallel(SEEDS, AT_ONCE, async (seed) => {
    const end = await round(seed).catch((error: unknown) => {
      throw new Error(`COXSWAIN_SEED=${seed}`, { cause: error });
    });
    ends.set(end, (ends.get(end) ?? 0) + 1);
  });
  console.info(`run/attempt ended by: ${[...ends].map(([end, times]) => `${end} ${times}`).join(', ')}`);
  // Rounds that all went the same way would show nothing.
  expect(ends.size).toBeGreaterThan(ONE === undefined ? 2 : 0);
}, 600_000);
