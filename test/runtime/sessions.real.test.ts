import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { takeLease } from '../../src/host/index.ts';
import { leasesDir } from '../../src/record/index.ts';
import { type Runtime, ownerOfThisProcess } from '../../src/runtime/run.ts';
import { openCli, until } from '../support/cli.ts';
import { expectTruth, runs } from '../support/truth.ts';
import { deferred, testEnv } from '../support/kit.ts';
import { type Rig, type RigOptions, definition, fakeAgents, startRun } from './rig.ts';

/** An agent's session has one writer at a time, of whatever run. */

async function begin(options: RigOptions = {}, ids: string[] = ['a']) {
  const agents = await fakeAgents();
  const rig = startRun(
    {
      version: 1,
      agents: { fake: definition(agents.settings()) },
      steps: ids.map((id) => ({ id, needs: [], agent: 'fake', task: `do ${id}` })),
    },
    options,
  );
  return { rig, agents };
}

/** Somebody else has the session that the first attempt at `a` will want. */
const heldBy =
  (change: { pid?: number; startTime?: number; token?: string }) =>
  async ({ kit }: Runtime): Promise<void> => {
    const { token = 'other', ...owner } = change;
    await takeLease({
      root: kit.dir.root,
      record: {
        v: 1,
        session: join(kit.dir.sessions, 'a.1.jsonl'),
        owner: { ...ownerOfThisProcess(), ...owner },
        run: 'other',
        step: 'theirs',
        attempt: 3,
        token,
        at: new Date().toISOString(),
      },
      isGone: () => Promise.resolve(false),
    });
  };
const DEAD = { pid: 2 ** 22 - 1, startTime: 1 };

const leases = (rig: Rig): string[] =>
  readdirSync(leasesDir(rig.dir.root), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.json'));
const typesOf = (rig: Rig): string[] =>
  rig.records.map(({ type }) => type).filter((type) => /^session|^attempt|^step/.test(type));

test('it is taken before the launch and free after the proof; after a pause the same one is taken again', async () => {
  const { rig, agents } = await begin({}, ['a', 'keeper']);
  const [first, second] = [await agents.next(), await agents.next()];
  const keeper = first.task === 'do a' ? second : first;
  expect(leases(rig)).toHaveLength(2);
  rig.runtime.command({ type: 'interrupt', id: 'i', source: 'test', step: 'a' });
  await rig.recorded('step.settled', ({ step }) => step === 'a');
  expect(leases(rig)).toHaveLength(1);
  rig.runtime.command({ type: 'resume', id: 'r', source: 'test' });
  await (await agents.next()).finish();
  await keeper.finish();
  expect((await rig.ended).outcome.state).toBe('completed');
  const ofA = rig.records.filter((one) => 'step' in one && one.step === 'a').map(({ type }) => type);
  const attempt = ['session.leased', 'attempt.launching', 'attempt.started', 'attempt.exited', 'attempt.closed'];
  const whole = [...attempt, 'session.released', 'step.settled'];
  expect(ofA.filter((type) => /^session|^attempt|settled/.test(type))).toEqual([...whole, ...whole]);
  const names = rig.records.flatMap((one) => (one.type === 'session.leased' && one.step === 'a' ? [one.session] : []));
  expect(names).toEqual(['a.1.jsonl', 'a.1.jsonl']);
  expect(leases(rig)).toEqual([]);
  expectTruth(rig);
});

test('a session that another run has is refused by its name, and nothing is started', async () => {
  const { rig, agents } = await begin({ before: (runtime) => void heldBy({})(runtime) });
  expect((await rig.ended).outcome).toMatchObject({ state: 'failed', cause: { reason: 'session-busy' } });
  const settled = await rig.recorded('step.settled');
  expect(settled.error).toMatchObject({
    code: 'session-busy',
    detail: { run: 'other', step: 'theirs', attempt: 3, pid: process.pid, why: 'alive' },
  });
  expect(settled.error?.message).toMatch(/^the session a\.1\.jsonl is in use by step theirs, attempt 3, of run other/);
  expect(agents.started).toBe(0);
  expect(typesOf(rig)).toEqual(['step.started', 'step.settled']);
  expectTruth(rig);
});

test('of a runner that was killed: not while something of its attempt runs, and then at once', async () => {
  const left = spawn('sleep', ['600'], { env: { ...testEnv, COXSWAIN_TOKEN: 'tokenOfTheDead' }, stdio: 'ignore' });
  const dead = { ...DEAD, token: 'tokenOfTheDead' };
  try {
    const { rig } = await begin({ before: (runtime) => void heldBy(dead)(runtime) });
    await rig.ended;
    const { error } = await rig.recorded('step.settled');
    expect(error).toMatchObject({ code: 'session-busy', detail: { why: 'unproven' } });
    expect(error?.message).toContain('coxswain doctor --run other');
  } finally {
    left.kill('SIGKILL');
    await once(left, 'exit');
  }
  const { rig, agents } = await begin({ before: (runtime) => void heldBy(dead)(runtime) });
  await (await agents.next()).finish();
  expect((await rig.ended).outcome.state).toBe('completed');
  expect(await rig.recorded('session.leased')).toMatchObject({
    session: 'a.1.jsonl',
    from: { run: 'other', step: 'theirs', attempt: 3 },
  });
});

test('a crash of the machines gives back what is proven gone', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const { rig, agents } = await begin();
  await agents.next();
  expect(leases(rig)).toHaveLength(1);
  rig.runtime.crash(new Error('a bug on purpose'));
  await rig.ended;
  warn.mockRestore();
  expect(leases(rig)).toEqual([]);
  const types = expectTruth({ dir: rig.dir }).records.map(({ type }) => type);
  const wanted = ['attempt.closed', 'step.settled', 'session.released', 'run.finalizing'];
  expect(types.filter((type) => wanted.includes(type))).toEqual(wanted);
});

