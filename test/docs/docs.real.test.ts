import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPlanErrors, loadConfig, loadPlan } from '../../src/plan/index.ts';
import { type Ended, openCli } from '../support/cli.ts';
import { callsIn, callsOf, optionsIn, verbsIn } from './calls.ts';
import { type Compiled, ENTRIES, compile, partsOf } from './code.ts';
import { exportedNames } from './exports.ts';
import { type Block, ROOT, anchorsIn, codeIn, linksIn, outputOf, page, pageOf, pages } from './markdown.ts';

const all = pages();

function blocks(lang: string): Block[] {
  return all.flatMap((one) => one.blocks.filter((block) => block.lang === lang));
}

describe('plans', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'coxswain-docs-plans-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function load({ text }: Block): Promise<string> {
    writeFileSync(join(folder, 'plan.yaml'), text);
    const options = {
      cwd: folder,
      agents: ['acp', 'claude', 'codex', 'command', 'gemini', 'opencode', 'pi'],
      look: () => 'directory' as const,
    };
    const loaded = await loadPlan('plan.yaml', options);
    return loaded.type === 'ok' ? '' : `${formatPlanErrors(loaded.errors, loaded.more)}\n`;
  }

  /** A config file says what is wrong with an agent beside those that can be used. */
  async function loadAgents({ text }: Block): Promise<string> {
    writeFileSync(join(folder, 'config.yaml'), text);
    const loaded = await loadConfig({ cwd: folder, here: folder, file: 'config.yaml' });
    return loaded.type === 'ok' ? Object.values(loaded.config.broken).join('\n') : formatPlanErrors(loaded.errors);
  }

  test('every plan that is shown can be run, or has the mistakes that are shown', async () => {
    expect(blocks('yaml').length).toBeGreaterThanOrEqual(4);
    for (const one of all) {
      for (const block of one.blocks.filter(({ lang }) => lang === 'yaml')) {
        const wanted = block.marks.includes('bad') ? outputOf(one, block) : '';
        const said = block.marks.includes('config') ? await loadAgents(block) : await load(block);
        expect(said, block.place).toBe(wanted);
      }
    }
  });
});

describe('TypeScript', () => {
  const runnable = all.flatMap((one) =>
    one.blocks.filter(({ marks }) => marks.includes('run')).map((block) => ({ place: block.place, block, one })),
  );
  let compiled: Compiled;
  let ended: Ended;
  let parts: string[];
  beforeAll(async () => {
    compiled = await compile(blocks('ts'));
    await using cli = openCli();
    ended = await cli.node(compiled.script(runnable.map(({ block }) => block)));
    parts = partsOf(ended.stdout);
  });
  afterAll(() => compiled.remove());

  test('every block is right by its types', () => {
    expect(blocks('ts').length).toBeGreaterThanOrEqual(6);
    expect(compiled.errors).toBe('');
  });

  test('what can be run runs to its end, and the library prints nothing', () => {
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(parts).toHaveLength(runnable.length + 1);
  });

  test.each(runnable)('$place prints what is shown', ({ block, one }) => {
    // Where there is no /proc the search knows less.
    const level = existsSync('/proc/self/environ') ? '(searched)' : '(group)';
    expect(parts[runnable.findIndex((other) => other.block === block)]).toBe(
      outputOf(one, block).replaceAll('(searched)', level),
    );
  });

  test.each([
    { entry: 'coxswain', source: 'src/index.ts', least: 60 },
    { entry: 'coxswain/client', source: 'src/client.ts', least: 30 },
    { entry: 'coxswain/testing', source: 'src/testing/index.ts', least: 5 },
    { entry: 'coxswain/machines', source: 'machines/index.ts', least: 60 },
  ] as const)('the page of the library names everything that $entry exports', ({ entry, source, least }) => {
    const names = exportedNames(join(ROOT, source));
    expect(names.size).toBeGreaterThanOrEqual(least);
    const atRunTime = parts.at(-1)?.split('\n')[ENTRIES.indexOf(entry)]?.split(' ') ?? [];
    expect([...names]).toEqual(expect.arrayContaining(atRunTime));
    const code = codeIn(page('docs/library.md')).join('\n');
    expect([...names].filter((name) => !new RegExp(`\\b${name}\\b`).test(code))).toEqual([]);
  });
});

test('every call that is shown has a verb and options that there are', async () => {
  await using cli = openCli();
  const help = async (args: string[]): Promise<string> => (await cli.run([...args, '--help'])).stdout;
  const calls = all.flatMap(callsIn);
  expect(calls.length).toBeGreaterThanOrEqual(25);
  const program = await help([]);
  const verbs = verbsIn(program);
  const known = new Map<string | null, string[]>([[null, optionsIn(program)]]);
  const used = [...new Set(calls.flatMap(({ verb }) => (verb === null || !verbs.includes(verb) ? [] : [verb])))];
  const options = await Promise.all(used.map(async (verb) => [verb, optionsIn(await help([verb]))] as const));
  for (const [verb, names] of options) known.set(verb, names);
  for (const { place, verb, flags } of calls) {
    expect([...known.keys()], `${place}: the verb`).toContain(verb);
    for (const flag of flags) expect(known.get(verb), place).toContain(flag);
  }
  // And the page of the command line leaves none out.
  const shown = codeIn(page('docs/command-line.md')).join('\n');
  for (const verb of verbs.filter((name) => name !== 'help')) expect(shown).toMatch(new RegExp(`\\b${verb}\\b`));
  for (const [verb, names] of options) {
    for (const name of names.filter((option) => option.startsWith('--')))
      expect(shown, `an option of ${verb}`).toContain(name);
  }
});

test('every link leads to a file, and every anchor to a heading', () => {
  const links = all.flatMap((one) => linksIn(one).map((link) => ({ from: one.file, ...link })));
  expect(links.length).toBeGreaterThanOrEqual(20);
  const broken = links.filter(({ from, file, anchor }) => {
    const path = file === '' ? from : normalize(join(dirname(from), file));
    return !existsSync(join(ROOT, path)) || (anchor !== null && !anchorsIn(page(path)).includes(anchor));
  });
  expect(broken.map(({ from, target }) => `${from}: ${target}`)).toEqual([]);
});

describe('the checks themselves', () => {
  test('see blocks, marks, and what follows', () => {
    const one = pageOf('x.md', 'a `b`\n```ts run\n1;\n```\n\n```text\n1\n```\n');
    const [first] = one.blocks;
    expect(first).toEqual({ place: 'x.md:3', lang: 'ts', marks: ['run'], text: '1;\n' });
    expect(first && outputOf(one, first)).toBe('1\n');
    expect(() => pageOf('x.md', '```sh\n')).toThrow('not closed');
  });

  test('see calls in pipes, substitutions and after comments', () => {
    expect(callsOf('id=$(coxswain run --detach "a -b") | x --no # coxswain stop -z')).toEqual([
      { verb: 'run', flags: ['--detach'] },
    ]);
    expect(callsOf('coxswain run --id=a -- npm run -s && coxswain --help')).toEqual([
      { verb: 'run', flags: ['--id'] },
      { verb: null, flags: ['--help'] },
    ]);
  });
});
