import type { AgentEvent } from '../../agents/index.ts';
import {
  type End,
  type Played,
  TASK,
  agentOf,
  askedOf,
  difference,
  endOf,
  open,
  play,
  requestFor,
  show,
} from './play.ts';
import { type Captured, OCCASIONS, type Occasion, type Subject, isCaptured } from './subject.ts';

/** What every adapter is asked. */
export interface Behaviour {
  id: string;
  /** For people: what holds. */
  says: string;
  look(subject: Subject): Look;
}

/** `lacking`: this agent or its stream has no such thing. */
export type Look = { outcome: 'holds' } | { outcome: 'fails' | 'lacking'; why: string };

const HOLDS: Look = { outcome: 'holds' };
const fails = (why: string): Look => ({ outcome: 'fails', why });
const lacking = (why: string): Look => ({ outcome: 'lacking', why });
const unless = (why: string | null): Look => (why === null ? HOLDS : fails(why));

/* ------------------------------------------------------------------ what was captured */

function asCaptured(occasion: Occasion, says: string, more: (played: Played) => string | null = () => null): Behaviour {
  return {
    id: occasion,
    says,
    look: (subject) =>
      withCaptured(subject, occasion, (captured) => {
        const played = play(open(subject, captured), captured.stdout, captured.exit);
        return unless(difference(played.events, captured.expect) ?? more(played));
      }),
  };
}

function withCaptured({ occasions }: Subject, occasion: Occasion, look: (captured: Captured) => Look): Look {
  const there = occasions[occasion];
  return isCaptured(there) ? look(there) : lacking(there.lacks);
}

const allCaptured = ({ occasions }: Subject): [Occasion, Captured][] =>
  OCCASIONS.flatMap((occasion) => {
    const there = occasions[occasion];
    return isCaptured(there) ? [[occasion, there] as [Occasion, Captured]] : [];
  });

function toolsAreTold({ events }: Played): string | null {
  const started = events.flatMap((event) => (event.t === 'toolStart' ? [event.id] : []));
  const ended = events.flatMap((event) => (event.t === 'toolEnd' ? [event.id] : []));
  if (started.length === 0) return 'told of no tool';
  return show(started) === show(ended) ? null : `told of the tools ${show(started)} and of the end of ${show(ended)}`;
}

const failsAs = ({ events }: Played): string | null => {
  const end = endOf(events);
  return typeof end === 'string' || end.t === 'error' ? null : 'what was broken off counts as an answer';
};

/* ------------------------------------------------------------------ what is sent */

const taskDelivery: Behaviour = {
  id: 'task',
  says: 'the task comes on stdin or by the protocol, and is in no argument',
  look: (subject) =>
    withCaptured(subject, 'reply', (captured) => {
      const agent = agentOf(subject, captured.mode);
      const { argv, env, stdin } = agent.adapter.launch(requestFor(agent));
      if ([...argv, ...Object.values(env)].some((text) => text.includes(TASK)))
        return fails('it is in the command line');
      const { sent } = play(open(subject, captured), captured.stdout, captured.exit);
      const given = stdin.type === 'text' ? stdin.text : sent.join('');
      return unless(given.includes(TASK) ? null : 'it is not given at all');
    }),
};

const EARLIER = 'an-earlier-session';

const resume: Behaviour = {
  id: 'resume',
  says: 'it goes on in an earlier session',
  look(subject) {
    const agent = agentOf(subject);
    if (!agent.adapter.capabilities.resume) return lacking('has no sessions');
    return withCaptured(subject, 'resume', (captured) => {
      const inMode = agentOf(subject, captured.mode);
      const session = captured.expect.session ?? EARLIER;
      const request = requestFor(inMode, { ...askedOf(captured), resume: { session } });
      const { sent, events } = play(inMode.adapter.open(request), captured.stdout, captured.exit);
      const named = [...inMode.adapter.launch(request).argv, ...sent].some((text) => text.includes(session));
      if (!named) return fails('the session is not named to it');
      const first = events.find((event) => event.t === 'session')?.session;
      // Some adapters keep more of it than its name.
      const told = first?.includes(session) === true;
      return unless(told ? difference(events, captured.expect) : `the session is told as ${show(first)}`);
    });
  },
};

const MESSAGE = { id: 'm1', text: 'Another message', mode: 'now' } as const;

