import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type Subject,
  type TrialOptions,
  captureSubject,
  conform,
  conformLive,
  readAgent,
} from '../../src/testing/index.ts';
import type { LaunchRecord } from '../../src/record/index.ts';
import { openCli } from '../support/cli.ts';

/** Nothing is known of these agents but what this file says, and the two programs beside it. */
const FOLDER = fileURLToPath(new URL('./own', import.meta.url));
const YAML = readFileSync(join(FOLDER, 'coxswain.config.yaml'), 'utf8').replaceAll('__FOLDER__', FOLDER);

let dir = '';
let config = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-own-'));
  config = join(dir, 'coxswain.config.yaml');
  writeFileSync(config, YAML);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const usage = { input: 7, output: 3, cacheRead: 2, cacheWrite: 0, turns: 1, tools: 0 };
const trials: Record<string, Pick<TrialOptions, 'prints' | 'trials'> & { holds: number }> = {
  'small-acp': {
    prints: 'records',
    trials: {
      reply: { task: 'reply to this', expect: { final: 'Hello.', usage, session: 's-1' } },
      tool: { task: 'tool', expect: { final: 'Done.' } },
      rejected: { task: 'rejected', expect: { failure: 'model-error' } },
      auth: { task: 'auth', expect: { failure: 'auth' } },
      'rate-limit': { task: 'busy', expect: { failure: 'rate-limited' } },
      down: { task: 'down', expect: { failure: 'model-unavailable' } },
      length: { task: 'long', expect: { final: 'Once upon a', stop: 'length' } },
      empty: { task: 'empty', expect: { failure: 'empty-output' } },
      aborted: { task: 'wait', expect: { failure: 'aborted' } },
      resume: { task: 'reply to this', expect: { final: 'Hello.' } },
      steering: { lacks: 'refused at once' },
    },
    holds: 21,
  },
  'small-shell': {
    prints: 'text',
    trials: {
      reply: { task: 'reply to this', expect: { final: 'Hello.' } },
      tool: { lacks: 'tells of none' },
      // The words of any program are not read for more than they are sure to mean.
      rejected: { task: 'rejected', expect: { failure: 'exit-code' } },
      auth: { task: 'auth', expect: { failure: 'auth' } },
      'rate-limit': { task: 'busy', expect: { failure: 'rate-limited' } },
      down: { task: 'down', expect: { failure: 'model-unavailable' } },
      length: { lacks: 'does not tell' },
      empty: { task: 'empty', expect: { final: '' } },
      aborted: { task: 'wait', expect: { failure: 'signal' } },
      resume: { lacks: 'has no sessions' },
      steering: { lacks: 'by the mailbox only' },
    },
    holds: 14,
  },
};

describe.each(Object.keys(trials))('%s, defined in YAML alone', (name) => {
  const own = trials[name];
  if (own === undefined) throw new Error(name);

  test('does what is asked of every agent, as far as its protocol goes', async () => {
    const agent = await readAgent(config, name);
    const subject: Subject = await captureSubject({ name, agent, ...own, dir: join(dir, 'captured') });
    const findings = conform(subject);
    expect(findings.filter(({ outcome }) => outcome === 'fails')).toEqual([]);
    expect(findings.filter(({ outcome }) => outcome === 'holds').map(({ id }) => id)).toHaveLength(own.holds);
    const lived = await conformLive(subject, join(dir, 'live'));
    expect(lived.filter(({ outcome }) => outcome === 'fails')).toEqual([]);
  });

  test('runs by its name', async () => {
    await using cli = openCli();
    const { code, stdout } = await cli.run(['run', '--config', config, '--json', '--agent', name, 'reply to this']);
    expect(JSON.parse(stdout)).toMatchObject({
      state: 'completed',
      steps: [{ agent: name, output: { text: 'Hello.' } }],
    });
    expect(code).toBe(0);
    const [id = ''] = cli.ids();
    const launch = readFileSync(join(cli.root, 'runs', id, 'attempts', 'task', '1', 'launch.json'), 'utf8');
    expect(JSON.parse(launch)).toMatchObject({ facts: { agent: name, task: { chars: 13 } } });
    // What it says of itself, where it does.
    expect((JSON.parse(launch) as LaunchRecord).acknowledged?.version).toBe(name === 'small-acp' ? '0.4.2' : undefined);
  });
});

test('an agent that the file does not define, or defines wrongly', async () => {
  await expect(readAgent(config, 'nobody')).rejects.toThrow('defines no agent "nobody"');
  writeFileSync(config, 'version: 1\nagents: { nobody: { adapter: acp } }\n');
  await expect(readAgent(config, 'nobody')).rejects.toThrow('coxswain.config.yaml:2:19 agents.nobody: the acp adapter');
});
