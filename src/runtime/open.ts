import type { InspectionEvent } from 'xstate';
import type {
  Answer,
  Command,
  JournalBody,
  JournalRecord,
  Owner,
  RejectReason,
  Status,
} from '../../machines/protocol.ts';
import { type Bus, type Delivery, commandEnvelope, createLocalBus } from '../bus/index.ts';
import { type Inbox, openInbox } from '../inbox/index.ts';
import type { Nest } from '../nest/index.ts';
import type { ResolvedPlan } from '../plan/index.ts';
import { type RunDir, openJournal } from '../record/index.ts';
import { now } from './kit.ts';
import { Runtime } from './run.ts';
import type { Machines } from './wire.ts';

export interface OpenOptions {
  plan: ResolvedPlan;
  dir: RunDir;
  owner: Owner;
  env: Readonly<Record<string, string>>;
  /** Where it was started, when a child of another run did. */
  nest: Nest | null;
  inspect?: (event: InspectionEvent) => void;
  machines?: Machines;
}

/** A run with its bus and its inbox: commands from files and from the library take the same way. */
export interface Opened {
  runtime: Runtime;
  /** Sends a command and resolves with its one final answer. */
  send(command: Command): Promise<Answer>;
  events(options?: { from?: number; signal?: AbortSignal }): AsyncIterable<JournalRecord>;
  watch(options?: { signal?: AbortSignal }): AsyncIterable<Status>;
  /** Begins to take commands. */
  listen(): void;
}

const EPOCH = 1;

export function openRun({ plan, dir, owner, env, nest, inspect, machines }: OpenOptions): Opened {
  const bus = createLocalBus();
  const callers = new Callers();
  const journal = openJournal(dir.journal, {
    epoch: EPOCH,
    firstSeq: 1,
    onTrouble: () => runtime.recordTrouble(true),
    onRestored: () => runtime.recordTrouble(false),
  });

  const answer = (one: Answer): void => {
    if (bus.answer(dir.id, one).type !== 'recorded') return;
    inbox.answer(one);
    callers.tell(one);
  };
  const inbox: Inbox = openInbox({
    dir,
    deliver: (command) => void deliver(bus, dir.id, command, (refused) => inbox.answer(refused)),
    // Answered by the inbox itself: malformed, or still waiting when it was closed.
    onRefused: (one) => {
      bus.answer(dir.id, one);
      callers.tell(one);
    },
  });
  const runtime = new Runtime({
    plan,
    dir,
    owner,
    epoch: EPOCH,
    env,
    nest,
    answer,
    closeInbox: (state) => closeInbox(inbox, state),
    journal,
    append: (body) => append(bus, dir.id, journal.seq, body),
    onStatus: (status) => bus.putStatus(dir.id, status),
    ...(inspect === undefined ? {} : { inspect }),
    ...(machines === undefined ? {} : { machines }),
  });
  const attachment = bus.attach(dir.id, { journal, currentStatus: () => runtime.status() });
  void runtime.done.then(() => attachment.end());

  return {
    runtime,
    events: (options = {}) => bus.events(dir.id, options),
    watch: (options = {}) => bus.watchStatus(dir.id, options),
    listen() {
      bus.consume(dir.id, ({ body }) => {
        if (!runtime.command(body)) answer(rejected(body, 'already-ended'));
      });
    },
    send(command) {
      const answered = callers.wait(command.id);
      void deliver(bus, dir.id, command, (refused) => callers.tell(refused));
      return answered;
    },
  };
}

/** Those in this process who wait for the answer to a command. */
class Callers {
  readonly #waiting = new Map<string, ((answer: Answer) => void)[]>();

  wait(id: string): Promise<Answer> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(id) ?? [];
      waiting.push(resolve);
      this.#waiting.set(id, waiting);
    });
  }

  tell(answer: Answer): void {
    for (const resolve of this.#waiting.get(answer.id) ?? []) resolve(answer);
    this.#waiting.delete(answer.id);
  }
}

async function deliver(bus: Bus, run: string, command: Command, refuse: (answer: Answer) => void): Promise<void> {
  const delivery = await bus.send(commandEnvelope(run, command, now()));
  const refused = refusalOf(command, delivery);
  if (refused !== null) refuse(refused);
}

/** Null: the command is on its way, or was already and has its own answer. */
function refusalOf(command: Command, delivery: Delivery): Answer | null {
  switch (delivery.type) {
    case 'accepted':
    case 'duplicate':
      return null;
    case 'conflict':
      return { ...rejected(command, 'id-reused'), verdict: 'conflict' };
    case 'refused':
      return rejected(command, delivery.reason === 'queue-full' ? 'too-many' : 'run-ended');
  }
}

const rejected = ({ id, type: command }: Command, reason: RejectReason): Answer => ({
  id,
  command,
  verdict: 'rejected',
  reason,
  at: now(),
});

function append(bus: Bus, run: string, seq: number, body: JournalBody): void {
  const appended = bus.append(run, seq, body);
  if (appended.type !== 'appended') throw new Error(`the journal of run ${run} has another writer`);
}

async function closeInbox(inbox: Inbox, state: string): Promise<void> {
  const closed = await inbox.close({ state });
  if (closed.type === 'trouble') throw new Error(closed.message);
}
