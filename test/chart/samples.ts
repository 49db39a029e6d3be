import { and, createMachine, not, or, setup } from 'xstate';

/** Small machines that hold every construct a chart must show, and one as large as ours. */

export const regions = createMachine({
  id: 'regions',
  description: 'Three regions side by side, with history and a way back in.',
  type: 'parallel',
  on: { 'reset.all': { target: ['.power.on', '.door.closed'], actions: 'remember' } },
  states: {
    power: {
      initial: 'on',
      states: {
        on: { tags: ['lit'], on: { 'power.cut': { target: 'off', actions: ['dim', 'remember'] } } },
        off: { on: { 'power.back': 'on' } },
      },
    },
    work: {
      initial: 'idle',
      on: { 'work.reset': '.idle', 'power.cut': { target: '.paused', reenter: true } },
      states: {
        idle: { on: { 'work.start': 'busy' } },
        busy: {
          initial: 'reading',
          states: {
            reading: { on: { next: 'writing' } },
            writing: { on: { next: 'flushing', back: 'reading' } },
            flushing: { after: { 250: 'finished' } },
            finished: { type: 'final' },
            hist: { type: 'history', history: 'deep', target: 'reading' },
          },
          onDone: 'idle',
        },
        paused: { on: { 'power.back': { target: 'busy.hist', guard: 'wasBusy' } } },
      },
    },
    door: {
      initial: 'closed',
      states: { closed: { on: { open: 'opened' } }, opened: { on: { close: 'closed', knock: {} } } },
    },
  },
});

export const loops = setup({
  types: { events: {} as { type: 'poke' | 'again' | 'inner' | 'outer' | 'leave' } },
  actions: { count: () => {}, log: (_args, _params: { text: string }) => {} },
  guards: {
    isReady: () => true,
    isLate: () => false,
    isForced: () => false,
    above: (_args, _params: { min: number }) => true,
  },
}).createMachine({
  id: 'loops',
  initial: 'outer',
  states: {
    outer: {
      description: 'A compound that starts itself again, and children that know their cousins.',
      initial: 'first',
      entry: 'count',
      exit: { type: 'log', params: { text: 'bye' } },
      on: { again: { target: 'outer', reenter: true, actions: 'count' }, leave: 'gone' },
      states: {
        first: {
          on: {
            poke: { target: 'first', reenter: true, actions: 'count' },
            inner: { actions: ['count', { type: 'log', params: { text: 'in' } }] },
            outer: { target: '#loops.other.deep.deepest', guard: and(['isReady', or([not('isLate'), 'isForced'])]) },
          },
          always: { target: 'second', guard: { type: 'above', params: { min: 3 } } },
        },
        second: { on: { again: { target: '#loops.outer', reenter: true } } },
      },
    },
    other: {
      initial: 'deep',
      states: {
        deep: {
          initial: 'deepest',
          states: { deepest: { on: { leave: '#loops.gone', inner: '#loops.outer.second' } } },
        },
      },
    },
    gone: { type: 'final', tags: ['final'] },
  },
});

const worker = createMachine({ id: 'worker' });

