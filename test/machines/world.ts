import { type AnyActorRef, createActor, fromCallback } from 'xstate';
import {
  type Answer,
  type AttemptInput,
  type ChildCommand,
  type DeadlineCommand,
  type JournalBody,
  type Command,
  type JournalRecord,
  type Progress,
  activityMachine,
  askMachine,
  attemptMachine,
  fill,
  finalizeMachine,
  runMachine,
  steeringMachine,
  stepMachine,
  terminationMachine,
} from '../../machines/index.ts';
import { StepClock, actorAt } from '../../src/testing/index.ts';
import { AT, LADDER, RUN_INPUT } from './models.ts';

/**
 * The machines wired together as the runtime does it, with leaf ports that do nothing: a walk sends what the
 * outside world would. Everything that the machines journal is kept.
 */
export class World {
  readonly records: JournalRecord[] = [];
  readonly answers: Answer[] = [];
  readonly progress: Progress[] = [];
  readonly clock = new StepClock();
  readonly run: AnyActorRef;
  #ms = Date.parse(AT);
  #searches = 1;
  #commands = 0;
  #handed: { id: string; step: string }[] = [];
  /** Open asks, by whom. */
  readonly #asked = new Map<string, string>();

  /** What the child ports were told, in order: `a wrap-up 500`. */
  readonly told: string[] = [];

