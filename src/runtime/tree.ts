import { fromCallback } from 'xstate';
import type { Rung, TreeCommand, TreeEvent } from '../../machines/protocol.ts';
import type { Kit } from './kit.ts';
import { nestedBelow } from './nested.ts';
import { declaredSurvivors } from './survivors.ts';
import { type Entry, isEmptied, signalEntry } from './table.ts';

/** How often we ask whether a group that is being ended has emptied: soon at first, then every 50 ms. */
const POLL_MS = [1, 2, 4, 8, 16, 32, 50];

/** The `tree` port: the hands of a termination. Signals, watches for the end, and looks for what is left. */
export const tree = (kit: Kit) =>
  fromCallback<TreeCommand, { step: string; n: number }>(({ sendBack, receive, input }) => {
    const entry = kit.table.get(input.step, input.n);
    if (entry === undefined) throw new Error(`no process table entry for ${input.step}#${input.n}`);
    const tell = (event: TreeEvent): void => sendBack(event);
    const watch = watchFor(entry, kit, () => tell({ type: 'tree.emptied', at: kit.now() }));
    let over = false;
    const nested = nestedBelow(kit, input);
    const applyAndTell = (rung: Rung['do']): void => {
      // As soon as they have ended, on to the process itself.
      const applied = apply(entry, rung, () =>
        nested.end(rung === 'interrupt-nested' ? 'interrupt' : 'stop', () =>
          tell({ type: 'tree.refused', at: kit.now(), rung }),
        ),
      );
      if (applied === null) {
        tell({ type: 'tree.refused', at: kit.now(), rung });
        return;
      }
      tell({ type: 'tree.applied', at: kit.now(), rung, ...applied });
      watch.start();
    };
    const lookAndTell = async (): Promise<void> => {
      const event = await look(entry, kit);
      if (!over) tell(event);
    };

    const fail = kit.guard((error: unknown) => {
      throw error;
    });

    receive(
      kit.guard((command) => {
        nested.leave();
        switch (command.type) {
          case 'tree.apply':
            applyAndTell(command.rung);
            return;
          case 'tree.look':
            if (command.watch) watch.once();
            void lookAndTell().catch(fail);
            return;
        }
      }),
    );
    return () => {
      over = true;
      watch.stop();
      nested.leave();
    };
  });

/** Null: this tree has no such rung. */
function apply(
  entry: Entry,
  rung: Rung['do'],
  endNested: () => { targets: number } | null,
): { targets: number; error?: string } | null {
  switch (rung) {
    case 'stop-nested':
    case 'interrupt-nested':
      return endNested();
    case 'abort': {
      const reply = entry.session?.abort();
      if (reply?.supported !== true) return null;
      for (const text of reply.send) entry.child?.write(text);
      return { targets: 1 };
    }
    case 'close-stdin':
      entry.child?.closeStdin();
      return { targets: entry.child === null ? 0 : 1 };
    case 'SIGINT':
    case 'SIGTERM':
    case 'SIGKILL':
      return signalEntry(entry, rung);
  }
}

async function look(entry: Entry, kit: Kit): Promise<TreeEvent> {
  const { target } = entry;
  if (target === null)
    return { type: 'tree.blind', at: kit.now(), reason: 'it was never seen to start', level: 'group' };
  const seen = await kit.sweeper.look(target, { pipes: entry.pipesHeld });
  if (seen.type === 'blind') return { type: 'tree.blind', at: kit.now(), reason: seen.reason, level: seen.level };
  const declared = declaredSurvivors(kit, entry);
  const members = seen.members.map((member) => ({
    ...member,
    command: kit.redact(member.command),
    ...(declared.has(member.pid) ? { declared: true } : {}),
  }));
  // Who may stay is not signalled when the others are.
  entry.members = seen.members.filter((member) => !declared.has(member.pid));
  return { type: 'tree.looked', at: kit.now(), members, level: seen.level, search: seen.serial };
}

/** Says that nobody known is left, once for each `start`, or at once if it is so at `once`. */
function watchFor(entry: Entry, kit: Kit, emptied: () => void) {
  let timer: NodeJS.Timeout | null = null;
  let round = 0;
  const stop = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  const gone = (): boolean => isEmptied(entry) && entry.members.every((member) => !kit.table.isThere(member));
  const check = kit.guard(() => {
    timer = null;
    if (gone()) emptied();
    else timer = setTimeout(check, POLL_MS[Math.min(round++, POLL_MS.length - 1)]);
  });
  return {
    stop,
    start() {
      stop();
      round = 0;
      timer = setTimeout(check, POLL_MS[0]);
    },
    once() {
      stop();
      if (isEmptied(entry)) emptied();
    },
  };
}
