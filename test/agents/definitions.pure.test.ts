import { describe, expect, test } from 'vitest';
import {
  type Agent,
  type AgentSettings,
  type Launch,
  type LaunchRequest,
  type McpServer,
  adapterIds,
  adapterModes,
  createRegistry,
  definitionRefusals,
} from '../../src/agents/index.ts';

type Definition = Omit<AgentSettings, 'name'>;

function agentOf(definition: Definition): Agent {
  const found = createRegistry({ mine: { name: 'mine', ...definition } }, { env: {} }).get('mine', 'task');
  if (found.type !== 'agent') throw new Error(found.message);
  return found.agent;
}

function request({ settings }: Agent, change: Partial<LaunchRequest> = {}): LaunchRequest {
  return {
    settings,
    task: 'Task.',
    run: null,
    model: null,
    cwd: '/project',
    env: { KEY: 'a value' },
    privateDir: '/run/attempts/s/1',
    sessionDir: '/run/sessions',
    resume: null,
    mailbox: null,
    ...change,
  };
}

/** What an agent of this definition is started with. */
function launch(definition: Definition, change?: Partial<LaunchRequest>): Launch {
  const agent = agentOf(definition);
  return agent.adapter.launch(request(agent, change));
}

/** What an agent says to our first words. */
const WELCOME: Record<string, object> = {
  codex: { id: 'coxswain-open', result: {} },
  acp: {
    jsonrpc: '2.0',
    id: 1,
    result: { protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } },
  },
};

/** And what is said to it first. */
function firstWords(definition: Definition): string[] {
  const agent = agentOf(definition);
  const session = agent.adapter.open(request(agent));
  const start = session.start().send;
  return [...start, ...session.push(Buffer.from(`${JSON.stringify(WELCOME[definition.adapter] ?? {})}\n`)).send];
}

const PROMPT = '/run/attempts/s/1/system-prompt.md';
const says = { append: 'You review.' } as const;
const instead = { replace: 'You review.' } as const;
const stdio: McpServer = { type: 'stdio', command: ['serve', '--port', '0'], env: ['KEY'] };
const http: McpServer = { type: 'http', url: 'http://127.0.0.1:1/mcp' };
const PAIRS: readonly string[] = [
  '-c',
  '-e',
  '--thinking',
  '--effort',
  '--variant',
  '--tools',
  '--skill',
  '--plugin-dir',
];

const takesValue = (word: string): boolean => PAIRS.includes(word) || /-prompt(?:-file)?$/.test(word);

/** Arguments, an option and its value as one. */
function words(argv: readonly string[]): string[] {
  return argv.flatMap((word, at) => {
    if (takesValue(argv[at - 1] ?? '')) return [];
    return takesValue(word) ? [`${word} ${argv[at + 1] ?? ''}`] : [word];
  });
}

/** What the definition adds to a bare one's arguments, in order. */
function added(definition: Definition, change?: Partial<LaunchRequest>): string[] {
  const { adapter, mode } = definition;
  const left = words(launch({ adapter, ...(mode === undefined ? {} : { mode }) }, change).argv);
  return words(launch(definition, change).argv).filter((word) => {
    if (left[0] !== word) return true;
    left.shift();
    return false;
  });
}

