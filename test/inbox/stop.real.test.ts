import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JournalRecord } from '../../machines/protocol.ts';
import { type PlanInput, start } from '../../src/index.ts';
import { sendCommand } from '../../src/inbox/index.ts';
import { runDir } from '../../src/record/index.ts';

/** S051: whatever the child does, and S048: a file is enough, nobody has to be signalled. Fifty times each in torture. */
const ROUNDS = Math.ceil(Number(process.env['COXSWAIN_ROUNDS'] ?? 8) / 4);

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-stop-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const PRINTER = `
  const block = Buffer.from(('x'.repeat(99) + '\\n').repeat(1000));
  const began = performance.now();
  let sent = 0;
  (function go() {
    while (sent < (performance.now() - began) * 50_000) {
      sent += block.length;
      if (!process.stdout.write(block)) return void process.stdout.once('drain', go);
    }
    setTimeout(go, 1);
  })();`;

interface Situation {
  name: string;
  step: Partial<PlanInput['steps'][number]>;
  /** The stop is dropped when this happens. */
  when: JournalRecord['type'];
}

const situations: Situation[] = [
  { name: 'is silent', step: { run: ['sleep', '600'] }, when: 'attempt.started' },
  { name: 'writes 50 MB/s', step: { run: [process.execPath, '-e', PRINTER] }, when: 'attempt.started' },
  {
    name: 'is between two attempts',
    step: { run: ['false'], retry: { attempts: 3, backoff: '1m' } },
    when: 'step.backing-off',
  },
  { name: 'has been launched and is not recorded', step: { run: ['sleep', '600'] }, when: 'attempt.launching' },
];

describe.each(situations)('a stop that is dropped while the child $name', ({ step, when }) => {
  test(`is acted on within a second (${ROUNDS} times)`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `${when}-${round}-${Math.round(performance.now())}`;
      const run = await start({ plan: { version: 1, steps: [{ id: 'a', ...step }] } }, { root, id });
      let dropped = 0;
      let attempts = 0;
      let actedMs = Number.POSITIVE_INFINITY;
      for await (const { type } of run.events()) {
        if (type === 'attempt.launching') attempts += 1;
        if (type === when && dropped === 0) {
          dropped = performance.now();
          await sendCommand(runDir(root, id), { type: 'stop', source: 'file' });
        }
        // What is there has been signalled when it exits; what is not there need not be.
        if (type === 'attempt.exited' || type === 'step.settled')
          actedMs = Math.min(actedMs, performance.now() - dropped);
        if (dropped === 0) actedMs = Number.POSITIVE_INFINITY;
      }
      expect((await run.ended()).outcome).toMatchObject({ state: 'stopped' });
      expect(actedMs).toBeLessThan(1_000);
      expect(attempts).toBe(1);
    }
  });
});
