import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { Proof } from '../../machines/protocol.ts';
import { runDir } from '../../src/record/index.ts';
import { type Cli, MAIN, attempt, openCli, until } from '../support/cli.ts';
import { childOf, makeNest } from './support.ts';

/** S083: children that start the runner again, in processes of their own, until the limits say no. */

const LIBRARY = new URL('../../dist/src/index.js', import.meta.url).href;
const AGAIN = '"$NODE" "$MAIN" run "$PLAN"';

/** A detached run of a plan with one step, which is told how to start the same plan again. */
async function recurse(cli: Cli, line: string) {
  const plan = cli.file('again.yaml', JSON.stringify({ version: 1, steps: [{ id: 'again', run: line }] }));
  const run = await cli.detach([plan], { env: { NODE: process.execPath, MAIN, PLAN: plan, DIR: cli.cwd } });
  return { id: run.id, dir: runDir(cli.root, run.id) };
}

/** What all that was started in the steps wrote to stderr. */
const said = (cli: Cli): string =>
  cli
    .ids()
    .map((id) => attempt(() => readFileSync(runDir(cli.root, id).attempt('again', 1).stderr, 'utf8')) ?? '')
    .join('');

const count = (text: string, part: RegExp): number => text.match(part)?.length ?? 0;
const states = (cli: Cli): string[] => cli.ids().map((id) => attempt(() => cli.status(id))?.state ?? 'none');
const running = (cli: Cli): number => states(cli).filter((state) => state === 'running').length;

/** One stop, and nothing of any of them goes on. */
async function stopAll(cli: Cli, top: string): Promise<void> {
  expect(await cli.run(['stop', top])).toMatchObject({ code: 0, stderr: '' });
  await cli.run(['wait', top]);
  for (const state of states(cli)) expect(state).toBe('stopped');
  const causes = cli.ids().map((id) => cli.status(id).cause);
  const sources = causes.map((cause) => (cause?.type === 'stop' ? cause.source.replace(/:.*/, '') : cause?.type));
  expect(sources.filter((source) => source === 'ancestor')).toHaveLength(sources.length - 1);
  expect(sources).toContain('command-line');
}

describe('three levels, ten in all', () => {
  test('the fourth level and the eleventh run are refused, and one stop ends the rest', async () => {
    await using cli = openCli();
    // Only the top run gets beyond the first line: below it somebody has made the folder, or sleeps.
    // A detached one, and seven at once of one process that has the library.
    const host = cli.file(
      'host.mjs',
      `import { start } from ${JSON.stringify(LIBRARY)};
       const asked = Array.from({ length: 7 }, () => start({ command: ['sleep', '600'] }));
       for (const one of await Promise.allSettled(asked)) {
         if (one.status === 'rejected') console.error(one.reason.code + ': ' + one.reason.message);
       }`,
    );
    const leaves = `"$NODE" "$MAIN" run --detach -- sleep 600; "$NODE" ${host}`;
    const top = await recurse(
      cli,
      `if mkdir "$DIR/first"; then (${AGAIN}) & until [ -e "$DIR/deep" ]; do sleep 0.05; done; ${leaves}; else ${AGAIN}; sleep 600; fi`,
    );
    await until(() => said(cli).includes('depth 4 below run'), 'the fourth level is refused');
    expect(said(cli)).toContain('limits.nested.depth');
    writeFileSync(join(cli.cwd, 'deep'), '');
    await until(() => said(cli).includes('nested runs it may have, 10'), 'the eleventh run is refused');
    expect(said(cli)).toContain('nest-refused: run');
    await until(() => running(cli) === 11, 'ten nested runs run');
    expect(readdirSync(top.dir.nest)).toHaveLength(10);
    expect(cli.ids()).toHaveLength(11);
    await until(() => cli.status(top.id).nested?.total === 8, 'the top run shows those it has started');
    await stopAll(cli, top.id);
    // What each says of those below it at its end is what they say themselves.
    let shown = 0;
    for (const id of cli.ids()) {
      for (const below of cli.status(id).nested?.runs ?? []) {
        const { name, counts, parent } = cli.status(below.id);
        const some = Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0));
        shown += 1;
        expect(below).toMatchObject({ state: 'stopped', name, counts: some });
        expect(parent).toEqual({ run: id, step: below.step, attempt: below.attempt, depth: below.depth });
      }
    }
    expect(shown).toBe(10);
    const proof = JSON.parse(readFileSync(top.dir.attempt('again', 1).proof, 'utf8')) as Proof;
    expect(proof).toMatchObject({ verdict: 'gone', signals: [{ rung: 'stop-nested', targets: 8 }, {}] });
  });

  // What the case says to the letter, at the cost of 23 processes that each start a runner.
  test.runIf(process.env['COXSWAIN_ROUNDS'])('every run starts its plan twice more', async () => {
    await using cli = openCli();
    const top = await recurse(cli, `(${AGAIN}) & (${AGAIN}) & wait; sleep 600`);
    const refused = (): number => count(said(cli), /depth 4 below run|nested runs it may have, 10/g);
    await until(() => refused() === 12 && running(cli) === 11, 'ten run and twelve were refused', 50_000);
    expect(readdirSync(top.dir.nest)).toHaveLength(10);
    await stopAll(cli, top.id);
  });
});

test('many processes that ask at once get ten slots between them, each its own', async () => {
  await using cli = openCli();
  const { top, nest } = makeNest();
  const room = fileURLToPath(new URL('../../dist/src/nest/index.js', import.meta.url));
  const gate = join(cli.cwd, 'gate');
  const script = cli.file(
    'ask.mjs',
    `import { existsSync, mkdirSync } from 'node:fs';
     import { enterNest } from ${JSON.stringify(room)};
     while (!existsSync(${JSON.stringify(gate)})) await new Promise((done) => setTimeout(done, 1));
     const entered = [];
     for (let n = 0; n < 10; n += 1) {
       const run = 'r' + process.pid + '-' + n;
       const answer = enterNest({ env: process.env, run });
       if (answer.type === 'nested') entered.push(run);
       else if (answer.reason !== 'total') throw new Error(answer.message);
     }
     console.log(JSON.stringify(entered));`,
  );
  const asking = Array.from({ length: 4 }, () => cli.node(script, { env: childOf(nest) }));
  writeFileSync(gate, '');
  const answers = await Promise.all(asking);
  expect(answers.map(({ code, stderr }) => [code, stderr])).toEqual(answers.map(() => [0, '']));
  const entered = answers.flatMap(({ stdout }) => JSON.parse(stdout) as string[]);
  const slots = readdirSync(top.nest);
  expect([entered.length, new Set(entered).size, slots.length]).toEqual([10, 10, 10]);
  const holders = slots.map((_, n) => (JSON.parse(readFileSync(top.slot(n + 1), 'utf8')) as { run: string }).run);
  expect(holders.toSorted()).toEqual(entered.toSorted());
});