describe('a field of a definition is an argument of the client', () => {
  test.each<[string, Definition, string[]]>([
    ['thinking', { adapter: 'pi', thinking: 'high' }, ['--thinking high']],
    ['thinking', { adapter: 'pi', mode: 'json', thinking: 'off' }, ['--thinking off']],
    ['thinking', { adapter: 'claude', thinking: 'max' }, ['--effort max']],
    ['thinking', { adapter: 'codex', mode: 'exec', thinking: 'off' }, ['-c model_reasoning_effort="none"']],
    ['thinking', { adapter: 'opencode', thinking: 'high' }, ['--variant high']],
    ['systemPrompt', { adapter: 'pi', systemPrompt: says }, [`--append-system-prompt ${PROMPT}`]],
    ['systemPrompt', { adapter: 'pi', systemPrompt: instead }, [`--system-prompt ${PROMPT}`]],
    ['systemPrompt', { adapter: 'claude', systemPrompt: says }, [`--append-system-prompt-file ${PROMPT}`]],
    ['systemPrompt', { adapter: 'claude', systemPrompt: instead }, [`--system-prompt-file ${PROMPT}`]],
    [
      'systemPrompt',
      { adapter: 'codex', mode: 'exec', systemPrompt: instead },
      [`-c model_instructions_file="${PROMPT}"`],
    ],
    ['tools', { adapter: 'pi', tools: { only: ['read', 'grep'] } }, ['--tools read,grep']],
    ['tools', { adapter: 'pi', tools: { only: [] } }, ['--no-tools']],
    ['tools', { adapter: 'claude', tools: { only: ['Bash', 'Read'] } }, ['--tools=Bash,Read', '--strict-mcp-config']],
    ['tools', { adapter: 'claude', tools: { only: [] } }, ['--tools=', '--strict-mcp-config']],
    ['extensions', { adapter: 'pi', extensions: ['/x.ts', 'npm:y'] }, ['-e /x.ts', '-e npm:y']],
    ['extensions', { adapter: 'claude', extensions: ['/plugin'] }, ['--plugin-dir /plugin']],
    ['skills', { adapter: 'pi', skills: ['/skills/a'] }, ['--skill /skills/a']],
    [
      'mcp',
      { adapter: 'codex', mcp: { a: stdio, b: http } },
      [
        '-c mcp_servers.a.command="serve"',
        '-c mcp_servers.a.args=["--port","0"]',
        '-c mcp_servers.a.env_vars=["KEY"]',
        '-c mcp_servers.b.url="http://127.0.0.1:1/mcp"',
      ],
    ],
    ['mcp', { adapter: 'claude', mcp: { a: stdio } }, ['--mcp-config=/run/attempts/s/1/mcp.json']],
    [
      'inherit',
      { adapter: 'pi', inherit: { context: false, skills: false, extensions: false } },
      ['--no-context-files', '--no-skills', '--no-extensions'],
    ],
    ['inherit', { adapter: 'pi', inherit: { context: true, skills: true } }, []],
    ['inherit', { adapter: 'claude', inherit: { skills: false } }, ['--disable-slash-commands']],
    ['inherit', { adapter: 'codex', inherit: { context: false } }, ['-c project_doc_max_bytes=0']],
    ['permissions', { adapter: 'gemini', permissions: { '*': 'allow' } }, ['--approval-mode', 'yolo']],
  ])('%s: %j', (_, definition, expected) => {
    expect(added(definition)).toEqual(expected);
  });

  test('a level in the name of a model goes before that of the definition', () => {
    const model = 'openai/gpt-5:low';
    expect(added({ adapter: 'pi', thinking: 'high' }, { model })).toEqual([]);
    expect(launch({ adapter: 'pi', thinking: 'high' }, { model }).argv).toContain(model);
    expect(added({ adapter: 'claude', thinking: 'high' }, { model })).toEqual([]);
    expect(launch({ adapter: 'codex', mode: 'exec', thinking: 'high' }, { model }).argv).toContain(
      'model_reasoning_effort="low"',
    );
    expect(added({ adapter: 'opencode', thinking: 'high' }, { model })).toEqual([]);
  });

  test('our own way to ask stays among the tools of pi', () => {
    const mailbox = { ask: '/m/ask', steer: '/m/steer' } as unknown as LaunchRequest['mailbox'];
    expect(added({ adapter: 'pi', tools: { only: ['read'] } }, { mailbox })).toEqual([
      '--tools read,contact_supervisor',
    ]);
    expect(added({ adapter: 'pi', tools: { only: [] } }, { mailbox })).toEqual(['--tools contact_supervisor']);
  });
});

const threadOf = (definition: Definition): unknown => JSON.parse(firstWords(definition).at(-1) ?? '{}') as unknown;

describe('servers of an ACP agent', () => {
  const definition: Definition = { adapter: 'acp', command: ['agent'], mcp: { a: stdio, b: http } };

  test('are named when its session is opened, with the values that their definition names', () => {
    expect(JSON.parse(firstWords(definition).at(-1) ?? '{}')).toMatchObject({
      method: 'session/new',
      params: {
        mcpServers: [
          { name: 'a', command: 'serve', args: ['--port', '0'], env: [{ name: 'KEY', value: 'a value' }] },
          { type: 'http', name: 'b', url: 'http://127.0.0.1:1/mcp', headers: [] },
        ],
      },
    });
  });

  test('one at an address, and the agent says that it can use none', () => {
    const agent = agentOf(definition);
    const session = agent.adapter.open(request(agent));
    session.start();
    const welcome = { jsonrpc: '2.0', id: 1, result: { protocolVersion: 1, agentCapabilities: {} } };
    const { events, send } = session.push(Buffer.from(`${JSON.stringify(welcome)}\n`));
    expect(events).toContainEqual({
      t: 'error',
      failure: { code: 'tool-unavailable', message: expect.stringContaining('"b"') },
    });
    expect(send).toEqual([]);
  });
});

