import { describe, expect, test } from 'vitest';
import { openCli } from '../support/cli.ts';

/** A plan that is wrong, and what is to be said about it. */
interface Mistake {
  name: string;
  plan: string;
  says: RegExp;
}

const mistakes: Mistake[] = [
  { name: 'bad YAML', plan: 'version: 1\nsteps: [\n', says: /^plan\.yaml:\d+:\d+: \S/ },
  {
    name: 'an unknown field',
    plan: 'version: 1\nsteps:\n  - id: a\n    run: [echo]\n    tiemout: 3s\n',
    says: /^plan\.yaml:5:\d+ steps\[0\]\.tiemout: .*timeout/,
  },
  {
    name: 'an id that is there twice',
    plan: 'version: 1\nsteps:\n  - { id: a, run: [echo] }\n  - { id: a, run: [echo] }\n',
    says: /^plan\.yaml:4:\d+ steps\[1\]\.id: /,
  },
  {
    name: 'an unknown agent',
    plan: 'version: 1\nsteps:\n  - id: a\n    agent: nobody\n    task: x\n',
    says: /^plan\.yaml:4:\d+ steps\[0\]\.agent: .*nobody/,
  },
  {
    name: 'a reference to a step that does not exist',
    plan: 'version: 1\nsteps:\n  - id: a\n    run: [echo]\n  - id: b\n    run: [echo, "{{ steps.c.output }}"]\n',
    says: /^plan\.yaml:6:\d+ steps\[1\]\.run\[1\]: .*"?c"?/,
  },
  {
    name: 'a reference to a step that is no ancestor',
    plan: 'version: 1\nsteps:\n  - id: a\n    run: [echo]\n  - id: b\n    needs: []\n    run: [echo, "{{ steps.a.output }}"]\n',
    says: /^plan\.yaml:7:\d+ steps\[1\]\.run\[1\]: .*needs/,
  },
  {
    name: 'a cycle in needs',
    plan: 'version: 1\nsteps:\n  - { id: a, needs: [b], run: [echo] }\n  - { id: b, needs: [a], run: [echo] }\n',
    says: /^plan\.yaml:3:\d+ steps\[0\]\.needs\S*: .*a.*b/,
  },
  {
    name: 'a working directory that is missing',
    plan: 'version: 1\nsteps:\n  - id: a\n    cwd: no-such-folder\n    run: [echo]\n',
    says: /^plan\.yaml:4:\d+ steps\[0\]\.cwd: .*no-such-folder/,
  },
  { name: 'an empty plan', plan: '', says: /^plan\.yaml\S*: .*empty/ },
  { name: 'a plan without steps', plan: 'version: 1\nsteps: []\n', says: /^plan\.yaml:2:\d+ steps: .*empty/ },
];

describe('a mistake in the plan is told with its place, before anything starts', () => {
  test.concurrent.each(mistakes)('$name', async ({ plan, says }) => {
    await using cli = openCli();
    cli.file('plan.yaml', plan);
    const { code, stdout, stderr } = await cli.run(['run', 'plan.yaml']);
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect({ code, stdout, runs: cli.ids() }).toEqual({ code: 2, stdout: '', runs: [] });
  });

  test('a plan that is not there, also when detached', async () => {
    await using cli = openCli();
    const both = await Promise.all([cli.run(['run', 'no.yaml']), cli.run(['run', 'no.yaml', '--detach'])]);
    for (const { code, stderr } of both) {
      expect(stderr).toMatch(/^no\.yaml: /);
      expect(code).toBe(2);
    }
    expect(cli.ids()).toEqual([]);
  });
});

describe('a call that cannot be meant is refused on one line', () => {
  test.concurrent.each([
    { args: [] },
    { args: ['plan.yaml', '--', 'true'] },
    { args: ['--jsonn', 'plan.yaml'] },
    { args: ['--agent', 'nobody', 'task'] },
    { args: ['--cwd', 'no-such-folder', '--', 'true'] },
    { args: ['--id', '../out', '--', 'true'] },
  ])('run $args', async ({ args }) => {
    await using cli = openCli();
    const { code, stdout, stderr } = await cli.run(['run', ...args]);
    expect(stderr.trim()).toMatch(/^[^\n]+$/);
    expect({ code, stdout, runs: cli.ids() }).toEqual({ code: 2, stdout: '', runs: [] });
  });

  test('a verb that does not exist; a run that does not', async () => {
    await using cli = openCli();
    const [verb, run] = await Promise.all([cli.run(['frobnicate']), cli.run(['status', 'nope'])]);
    expect(verb).toMatchObject({ code: 2, stdout: '' });
    expect(run).toMatchObject({ code: 7, stdout: '', stderr: expect.stringContaining(`no run 'nope'`) });
  });
});
