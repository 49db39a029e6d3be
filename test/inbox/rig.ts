import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Answer, Command } from '../../machines/protocol.ts';
import {
  type Inbox,
  type InboxOptions,
  type InboxWarning,
  type Origin,
  openInbox,
  readReceipt,
} from '../../src/inbox/index.ts';
import { createRunDir, type Receipt, type RunDir } from '../../src/record/index.ts';
import { tempFolder } from '../record/support.ts';

export const at = '2026-12-01T10:00:00.000Z';

export function freshDir(): RunDir {
  const made = createRunDir(tempFolder(), 'r1', {});
  if (made.type !== 'ok') throw new Error(made.type);
  return made.dir;
}

export interface Rig {
  dir: RunDir;
  inbox: Inbox;
  delivered: Command[];
  origins: Origin[];
  refused: Answer[];
  warnings: InboxWarning[];
  receipt(id: string): Receipt | null;
}

/** An open inbox on a run directory of its own, closed when the test ends. */
export function openRig(options: Partial<InboxOptions> = {}, dir: RunDir = freshDir()): Rig {
  const delivered: Command[] = [];
  const origins: Origin[] = [];
  const refused: Answer[] = [];
  const warnings: InboxWarning[] = [];
  const inbox = openInbox({
    dir,
    deliver: (command, origin) => {
      delivered.push(command);
      origins.push(origin);
    },
    onRefused: (answer) => refused.push(answer),
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  onTestFinished(() => inbox.abandon());
  return { dir, inbox, delivered, origins, refused, warnings, receipt: (id) => readReceipt(dir, id) };
}

/** Drops a file as a sender does: staged, then moved in. */
export function drop(dir: RunDir, name: string, content: unknown): void {
  const draft = join(dir.controlTemp, name);
  writeFileSync(draft, typeof content === 'string' ? content : JSON.stringify(content));
  renameSync(draft, join(dir.control, name));
}

export function stop(id?: string, more: object = {}): object {
  return { v: 1, ...(id === undefined ? {} : { id }), type: 'stop', source: 'test', ...more };
}

export function applied(id: string, command = 'stop'): Answer {
  return { id, command, verdict: 'applied', at };
}

/** What lies in the folder beside its own parts. */
export function entries(dir: RunDir): string[] {
  return readdirSync(dir.control).filter((name) => !['claimed', 'receipts', 'rejected'].includes(name));
}