describe('a field of a definition is a variable, a file, or a message', () => {
  test('files: private, and never in an argument', () => {
    for (const definition of [
      { adapter: 'pi', systemPrompt: says },
      { adapter: 'pi', mode: 'json', systemPrompt: instead },
      { adapter: 'claude', systemPrompt: says },
      { adapter: 'codex', mode: 'exec', systemPrompt: instead },
      { adapter: 'gemini', systemPrompt: instead },
    ]) {
      const { argv, files } = launch(definition);
      expect(files).toEqual([{ path: PROMPT, text: 'You review.' }]);
      expect(argv.join(' ')).not.toContain('You review.');
    }
  });

  test('gemini reads its system prompt from where a variable says', () => {
    expect(launch({ adapter: 'gemini', systemPrompt: instead }).env).toMatchObject({ GEMINI_SYSTEM_MD: PROMPT });
    expect(launch({ adapter: 'gemini' }).env).not.toHaveProperty('GEMINI_SYSTEM_MD');
  });

  test('Claude Code fills the values into its servers itself, and is kept from CLAUDE.md', () => {
    const { files = [] } = launch({ adapter: 'claude', mcp: { a: stdio, b: http } });
    expect(files.map(({ path, text }) => [path, JSON.parse(text) as unknown])).toEqual([
      [
        '/run/attempts/s/1/mcp.json',
        {
          mcpServers: {
            a: { type: 'stdio', command: 'serve', args: ['--port', '0'], env: { KEY: '${KEY:-}' } },
            b: http,
          },
        },
      ],
    ]);
    expect(launch({ adapter: 'claude', inherit: { context: false } }).env).toMatchObject({
      CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1',
    });
  });

  test('codex is told of its thread by the protocol', () => {
    expect(threadOf({ adapter: 'codex', thinking: 'high', systemPrompt: says })).toMatchObject({
      method: 'thread/start',
      params: { config: { model_reasoning_effort: 'high' }, developerInstructions: 'You review.' },
    });
    expect(threadOf({ adapter: 'codex', systemPrompt: instead })).toMatchObject({
      params: { baseInstructions: 'You review.' },
    });
  });
});

/** One definition for each thing that can be asked. */
const wishes: [string, Partial<Definition>][] = [
  ['task: argv', { task: 'argv' }],
  ['model', { model: ['m'] }],
  ...(['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const).map(
    (thinking): [string, Partial<Definition>] => [`thinking: ${thinking}`, { thinking }],
  ),
  ['systemPrompt: append', { systemPrompt: says }],
  ['systemPrompt: replace', { systemPrompt: instead }],
  ['tools', { tools: { only: [] } }],
  ['tools.required', { tools: { required: ['t'] } }],
  ['extensions', { extensions: ['x'] }],
  ['skills', { skills: ['x'] }],
  ['mcp (stdio)', { mcp: { a: stdio } }],
  ['mcp (http)', { mcp: { a: http } }],
  ['inherit.context: false', { inherit: { context: false } }],
  ['inherit.skills: false', { inherit: { skills: false } }],
  ['inherit.extensions: false', { inherit: { extensions: false } }],
  ...(['allow', 'deny', 'ask'] as const).flatMap((answer): [string, Partial<Definition>][] => [
    [`bash: ${answer}`, { permissions: { bash: answer } }],
    [`*: ${answer}`, { permissions: { '*': answer } }],
  ]),
  ['session: shared', { session: { type: 'shared', name: 'a' } }],
  ['session: fork', { session: { type: 'fork' } }],
];

/** What is started, and what is said first. */
const said = (definition: Definition): unknown => [launch(definition), firstWords(definition)];

/** What makes no difference to the start: a plan chooses the model, and who asks is answered then. */
function isAnsweredLater({ adapter }: Definition, what: string): boolean {
  if (what === 'model' || what === 'tools.required' || what.endsWith(': deny')) return true;
  return adapter === 'acp' && /: (?:allow|ask)$/.test(what);
}

describe('what an adapter cannot honour is refused by name, and what it can is not left out', () => {
  const all = adapterIds().flatMap((adapter) =>
    adapterModes(adapter).map(({ name }): Definition => ({
      adapter,
      command: ['agent'],
      ...(name === null ? {} : { mode: name }),
    })),
  );

  test.each(all)('$adapter $mode', (definition) => {
    const bare = JSON.stringify(said(definition));
    const ignored = wishes.filter(([what, wish]) => {
      const wanted = { ...definition, ...wish };
      if (definitionRefusals(wanted).length > 0 || isAnsweredLater(definition, what)) return false;
      return JSON.stringify(said(wanted)) === bare;
    });
    expect(ignored).toEqual([]);
    const refused = wishes.map(([what, wish]) => [what, definitionRefusals({ ...definition, ...wish })] as const);
    for (const [what, [first, ...more]] of refused.filter(([, found]) => found.length > 0)) {
      expect(more).toEqual([]);
      expect(first?.message).toContain(`the ${definition.adapter} adapter cannot honour "${what}"`);
      expect(first?.message).toMatch(/\((?:these can: [a-z, ()-]+|no adapter can)\)$/);
    }
  });

  test('several at once, each where it stands', () => {
    const definition: Definition = {
      adapter: 'opencode',
      thinking: 'off',
      skills: ['x'],
      mcp: { a: stdio },
      permissions: { bash: 'ask' },
    };
    expect(definitionRefusals(definition).map(({ path }) => path.join('.'))).toEqual([
      'thinking',
      'skills',
      'mcp.a',
      'permissions.bash',
    ]);
  });
});
