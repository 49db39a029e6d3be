import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openCli } from '../support/cli.ts';

const AGENT = fileURLToPath(new URL('../conformance/own/acp-agent.mjs', import.meta.url));

test('an agent that is to ask asks a person, and is told what the person says', async () => {
  await using cli = openCli();
  cli.file(
    'coxswain.config.yaml',
    `version: 1\nagents: { careful: { adapter: acp, command: [node, ${JSON.stringify(AGENT)}], permissions: { execute: ask } } }\n`,
  );
  cli.file(
    'plan.yaml',
    `version: 1
defaults: { agent: careful }
steps:
  - { id: yes, task: ask }
  - { id: not, task: ask, needs: [] }
  - { id: nobody, task: ask, needs: [], asks: decline }
`,
  );
  const { id, directory } = await cli.detach(['plan.yaml']);
  const open = async (): Promise<{ id: string; step: string; question: string | null }[]> =>
    JSON.parse((await cli.run(['asks', id, '--json'])).stdout) as { id: string; step: string; question: string }[];
  const stepsThatAsk = async (): Promise<string[]> => (await open()).map(({ step }) => step).toSorted();
  await expect.poll(stepsThatAsk, { timeout: 20_000, interval: 200 }).toEqual(['not', 'yes']);
  const asks = await open();
  expect(asks[0]?.question).toContain('May it use execute: {"title":"rm -r build"}');
  const askOf = (step: string): string => asks.find((ask) => ask.step === step)?.id ?? '';
  const answers = await Promise.all([
    cli.run(['answer', id, askOf('yes'), 'allow']),
    cli.run(['answer', id, askOf('not'), 'rather not']),
  ]);
  expect(answers.map(({ code }) => code)).toEqual([0, 0]);
  expect((await cli.run(['wait', id, '--timeout', '20s'])).code).toBe(0);
  const result = JSON.parse((await cli.run(['result', id, '--json'])).stdout) as {
    steps: { id: string; output: { text: string } }[];
  };
  // The agent says which of its options it was given.
  expect(result.steps.map((step) => [step.id, step.output.text])).toEqual([
    ['yes', 'yes'],
    ['not', 'no'],
    ['nobody', 'no'],
  ]);
  // What was asked and answered is nobody else's.
  for (const name of ['status.json', 'events.jsonl', 'result.json', 'report.md']) {
    const text = readFileSync(join(directory, name), 'utf8');
    expect(text).not.toContain('rm -r build');
    expect(text).not.toContain('rather not');
  }
});
