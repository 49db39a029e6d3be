import { assertEvent, setup } from 'xstate';
import { QUIET_AFTER } from './policy/defaults.ts';
import { between, later } from './policy/time.ts';
import type {
  Activity,
  ActivityEvent,
  ActivityInput,
  ActivityNews,
  AttemptLimits,
  Cause,
  Instant,
  OpenTool,
} from './protocol.ts';

export interface ActivityContext {
  limits: AttemptLimits;
  startedAt: Instant;
  progressAt: Instant;
  tool: OpenTool | null;
  /** Questions that wait for an answer. */
  asks: string[];
  /** For how long it had been open when it was told of, in milliseconds. */
  openForMs: number;
}

const base = setup({
  types: {
    context: {} as ActivityContext,
    input: {} as ActivityInput,
    events: {} as ActivityEvent,
    output: undefined,
  },
});

const news = (event: ActivityNews): ActivityNews => event;

/** When a stall is one, after the quiet has been noticed. */
const stallAfter = ({ limits }: ActivityContext): number =>
  Math.max(0, (limits.stall?.afterMs ?? 0) - quietAfter(limits));
const quietAfter = ({ stall }: AttemptLimits): number => Math.min(QUIET_AFTER, stall?.afterMs ?? QUIET_AFTER);

/** Watches what an attempt does, against its limits. It only tells; what follows is decided by the attempt. */
export const activityMachine = base
  .extend({
    guards: {
      totalLimited: ({ context }) => context.limits.attemptMs !== null,
      firstLimited: ({ context }) => context.limits.firstOutputMs !== null,
      toolLimited: ({ context }) => context.limits.toolMs !== null,
      stallLimited: ({ context }) => context.limits.stall !== null,
      progress: ({ event }) => event.type === 'heard' && event.progress,
      asking: ({ context }) => context.asks.length > 0,
      lastOpen: ({ context, event }) =>
        context.tool === null && event.type === 'ask.closed' && context.asks.every((ask) => ask === event.ask),
      sameTool: ({ context, event }) => event.type === 'tool.opened' && event.tool.id === context.tool?.id,
    },
    delays: {
      attemptLimit: ({ context }) => context.limits.attemptMs ?? 0,
      firstOutputLimit: ({ context }) => context.limits.firstOutputMs ?? 0,
      toolLimit: ({ context }) => Math.max(0, (context.limits.toolMs ?? 0) - context.openForMs),
      quietTime: ({ context }) => quietAfter(context.limits),
      stallTime: ({ context }) => stallAfter(context),
    },
    actions: {
      /** Listed as noise: known, and without consequence. */
      passOver: () => {},
      noteProgress: base.assign(({ event }) => ({ progressAt: event.at })),
      noteTool: base.assign(({ event }) => {
        assertEvent(event, 'tool.opened');
        const { tool, at } = event;
        return { tool, openForMs: between(tool.since, at) };
      }),
      noteAsk: base.assign(({ context, event }) => {
        assertEvent(event, 'ask.opened');
        return { asks: [...context.asks.filter((ask) => ask !== event.ask), event.ask] };
      }),
      noteAskOver: base.assign(({ context, event }) => {
        assertEvent(event, 'ask.closed');
        return { asks: context.asks.filter((ask) => ask !== event.ask), progressAt: event.at };
      }),
      noteNoTool: base.assign(({ event }) => ({ tool: null, progressAt: event.at })),
      tellAttemptLimit: base.enqueueActions(({ context, self, enqueue }) => {
        const limitMs = context.limits.attemptMs ?? 0;
        const cause: Cause = { type: 'attempt-limit', at: later(context.startedAt, limitMs), limitMs };
        if (self._parent) enqueue.sendTo(self._parent, news({ type: 'limit.reached', cause }));
      }),
      tellFirstOutputLimit: base.enqueueActions(({ context, self, enqueue }) => {
        const limitMs = context.limits.firstOutputMs ?? 0;
        const cause: Cause = { type: 'first-output-limit', at: later(context.startedAt, limitMs), limitMs };
        if (self._parent) enqueue.sendTo(self._parent, news({ type: 'limit.reached', cause }));
      }),
      tellToolLimit: base.enqueueActions(({ context, self, enqueue }) => {
        const limitMs = context.limits.toolMs ?? 0;
        const { name: tool, since } = context.tool ?? { name: '', since: context.startedAt };
        const cause: Cause = { type: 'tool-limit', at: later(since, limitMs), limitMs, tool };
        if (self._parent) enqueue.sendTo(self._parent, news({ type: 'limit.reached', cause }));
      }),
      tellFresh: base.enqueueActions(({ context, self, enqueue }) => {
        if (self._parent) enqueue.sendTo(self._parent, changed('fresh', context.progressAt));
      }),
      tellQuiet: base.enqueueActions(({ context, self, enqueue }) => {
        const at = later(context.progressAt, quietAfter(context.limits));
        if (self._parent) enqueue.sendTo(self._parent, changed('quiet', at));
      }),
      tellStalled: base.enqueueActions(({ context, self, enqueue }) => {
        const at = later(context.progressAt, context.limits.stall?.afterMs ?? 0);
        if (self._parent) enqueue.sendTo(self._parent, changed('stalled', at));
      }),
    },
  })
  .createMachine({
    id: 'activity',
    description: 'What an attempt does, watched against its limits',
    type: 'parallel',
    context: ({ input }) => ({
      limits: input.limits,
      startedAt: input.at,
      progressAt: input.at,
      tool: null,
      asks: [],
      openForMs: 0,
    }),
    on: { heard: { actions: 'passOver' }, 'ask.closed': { actions: 'passOver' } },
    states: {
      total: {
        initial: 'within',
        states: {
          within: { always: { guard: 'totalLimited', target: 'limited' } },
          limited: { after: { attemptLimit: { target: 'over', actions: 'tellAttemptLimit' } } },
          over: {},
        },
      },
      first: {
        initial: 'silent',
        states: {
          silent: {
            always: { guard: 'firstLimited', target: 'limited' },
            on: { heard: 'heard', 'tool.opened': 'heard' },
          },
          limited: {
            on: { heard: 'heard', 'tool.opened': 'heard' },
            after: { firstOutputLimit: { target: 'over', actions: 'tellFirstOutputLimit' } },
          },
          heard: {},
          over: {},
        },
      },
      progress: {
        initial: 'fresh',
        states: {
          fresh: {
            on: {
              heard: { guard: 'progress', target: 'fresh', reenter: true, actions: 'noteProgress' },
              'tool.opened': 'working',
              'ask.opened': { target: 'working', actions: 'noteAsk' },
            },
            after: { quietTime: { target: 'still', actions: 'tellQuiet' } },
          },
          still: {
            description: 'Without progress for longer than an agent mostly needs',
            initial: 'quiet',
            on: {
              heard: { guard: 'progress', target: 'fresh', actions: ['noteProgress', 'tellFresh'] },
              'tool.opened': { target: 'working', actions: ['noteProgress', 'tellFresh'] },
              'ask.opened': { target: 'working', actions: ['noteAsk', 'noteProgress', 'tellFresh'] },
            },
            states: {
              quiet: { always: { guard: 'stallLimited', target: 'stalling' } },
              stalling: { after: { stallTime: { target: 'stalled', actions: 'tellStalled' } } },
              stalled: {},
            },
          },
          working: {
            description:
              'A tool is open, or somebody is asked: it may be silent for as long as that is allowed to last',
            on: {
              'tool.closed': [{ guard: 'asking' }, { target: 'fresh', actions: 'noteProgress' }],
              'ask.opened': { actions: 'noteAsk' },
              'ask.closed': [
                { guard: 'lastOpen', target: 'fresh', actions: 'noteAskOver' },
                { actions: 'noteAskOver' },
              ],
            },
          },
        },
      },
      tool: {
        initial: 'closed',
        states: {
          closed: { on: { 'tool.opened': { target: 'open', actions: 'noteTool' } } },
          open: {
            always: { guard: 'toolLimited', target: 'limited' },
            on: {
              'tool.closed': { target: 'closed', actions: 'noteNoTool' },
              'tool.opened': { target: 'open', reenter: true, actions: 'noteTool' },
            },
          },
          limited: {
            on: {
              'tool.closed': { target: 'closed', actions: 'noteNoTool' },
              'tool.opened': [{ guard: 'sameTool' }, { target: 'limited', reenter: true, actions: 'noteTool' }],
            },
            after: { toolLimit: { target: 'over', actions: 'tellToolLimit' } },
          },
          over: { on: { 'tool.closed': { target: 'closed', actions: 'noteNoTool' } } },
        },
      },
    },
    options: { maxIterations: 1_000 },
  });

const changed = (state: Activity, at: Instant): ActivityNews => news({ type: 'activity.changed', at, state });