test('of two steps that share one session the second one is told that the first has it', async () => {
  const agents = await fakeAgents();
  const rig = startRun({
    version: 1,
    agents: { fake: { ...definition(agents.settings()), session: 'shared:talk' } },
    steps: ['a', 'b'].map((id) => ({ id, needs: [], agent: 'fake', task: `do ${id}` })),
  });
  const { step: refused, error } = await rig.recorded('step.settled');
  const other = refused === 'a' ? 'b' : 'a';
  expect(error).toMatchObject({ code: 'session-busy', detail: { run: 'r1', step: other, attempt: 1 } });
  expect(error?.message).toContain('the session talk.jsonl is in use');
  await (await agents.next()).finish();
  await rig.ended;
  expect(leases(rig)).toEqual([]);
  expectTruth(rig);
});

test('kill -9 of a runner: while its agent lives the session is not to be had, and afterwards it is taken over', async () => {
  await using cli = openCli();
  const agents = await fakeAgents();
  const fake = { ...definition(agents.settings()), session: 'shared:talk' };
  const steps = [{ id: 'a', agent: 'fake', task: 'do a' }];
  cli.file('plan.json', JSON.stringify({ version: 1, agents: { fake }, steps }));
  const { id, pid } = await cli.detach(['plan.json', '--id', 'killed']);
  const agent = await agents.next();
  // It would end with its stdin.
  await agent.ignore('stdin-close');
  process.kill(pid, 'SIGKILL');
  await until(() => !runs(pid), 'the runner is gone');
  const busy = await cli.run(['run', 'plan.json', '--id', 'second', '--json']);
  expect(busy.code).toBe(1);
  expect(cli.status('second').steps[0]?.error).toMatchObject({
    code: 'session-busy',
    detail: { run: id, step: 'a', attempt: 1, why: 'unproven' },
  });
  await agent.die('SIGKILL');
  await agent.gone();
  const third = cli.start(['run', 'plan.json', '--id', 'third', '--json']);
  await (await agents.next()).finish();
  expect((await third.ended).code).toBe(0);
  const journal = readFileSync(join(cli.root, 'runs', 'third', 'events.jsonl'), 'utf8');
  expect(journal).toContain('"session":"talk.jsonl","from":{"run":"killed","step":"a","attempt":1}');
});

test('a step that is stopped while its session is being taken does not keep it', async () => {
  const [asked, gate] = [deferred(), deferred()];
  const { rig } = await begin({
    before: ({ kit }) => {
      const take = kit.leases.take.bind(kit.leases);
      kit.leases.take = async (...args) => {
        const taken = await take(...args);
        asked.resolve();
        await gate.promise;
        return taken;
      };
    },
  });
  await asked.promise;
  expect(leases(rig)).toHaveLength(1);
  rig.stop();
  expect((await rig.ended).outcome.state).toBe('stopped');
  gate.resolve();
  await vi.waitFor(() => expect(leases(rig)).toEqual([]));
});
