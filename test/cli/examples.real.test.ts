import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import type { RunResult } from '../../src/client.ts';
import { parsePlan } from '../../src/plan/index.ts';
import { openCli } from '../support/cli.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));

test('every example plan is a plan', () => {
  const files = readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml'));
  expect(files.length).toBeGreaterThanOrEqual(2);
  for (const file of files) {
    const text = readFileSync(join(EXAMPLES, file), 'utf8');
    expect(parsePlan(text, { file, cwd: EXAMPLES, agents: ['pi', 'command'] }), file).toMatchObject({ type: 'ok' });
  }
});

test.concurrent('the example of commands runs', async () => {
  await using cli = openCli();
  const { code, stdout } = await cli.run(['run', '--json', join(EXAMPLES, 'build-and-check.yaml')]);
  expect(code).toBe(0);
  const { steps } = JSON.parse(stdout) as RunResult;
  expect(steps.at(-1)).toMatchObject({ id: 'report', output: { text: 'lint: fine | types: fine' } });
});

test('the example of the library runs', async () => {
  const root = mkdtempSync(join(tmpdir(), 'coxswain-example-'));
  const said: unknown[][] = [];
  vi.stubEnv('COXSWAIN_HOME', root);
  const log = vi.spyOn(console, 'log').mockImplementation((...words) => void said.push(words));
  try {
    await import('../../examples/library.ts');
  } finally {
    log.mockRestore();
    vi.unstubAllEnvs();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  }
  expect(said).toEqual([['name: completed'], ['greet: completed'], ['completed', { text: 'hello world' }]]);
});

test.concurrent('the demo needs no key and no network, and tells where everything is', async () => {
  await using cli = openCli();
  const { code, stdout, stderr, ms } = await cli.run(['demo'], { env: { PATH: '/usr/bin:/bin' } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(ms).toBeLessThan(20_000);
  const [id = ''] = cli.ids();
  expect(cli.status(id)).toMatchObject({ state: 'completed', counts: { completed: 3 } });
  for (const file of ['status.json', 'events.jsonl', 'report.md'])
    expect(stdout).toContain(join(cli.root, 'runs', id, file));
  expect(stdout).toMatch(/diagrams +\S+diagrams$/m);
  const result = JSON.parse((await cli.run(['result', id, '--json'])).stdout) as RunResult;
  const [scout, fix] = result.steps.map(({ output }) => (output !== null && 'text' in output ? output.text : ''));
  expect(scout).toMatch(/^Done: /);
  expect(fix).toContain('Fix the rounding in them. What the scout said: Done: List the modules');
});
