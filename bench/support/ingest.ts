import { join } from 'node:path';
import { createActor, fromCallback } from 'xstate';
import { activityMachine, attemptMachine, fill } from '../../machines/index.ts';
import type { AttemptInput, ChildCommand, ChildEvent, JournalBody } from '../../machines/protocol.ts';
import { type AgentSession, createRegistry } from '../../src/agents/index.ts';
import { createTranscript, openJournal } from '../../src/record/index.ts';
import { now } from '../../src/runtime/kit.ts';
import { Listener } from '../../src/runtime/listener.ts';

const CHUNK = 64 * 1024;

/** What a run does with the bytes of an agent: adapter, listener with its transcript, attempt machine, journal. */
export function ingest(bytes: Buffer, folder: string): void {
  const journal = openJournal(join(folder, 'events.jsonl'), { epoch: 1, firstSeq: 1 });
  const transcript = createTranscript(join(folder, 'transcript.jsonl'));
  let tell: (event: ChildEvent) => void = nobody;
  const child = fromCallback<ChildCommand>(({ sendBack }) => {
    tell = sendBack;
  });
  const record = (_: unknown, body: JournalBody): void => void journal.append(body);
  const machine = attemptMachine.provide({
    actors: { child: fill(child), activity: fill(activityMachine) },
    actions: { record },
  });
  const at = now();
  const limits = { attemptMs: null, firstOutputMs: null, stall: null, toolMs: null };
  const input: AttemptInput = {
    step: 's',
    n: 1,
    token: 't',
    agent: 'pi',
    model: null,
    ladder: [],
    limits,
    leftovers: 'end',
    delivery: 'auto',
    deadlineAt: null,
    session: null,
    resumes: false,
    expects: null,
    repair: null,
    listens: true,
    at,
  };
  const attempt = createActor(machine, { input });
  attempt.start();
  tell({ type: 'child.started', at, pid: 1, startTime: null });

  const kit = { now, touch: () => undefined, redact: (text: string) => text };
  const listener = new Listener(kit, tell, { transcript: () => transcript, allowEmpty: false });
  const session = piSession(folder);
  for (let from = 0; from < bytes.length; from += CHUNK) {
    listener.hear(session.push(bytes.subarray(from, from + CHUNK)).events);
  }
  attempt.stop();
  transcript.close();
  journal.close();
}

/** Until the child has been started. */
function nobody(): void {}

function piSession(folder: string): AgentSession {
  const found = createRegistry({}, { env: {} }).get('pi', 'task');
  if (found.type !== 'agent') throw new Error(found.message);
  const { adapter, settings } = found.agent;
  return adapter.open({
    settings: { ...settings, mode: 'json' },
    task: 'Say what there is.',
    run: null,
    model: null,
    cwd: folder,
    env: {},
    privateDir: folder,
    sessionDir: folder,
    resume: null,
    mailbox: null,
  });
}
