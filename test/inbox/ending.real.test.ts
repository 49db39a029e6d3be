import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { status } from '../../src/client.ts';
import { start } from '../../src/index.ts';
import { type Outgoing, readReceipt, sendCommand } from '../../src/inbox/index.ts';
import { type RunDir, readJournal, runDir } from '../../src/record/index.ts';
import { inParallel } from '../support/walk.ts';
import { drop, entries, stop } from './rig.ts';

/** A run ends, and commands land until its inbox says that it is closed. */
const ROUNDS = Number(process.env['COXSWAIN_ROUNDS'] ?? 20);
const NEAR_MS = 5;

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-ending-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Landed {
  id: string;
  /** Milliseconds since 1970. */
  at: number;
}

const commands: Outgoing[] = [
  { type: 'stop', source: 'test' },
  { type: 'steer', text: 'still there?', source: 'test' },
  { type: 'interrupt', source: 'test' },
  { type: 'extend', deadline: '1h', source: 'test' },
];

/** What came of sending: `dropped` are files moved in by somebody who does not look whether the inbox is closed. */
interface Sending {
  sent: Landed[];
  dropped: Landed[];
  reasons: string[];
}

const nowMs = (): number => performance.timeOrigin + performance.now();

/** Sends one after the other until the inbox is closed; the refused ones leave nothing. */
async function sendUntilClosed(dir: RunDir, round: number): Promise<Sending> {
  const sent: Landed[] = [];
  const dropped: Landed[] = [];
  const reasons: string[] = [];
  // Late enough that the stop does not always come first and end the run in another way.
  await pause(round % 8);
  for (let n = round; ; n += 1) {
    const outcome = await sendCommand(dir, { ...commands[n % commands.length] } as Outgoing);
    if (outcome.type === 'sent') sent.push({ id: outcome.id, at: nowMs() });
    else {
      reasons.push(outcome.reason);
      const id = `late-${reasons.length}`;
      drop(dir, `${id}.json`, stop(id));
      dropped.push({ id, at: nowMs() });
      if (reasons.length === 3) return { sent, dropped, reasons };
    }
    if (n % 3 === 0) await pause(1);
  }
}

function answersIn(dir: RunDir): Map<string, number> {
  const counts = new Map<string, number>();
  const { records } = readJournal(dir.journal, { maxBytes: Number.MAX_SAFE_INTEGER });
  for (const record of records) {
    if (record.type === 'command.answered') counts.set(record.id, (counts.get(record.id) ?? 0) + 1);
  }
  return counts;
}

test(`of a request that lands within ${NEAR_MS} ms of the end, ${ROUNDS} times: exactly one final verdict`, async () => {
  let near = 0;
  let all = 0;
  let byReader = 0;
  await inParallel(
    Array.from({ length: ROUNDS }, (_, round) => round),
    3,
    async (round) => {
      const id = `r${round}`;
      const run = await start({ command: ['true'] }, { root, id });
      const dir = runDir(root, id);
      let sending: ReturnType<typeof sendUntilClosed> | null = null;
      for await (const { type } of run.events()) {
        if (type !== 'attempt.exited') continue;
        sending = sendUntilClosed(dir, round);
        break;
      }
      await run.ended();
      const { sent, dropped, reasons } = (await sending) ?? { sent: [], dropped: [], reasons: [] };
      const unread = dropped.filter((command) => readReceipt(dir, command.id) === null);
      status(id, { root });
      expect(reasons).toEqual(['closed', 'closed', 'closed']);
      const closedAt = statSync(dir.closed).mtimeMs;
      const answers = answersIn(dir);
      for (const command of sent) {
        expect(readReceipt(dir, command.id), `${id} ${command.id}`).toMatchObject({ final: true });
        expect(answers.get(command.id), `${id} ${command.id}`).toBe(1);
        if (Math.abs(command.at - closedAt) <= NEAR_MS) near += 1;
      }
      for (const command of dropped) {
        const late = { verdict: 'rejected', reason: 'run-ended', final: true };
        expect(readReceipt(dir, command.id), `${id} ${command.id}`).toMatchObject(late);
        // What the run did not read is not in its journal.
        expect(answers.get(command.id) ?? 0, `${id} ${command.id}`).toBe(unread.includes(command) ? 0 : 1);
      }
      byReader += unread.length;
      all += sent.length;
      expect(entries(dir)).toEqual(['closed.json']);
      expect(readdirSync(dir.claimed)).toEqual([]);
      expect(JSON.parse(readFileSync(dir.closed, 'utf8'))).toMatchObject({ v: 1 });
    },
  );
  console.info(
    `${all} requests were taken, ${near} of them within ${NEAR_MS} ms of the closing; a reader answered ${byReader}`,
  );
  expect(near).toBeGreaterThanOrEqual(ROUNDS / 4);
  expect(byReader).toBeGreaterThan(0);
});