  /** `deadlines`: limits are over when the clock says so; else only a move ends them. */
  constructor(input = RUN_INPUT, { deadlines = false } = {}) {
    const inert = fromCallback(() => {});
    const deadline = fill((deadlines ? this.#deadline() : inert) as never) as never;
    const child = fromCallback<ChildCommand, AttemptInput>(({ receive, input: { step } }) => {
      receive((command) => {
        this.told.push(`${step} ${command.type.replace('child.', '')}${wordsOf(command)}`);
        if (command.type === 'child.steer') this.#handed.push({ id: command.id, step });
        if (command.type === 'child.answer') this.#asked.delete(command.ask);
      });
    });
    const record = (_: unknown, body: JournalBody): void => this.journal(body);
    const termination = terminationMachine.provide({ actors: { tree: fill(inert as never) } });
    const attempt = attemptMachine.provide({
      actors: {
        child: fill(child as never),
        termination: fill(termination),
        activity: fill(activityMachine),
        check: fill(inert as never) as never,
      },
      actions: { record },
    });
    const step = stepMachine.provide({
      actors: { prepare: fill(inert as never), attempt: fill(attempt), deadline },
      actions: { record },
    });
    const line = fill(inert as never) as never;
    const lines = ['trees', 'inbox', 'settle', 'result', 'status', 'announce', 'report', 'release'] as const;
    const finalize = finalizeMachine.provide({
      actors: Object.fromEntries(lines.map((name) => [name, line])) as never,
      actions: { record },
    });
    const machine = runMachine.provide({
      actors: {
        step: fill(step),
        deadline,
        nest: fill(inert as never) as never,
        finalize: fill(finalize),
        steering: fill(steeringMachine.provide({ actions: { record } })),
        ask: fill(askMachine.provide({ actions: { record } })),
      },
      actions: {
        record,
        answer: (_: unknown, answer: Answer) => void this.answers.push(answer),
        progress: (_: unknown, progress: Progress) => void this.progress.push(progress),
      },
    });
    this.run = createActor(machine, { input, clock: this.clock }).start();
  }

  /** As the real one, on the clock of this world. */
  #deadline() {
    return fromCallback<DeadlineCommand, { limitMs: number | null }>(({ sendBack, receive, input }) => {
      let timer = 0;
      const arm = (limitMs: number): void => {
        this.clock.clearTimeout(timer);
        timer = this.clock.setTimeout(() => sendBack({ type: 'deadline.reached', at: this.at() }), limitMs);
      };
      if (input.limitMs !== null) arm(input.limitMs);
      receive(({ limitMs }) => arm(limitMs));
      return () => this.clock.clearTimeout(timer);
    });
  }

  /** A later instant each time it is asked. */
  at(): string {
    this.#ms += 1;
    return new Date(this.#ms + this.clock.now()).toISOString();
  }

  journal(body: JournalBody): void {
    const { at, ...rest } = body;
    this.records.push({ v: 1, seq: this.records.length + 1, epoch: 1, ts: at, ...rest });
  }

  /** What can happen next, by name; each choice does it. */
  moves(): { name: string; go: () => void }[] {
    if (this.run.getSnapshot().status !== 'active') return [];
    const moves = this.#runMoves();
    for (const id of this.context.live) moves.push(...this.#stepMoves(id));
    const finalize = actorAt(this.run, ['finalize']);
    if (finalize !== undefined) moves.push(...this.#finalizeMoves(finalize));
    return moves;
  }

  get context(): Context {
    return (this.run.getSnapshot() as unknown as { context: Context }).context;
  }

  /** Sends a command under an id of its own, which it gives back. */
  command(command: DistributiveOmit<Command, 'id' | 'source'>): string {
    this.#commands += 1;
    const id = `c${this.#commands}`;
    this.run.send({ type: 'run.command', at: this.at(), command: { ...command, id, source: 's' } });
    return id;
  }

  /** The commands of the contract, for the run and for its steps. */
  #commandMoves(): { name: string; go: () => void }[] {
    const text = { chars: 4, sha256: '0123456789ab' };
    const move = (name: string, command: DistributiveOmit<Command, 'id' | 'source'>) => ({
      name: `command ${name}`,
      go: () => void this.command(command),
    });
    const appended = { ...RUN_INPUT.steps[0], id: `x${this.#commands}`, needs: [] } as (typeof RUN_INPUT.steps)[number];
    return [
      move('interrupt', { type: 'interrupt' }),
      move('resume', { type: 'resume' }),
      move('steer', { type: 'steer', mode: 'auto', text }),
      move('steer briefly', { type: 'steer', mode: 'now', text, expiresMs: 500 }),
      move('append', { type: 'append', steps: [appended] }),
      move('extend', { type: 'extend', deadlineAt: this.at(), limitMs: 60_000 }),
      ...this.context.steps
        .slice(0, 4)
        .flatMap(({ id: step }) => [
          move(`stop ${step}`, { type: 'stop', step }),
          move(`interrupt ${step}`, { type: 'interrupt', step }),
          move(`resume ${step}`, { type: 'resume', step }),
          move(`steer ${step}`, { type: 'steer', step, mode: 'next', text }),
          move(`extend ${step}`, { type: 'extend', step, deadlineAt: this.at(), limitMs: 60_000 }),
        ]),
      ...[...this.#asked.keys()].map((ask) => move(`answer ${ask}`, { type: 'answer', ask, text })),
    ];
  }

  #runMoves(): { name: string; go: () => void }[] {
    const send = (event: object) => () => this.run.send(event);
    const value = (this.run.getSnapshot() as unknown as { value: unknown }).value;
    if (value === 'queued') {
      return [
        { name: 'begin', go: () => this.run.send({ type: 'run.begin', at: this.at(), deadlineAt: null }) },
        {
          name: 'run refused',
          go: () => {
            const at = this.at();
            this.run.send({ type: 'run.refuse', at, cause: { type: 'failure', at, reason: 'runner-start' } });
          },
        },
      ];
    }
    return [
      {
        name: 'stop',
        go: () => void this.command({ type: 'stop' }),
      },
      {
        name: 'signal',
        go: () => send({ type: 'run.end', cause: { type: 'runner-signal', at: this.at(), signal: 'SIGTERM' } })(),
      },
      ...(actorAt(this.run, ['deadline']) === undefined
        ? []
        : [{ name: 'run deadline', go: () => send({ type: 'deadline.reached', at: this.at() })() }]),
      ...this.#commandMoves(),
      ...this.#nestMoves(value),
    ];
  }

  /** What is seen of runs below; in any order, and more than are shown. */
  #nestMoves(value: unknown): { name: string; go: () => void }[] {
    const looks = value !== 'queued' && !['settled', 'publishing'].includes(JSON.stringify(value).split('"')[3] ?? '');
    if (!looks) return [];
    const states = ['queued', 'running', 'stopping', 'completed', 'failed', 'paused'] as const;
    return states.map((state) => ({
      name: `below ${state}`,
      go: () => {
        const n = this.records.length % 23;
        const seq = this.records.length % 7;
        const epoch = 1 + (this.records.length % 3 === 0 ? 1 : 0);
        const counts = { running: seq };
        const seen = {
          id: `n${n}`,
          step: 'a',
          attempt: 1,
          depth: 1,
          epoch,
          seq,
          name: `${state} ${n}`,
          state,
          counts,
          asks: n % 3,
        };
        this.run.send({ type: 'nested.seen', at: this.at(), runs: [{ ...seen, updatedAt: this.at() }] });
      },
    }));
  }

  #stepMoves(id: string): { name: string; go: () => void }[] {
    const step = actorAt(this.run, [`step:${id}`]);
    if (step === undefined) return [];
    const to = (actor: AnyActorRef, name: string, event: () => object) => ({
      name: `${id} ${name}`,
      go: () => actor.send(event()),
    });
    const deadline = to(step, 'step limit', () => ({ type: 'deadline.reached', at: this.at() }));
    const attempt = actorAt(step, ['attempt']);
    if (step.getSnapshot().value === 'backingOff')
      return [deadline, { name: `${id} back-off`, go: () => this.clock.advance(60_000) }];
    if (attempt === undefined) {
      return [
        deadline,
        to(step, 'ready', () =>
          done({
            type: 'ready',
            at: this.at(),
            token: 't',
            ladder: LADDER,
            resumes: true,
            listens: true,
            lease: { session: 's', from: null },
          }),
        ),
        to(step, 'refused', () =>
          done({ type: 'refused', at: this.at(), failure: { code: 'cwd-missing', message: 'no' } }),
        ),
      ];
    }
    return [deadline, ...this.#attemptMoves(id, attempt)];
  }

  #attemptMoves(id: string, attempt: AnyActorRef): { name: string; go: () => void }[] {
    const { context } = attempt.getSnapshot() as unknown as {
      context: { pid: number | null; exit: object | null; end: object | null; drained: boolean };
    };
    const move = (name: string, event: () => object, to = attempt) => ({
      name: `${id} ${name}`,
      go: () => to.send(event()),
    });
    if (context.pid === null) {
      return [
        move('started', () => ({ type: 'child.started', at: this.at(), pid: 42, startTime: 1, launch: 'digest' })),
        move('unstarted', () => ({
          type: 'child.unstarted',
          at: this.at(),
          failure: { code: 'command-missing', message: 'no' },
        })),
      ];
    }
    const success = { type: 'success', chars: 1, stop: 'stop' };
    const failed = { type: 'failure', failure: { code: 'model-error', message: '400' } };
    const usage = { input: 3, output: 2, cacheRead: 0, cacheWrite: 0, turns: 1, tools: 1, costUsd: 0.5 };
    const moves = [
      move('active', () => ({ type: 'child.active', at: this.at(), progress: true })),
      move('usage', () => ({ type: 'child.usage', at: this.at(), usage })),
      move('model', () => ({ type: 'child.model', at: this.at(), model: 'm/1' })),
      move('tool', () => ({
        type: 'child.tool',
        at: this.at(),
        tool: { id: '1', name: 'bash', since: AT },
        mayChange: false,
      })),
    ];
    moves.push(...this.#messageMoves(id, attempt));
    if (context.exit === null) {
      moves.push(move('exited', () => ({ type: 'child.exited', at: this.at(), code: 0, signal: null })));
      if (context.end !== null) moves.push(move('resumed', () => ({ type: 'child.resumed', at: this.at() })));
      moves.push(move('broken', () => ({ type: 'child.broken', at: this.at(), reason: 'garbage' })));
    } else if (!context.drained) {
      const drained = (emptied: boolean) => (): object => {
        return { type: 'child.drained', at: this.at(), how: 'closed', end: context.end ?? success, emptied };
      };
      moves.push(move('drained', drained(true)), move('drained, with a group', drained(false)));
    }
    if (context.end === null && !context.drained) {
      moves.push(move('ended well', () => ({ type: 'child.ended', at: this.at(), end: success })));
      moves.push(move('ended badly', () => ({ type: 'child.ended', at: this.at(), end: failed })));
    }
    if (actorAt(attempt, ['check']) !== undefined) {
      for (const type of ['valid', 'missing']) {
        moves.push(
          move(`checked: ${type}`, () =>
            checked({ at: this.at(), value: { type }, files: 0, missing: [], changes: null }),
          ),
        );
      }
    }
    const termination = actorAt(attempt, ['termination']);
    if (termination !== undefined) moves.push(...this.#terminationMoves(id, termination));
    return moves;
  }

  /** What a child says of the messages it was given, and what it asks. */
  #messageMoves(id: string, attempt: AnyActorRef): { name: string; go: () => void }[] {
    const send = (name: string, event: object) => ({
      name: `${id} ${name}`,
      go: () => attempt.send({ at: this.at(), ...event }),
    });
    const text = { chars: 4, sha256: '0123456789ab' };
    const asks = [...this.#asked].filter(([, step]) => step === id).map(([ask]) => ask);
    const ask = `q${this.records.length}`;
    return [
      ...this.#handed
        .filter(({ step }) => step === id)
        .slice(-3)
        .flatMap(({ id: message }) => [
          send('queues', { type: 'child.steer', id: message, state: 'queued' }),
          send('takes', { type: 'child.steer', id: message, state: 'taken' }),
          send('took', { type: 'child.steer', id: message, state: 'delivered' }),
          send('drops', { type: 'child.steer', id: message, state: 'undelivered', reason: 'aborted' }),
        ]),
      {
        name: `${id} asks`,
        go: () => {
          this.#asked.set(ask, id);
          attempt.send({ type: 'child.asked', at: this.at(), ask, text, expiresAt: null });
        },
      },
      ...asks.map((one) => ({
        name: `${id} asks no more`,
        go: () => {
          this.#asked.delete(one);
          attempt.send({ type: 'child.ask-gone', at: this.at(), ask: one });
        },
      })),
    ];
  }

  #terminationMoves(id: string, termination: AnyActorRef): { name: string; go: () => void }[] {
    const member = { pid: 7, startTime: 70, by: 'token', command: 'sleep' };
    const move = (name: string, event: () => object) => ({
      name: `${id} ${name}`,
      go: () => termination.send(event()),
    });
    return [
      move('emptied', () => ({ type: 'tree.emptied', at: this.at() })),
      move('looked: nobody', () => ({
        type: 'tree.looked',
        at: this.at(),
        members: [],
        level: 'searched',
        search: this.#searches++,
      })),
      move('looked: somebody', () => ({
        type: 'tree.looked',
        at: this.at(),
        members: [member],
        level: 'searched',
        search: this.#searches++,
      })),
      move('blind', () => ({ type: 'tree.blind', at: this.at(), reason: 'no /proc', level: 'group' })),
      { name: `${id} time`, go: () => this.clock.advance(1_000) },
    ];
  }

  #finalizeMoves(finalize: AnyActorRef): { name: string; go: () => void }[] {
    const { value, status } = finalize.getSnapshot() as unknown as {
      value: { working?: string } | string;
      status: string;
    };
    if (status !== 'active') return [];
    if (typeof value === 'string' || value.working === undefined)
      return [{ name: 'back-off', go: () => this.clock.advance(8_000) }];
    const line = value.working;
    return [
      {
        name: `${line} done`,
        go: () => {
          const at = this.at();
          this.#journalLine(line, at);
          finalize.send({ type: `xstate.done.actor.${line}`, actorId: line, output: { at } });
        },
      },
      {
        name: `${line} failed`,
        go: () => finalize.send({ type: `xstate.error.actor.${line}`, actorId: line, error: new Error('no room') }),
      },
    ];
  }

  /** What the settle and announce ports journal when they succeed. */
  #journalLine(line: string, at: string): void {
    const { outcome } = (
      this.run.getSnapshot() as unknown as {
        context: { outcome: { state: 'completed'; cause: never; partial: boolean } };
      }
    ).context;
    if (line === 'settle') this.journal({ type: 'run.settled', at, ...outcome });
    if (line === 'announce') this.journal({ type: 'run.completed', at });
  }
}

interface Context {
  live: string[];
  endedAt: string | null;
  steps: { id: string }[];
}
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function wordsOf(command: ChildCommand): string {
  switch (command.type) {
    case 'child.finish':
      return '';
    case 'child.wrap-up':
      return ` ${command.leftMs}`;
    case 'child.steer':
      return ` ${command.id}`;
    case 'child.answer':
      return ` ${command.ask} ${command.command ?? 'declined'}`;
  }
}

const checked = (output: object) => ({ type: 'xstate.done.actor.check', actorId: 'check', output });
const done = (output: object) => ({ type: 'xstate.done.actor.prepare', actorId: 'prepare', output });
