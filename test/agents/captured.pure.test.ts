import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Usage } from '../../machines/protocol.ts';
import { OK, type PlayedExit, endOf, notes, open, play } from './drive.ts';

interface Expected {
  case: string;
  /** Default: that of the folder. */
  adapter?: string;
  model?: string;
  resume?: string;
  code: number | null;
  signal: string | null;
  session?: string;
  final?: string;
  stop?: string;
  failure?: string;
  usage?: Usage;
}

const folder = (client: string): URL => new URL(`../fixtures/${client}/`, import.meta.url);
const streamOf = (client: string, name: string): Buffer => readFileSync(new URL(`${name}.jsonl`, folder(client)));
const expectedOf = (client: string): Expected[] =>
  JSON.parse(readFileSync(new URL('expected.json', folder(client)), 'utf8')) as Expected[];

const summary = (end: ReturnType<typeof endOf>): Pick<Expected, 'final' | 'stop' | 'failure'> =>
  end.t === 'final' ? { final: end.text, stop: end.stop } : { failure: end.failure.code };

/** Sums of prices are not exact. */
const rounded = (usage: Usage | undefined): Usage | undefined =>
  usage?.costUsd === undefined ? usage : { ...usage, costUsd: Number(usage.costUsd.toFixed(9)) };

describe.each([
  ['opencode-1.18.33', 'opencode'],
  ['gemini-cli-0.61.0', 'gemini'],
  ['opencode-1.18.33-acp', 'acp'],
  ['gemini-cli-0.61.0-acp', 'acp'],
])('captured streams of %s', (client, adapter) => {
  const table = expectedOf(client);

  test('every captured stream is in the table', () => {
    const files = readdirSync(folder(client)).filter((file) => file.endsWith('.jsonl'));
    expect(files.toSorted()).toEqual(table.map((row) => `${row.case}.jsonl`).toSorted());
  });

  test.each(table)('$case', (row) => {
    const bytes = streamOf(client, row.case);
    const asked = { model: row.model ?? null, resume: row.resume === undefined ? null : { session: row.resume } };
    const run = (size: number) => play(open(row.adapter ?? adapter, asked), bytes, row, size);
    const events = run(Infinity);

    expect(summary(endOf(events))).toEqual({ final: row.final, stop: row.stop, failure: row.failure });
    const usage = events.findLast((event) => event.t === 'usage')?.usage;
    expect(rounded(usage)).toEqual(row.usage);
    expect(events.filter((event) => event.t === 'toolStart')).toHaveLength(row.usage?.tools ?? 0);
    const session = events.flatMap((event) => (event.t === 'session' ? [event.session] : []));
    expect(session).toEqual([row.session ?? session[0]]);

    for (const size of [1, 7, 4096]) expect(run(size)).toEqual(events);
  });
});

const played = (client: string, name: string, adapter: string, exit: PlayedExit = OK) =>
  play(open(adapter), streamOf(client, name), exit);

describe('what is in a stream besides its end', () => {
  test('OpenCode: a command that failed and a tool that does not exist are no success', () => {
    const failed = played('opencode-1.18.33', 'tool-exit-3', 'opencode');
    expect(failed.find((event) => event.t === 'toolEnd')).toMatchObject({ name: 'bash', ok: false, output: 'oops\n' });
    const unknown = played('opencode-1.18.33', 'unknown-tool', 'opencode');
    expect(unknown.find((event) => event.t === 'toolStart')).toMatchObject({ input: { tool: 'no_such_tool' } });
    expect(unknown.find((event) => event.t === 'toolEnd')).toMatchObject({ name: 'invalid', ok: false });
  });

  test('OpenCode: the words of an error are for people, what came along is for its class', () => {
    const { failure } = endOf(played('opencode-1.18.33', 'error-401', 'opencode', { code: 1, signal: null })) as {
      failure: object;
    };
    expect(failure).toEqual({
      code: 'auth',
      message: 'Bad key (scripted)',
      detail: { status: 401, errorCode: 'authentication_error' },
    });
  });

  test('Gemini CLI: pieces are put together; its model and its tools are told', () => {
    const events = played('gemini-cli-0.61.0', 'tool-then-reply', 'gemini');
    const said = events.flatMap((event) => (event.t === 'message' ? [`${event.role}: ${event.text}`] : []));
    expect(said.slice(0, 2)).toEqual(['user: do it', 'assistant: I will run a command.']);
    expect(said).toHaveLength(3);
    expect(events.find((event) => event.t === 'model')).toEqual({ t: 'model', model: 'fake-tool' });
    expect(events.find((event) => event.t === 'toolEnd')).toMatchObject({ name: 'run_shell_command', ok: true });
    const unknown = played('gemini-cli-0.61.0', 'unknown-tool', 'gemini');
    expect(unknown.find((event) => event.t === 'toolEnd')).toMatchObject({ name: 'no_such_tool', ok: false });
  });

  test('Gemini CLI: an exit code after its result changes nothing and leaves a note', () => {
    const events = played('gemini-cli-0.61.0', 'error-400', 'gemini', { code: 144, signal: null });
    expect(notes(events, 'text')).toEqual(['exit code 144 after the end of the work']);
  });

  test('ACP: what was asked after the end is not ours', () => {
    const events = played('opencode-1.18.33', 'acp-second-prompt-then-cancel', 'acp');
    expect(notes(events, 'unknown-record')).toHaveLength(2);
    expect(events.find((event) => event.t === 'model')).toEqual({ t: 'model', model: 'fake/fake-medtool' });
    expect(events.find((event) => event.t === 'toolStart')).toEqual({
      t: 'toolStart',
      id: 'call_506_0',
      name: 'execute',
      input: { command: 'sleep 3; echo end', cwd: '/project' },
    });
  });
});