const steering: Behaviour = {
  id: 'steering',
  says: 'a message while it works is delivered, or refused at once',
  look(subject) {
    const { steerLive } = agentOf(subject).adapter.capabilities;
    const there = subject.occasions.steering;
    if (steerLive) return isCaptured(there) ? steered(subject, there) : lacking(there.lacks);
    return withCaptured(subject, 'reply', (captured) => {
      const session = open(subject, captured);
      session.start();
      const { verdict, send } = session.steer(MESSAGE);
      if (verdict !== 'unsupported' || send.length > 0) return fails(`it was answered "${verdict}"`);
      return lacking('refused at once');
    });
  },
};

function steered(subject: Subject, captured: Captured): Look {
  const session = open(subject, captured);
  const first = session.start();
  const { verdict, send, events } = session.steer({ ...MESSAGE, text: captured.message ?? MESSAGE.text });
  if (verdict !== 'sent' || send.length === 0) return fails(`it was answered "${verdict}"`);
  const rest = [...first.events, ...events, ...play(session, captured.stdout, captured.exit).events];
  const states = rest.flatMap((event) => (event.t === 'steer' ? [event.state] : []));
  const ends = states.filter((state) => state === 'delivered' || state === 'undelivered');
  if (ends.length !== 1) return fails(`the message had ${ends.length} ends`);
  return unless(states.at(-1) === 'delivered' ? null : `it was ${show(states)}`);
}

const abort: Behaviour = {
  id: 'abort',
  says: 'it is asked to drop its work the way its capabilities say',
  look: (subject) =>
    withCaptured(subject, 'aborted', (captured) => {
      const { adapter } = agentOf(subject, captured.mode);
      const session = open(subject, captured);
      session.start();
      session.push(linesOf(captured.stdout).slice(0, -1).reduce(joined, Buffer.alloc(0)));
      const { supported, send } = session.abort();
      const byProtocol = adapter.capabilities.abort === 'protocol';
      // A client may have a mode in which it can be spoken to and another in which it cannot.
      if (byProtocol && !supported && captured.mode !== undefined) return lacking('not in this mode');
      if (supported !== byProtocol || send.length > 0 !== byProtocol) return fails(`supported: ${supported}`);
      const last = adapter.stopLadder.at(-1)?.do;
      return unless(last === 'SIGKILL' ? null : `its ladder ends with ${last}`);
    }),
};

/* ------------------------------------------------------------------ the wire */

const joined = (all: Buffer, line: Buffer): Buffer => Buffer.concat([all, line]);

/** With their newlines. */
function linesOf(stdout: Uint8Array): Buffer[] {
  const bytes = Buffer.from(stdout);
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const newline = bytes.indexOf(0x0a, from);
    const to = newline < 0 ? bytes.length : newline + 1;
    lines.push(bytes.subarray(from, to));
    from = to;
  }
  return lines;
}

function chunks(size: number): Behaviour {
  return {
    id: `chunks-${size}`,
    says: `nothing depends on the chunks: ${size} byte${size === 1 ? '' : 's'} at a time`,
    look(subject) {
      for (const [occasion, captured] of allCaptured(subject)) {
        const whole = play(open(subject, captured), captured.stdout, captured.exit);
        const cut = play(open(subject, captured), captured.stdout, captured.exit, size);
        if (JSON.stringify(cut) !== JSON.stringify(whole)) return fails(`${occasion} is read otherwise`);
      }
      return HOLDS;
    },
  };
}

const GARBAGE = Buffer.concat([
  Buffer.from(
    'Welcome!\r\n\n\u001B[31mred\u001B[0m\nnull\n42\n[1]\n{}\n{"type":"garb\n{"type":"of-a-later-version"}\n',
  ),
  Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x0a]),
]);

const ofRecords = (subject: Subject, look: () => Look): Look =>
  subject.prints === 'records' ? look() : lacking('all of it is the answer');

const said = (events: readonly AgentEvent[]): string => JSON.stringify(events.filter(({ t }) => t !== 'note'));

const garbage: Behaviour = {
  id: 'garbage',
  says: 'words, broken and unknown records in between change nothing',
  look: (subject) =>
    ofRecords(subject, () => {
      for (const [occasion, captured] of allCaptured(subject)) {
        const dirty = linesOf(captured.stdout).reduce(
          (all, line) => Buffer.concat([all, GARBAGE, line]),
          Buffer.alloc(0),
        );
        const clean = play(open(subject, captured), captured.stdout, captured.exit).events;
        const read = play(open(subject, captured), dirty, captured.exit).events;
        if (said(read) !== said(clean)) return fails(`${occasion} is read otherwise`);
        if (!read.some((event) => event.t === 'note' && event.kind === 'bad-record')) return fails('it leaves no note');
      }
      return HOLDS;
    }),
};

