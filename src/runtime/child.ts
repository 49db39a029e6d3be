import { chmodSync, lstatSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fromCallback } from 'xstate';
import type { AttemptInput, ChildCommand, ChildEvent, Failure } from '../../machines/protocol.ts';
import type { AgentSession, LaunchRequest, Reply } from '../agents/index.ts';
import { type ChildHandlers, treeOf } from '../process/index.ts';
import type { Check } from '../quality/index.ts';
import {
  type AttemptPaths,
  type RawLog,
  type Transcript,
  createAttemptDir,
  createRawLog,
  createTranscript,
  makeDir,
} from '../record/index.ts';
import type { Kit } from './kit.ts';
import { type Recorded, launchRecord, recordAcknowledged, recordLaunch, requestFor } from './launching.ts';
import { type Answer, Listener } from './listener.ts';
import { outputOf, valueOutput, wholeText } from './output-of.ts';
import type { Output } from './outputs.ts';
import { Post, makeMailbox } from './post.ts';
import type { Prepared } from './prepared.ts';
import { survivorsDir } from './survivors.ts';
import { type Entry, isEmptied } from './table.ts';

/**
 * The `child` port: launches one attempt's process, reads it, speaks its protocol, keeps its raw streams.
 * Settles on the exit and a bounded drain, never on the pipes' close.
 */
export const child = (kit: Kit) =>
  fromCallback<ChildCommand, AttemptInput>(({ sendBack, receive, input }) => {
    const prepared = kit.prepared.get(input.step);
    if (prepared === undefined) throw new Error(`step ${input.step} was not prepared`);
    // The texts are needed once.
    kit.prepared.delete(input.step);
    if (kit.table.isShut) {
      receive(() => {});
      return undefined;
    }
    let over = false;
    const tell = (event: ChildEvent): void => {
      if (!over) sendBack(event);
    };
    const made = createAttemptDir(kit.dir, input.step, input.n);
    if (made.type === 'trouble') {
      receive(() => {});
      tell(unwritable(kit, made.message));
      return undefined;
    }
    const writer = new Writer(kit, input, prepared, made.paths, tell);
    receive(
      kit.guard((command) => {
        switch (command.type) {
          case 'child.finish':
            writer.finish();
            return;
          case 'child.wrap-up':
            writer.wrapUp(command.leftMs);
            return;
          case 'child.steer':
            writer.post.steer(command.id, command.mode);
            return;
          case 'child.answer':
            writer.post.answer(command.ask, command.command);
            return;
        }
      }),
    );
    writer.start();
    return () => {
      over = true;
      writer.close();
    };
  });

/** Agents make the files of their sessions as they like: what was said in them is nobody else's. */
function keepPrivate(path: string): void {
  try {
    // Not what a link of the child's points to.
    if (lstatSync(path).isFile()) chmodSync(path, 0o600);
  } catch {
    // It made none.
  }
}

/** What is not on record is not started. */
const unwritable = (kit: Kit, why: string): ChildEvent => ({
  type: 'child.unstarted',
  at: kit.now(),
  failure: { code: 'resources-exhausted', message: `the launch could not be recorded, so nothing was started: ${why}` },
});

/** Nobody has agreed to go on with these as they are now. */
const changed = (fields: readonly string[]): Failure => ({
  code: 'launch-changed',
  message: `it was not started: it would go on in a session that was begun with other settings (${fields.join(', ')})`,
  detail: { differs: fields.join(', ') },
});

class Writer {
  readonly post: Post;
  readonly #kit: Kit;
  readonly #input: AttemptInput;
  readonly #prepared: Prepared;
  readonly #tell: (event: ChildEvent) => void;
  readonly #paths: AttemptPaths;
  readonly #entry: Entry;
  readonly #request: LaunchRequest;
  readonly #session: AgentSession;
  readonly #listener: Listener;
  readonly #stdout: RawLog;
  readonly #stderr: RawLog;
  #transcript: Transcript | null = null;
  /** Null: the step has nothing to show but its word. */
  readonly #check: Check | null;
  /** What a value may have to be read from. */
  #answer: Answer = { text: '', truncated: false };
  #closed = false;
  #sessionFile: string | null = null;
  /** Of what is started; null: nothing has been. */
  #launch: Recorded['record'] | null = null;
  /** Files of this launch that hold the task: gone when the attempt is. */
  #files: string[] = [];
  #exit: { code: number | null; signal: string | null } = { code: null, signal: null };

