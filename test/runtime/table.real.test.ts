import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Member } from '../../machines/protocol.ts';
import { createActor, toPromise } from 'xstate';
import { fill, terminationMachine } from '../../machines/index.ts';
import { type Look, type Sweeper, launch, newToken, startTimeOf } from '../../src/process/index.ts';
import { child } from '../../src/runtime/child.ts';
import { ProcessTable } from '../../src/runtime/table.ts';
import { tree } from '../../src/runtime/tree.ts';
import { attemptInput, makeKit, testEnv } from '../support/kit.ts';

/** The process table: the last resort, and whom signals reach. */

test('the last resort gives those it has killed the time to go', async () => {
  // A process that was killed takes a while to be gone where many are, or on a busy machine.
  const dying: Member = { pid: process.pid, startTime: startTimeOf(process.pid), by: 'group', command: 'dying' };
  const goneAt = performance.now() + 300;
  let looks = 0;
  const look = async (): Promise<Look> => {
    await pause(5);
    const members = performance.now() < goneAt ? [dying] : [];
    looks += 1;
    return { type: 'looked', members, level: 'searched', serial: looks };
  };
  const sweeper: Sweeper = { look, totals: { searches: 0, busyMs: 0 } };
  const table = new ProcessTable(sweeper);
  const entry = table.open('a', 1, newToken());
  await new Promise<void>((resolve) => {
    entry.child = launch(
      { argv: ['sleep', '60'], shell: false, cwd: '/', env: { ...testEnv }, stdin: { type: 'none' } },
      {
        started(leader) {
          table.started(entry, { pgid: leader.pid, token: entry.token, leader });
          table.killNow();
        },
        unstarted: (failure) => expect.fail(failure.message),
        stdout: () => {},
        stderr: () => {},
        exited: () => void (entry.exited = true),
        drained: () => resolve(),
      },
    );
  });
  expect(await table.endAll()).toEqual([]);
});

test('a job in a process group of its own is ended like any other', async () => {
  // Job control: the same session, another group, so that no signal to the group of the leader reaches it.
  // It bears the name of the shell until its exec, so the shell waits for that.
  const script = 'set -m; sleep 600 & until grep -qx sleep /proc/$!/comm; do :; done';
  const kit = makeKit({ version: 1, steps: [{ id: 'a', run: ['bash', '-c', script] }] });
  onTestFinished(() => kit.dispose());
  const token = await kit.prepare('a');
  const input = attemptInput({ token, agent: 'command', at: kit.now() });
  const port = createActor(child(kit), { input }).start();
  await expect.poll(() => kit.table.get('a', 1)?.exited).toBe(true);
  const machine = terminationMachine.provide({ actors: { tree: fill(tree(kit)) } });
  const ladder = [
    { do: 'SIGTERM' as const, graceMs: 1_000 },
    { do: 'SIGKILL' as const, graceMs: 500 },
  ];
  const actor = createActor(machine, {
    input: { step: 'a', n: 1, why: 'leftovers', ladder, policy: 'end', released: false, at: kit.now() },
  });
  const done = toPromise(actor);
  actor.start();
  const proof = await done;
  port.stop();
  expect(proof.leftovers.map((member) => member.command)).toEqual(['sleep']);
  expect(proof.verdict).toBe('gone');
});
