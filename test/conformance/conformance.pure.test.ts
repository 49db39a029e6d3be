import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Subject, conform } from '../../src/testing/index.ts';
import { pageWithTable, subjects } from '../../tools/conformance.ts';
import { ROOT } from '../docs/markdown.ts';

const all = subjects(ROOT);

describe.each(all.map((subject) => [subject.name, subject] as const))('%s', (_name, subject) => {
  test.each(conform(subject))('$says', (finding) => {
    expect(finding.outcome === 'fails' ? finding.why : null).toBeNull();
  });
});

test('the table of the page is up to date', () => {
  const page = readFileSync(join(ROOT, 'docs/agents.md'), 'utf8');
  expect(pageWithTable(page, all), 'run npm run conformance').toBe(page);
});

const failing = (subject: Subject): string[] =>
  conform(subject).flatMap(({ id, outcome }) => (outcome === 'fails' ? [id] : []));

test('an adapter that reads something else is found out', () => {
  const [good] = all.filter(({ name }) => name.startsWith('OpenCode 1'));
  const reply = good?.occasions.reply;
  if (good === undefined || reply === undefined || !('stdout' in reply)) throw new Error('there is no such subject');
  const other = (change: object): Subject => ({
    ...good,
    occasions: { ...good.occasions, reply: { ...reply, ...change } },
  });
  expect(failing(other({}))).toEqual([]);
  expect(failing(other({ expect: { final: 'another answer' } }))).toEqual(['reply', 'huge-line']);
  expect(failing(other({ expect: { ...reply.expect, usage: { ...reply.expect.usage, turns: 9 } } }))).toContain(
    'reply',
  );
  // An adapter that cannot be used at all.
  expect(failing({ ...good, agent: { adapter: 'opencode', mode: 'odd' } }).length).toBeGreaterThan(10);
});
