import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AgentSettings, createClientVersions, createRegistry } from '../../src/agents/index.ts';

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'coxswain-version-'));
  const folder = join(dir, 'node_modules', 'pi');
  await mkdir(join(folder, 'dist'), { recursive: true });
  await mkdir(join(dir, 'bin'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ version: '0.73.1', bin: { pi: 'dist/cli.js' } }));
  await writeFile(join(folder, 'dist', 'cli.js'), '');
  await writeFile(join(folder, 'dist', 'other.js'), '');
  await symlink(join(folder, 'dist', 'cli.js'), join(dir, 'linked'));
  await mkdir(join(dir, 'versions'));
  await writeFile(join(dir, 'versions', '2.1.197'), '');
  await program('pi');
  await program('gemini');
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** It says its version, and writes down that it was started. */
async function program(name: string): Promise<void> {
  const path = join(dir, 'bin', name);
  await writeFile(path, `#!/bin/sh\necho "$1" >> ${join(dir, name)}.started\necho 9.8.7\n`);
  await chmod(path, 0o755);
}

async function lookUp(settings: Omit<AgentSettings, 'name'>, times = 1): Promise<(string | null)[]> {
  const env = { PATH: join(dir, 'bin') };
  const found = await createRegistry({ mine: { name: 'mine', ...settings } }, { env }).resolve('mine', 'task');
  if (found.type !== 'agent') throw new Error(found.message);
  const versions = createClientVersions(env);
  const all = await Promise.all(Array.from({ length: times }, () => versions.of(found.agent)));
  versions.close();
  return all;
}

test('the package of a program says its version, without that anything is started', async () => {
  const cli = join(dir, 'node_modules', 'pi', 'dist', 'cli.js');
  expect(await lookUp({ adapter: 'pi', command: [process.execPath, cli] })).toEqual(['0.73.1']);
  expect(await lookUp({ adapter: 'pi', command: [process.execPath, join(dir, 'linked')] })).toEqual(['0.73.1']);
  // It lies in the package and is none of its programs.
  expect(await lookUp({ adapter: 'pi', command: [process.execPath, cli.replace('cli.js', 'other.js')] })).toEqual([
    null,
  ]);
});

test('a program that is named after its version', async () => {
  await chmod(join(dir, 'versions', '2.1.197'), 0o755);
  expect(await lookUp({ adapter: 'claude', command: [join(dir, 'versions', '2.1.197')] })).toEqual(['2.1.197']);
});

test('one that was found by its usual name is asked once, however many steps want to know', async () => {
  expect(await lookUp({ adapter: 'pi' }, 3)).toEqual(['9.8.7', '9.8.7', '9.8.7']);
  expect(await readFile(join(dir, 'pi.started'), 'utf8')).toBe('--version\n');
});

test('what a definition names is not started, and a command is no client', async () => {
  expect(await lookUp({ adapter: 'gemini', command: [join(dir, 'bin', 'gemini')] })).toEqual([null]);
  expect(await lookUp({ adapter: 'command', command: ['gemini'] })).toEqual([null]);
  await expect(readFile(join(dir, 'gemini.started'))).rejects.toThrow('ENOENT');
});
