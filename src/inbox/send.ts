import { existsSync } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ulid } from 'ulid';
import { codeOf, type CommandFile, type ControlPaths, safeId, troubleOf } from '../record/light.ts';
import { meaningOf } from './meaning.ts';

/** A command to send, as in its file; `v` is filled in, and so is `id` where it is missing. */
export type Outgoing = CommandFile extends infer C ? (C extends unknown ? Omit<C, 'v'> : never) : never;

export type Sent =
  /** It lies in the inbox. Not: that anybody has read it; see `waitReceipt`. */
  | { type: 'sent'; id: string; sha256: string }
  | { type: 'refused'; reason: 'closed' | 'no-control' | 'unwritable'; message: string };

/**
 * Puts a command into a run's inbox: written beside it (0600) and moved in, so that nobody reads half of it. Refused
 * when the inbox is closed, also when it closes meanwhile and had not taken the command yet.
 */
export async function sendCommand(dir: ControlPaths, command: Outgoing): Promise<Sent> {
  if (existsSync(dir.closed)) return closed;
  if (!existsSync(dir.control)) return noControl(dir);
  const id = command.id ?? ulid();
  const file: CommandFile = { v: 1, ...command, id };
  const name = nameFor(command.id, id);
  const draft = join(dir.controlTemp, `${ulid()}.json`);
  const place = join(dir.control, name);
  try {
    await writeDraft(draft, `${JSON.stringify(file)}\n`);
    await rename(draft, place);
  } catch (error) {
    await takeBack(draft);
    if (!existsSync(dir.control)) return noControl(dir);
    return {
      type: 'refused',
      reason: 'unwritable',
      message: `the command cannot be written: ${troubleOf(error).message}`,
    };
  }
  // Whoever closed the inbox in between may have looked into it for the last time.
  if (existsSync(dir.closed) && (await takeBack(place))) return closed;
  return { type: 'sent', id: safeId(id), sha256: meaningOf({ ...file }) };
}

/** An id that somebody chose may be another's, too: each file has a name of its own, so that none takes the place of one not read yet. */
function nameFor(chosen: string | undefined, id: string): string {
  return chosen === undefined ? `${id}.json` : `${safeId(id).slice(0, 100)}.${ulid()}.json`;
}

const closed: Sent = { type: 'refused', reason: 'closed', message: 'the run has ended: it takes no more commands' };

function noControl(dir: ControlPaths): Sent {
  return {
    type: 'refused',
    reason: 'no-control',
    message: `the run's control folder ${dir.control} is missing: put it back, or end the runner by a signal`,
  };
}

async function writeDraft(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

/** True when the file was still there. */
async function takeBack(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ENOENT';
  }
}
