import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { KNOWN_VERSIONS, versionKnown } from '../../src/agents/known-versions.ts';
import { page, section } from '../docs/markdown.ts';

const fixtures = fileURLToPath(new URL('../fixtures/', import.meta.url));
const all = Object.entries(KNOWN_VERSIONS).flatMap(([adapter, versions]) =>
  versions.map((one) => ({ adapter, ...one })),
);

describe('what is known', () => {
  test.each(all)('$adapter $version was captured, and the docs say so', ({ version, captured }) => {
    expect(existsSync(`${fixtures}${captured}`)).toBe(true);
    expect(captured).toContain(`-${version}.`);
    expect(section(page('docs/agents.md'), 'Which versions are known')).toContain(version);
  });

  test('is every version that was captured', () => {
    const folders = readdirSync(fixtures).filter((name) => /-\d+\.\d+\.\d+$/.test(name));
    expect(all.map(({ captured }) => captured).toSorted()).toEqual(folders.toSorted());
  });

  test('of the programs that the tests install, is the version that they install', async () => {
    const [pi, codex] = await Promise.all([import('../real/package.json'), import('../real-codex/package.json')]);
    const installed = [...Object.values(pi.default.dependencies), ...Object.values(codex.default.dependencies)];
    const driven = all.filter((one) => one.driven);
    expect(installed.map((version) => driven.filter((one) => version.startsWith(`${one.version}.`)).length)).toEqual(
      driven.map(() => 1),
    );
  });
});

test.each([
  ['pi', '0.73.1', true],
  ['pi', '1.6.0', true],
  ['pi', '0.730.1', false],
  ['pi', '10.73.1', false],
  ['pi', '1.60.0', false],
  ['claude', '2.1.332 (Claude Code)', true],
  ['claude', '3.0.0 (Claude Code)', false],
  ['codex', 'codex-cli 0.171.0', true],
  ['codex', 'codex-cli 0.99', false],
  ['opencode', '1.18.33', true],
  ['gemini', '0.61.0-nightly', true],
  ['gemini', 'a sentence', false],
])('%s that says "%s": %s', (adapter, said, known) => {
  const of = versionKnown(adapter, said);
  expect(of?.known).toBe(known);
  expect(of?.warning === null).toBe(known);
});

test('what an unknown one may come to is said in words; a program that says nothing is unknown too', () => {
  expect(versionKnown('pi', '2.0.1')?.warning).toBe(
    'coxswain knows 0.73 and 1.6, and not 2.0: it is driven all the same, and may say what is not understood',
  );
  expect(versionKnown('pi', null)?.warning).toBe('it does not say its version; coxswain knows 0.73 and 1.6');
});

test('of adapters for any program versions say nothing', () => {
  expect(versionKnown('command', '1.0')).toBe(null);
  expect(versionKnown('acp', '1.0')).toBe(null);
});