/** As large as an attempt: 8 states, a parallel one among them, and more than 30 transitions. */
export const attempt = setup({
  types: { events: {} as { type: string } },
  actors: { child: worker, termination: worker },
  delays: { drainLimit: 2_000, quietAfter: 60_000, stallAfter: 300_000, timeLimit: 1_800_000, exitGrace: 10_000 },
  actions: {
    recordLaunching: () => {},
    recordStarted: () => {},
    recordExited: () => {},
    recordClosed: () => {},
    raiseCause: () => {},
    raiseTimeLimit: () => {},
    recordLateCause: () => {},
    noteActivity: () => {},
    noteUsage: () => {},
    openTool: () => {},
    closeTool: () => {},
    askToFinish: () => {},
    keepProof: () => {},
    keepVerdict: () => {},
    markForced: () => {},
  },
  guards: {
    isFinalEnd: () => true,
    exitIsAsked: () => true,
    isBeyondBudget: () => false,
    treeIsEmpty: () => true,
    isRaised: () => false,
    wasForced: () => false,
    opensTool: () => true,
    isProgress: () => true,
  },
}).createMachine({
  id: 'attempt',
  description: 'One writer: one child process working on one step.',
  invoke: { src: 'child', id: 'child', onError: { target: '.terminating', actions: 'raiseCause' } },
  on: {
    'child.usage': { actions: 'noteUsage' },
    end: { actions: 'recordLateCause' },
  },
  initial: 'starting',
  states: {
    starting: {
      description: 'The launch is in the journal; the child is not there yet.',
      tags: ['active'],
      entry: 'recordLaunching',
      on: {
        'child.started': { target: 'running', actions: 'recordStarted' },
        'child.unstarted': { target: 'closed', actions: ['raiseCause', 'recordClosed'] },
        end: { target: 'terminating', actions: 'raiseCause' },
      },
    },
    running: {
      type: 'parallel',
      tags: ['active'],
      on: {
        'child.ended': [
          { target: 'finishing', guard: and(['isFinalEnd', 'exitIsAsked']), actions: ['keepVerdict', 'askToFinish'] },
          { target: 'finishing', guard: 'isFinalEnd', actions: 'keepVerdict' },
        ],
        'child.exited': { target: 'draining', actions: 'recordExited' },
        'child.broken': { target: 'terminating', actions: 'raiseCause' },
        'child.usage': [
          { target: 'terminating', guard: 'isBeyondBudget', actions: ['noteUsage', 'raiseCause'] },
          { actions: 'noteUsage' },
        ],
        end: { target: 'terminating', actions: 'raiseCause' },
      },
      after: { timeLimit: { target: 'terminating', actions: 'raiseTimeLimit' } },
      states: {
        activity: {
          initial: 'fresh',
          on: { 'child.active': { target: '.fresh', guard: 'isProgress', actions: 'noteActivity', reenter: true } },
          states: {
            fresh: { after: { quietAfter: 'quiet' } },
            quiet: { after: { stallAfter: 'stalled' } },
            stalled: { tags: ['attention'] },
          },
        },
        tool: {
          initial: 'none',
          states: {
            none: { on: { 'child.tool': { target: 'open', guard: 'opensTool', actions: 'openTool' } } },
            open: {
              on: {
                'child.tool': [
                  { target: 'open', guard: 'opensTool', actions: 'openTool', reenter: true },
                  { target: 'none', actions: 'closeTool' },
                ],
              },
            },
          },
        },
      },
    },
    finishing: {
      description: 'The work is done; the process has not gone yet.',
      on: {
        'child.resumed': 'running',
        'child.exited': { target: 'draining', actions: 'recordExited' },
        end: { target: 'terminating', guard: 'isRaised', actions: 'raiseCause' },
      },
      after: { exitGrace: { target: 'terminating', actions: 'markForced' } },
    },
    draining: {
      on: {
        'child.drained': [
          { target: 'closed', guard: and(['treeIsEmpty', not('wasForced')]), actions: ['keepVerdict', 'recordClosed'] },
          { target: 'terminating', actions: 'keepVerdict' },
        ],
        'child.active': {},
        'child.tool': {},
      },
      after: { drainLimit: 'terminating' },
    },
    terminating: {
      invoke: {
        src: 'termination',
        onDone: { target: 'closed', actions: ['keepProof', 'recordClosed'] },
        onError: { target: 'closed', actions: ['raiseCause', 'recordClosed'] },
      },
      on: { 'child.exited': { actions: 'recordExited' }, 'child.drained': { actions: 'keepVerdict' } },
    },
    closed: { type: 'final', tags: ['final'] },
  },
  output: () => ({ n: 1 }),
});

export const machines = { regions, loops, attempt };
