import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { PlanInput } from '../../src/plan/index.ts';
import type { RunResult, StepResult } from '../../src/record/index.ts';
import { expectTruth } from '../support/truth.ts';
import { type Rig, startRun } from './rig.ts';

/** What counts as done, on real processes: S042, S078 to S081. Many steps in one run, because each is short. */

const OK_ONLY = {
  type: 'object',
  properties: { ok: { const: true } },
  required: ['ok'],
  additionalProperties: false,
};
const CONDITIONAL = {
  type: 'object',
  properties: { a: { type: 'integer' }, b: { type: 'string' } },
  if: { properties: { a: { const: 1 } }, required: ['a'] },
  // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema calls it so
  then: { required: ['b'] },
};

const sh = (script: string): string[] => ['sh', '-c', script];
/** An agent that answers with this script; its task is on stdin. */
const answers = (script: string) => ({ adapter: 'command', command: sh(script) });
const FENCED = 'Here it is.\n\n```json\n{"ok":true}\n```\n';

async function endOf(
  plan: PlanInput,
  furnish?: (root: string) => void,
): Promise<{ rig: Rig; steps: readonly StepResult[] }> {
  const rig = startRun(plan, furnish === undefined ? {} : { furnish });
  await rig.ended;
  const { steps } = expectTruth(rig).result as unknown as RunResult;
  return { rig, steps };
}
function stepIn(steps: readonly StepResult[], id: string): StepResult {
  const step = steps.find((one) => one.id === id);
  if (step === undefined) throw new Error(`no step ${id}`);
  return step;
}
const { GIT_DIR: _, ...PLAIN } = process.env;
const git = (cwd: string, ...args: string[]): void =>
  void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    cwd,
    stdio: 'ignore',
    env: PLAIN,
  });

