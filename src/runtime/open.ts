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
import { type Answered, Callers, answered } from './callers.ts';
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

export interface SendOptions {
  /** `first`: resolves as soon as the run has taken the command. Default: with its final verdict. */
  until?: 'first' | 'final' | undefined;
  signal?: AbortSignal | undefined;
}

/** A run with its bus and its inbox: commands from files and from the library take the same way. */
export interface Opened {
  runtime: Runtime;
  /** Sends a command and resolves with its answer. `text`: of a message or an answer. */
  send(command: Command, text: string | null, options?: SendOptions): Promise<Answered>;
  /** Checks the steps of an `append` command and sends it. */
  append(command: { id: string; source: string; steps: readonly unknown[] }, options?: SendOptions): Promise<Answered>;
  /** A command that says nothing a run could do: it is answered all the same, and that is on record. */
  reject(command: Pick<Command, 'id' | 'type'>, reason: RejectReason, detail: string): Answered;
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
  // Answered without the run: it was malformed, waited when the inbox closed, or could not be handed over.
  const answerHere = (one: Answer): void => {
    bus.answer(dir.id, one);
    callers.tell(one);
  };
  const deliver = async (command: Command, text: string | null, refuse: (answer: Answer) => void): Promise<void> => {
    const isKept = text !== null && runtime.kit.texts.put(command.id, text);
    const refused = refusalOf(command, await bus.send(commandEnvelope(dir.id, command, now())));
    if (refused === null) return;
    if (isKept) runtime.kit.texts.delete(command.id);
    if (refused !== 'repeated') refuse(refused);
  };
  const inbox: Inbox = openInbox({
    dir,
    deliver: (command, { text }) =>
      void deliver(command, text, (refused) => {
        runtime.takeBack(refused);
        inbox.answer(refused);
        answerHere(refused);
      }),
    resolve: (steps, id) => runtime.propose(steps, id),
    onRefused: answerHere,
  });
  const runtime = new Runtime({
    plan,
    dir,
    owner,
    epoch: EPOCH,
    env,
    nest,
    answer,
    progress: (progress) => {
      inbox.progress(progress);
      callers.tellFirst(progress);
    },
    closeInbox: (state) => closeInbox(inbox, state),
    journal,
    append: (body) => append(bus, dir.id, journal.seq, body),
    onStatus: (status) => bus.putStatus(dir.id, status),
    ...(inspect === undefined ? {} : { inspect }),
    ...(machines === undefined ? {} : { machines }),
  });
  const attachment = bus.attach(dir.id, { journal, currentStatus: () => runtime.status() });
  const end = (): void => {
    attachment.end();
    const detail = 'the run has ended';
    callers.endAll((id) => ({ id, command: 'unknown', verdict: 'rejected', reason: 'run-ended', at: now(), detail }));
  };
  void runtime.done.then(end);

  const send: Opened['send'] = (command, text, { until, signal } = {}) => {
    const told = callers.wait(command.id, { first: until === 'first', signal });
    void deliver(command, text, (refused) => {
      runtime.takeBack(refused);
      callers.tell(refused);
    });
    return told;
  };
  const reject: Opened['reject'] = (command, reason, detail) => {
    const refused = rejected(command, reason, detail);
    bus.answer(dir.id, refused);
    return answered(refused);
  };
  return {
    runtime,
    events: (options = {}) => bus.events(dir.id, options),
    watch: (options = {}) => bus.watchStatus(dir.id, options),
    listen() {
      bus.consume(dir.id, ({ body }) => {
        if (!runtime.command(body)) answer(rejected(body, 'already-ended', 'the run has come to its end'));
        else callers.tellFirst({ id: body.id, command: body.type, verdict: 'accepted', at: now() });
      });
    },
    send,
    append: async ({ id, source, steps }, options) => {
      const proposed = runtime.propose(steps, id);
      if (proposed.type === 'invalid') return reject({ id, type: 'append' }, 'invalid', proposed.detail);
      return send({ type: 'append', id, source, steps: proposed.steps }, null, options);
    },
    reject,
  };
}

/** Null: the command is on its way; `repeated`: it was before, and has its own answer. */
function refusalOf(command: Command, delivery: Delivery): Answer | 'repeated' | null {
  switch (delivery.type) {
    case 'accepted':
      return null;
    case 'duplicate':
      return 'repeated';
    case 'conflict':
      return { ...rejected(command, 'id-reused', 'this id was used before, for something else'), verdict: 'conflict' };
    case 'refused':
      return delivery.reason === 'queue-full'
        ? rejected(command, 'too-many', 'so many commands wait for the run already')
        : rejected(command, 'run-ended', 'the run has ended');
  }
}

const rejected = (
  { id, type: command }: Pick<Command, 'id' | 'type'>,
  reason: RejectReason,
  detail: string,
): Answer => ({
  id,
  command,
  verdict: 'rejected',
  reason,
  at: now(),
  detail,
});

function append(bus: Bus, run: string, seq: number, body: JournalBody): void {
  const appended = bus.append(run, seq, body);
  if (appended.type !== 'appended') throw new Error(`the journal of run ${run} has another writer`);
}

async function closeInbox(inbox: Inbox, state: string): Promise<void> {
  const closed = await inbox.close({ state });
  if (closed.type === 'trouble') throw new Error(closed.message);
}
