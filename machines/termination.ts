import { assertEvent, sendTo, setup } from 'xstate';
import { KILL_VERIFY, LOOK_LIMIT, MAX_ROUNDS } from './policy/defaults.ts';
import { port } from './port.ts';
import type {
  Instant,
  Member,
  Proof,
  ProofLevel,
  ReleasedEvent,
  SentSignal,
  Rung,
  TerminationInput,
  TreeCommand,
  TreeEvent,
  Verdict,
} from './protocol.ts';

export interface TerminationContext extends TerminationInput {
  /** The rung of the ladder that is being tried. */
  rung: number;
  /** Looks that found somebody, or kills, so far: how far patience has gone. */
  rounds: number;
  signals: SentSignal[];
  leftovers: Member[];
  /** Who the last look found and is to go. */
  members: Member[];
  /** Who stays: declared by the child, or left by the plan's own wish. */
  kept: Member[];
  /** The search of the last clean look; 0 is none. */
  cleanSearch: number;
  level: ProofLevel;
  reason: string | null;
  at: Instant;
}

const tell = (command: TreeCommand): TreeCommand => command;
const isKill = (rung: Rung): boolean => rung.do === 'SIGKILL';
/** Rungs that ask; the last resort is not on the ladder but a state of its own. */
const asks = (context: TerminationContext): Rung[] => context.ladder.filter((rung) => !isKill(rung));
const currentRung = (context: TerminationContext): Rung | undefined => asks(context)[context.rung];

const sameProcess = (a: Member, b: Member): boolean => a.pid === b.pid && a.startTime === b.startTime;
const merge = (known: Member[], found: Member[]): Member[] => [
  ...known,
  ...found.filter((member) => !known.some((one) => sameProcess(one, member))),
];

const base = setup({
  types: {
    context: {} as TerminationContext,
    input: {} as TerminationInput,
    events: {} as TreeEvent,
    output: {} as Proof,
  },
  actors: {
    tree: port<TreeCommand, { step: string; n: number }, undefined, TreeEvent>('tree'),
  },
});

/** Who of those found is to go. A child that was ended by us leaves nothing but what it declared. */
const toGo = (context: TerminationContext, members: Member[]): Member[] =>
  keepsLeftovers(context) ? [] : members.filter((member) => member.declared !== true);
const keepsLeftovers = ({ why, policy }: TerminationContext): boolean => why === 'leftovers' && policy === 'keep';

/** What was killed may have forked in the meantime: one clean look is not enough then. */
const needsTwoLooks = (context: TerminationContext): boolean => context.rounds > 0;