  constructor(
    kit: Kit,
    input: AttemptInput,
    prepared: Prepared,
    paths: AttemptPaths,
    tell: (event: ChildEvent) => void,
  ) {
    this.#kit = kit;
    this.#input = input;
    this.#prepared = prepared;
    this.#tell = tell;
    this.#paths = paths;
    this.#entry = kit.table.open(input.step, input.n, input.token);
    const listens = prepared.agent.adapter.capabilities.mailbox;
    const mailbox = makeMailbox(paths.path, listens);
    this.#request = requestFor(kit, input, prepared, paths, mailbox);
    this.#session = prepared.agent.adapter.open(this.#request);
    this.#entry.session = this.#session;
    const hear = (event: ChildEvent): void => {
      if (event.type === 'child.ended') this.post.look();
      if (event.type === 'child.session') this.#sessionFile = join(this.#request.sessionDir, basename(event.session));
      tell(event);
    };
    this.#check = kit.checks.get(input.step) ?? null;
    this.#listener = new Listener(kit, hear, {
      transcript: () => this.#openTranscript(),
      allowEmpty: prepared.step.allowEmpty,
      required: prepared.agent.settings.tools?.required ?? [],
      submit: (value) => this.#check?.submissions?.add(value),
      answer: (answer) => {
        if (this.#check !== null) this.#answer = answer;
      },
    });
    this.post = new Post(this.#session, {
      kit,
      input,
      attemptDir: paths.path,
      mailbox,
      listens,
      tell,
      act: (reply) => this.#act(reply),
      note: (text) => this.#listener.hear([{ t: 'note', kind: 'bad-record', text }]),
    });
    this.#stdout = createRawLog(paths.stdout, { notes: 'json', hash: prepared.texts.run !== null });
    this.#stderr = createRawLog(paths.stderr);
  }

  start(): void {
    const { adapter } = this.#prepared.agent;
    const spec = { ...adapter.launch(this.#request), contain: this.#prepared.container };
    this.#files = (spec.files ?? []).map(({ path }) => path);
    if (this.#prepared.step.survivors === 'declared') makeDir(survivorsDir(this.#kit, this.#input));
    const launch = launchRecord(this.#kit, this.#input, this.#prepared, this.#request, spec);
    const recorded = recordLaunch(this.#kit, this.#paths, launch, spec);
    if (recorded.type === 'trouble') {
      this.#tell(unwritable(this.#kit, recorded.message));
      return;
    }
    const { refused, noted } = launch.differences;
    if (refused.length > 0) {
      this.#kit.table.close(this.#input.step, this.#input.n, 'gone');
      this.#tell({ type: 'child.unstarted', at: this.#kit.now(), failure: changed(refused) });
      return;
    }
    if (noted.length > 0)
      this.#listener.hear([{ t: 'note', kind: 'text', text: `not as before: ${noted.join(', ')}` }]);
    this.#launch = launch.record;
    this.#entry.child = this.#kit.launcher.launch(spec, this.#input.token, this.#handlers());
  }

  #handlers(): ChildHandlers {
    const { guard } = this.#kit;
    return {
      started: guard((process) => {
        const { pid, startTime } = process;
        this.#kit.table.started(this.#entry, treeOf(process, this.#input.token, this.#prepared.container));
        const launched = this.#launch === null ? {} : { launch: this.#launch.digest };
        this.#tell({ type: 'child.started', at: this.#kit.now(), pid, startTime, ...launched });
        this.#act(this.#session.start());
        this.post.begin();
      }),
      unstarted: guard((failure) => {
        this.#kit.table.close(this.#input.step, this.#input.n, 'gone');
        this.#tell({ type: 'child.unstarted', at: this.#kit.now(), failure });
      }),
      stdout: guard((chunk) => {
        if (this.#closed) return;
        this.#stdout.write(chunk);
        this.#act(this.#session.push(chunk));
      }),
      stderr: guard((chunk) => {
        if (this.#closed) return;
        this.#stderr.write(chunk);
        this.#listener.active(false);
      }),
      exited: guard((exit) => {
        this.#entry.exited = true;
        this.#exit = exit;
        this.#tell({ type: 'child.exited', at: this.#kit.now(), ...exit });
      }),
      drained: guard((how) => {
        if (this.#closed) return;
        this.#entry.pipesHeld = how !== 'closed';
        this.#listener.hearLast(this.#session.exited({ ...this.#exit, stderrTail: this.#stderr.tail() }).events);
        this.post.close();
        const { acknowledged } = this.#listener;
        if (acknowledged !== null && this.#launch !== null) {
          recordAcknowledged(this.#paths, this.#launch, acknowledged);
        }
        this.#kit.outputs.set(this.#input.step, this.#output());
        const emptied = isEmptied(this.#entry);
        this.#tell({ type: 'child.drained', at: this.#kit.now(), how, end: this.#listener.end(), emptied });
      }),
    };
  }

  /** The attempt has what it wants; the child is to exit by itself. */
  finish(): void {
    this.#act(this.#session.finish());
  }

  /** The time is nearly over: an agent that can be told is told. */
  wrapUp(leftMs: number): void {
    this.#act(this.#session.wrapUp(leftMs));
  }

  /** No byte is kept any more; what still comes is read and dropped. */
  close(): void {
    this.#closed = true;
    this.post.close();
    this.#stdout.close();
    this.#stderr.close();
    this.#transcript?.close();
    for (const path of this.#files) rmSync(path, { force: true });
    if (this.#sessionFile !== null) keepPrivate(this.#sessionFile);
  }

  #act(reply: Reply): void {
    for (const text of reply.send) this.#entry.child?.write(text);
    if (reply.closeStdin) this.#entry.child?.closeStdin();
    for (const event of reply.events) this.post.hear(event);
    this.#listener.hear(reply.events);
  }

  #openTranscript(): Transcript {
    this.#transcript ??= createTranscript(this.#paths.transcript, { redact: this.#kit.redact });
    return this.#transcript;
  }

  /** Nobody but its own words, or the value that was asked for. */
  #output(): Output {
    const { said, lastWords } = this.#listener;
    const { plain = false, capabilities } = this.#prepared.agent.adapter;
    const spoken = { kit: this.#kit, input: this.#input, paths: this.#paths, stdout: this.#stdout, plain };
    const output = outputOf(said, lastWords, spoken);
    if (this.#check === null) return output;
    const text = said?.type === 'final' && capabilities.structured !== 'tool' ? wholeText(this.#answer, spoken) : '';
    this.#check.submissions?.read(text, this.#request.run !== null);
    return valueOutput(this.#check, spoken) ?? output;
  }
}
