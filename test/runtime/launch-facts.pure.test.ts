import { describe, expect, test } from 'vitest';
import { type AgentSettings, type LaunchRequest, createRegistry } from '../../src/agents/index.ts';
import type { LaunchFacts } from '../../src/record/index.ts';
import { differencesOf, digestOf, factsOf } from '../../src/runtime/launch-facts.ts';

const redact = (text: string): string => text.replaceAll('the secret value', '[KEY]');

function facts(
  settings: Omit<AgentSettings, 'name'>,
  change: Partial<LaunchRequest> = {},
  version: string | null = '1.0.0',
): LaunchFacts {
  const found = createRegistry({ mine: { name: 'mine', ...settings } }, { env: {} }).get('mine', 'task');
  if (found.type !== 'agent') throw new Error(found.message);
  const agent = { ...found.agent, foundBy: 'definition' } as const;
  const request: LaunchRequest = {
    settings: agent.settings,
    task: 'The task.',
    run: null,
    model: 'a/b',
    cwd: '/work',
    env: { PATH: '/bin', KEY: 'the secret value' },
    privateDir: '/run/attempts/s/1',
    sessionDir: '/run/sessions',
    resume: null,
    mailbox: null,
    ...change,
  };
  return factsOf(agent, request, agent.adapter.launch(request), { version, redact });
}

const claude = { adapter: 'claude', command: ['claude'] };

describe('the facts of a launch', () => {
  test('hold neither texts nor values', () => {
    const secret = { ...claude, args: ['--x=the secret value'], systemPrompt: { append: 'The prompt.' } };
    const text = JSON.stringify(facts({ ...secret, mcp: { a: { type: 'stdio', command: ['x'], env: ['KEY'] } } }));
    for (const word of ['The task.', 'The prompt.', 'the secret value']) expect(text).not.toContain(word);
    expect(JSON.parse(text)).toMatchObject({
      client: { adapter: 'claude', mode: null, version: '1.0.0' },
      env: expect.arrayContaining(['KEY', 'PATH']) as string[],
      systemPrompt: { how: 'append', chars: 11 },
      mcp: ['a'],
      task: { chars: 9 },
    });
  });

  test.each([
    claude,
    { adapter: 'pi', command: ['pi'], systemPrompt: { append: 'x' } },
    { adapter: 'codex', command: ['codex'], mode: 'exec', systemPrompt: { replace: 'x' } },
    { adapter: 'command', command: ['x'], task: 'file' as const },
  ])('are the same wherever and whenever it is launched, and so is their digest: $adapter', (settings) => {
    const first = facts(settings);
    const later = facts(settings, {
      privateDir: '/elsewhere/attempts/s/2',
      sessionDir: '/elsewhere/sessions',
      resume: { session: 's.1.claude/an-id' },
      delivery: 'file',
    });
    expect(later).toEqual(first);
    expect(digestOf(later)).toBe(digestOf(first));
    expect(digestOf(first)).toMatch(/^[0-9a-f]{16}$/);
  });
});

describe('a launch that goes on in a session', () => {
  const before = facts(claude);

  test.each<[string, LaunchFacts]>([
    ['adapter', { ...before, client: { ...before.client, adapter: 'pi' } }],
    ['program', facts({ ...claude, command: ['other'] })],
    ['cwd', facts(claude, { cwd: '/other' })],
    ['task', facts(claude, { task: 'Another.' })],
    ['systemPrompt', facts({ ...claude, systemPrompt: { append: 'x' } })],
    ['tools', facts({ ...claude, tools: { only: ['Bash'] } })],
    ['extensions', facts({ ...claude, extensions: ['/x'] })],
    ['mcp', facts({ ...claude, mcp: { a: { type: 'http', url: 'http://x' } } })],
    ['inherit', facts({ ...claude, inherit: { skills: false } })],
    ['permissions', facts({ ...claude, permissions: { Bash: 'allow' } })],
  ])('is refused when its %s is another, by that name', (field, now) => {
    expect(differencesOf(before, now)).toEqual({ refused: [field], noted: [] });
    expect(digestOf(now)).not.toBe(digestOf(before));
  });

  test.each<[string, LaunchFacts]>([
    ['version', facts(claude, {}, '1.0.1')],
    ['model', facts(claude, { model: 'a/c' })],
    ['thinking', facts({ ...claude, thinking: 'high' })],
    ['env', facts(claude, { env: { PATH: '/bin', KEY: 'the secret value', MORE: '1' } })],
    ['argv', facts({ ...claude, args: ['--more'] })],
  ])('is told that its %s is another', (field, now) => {
    expect(differencesOf(before, now)).toEqual({ refused: [], noted: [field] });
    expect(digestOf(now)).not.toBe(digestOf(before));
  });

  test('is as it was', () => {
    expect(differencesOf(before, facts(claude))).toEqual({ refused: [], noted: [] });
  });
});
