/**
 * The nursery: a small process that starts children for a runner, and tells it what becomes of them. It lives as long
 * as the runner is connected; when the runner has gone without a word (SIGKILL), what is still running is ended with it.
 */
import { treeOf, type TreeTarget } from '../belong.ts';
import { signalGroup } from '../groups.ts';
import { launchBy, type OwnChild } from '../launch.ts';
import type { FromNursery, ToNursery } from './messages.ts';
import { Outbox } from './outbox.ts';
import { spawnPlain } from './spawn.ts';

interface Born {
  child: OwnChild;
  /** Null until it runs. */
  tree: () => TreeTarget | null;
}

const born = new Map<number, Born>();
const outbox = new Outbox(
  (news, taken) => tell({ type: 'news', news }, taken),
  (held) => {
    for (const { child } of born.values()) child.hold(held);
  },
);

function tell(message: FromNursery, sent: () => void = () => {}): void {
  // A runner that has gone is no error: the disconnect comes right after, and says so.
  process.send?.(message, undefined, {}, sent);
}

function launch({ id, token, spec }: ToNursery & { type: 'launch' }): void {
  let tree: TreeTarget | null = null;
  const child = launchBy(spawnPlain, spec, {
    started: (process) => {
      tree = treeOf(process, token);
      outbox.put({ type: 'started', id, process });
    },
    unstarted: (failure) => {
      born.delete(id);
      outbox.put({ type: 'unstarted', id, failure });
    },
    stdout: (chunk) => outbox.put({ type: 'stdout', id, chunk }),
    stderr: (chunk) => outbox.put({ type: 'stderr', id, chunk }),
    exited: (exit) => outbox.put({ type: 'exited', id, ...exit }),
    drained: (how) => {
      born.delete(id);
      outbox.put({ type: 'drained', id, how });
    },
  });
  child.hold(outbox.held);
  born.set(id, { child, tree: () => tree });
}

/** Nobody is there to look for what they started: their groups are ended at least. */
function endAll(): void {
  for (const { tree } of born.values()) {
    const target = tree();
    if (target !== null) signalGroup(target, 'SIGKILL');
  }
}

function heed(message: ToNursery): void {
  switch (message.type) {
    case 'launch':
      launch(message);
      return;
    case 'write':
      born.get(message.id)?.child.write(message.text);
      return;
    case 'close-stdin':
      born.get(message.id)?.child.closeStdin();
      return;
  }
}

/** One launch a turn: forking blocks, and between two of them the news of the others go out. */
const waiting: ToNursery[] = [];

function next(): void {
  for (let message = waiting.shift(); message !== undefined; message = waiting.shift()) {
    heed(message);
    if (message.type === 'launch') break;
  }
  if (waiting.length > 0) setImmediate(next);
}

process.on('message', (message: ToNursery) => {
  waiting.push(message);
  if (waiting.length === 1) setImmediate(next);
});
process.on('disconnect', () => {
  endAll();
  process.exit(0);
});
// It ends with the runner, and by nothing else: whoever ends a runner politely gets an orderly end from the runner.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {});
process.on('uncaughtException', (error) => {
  console.error(error);
  endAll();
  process.exit(1);
});
tell({ type: 'ready' });
