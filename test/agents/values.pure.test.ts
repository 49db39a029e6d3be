import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../src/agents/index.ts';
import { startTurn } from '../../src/agents/codex/server-messages.ts';
import { valueToolFile } from '../../src/agents/pi/value-tool.ts';
import { play, runEnd, runStart, settled } from './drive.ts';
import { fixture, openAgent } from './rig.ts';

/** How each agent is asked for a value, and hands it in. */

const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { ok: { $ref: '#/$defs/yes' }, again: { $ref: '#' } },
  $defs: { yes: { const: true } },
};
const output = { schema };
const bytes = (...records: object[]): Buffer => Buffer.from(records.map((one) => `${JSON.stringify(one)}\n`).join(''));
const handedIn = (events: readonly AgentEvent[]): unknown[] =>
  events.flatMap((event) => (event.t === 'submitted' ? [event.value] : []));

/** As pi writes it. */
const call = (id: string, args: object, isError: boolean, details: object) => [
  { type: 'tool_execution_start', toolCallId: id, toolName: 'structured_output', args },
  {
    type: 'tool_execution_end',
    toolCallId: id,
    toolName: 'structured_output',
    isError,
    result: { content: [], details },
  },
];

describe('pi', () => {
  test('gets a tool that takes it, whose references lead to where the schema is now', () => {
    const { launch } = openAgent('pi', { output, given: { tools: { only: ['read'] } } });
    const { argv, env, files } = launch;
    expect(argv.some((one) => /extension\.[jt]s$/.test(one))).toBe(true);
    expect(argv).toEqual(expect.arrayContaining(['--tools', 'read,structured_output']));
    expect(files).toHaveLength(1);
    expect(env['COXSWAIN_VALUE_TOOL']).toBe(files?.[0]?.path);
    expect(JSON.parse(valueToolFile({ output, privateDir: '/p' })?.text ?? '')).toEqual({
      type: 'object',
      properties: {
        result: {
          type: 'object',
          properties: { ok: { $ref: '#/properties/result/$defs/yes' }, again: { $ref: '#/properties/result' } },
          $defs: { yes: { const: true } },
        },
      },
      required: ['result'],
      additionalProperties: false,
    });
    expect(openAgent('pi').launch.env['COXSWAIN_VALUE_TOOL']).toBeUndefined();
  });

  test('hands in what the tool was given, and, where that was refused, what was meant', () => {
    const stream = bytes(
      runStart,
      ...call('1', { result: 'no' }, true, {}),
      ...call('2', { ok: true }, true, {}),
      ...call('3', { result: '5' }, false, { result: 5 }),
      runEnd,
      settled,
    );
    expect(handedIn(play(openAgent('pi', { output }).session, stream))).toEqual(['no', { ok: true }, 5]);
  });

  test('as captured', () => {
    const stream = fixture('pi-1.6.0', 'extension-structured-output.jsonl');
    expect(handedIn(play(openAgent('pi', { given: { mode: 'json' } }).session, stream))).toEqual([
      { ok: true, items: ['a', 'b'] },
    ]);
  });
});

describe('claude', () => {
  test('is given the schema, and what its result holds was handed in; without that nothing was', () => {
    const { argv } = openAgent('claude', { output }).launch;
    expect(argv[argv.indexOf('--json-schema') + 1]).toBe(JSON.stringify(schema));
    expect(openAgent('claude').launch.argv).not.toContain('--json-schema');
    const result = { type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: 's' };
    const ends = (more: object): unknown[] =>
      handedIn(play(openAgent('claude', { output }).session, bytes({ ...result, ...more })));
    expect(ends({ structured_output: { ok: true } })).toEqual([{ ok: true }]);
    expect(ends({})).toEqual([]);
    const captured = fixture('claude-2.1.197', 'structured-output.jsonl');
    expect(handedIn(play(openAgent('claude', { output }).session, captured))).toHaveLength(1);
  });
});

describe('codex', () => {
  test('its client holds the answer to the schema: a file for exec, a part of each turn for the server', () => {
    const { argv, files } = openAgent('codex', { output, given: { mode: 'exec' } }).launch;
    const path = argv[argv.indexOf('--output-schema') + 1];
    expect(files?.map((file) => [file.path, file.text])).toEqual([[path, JSON.stringify(schema)]]);
    expect(basename(path ?? '')).toBe('output-schema.json');
    const message = { key: 'k', text: 'go' };
    expect(startTurn('t', message, output).params).toMatchObject({ outputSchema: schema });
    expect(startTurn('t', message, undefined).params).not.toHaveProperty('outputSchema');
  });
});
