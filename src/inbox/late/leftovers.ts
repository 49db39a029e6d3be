import { randomUUID } from 'node:crypto';
import { linkSync, lstatSync, readdirSync, renameSync } from 'node:fs';
import { basename } from 'node:path';
import type { Answer, CommandType, RejectReason } from '../../../machines/protocol.ts';
import {
  type ControlPaths,
  type JsonObject,
  type Receipt,
  faultIn,
  placeNew,
  readRecord,
  syncDir,
} from '../../record/light.ts';
import { leftoversMs, leftoversPerRead } from '../bounds.ts';
import { type Before, decideWith, refusalOf } from '../decision.ts';
import { makeFolder, remove, within } from '../files.ts';
import { Intake, type Taken } from '../intake.ts';
import { keyOf, readReceipt, receiptOf } from '../receipt.ts';

type Fields = Parameters<typeof faultIn>[1];

/** What a command of each kind cannot do without: less than its schema asks, for one that nobody will obey. */
const needed: Record<CommandType, Fields> = {
  stop: {},
  interrupt: {},
  resume: {},
  extend: { deadline: 'string' },
  answer: { ask: 'string', text: 'string' },
  append: { steps: 'array' },
  steer: { text: 'string' },
};

const refuse = (reason: RejectReason, detail: string) => ({ type: 'bad', reason, detail }) as const;

/** What is made of an entry when the run has ended: no command any more. Loads no schema. */
export const decideLate = decideWith((json: JsonObject, { type }) => {
  const fault = json['v'] === 1 ? faultIn(json, needed[type]) : 'its version (v) is not 1';
  return fault === null ? refuse('run-ended', 'the run had ended before this was read') : refuse('invalid', fault);
});

/** Whether something was dropped into a closed inbox, or was taken out of it by a reader that did not get any further. */
export function hasLeftovers(dir: ControlPaths): boolean {
  const parts = new Set([dir.claimed, dir.receipts, dir.rejected, dir.closed].map((path) => basename(path)));
  try {
    if (!lstatSync(dir.closed).isFile()) return false;
    return readdirSync(dir.control).some((name) => !parts.has(name)) || readdirSync(dir.claimed).length > 0;
  } catch {
    return false;
  }
}

/**
 * Answers what was dropped after a run's inbox was closed: each command gets one final receipt, `rejected`, and the journal
 * nothing. Any number of readers may do it at once. Bounded in entries and time; the rest is the next reader's, and so
 * is what finds no disk to be answered on. Where a part of the folder is a link nothing is done.
 *
 * `isOver`: whether the run has ended and nobody has taken it up again. Asked before anything is taken, and after.
 */
export function answerLeftovers(
  dir: ControlPaths,
  isOver: () => boolean,
  withinMs: number = leftoversMs,
): { answered: number } {
  if (!isWhole(dir) || !isOver()) return { answered: 0 };
  makeFolder(dir.receipts);
  const intake = new Intake(dir, decideLate, leftoversPerRead);
  intake.read({ last: true, untilMs: Number.POSITIVE_INFINITY, before: (id) => finalOf(dir, id) });
  const taken = [...intake.stops(), ...intake.rest()];
  if (!isOver()) {
    for (const one of taken) putBack(dir, one);
    return { answered: 0 };
  }
  return answerAll(dir, intake, taken, performance.now() + withinMs);
}

function answerAll(dir: ControlPaths, intake: Intake, taken: Taken[], untilMs: number): { answered: number } {
  const done: Taken[] = [];
  let answered = 0;
  try {
    for (const one of taken) {
      if (answerOne(dir, intake, one)) answered += 1;
      done.push(one);
      // One is answered however slow the disk is, so that all are in the end.
      if (performance.now() >= untilMs) break;
    }
  } catch {
    // No room, or not ours to write: what is claimed and not answered is the next reader's.
  }
  // First the answers for good, then the commands away.
  if (answered > 0) syncDir(dir.receipts);
  for (const { path } of done) if (path !== null) remove(path);
  return { answered };
}

/** True when the answer is ours, and not one that was there. Throws when it has no place to go to. */
function answerOne(dir: ControlPaths, intake: Intake, taken: Taken): boolean {
  const { decision } = taken;
  const at = new Date().toISOString();
  switch (decision.type) {
    // It is answered by the first under its id.
    case 'repeat':
      return false;
    case 'conflict':
      return place(dir, refusalOf(decision, at), decision.sha256);
    case 'reject': {
      if (decision.reason !== 'run-ended') intake.note(taken, at);
      const { id, command, sha256 } = decision;
      if (place(dir, refusalOf(decision, at), sha256)) return true;
      // Another reader has answered another command under this id meanwhile.
      const first = finalOf(dir, id);
      if (first === null || first.sha256 === undefined || first.sha256 === sha256) return false;
      return place(dir, refusalOf({ type: 'conflict', id, command, sha256 }, at), sha256);
    }
    case 'deliver':
      throw new Error('bug: a command to a run that has ended');
  }
}

/** Puts a receipt where none is; of several who do it at once for one command, one gets true. */
function place(dir: ControlPaths, answer: Answer, sha256: string): boolean {
  const receipt = receiptOf(answer, sha256);
  const path = dir.receipt(keyOf(receipt));
  const draft = within(dir.receipts, `.${randomUUID()}.tmp`);
  if (placeNew(path, draft, receipt)) return true;
  const there = readReceipt(dir, keyOf(receipt));
  if (there === null || there.final) return false;
  return moved(path, `${draft}.old`) && takeOver(path, { old: `${draft}.old`, draft, receipt });
}

/** An acceptance that nothing came of is taken away first, so that what takes its place is still made by one only. */
function takeOver(path: string, { old, draft, receipt }: { old: string; draft: string; receipt: Receipt }): boolean {
  const last = readRecord<{ final: boolean }>(old, (json) => faultIn(json, { final: 'boolean' }));
  // Another reader was quicker, and its answer stays.
  const isAnswer = last.type === 'ok' && last.value.final;
  if (isAnswer) linked(old, path);
  const won = !isAnswer && placeNew(path, draft, receipt);
  remove(old);
  return won;
}

function finalOf(dir: ControlPaths, id: string): Before | null {
  const receipt = readReceipt(dir, id);
  return receipt?.final === true ? receipt : null;
}

/** Into the inbox of a run that goes on after all, unless something lies there by this name: then it stays claimed. */
function putBack(dir: ControlPaths, { name, path }: Taken): void {
  if (path !== null && linked(path, within(dir.control, name))) remove(path);
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch {
    return false;
  }
}

function moved(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

/** Nothing leaves the run directory by a link. */
function isWhole({ control, claimed, receipts, rejected }: ControlPaths): boolean {
  return kindAt(control) === 'folder' && [claimed, receipts, rejected].every((path) => kindAt(path) !== 'other');
}

function kindAt(path: string): 'folder' | 'other' | 'nothing' {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat === undefined ? 'nothing' : stat.isDirectory() ? 'folder' : 'other';
}
