import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testEnv } from '../support/kit.ts';
import { startRun } from './rig.ts';

const OURS = 'sentinel-of-the-runner';
const THEIRS = 'sentinel-of-the-plan';

/** Where invariant 9 lets a secret be: the plan, and what the child itself wrote. */
const allowed = /^(?:plan\.json|attempts\/[^/]+\/1\/(?:stdout\.jsonl|stderr\.log))$/;

test('secrets of the runner and of the plan, told by every step, are in nothing that is derived', async () => {
  const env = { OTHER_TOKEN: THEIRS };
  const { ended, dir } = startRun(
    {
      version: 1,
      name: `deploy with ${OURS}`,
      labels: { key: OURS },
      steps: [
        { id: 'tell', run: 'echo "$MY_API_KEY $OTHER_TOKEN"', env },
        { id: 'repeat', run: ['echo', 'I heard {{ steps.tell.output }}'] },
        { id: 'fail', needs: [], run: 'echo "bad: $MY_API_KEY $OTHER_TOKEN" >&2; exit 3', env },
      ],
    },
    { env: { ...testEnv, MY_API_KEY: OURS } },
  );
  expect(await ended).toMatchObject({ outcome: { state: 'failed' }, recorded: true });
  const files = readdirSync(dir.path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.path.length + 1));
  const told = files.filter((file) => new RegExp(`${OURS}|${THEIRS}`).test(readFileSync(join(dir.path, file), 'utf8')));
  expect(told).toContain('attempts/tell/1/stdout.jsonl');
  expect(told.filter((file) => !allowed.test(file))).toEqual([]);
  expect(readFileSync(dir.result, 'utf8')).toContain('[redacted OTHER_TOKEN]');
});
