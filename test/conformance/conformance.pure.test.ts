import { describe, expect, test } from 'vitest';
import { conform } from '../../src/testing/index.ts';
import { subjects } from './subjects.ts';

describe.each(subjects().map((subject) => [subject.name, subject] as const))('%s', (_name, subject) => {
  test.each(conform(subject))('$says', (finding) => {
    expect(finding.outcome === 'fails' ? finding.why : null).toBeNull();
  });
});