describe('values', () => {
  test('of commands and of agents that can only speak: what fits, and why the others do not', async () => {
    const value = (id: string, printed: string, schema: Record<string, unknown> = OK_ONLY) => ({
      id,
      needs: [],
      run: sh(`printf '%s' '${printed}'`),
      output: { schema },
    });
    const { rig, steps } = await endOf({
      version: 1,
      agents: {
        fenced: answers(`printf '%s' '${FENCED}'`),
        twice: answers(`printf '%s' '${FENCED}${FENCED}'`),
        prose: answers('echo I did it'),
        teachable: answers(
          `if grep -q 'could not be taken.*/extra must not be there'; then echo '{"ok":true}'; else echo '{"ok":true,"extra":1}'; fi`,
        ),
        shown: answers('cat'),
        long: answers('head -c 300000 /dev/zero | tr "\\0" x'),
      },
      defaults: { retry: 'none' },
      steps: [
        value('fits', '{"ok":true}\n'),
        value('extra', '{"ok":true,"extra":1}'),
        value('condition', '{"a":1}', CONDITIONAL),
        value('text', 'all done'),
        value('nothing', ''),
        {
          id: 'large',
          needs: [],
          run: sh('printf \'["\'; head -c 300000 /dev/zero | tr "\\0" x; printf \'"]\''),
          output: { schema: { type: 'array' } },
        },
        ...['fenced', 'twice', 'prose'].map((agent) => ({
          id: agent,
          needs: [],
          agent,
          task: 'do it',
          output: { schema: OK_ONLY, repair: 0 },
        })),
        { id: 'repaired', needs: [], agent: 'teachable', task: 'do it', output: { schema: OK_ONLY } },
        { id: 'unteachable', needs: [], agent: 'prose', task: 'do it', output: { schema: OK_ONLY, repair: 2 } },
        { id: 'told', needs: [], agent: 'shown', task: 'do it', output: { schema: {}, repair: 0 } },
        { id: 'long', needs: [], agent: 'long', task: 'do it' },
        {
          id: 'reads',
          needs: ['fits', 'large'],
          run: ['echo', '{{ steps.fits.output.ok }} {{ steps.large.output[0] | size }}'],
        },
      ],
    });
    const of = (id: string): StepResult => stepIn(steps, id);

    expect(of('fits')).toMatchObject({ state: 'completed', output: { value: { ok: true } }, outputState: 'present' });
    expect(of('reads')).toMatchObject({ output: { text: 'true 300000' } });
    // Large: where it lies, as JSON.
    const large = of('large').output as { path: string; bytes: number };
    expect(large).toMatchObject({ path: 'attempts/large/1/output.json', bytes: 300_004 });
    expect(readFileSync(join(rig.dir.path, large.path), 'utf8')).toHaveLength(300_004);
    // By the whole hash, so that whoever reads it there can tell that it is what came of the step.
    for (const id of ['large', 'long']) {
      const { path, sha256 } = of(id).output as { path: string; sha256: string };
      const hash = createHash('sha256').update(readFileSync(join(rig.dir.path, path)));
      expect(sha256, id).toBe(hash.digest('hex'));
    }

    // S078: the path of the fault, and what was handed in is kept.
    expect(of('extra')).toMatchObject({
      state: 'failed',
      error: {
        code: 'schema-invalid',
        message: expect.stringContaining('/extra must not be there'),
        detail: { paths: '/extra' },
      },
    });
    expect(JSON.parse(readFileSync(rig.dir.attempt('extra', 1).value, 'utf8'))).toEqual({ ok: true, extra: 1 });
    expect(of('nothing').error?.code).toBe('schema-missing');
    expect(of('text').error?.code).toBe('schema-invalid');
    // S079: the field and the condition.
    expect(of('condition').error?.message).toMatch(
      /required property 'b'.*condition \{"properties":\{"a":\{"const":1\}\}/,
    );

    // S080.
    expect(of('fenced')).toMatchObject({ state: 'completed', output: { value: { ok: true } } });
    expect(of('twice')).toMatchObject({ error: { code: 'schema-ambiguous', detail: { candidates: 2 } } });
    expect(of('prose')).toMatchObject({ error: { code: 'schema-missing' }, output: { text: 'I did it' } });

    // Bounded tries that carry the message; apart from those at the task.
    expect(of('repaired')).toMatchObject({
      state: 'completed',
      attempts: [{ class: 'schema-invalid' }, { class: null }],
    });
    expect(of('repaired').attempts[0]?.note).toContain('repair 1 of 1');
    expect(of('unteachable').attempts).toHaveLength(3);
    expect(rig.records.filter((one) => one.type === 'step.backing-off' && one.repair)).toHaveLength(3);

    // An agent that has no way of its own is told the schema, and no text of that is on record.
    expect(of('told')).toMatchObject({ error: { code: 'schema-missing' } });
    const told = of('told').output;
    expect(told !== null && 'text' in told && told.text).toMatch(/^do it\n\nEnd with the result as JSON/);
  });
});

test('a secret in a value is in no record of the run', async () => {
  const { rig, steps } = await endOf({
    version: 1,
    steps: [
      {
        id: 'a',
        env: { API_TOKEN: 'sentinel-0123456789', PIN_CODE_KEY: '8642097531' },
        run: sh(`printf '{"said":"it is %s","%s":1,"pin":%s}' "$API_TOKEN" "$API_TOKEN" "$PIN_CODE_KEY"`),
        output: { schema: { type: 'object' } },
      },
      {
        id: 'unfit',
        needs: [],
        env: { API_TOKEN: 'sentinel-0123456789' },
        run: sh(`printf '{"%s":1}' "$API_TOKEN"`),
        output: { schema: { additionalProperties: false } },
      },
    ],
  });
  expect(stepIn(steps, 'a').output).toEqual({
    value: { said: 'it is [redacted API_TOKEN]', '[redacted API_TOKEN]': 1, pin: '[redacted PIN_CODE_KEY]' },
  });
  expect(stepIn(steps, 'unfit').error?.message).toContain('/[redacted API_TOKEN] must not be there');
  const found = filesBelow(rig.dir.path).filter((file) => /sentinel-0123|8642097531/.test(readFileSync(file, 'utf8')));
  expect(found.map((file) => basename(file)).toSorted()).toEqual(['plan.json', 'stdout.jsonl', 'stdout.jsonl']);
});

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((one) =>
    one.isFile() ? [join(one.parentPath, one.name)] : [],
  );

describe('files', () => {
  test('S042, S081: only what this attempt has written, and written whole, is named', async () => {
    const { rig, steps } = await endOf(
      {
        version: 1,
        steps: [
          { id: 'half', needs: [], run: sh('echo A > a.txt'), output: { files: ['a.txt', 'b.txt'] } },
          { id: 'old', needs: [], run: sh('cat old.md'), output: { file: 'old.md' } },
          { id: 'report', needs: [], run: sh('echo the report > report.md; echo done'), output: { file: 'report.md' } },
          { id: 'big', needs: [], run: sh('head -c 300000 /dev/zero > big.bin'), output: { file: 'big.bin' } },
          { id: 'out', needs: [], run: sh('ln -s /etc/hostname link.txt'), output: { file: 'link.txt' } },
          { id: 'dies', needs: [], run: sh('echo x > c.txt; exit 3'), output: { file: 'c.txt' } },
          { id: 'after', needs: ['report'], run: ['echo', '{{ steps.report.output }}'] },
        ],
      },
      (root) => writeFileSync(join(root, 'old.md'), 'of yesterday\n'),
    );
    const of = (id: string): StepResult => stepIn(steps, id);
    expect(of('half')).toMatchObject({
      state: 'failed',
      error: { code: 'missing-output', message: 'b.txt was not written', detail: { files: 'b.txt' } },
      files: [{ file: 'a.txt', bytes: 2, lines: 1 }],
    });
    expect(readFileSync(join(rig.root, 'a.txt'), 'utf8')).toBe('A\n');
    expect(of('old')).toMatchObject({ error: { code: 'missing-output' }, files: [] });
    expect(of('report')).toMatchObject({
      state: 'completed',
      output: { text: 'the report' },
      files: [{ file: 'report.md' }],
    });
    expect(of('after')).toMatchObject({ output: { text: 'the report' } });
    expect(of('big')).toMatchObject({ output: { path: join(rig.root, 'big.bin'), bytes: 300_000 } });
    expect(of('out')).toMatchObject({ error: { message: 'link.txt leads out of the working directory' } });
    expect(of('dies')).toMatchObject({ error: { code: 'exit-code' }, output: null });
    expect(of('dies').files).toBeUndefined();
  });
});

describe('changes', () => {
  const required = { changes: 'required' as const };
  let repository: (root: string) => void;
  beforeAll(() => {
    repository = (root) => {
      git(root, 'init', '-q');
      writeFileSync(join(root, 'known.txt'), 'one\n');
      git(root, 'add', '.');
      git(root, 'commit', '-qm', 'first');
      writeFileSync(join(root, 'known.txt'), 'changed before\n');
    };
  });

  test('whoever is to change something and changes nothing has failed', async () => {
    const before = process.env['GIT_DIR'];
    process.env['GIT_DIR'] = '/nowhere';
    onTestFinished(() => {
      if (before === undefined) delete process.env['GIT_DIR'];
      else process.env['GIT_DIR'] = before;
    });
    // One after the other: each sees what those beside it change.
    const { steps } = await endOf(
      {
        version: 1,
        limits: { concurrency: 1 },
        steps: [
          { id: 'nothing', needs: [], run: sh('git status; cat known.txt; touch known.txt'), output: required },
          { id: 'content', needs: [], run: sh('echo again > known.txt'), output: required },
          { id: 'untracked', needs: [], run: sh('echo new > new.txt'), output: required },
          { id: 'report', needs: [], run: sh('echo ok > report.md'), output: { ...required, file: 'report.md' } },
          {
            id: 'commit',
            needs: [],
            run: sh('unset GIT_DIR; git -c user.name=t -c user.email=t@t commit -qam second'),
            output: required,
          },
          { id: 'gone', needs: [], run: sh('rm -rf .git'), output: required },
        ],
      },
      repository,
    );
    expect(steps.map(({ id, state, error }) => [id, error?.code ?? state])).toEqual([
      ['nothing', 'no-changes'],
      ['content', 'completed'],
      ['untracked', 'completed'],
      ['report', 'no-changes'],
      ['commit', 'completed'],
      ['gone', 'no-changes'],
    ]);
    expect(stepIn(steps, 'gone').error?.message).toContain('could not be seen');
  });
});