/** Ends a process tree and proves it: ask, force, look, until nobody is found or nothing more can be done. */
export const terminationMachine = base
  .extend({
    guards: {
      leaderGone: ({ context }) => context.why === 'leftovers',
      canAsk: ({ context }) => currentRung(context) !== undefined,
      canAskAgain: ({ context }) => asks(context)[context.rung + 1] !== undefined,
      cleanAtOnce: ({ context, event }) => isClean(context, event) && !needsTwoLooks(context),
      cleanAgain: ({ context, event }) =>
        isClean(context, event) &&
        context.cleanSearch > 0 &&
        event.type === 'tree.looked' &&
        event.search !== context.cleanSearch,
      cleanOnce: ({ context, event }) => isClean(context, event),
      canAskStrays: ({ context }) =>
        context.rounds === 0 && context.ladder.some((rung) => rung.do === 'SIGTERM' || rung.do === 'SIGINT'),
      patient: ({ context }) => context.rounds < MAX_ROUNDS,
    },
    delays: {
      rungGrace: ({ context }) => currentRung(context)?.graceMs ?? 0,
      killVerify: KILL_VERIFY,
      lookLimit: LOOK_LIMIT,
    },
    actions: {
      ask: base.enqueueActions(({ context, enqueue }) => {
        const rung = currentRung(context);
        if (rung !== undefined) enqueue(sendTo('tree', tell({ type: 'tree.apply', rung: rung.do })));
      }),
      force: sendTo('tree', tell({ type: 'tree.apply', rung: 'SIGKILL' })),
      look: sendTo('tree', ({ context }) => tell({ type: 'tree.look', watch: !context.released })),
      climb: base.assign({ rung: ({ context }) => context.rung + 1 }),
      climbToSignals: base.assign({
        rung: ({ context }) =>
          Math.max(
            0,
            asks(context).findLastIndex((rung) => rung.do === 'SIGTERM' || rung.do === 'SIGINT'),
          ),
      }),
      losePatience: base.assign({ rounds: ({ context }) => context.rounds + 1 }),
      noteSignal: base.assign(({ context, event }) => {
        assertEvent(event, 'tree.applied');
        const { type: _, ...signal } = event;
        return { signals: [...context.signals, signal].slice(-32), at: event.at };
      }),
      noteMembers: base.assign(({ context, event }) => {
        assertEvent(event, 'tree.looked');
        return {
          members: toGo(context, event.members),
          leftovers: merge(context.leftovers, toGo(context, event.members)).slice(0, 64),
          kept: keptOf(context, event.members),
          cleanSearch: 0,
          level: event.level,
          at: event.at,
        };
      }),
      noteClean: base.assign(({ context, event }) => {
        assertEvent(event, 'tree.looked');
        const { search: cleanSearch, level, at, members } = event;
        return { members: [], kept: keptOf(context, members), cleanSearch, level, at };
      }),
      noteBlind: base.assign(({ event }) => {
        assertEvent(event, 'tree.blind');
        return { reason: event.reason, level: event.level, at: event.at };
      }),
      noteNoAnswer: base.assign({ reason: 'the search gave no answer in time' }),
      release: base.enqueueActions(({ self, enqueue }) => {
        if (self._parent) enqueue.sendTo(self._parent, { type: 'termination.released' } satisfies ReleasedEvent);
        enqueue.assign({ released: true });
      }),
    },
  })
  .createMachine({
    id: 'termination',
    description: 'Ends a process tree and says what is left of it',
    context: ({ input }) => ({
      ...input,
      ladder: [...input.ladder],
      rung: 0,
      rounds: 0,
      signals: [],
      leftovers: [],
      members: [],
      kept: [],
      cleanSearch: 0,
      level: 'group',
      reason: null,
    }),
    invoke: { id: 'tree', src: 'tree', input: ({ context }) => ({ step: context.step, n: context.n }) },
    initial: 'deciding',
    on: { 'tree.applied': { actions: 'noteSignal' } },
    states: {
      deciding: {
        always: [
          { guard: 'leaderGone', target: 'looking' },
          { guard: 'canAsk', target: 'asking' },
          { target: 'forcing' },
        ],
      },
      asking: {
        description: 'One rung of the ladder, with its grace',
        entry: 'ask',
        on: {
          'tree.emptied': { target: 'looking', actions: 'release' },
          'tree.refused': [
            { guard: 'canAskAgain', target: 'asking', reenter: true, actions: 'climb' },
            { target: 'forcing' },
          ],
        },
        after: {
          rungGrace: [
            { guard: 'canAskAgain', target: 'asking', reenter: true, actions: 'climb' },
            { target: 'forcing' },
          ],
        },
      },
      forcing: {
        description: 'SIGKILL to everyone who is known',
        entry: ['losePatience', 'force'],
        on: { 'tree.emptied': { target: 'looking', actions: 'release' } },
        after: { killVerify: 'looking' },
      },
      looking: {
        description: 'One search for everybody who belongs to the attempt',
        entry: 'look',
        on: {
          'tree.emptied': { actions: 'release' },
          'tree.looked': [
            { guard: 'cleanAtOnce', target: 'gone', actions: 'noteClean' },
            { guard: 'cleanAgain', target: 'gone', actions: 'noteClean' },
            { guard: 'cleanOnce', target: 'looking', reenter: true, actions: 'noteClean' },
            { guard: 'canAskStrays', target: 'asking', actions: ['noteMembers', 'climbToSignals', 'losePatience'] },
            { guard: 'patient', target: 'forcing', actions: 'noteMembers' },
            { target: 'survived', actions: 'noteMembers' },
          ],
          'tree.blind': { target: 'unknown', actions: 'noteBlind' },
        },
        after: { lookLimit: { target: 'unknown', actions: 'noteNoAnswer' } },
      },
      gone: { type: 'final', output: { verdict: 'gone' } },
      survived: { type: 'final', output: { verdict: 'survived' } },
      unknown: { type: 'final', output: { verdict: 'unknown' } },
    },
    output: ({ context, event }) =>
      proof(context, (event as unknown as { output: { verdict: Verdict } }).output.verdict),
    options: { maxIterations: 1_000 },
  });

function isClean(context: TerminationContext, event: TreeEvent): boolean {
  return event.type === 'tree.looked' && toGo(context, event.members).length === 0;
}

function keptOf(context: TerminationContext, members: Member[]): Member[] {
  const going = toGo(context, members);
  return members.filter((member) => !going.includes(member)).slice(0, 64);
}

function proof(context: TerminationContext, verdict: Verdict): Proof {
  return {
    verdict,
    level: context.level,
    members: verdict === 'survived' ? context.members : [],
    leftovers: context.leftovers,
    kept: context.kept,
    signals: context.signals,
    ...(context.reason === null ? {} : { reason: context.reason }),
    at: context.at,
  };
}
