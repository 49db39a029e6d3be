import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPlanErrors, loadPlan } from '../../src/plan/index.ts';
import { brief, errorsOf, planFrom } from './support.ts';

const agents = ['pi', 'command'];
let folder = '';

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'coxswain-plan-')));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const load = (file: string) => loadPlan(file, { agents, cwd: folder });
async function loadText(name: string, text: string | Uint8Array): ReturnType<typeof load> {
  await writeFile(join(folder, name), text);
  return load(name);
}

describe('loadPlan', () => {
  test('paths are relative to the folder of the file', async () => {
    await mkdir(join(folder, 'sub/work/inner'), { recursive: true });
    const text = 'version: 1\ncwd: work\nsteps:\n  - { id: a, run: ls, cwd: inner }\n  - { id: b, run: ls }\n';
    const plan = planFrom(await loadText('sub/plan.yaml', text));
    expect(plan.name).toBe('plan');
    expect(plan.steps.map(({ cwd }) => cwd)).toEqual([join(folder, 'sub/work/inner'), join(folder, 'sub/work')]);
  });

  test('a file that is not there', async () => {
    const loaded = await load('nothing.yaml');
    expect(brief(loaded)).toEqual(['null:null  file-missing']);
    expect(formatPlanErrors(errorsOf(loaded))).toBe(`nothing.yaml: there is no such file: ${folder}/nothing.yaml`);
  });

  test('a folder', async () => {
    expect(brief(await load('.'))).toEqual(['null:null  file-unreadable']);
  });

  test('no UTF-8, with the line', async () => {
    const bytes = Buffer.concat([
      Buffer.from('version: 1\nname: '),
      Buffer.from([0xe4, 0x0a]),
      Buffer.from('steps: []\n'),
    ]);
    expect(brief(await loadText('latin.yaml', bytes))).toEqual(['2:1  not-utf8']);
    const utf16 = Buffer.from('\uFEFFversion: 1\n', 'utf16le');
    expect(brief(await loadText('utf16.yaml', utf16))).toEqual(['1:1  not-utf8']);
  });

  test('more than 4 MiB', async () => {
    expect(brief(await loadText('large.yaml', `# ${'x'.repeat(4 * 1024 * 1024)}\n`))).toEqual([
      'null:null  file-too-large',
    ]);
  });

  test('working directories are looked at on the disk', async () => {
    await writeFile(join(folder, 'file'), '');
    const text =
      'version: 1\ndefaults: { cwd: file/x }\nsteps:\n  - { id: a, run: ls, cwd: nowhere }\n  - { id: b, run: ls, cwd: file }\n';
    expect(brief(await loadText('folders.yaml', text))).toEqual([
      '2:18 defaults.cwd cwd-missing',
      '4:28 steps[0].cwd cwd-missing',
      '5:28 steps[1].cwd cwd-not-a-directory',
    ]);
  });
});
