import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { conformLive } from '../../src/testing/index.ts';
import { subjects } from '../../tools/conformance.ts';
import { ROOT } from '../docs/markdown.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-conformance-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test.each(subjects(ROOT).map((subject) => [subject.name, subject] as const))(
  '%s: a running child is understood as its captured stream is',
  async (_name, subject) => {
    const findings = await conformLive(subject, dir);
    expect(findings.filter(({ outcome }) => outcome === 'fails')).toEqual([]);
    expect(findings.length).toBeGreaterThan(5);
  },
);