const truncated: Behaviour = {
  id: 'truncated',
  says: 'a last line that is cut off is no other answer',
  look: (subject) =>
    ofRecords(subject, () =>
      withCaptured(subject, 'reply', (captured) => {
        const lines = linesOf(captured.stdout);
        const half = (lines.at(-1) ?? Buffer.alloc(0)).subarray(0, -20);
        const cut = Buffer.concat([...lines.slice(0, -1), half]);
        const end = endOf(play(open(subject, captured), cut, captured.exit).events);
        return unless(typeof end === 'string' ? end : otherAnswer(end, captured));
      }),
    ),
};

const otherAnswer = (end: End, { expect }: Captured): string | null =>
  end.t === 'error' || end.text === expect.final ? null : `told ${show(end.text)}`;

const HUGE_BYTES = 17 * 1024 * 1024;

const hugeLine: Behaviour = {
  id: 'huge-line',
  says: 'a line of 17 MiB is dropped with a note and changes nothing',
  look: (subject) =>
    ofRecords(subject, () =>
      withCaptured(subject, 'reply', (captured) => {
        const [first = Buffer.alloc(0), ...rest] = linesOf(captured.stdout);
        const huge = Buffer.alloc(HUGE_BYTES, 'x');
        huge.write('{"type":"huge","text":"');
        huge.write('"}\n', HUGE_BYTES - 3);
        const stdout = Buffer.concat([first, huge, ...rest]);
        const { events } = play(open(subject, captured), stdout, captured.exit, 65_536);
        if (!events.some((event) => event.t === 'note' && event.kind === 'line-too-long'))
          return fails('it leaves no note');
        return unless(difference(events, captured.expect));
      }),
    ),
};

/* ------------------------------------------------------------------ the exit */

const silence: Behaviour = {
  id: 'silence',
  says: 'an exit with code 0 and without any output is no success of an agent',
  look(subject) {
    const { adapter } = agentOf(subject);
    const end = endOf(play(open(subject, {}), Buffer.alloc(0), { code: 0, signal: null }).events);
    if (typeof end === 'string') return fails(end);
    if (adapter.capabilities.emptyOutput === 'result')
      return end.t === 'final' ? lacking('empty is a result') : fails(show(end));
    return unless(end.t === 'error' && end.failure.code === 'empty-output' ? null : `told ${show(end)}`);
  },
};

const killed: Behaviour = {
  id: 'killed',
  says: 'killed before its end it has failed',
  look: (subject) =>
    withCaptured(subject, 'reply', (captured) => {
      const [first = Buffer.alloc(0)] = linesOf(captured.stdout);
      const played = play(open(subject, captured), first, { code: null, signal: 'SIGKILL' });
      const end = endOf(played.events);
      return unless(typeof end === 'string' ? end : failsAs(played));
    }),
};

const afterExit: Behaviour = {
  id: 'after-exit',
  says: 'after the exit nothing comes any more',
  look: (subject) =>
    withCaptured(subject, 'reply', (captured) => {
      const session = open(subject, captured);
      play(session, captured.stdout, captured.exit);
      const late = [session.push(captured.stdout), session.exited({ code: 1, signal: null, stderrTail: '' })];
      if (late.some(({ events, send }) => events.length + send.length > 0)) return fails('something came');
      const { verdict } = session.steer(MESSAGE);
      return unless(verdict === 'too-late' ? null : `a message was answered "${verdict}"`);
    }),
};

export const BEHAVIOURS: readonly Behaviour[] = [
  taskDelivery,
  asCaptured('reply', 'the answer, what it used, its session'),
  asCaptured('tool', 'a tool with its end; the answer is what comes after it', toolsAreTold),
  asCaptured('rejected', 'a request that the provider refuses'),
  asCaptured('auth', 'a key that the provider refuses'),
  asCaptured('rate-limit', 'too many requests'),
  asCaptured('down', 'a provider that is down'),
  asCaptured('length', 'an answer cut by the length limit is told as cut'),
  asCaptured('empty', 'it ends well and says nothing'),
  asCaptured('aborted', 'what is broken off in a tool is no answer', failsAs),
  abort,
  resume,
  steering,
  chunks(1),
  chunks(7),
  chunks(4096),
  garbage,
  truncated,
  hugeLine,
  silence,
  killed,
  afterExit,
];
