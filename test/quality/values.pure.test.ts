import { describe, expect, test } from 'vitest';
import { valueIn, valueOf } from '../../src/quality/answer.ts';
import { type Validator, compileSchema } from '../../src/quality/schema.ts';
import { MAX_VALUE_BYTES, Submissions } from '../../src/quality/submissions.ts';

const validator = (schema: Record<string, unknown>, limitMs?: number): Validator => {
  const compiled = compileSchema(schema, limitMs);
  if (compiled.type === 'bad') throw new Error(JSON.stringify(compiled.mistakes));
  return compiled.check;
};
const mistakes = (schema: Record<string, unknown>) => {
  const compiled = compileSchema(schema);
  return compiled.type === 'bad' ? compiled.mistakes : [];
};
const fenced = (body: string, label = 'json'): string => `\`\`\`${label}\n${body}\n\`\`\`\n`;

describe('the last words of an agent', () => {
  test.each<[string, string, unknown]>([
    ['JSON alone', ' {"a":1}\n', { a: 1 }],
    ['any JSON alone', '[1,2]', [1, 2]],
    ['one fenced object', `Done.\n\n${fenced('{"a":1}')}\nThat is all.`, { a: 1 }],
    ['a fence without a name', fenced('{"a":1}', ''), { a: 1 }],
    ['tildes, and a longer fence around a shorter one', '~~~~\n{"a":"~~~"}\n~~~~', { a: '~~~' }],
    ['lines of Windows', 'x\r\n```json\r\n{"a":1}\r\n```\r\n', { a: 1 }],
    ['one object among code', `${fenced('ls -l', 'sh')}${fenced('{"a":1}')}${fenced('[1]')}`, { a: 1 }],
    ['a fence that is never closed', '```json\n{"a":1}', { a: 1 }],
  ])('%s', (_, text, value) => {
    expect(valueIn(text)).toEqual({ type: 'value', value });
  });

  test.each<[string, string, object]>([
    ['prose', 'I did {what} I could', { type: 'none' }],
    ['nothing', '', { type: 'none' }],
    ['two objects', fenced('{"a":1}') + fenced('{"a":2}'), { type: 'ambiguous', candidates: 2 }],
    ['cut', '{"a":1', { type: 'broken' }],
    ['a block that says it is JSON', fenced('{a:1}'), { type: 'broken' }],
    ['another language', fenced('{a:1}', 'js'), { type: 'none' }],
  ])('%s holds no value', (_, text, answered) => {
    expect(valueIn(text)).toEqual(answered);
  });

  test('those of a command are JSON, and nothing else is looked for', () => {
    expect(valueOf('1\n')).toEqual({ type: 'value', value: 1 });
    expect(valueOf(fenced('{"a":1}'))).toEqual({ type: 'broken' });
    expect(valueOf(' \n')).toEqual({ type: 'none' });
  });

  test('many fences that lead nowhere cost no more than their length', () => {
    const began = performance.now();
    valueIn('```\n~~~~\n'.repeat(200_000));
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

describe('what is handed in', () => {
  const schema = { type: 'object', properties: { ok: { const: true } }, required: ['ok'] };

  test('the last that fits counts, whatever comes after it', () => {
    const submissions = new Submissions(validator(schema));
    expect(submissions.finding()).toEqual({ type: 'missing' });
    submissions.add({ ok: 1 });
    expect(submissions.finding()).toEqual({ type: 'invalid', problems: [{ path: '/ok', message: 'must be true' }] });
    submissions.add({ ok: true, n: 1 });
    submissions.add({ ok: true, n: 2 });
    submissions.add('no');
    expect(submissions.finding()).toEqual({ type: 'valid' });
    expect(submissions.kept).toBe('{"ok":true,"n":2}');
  });

  test('what is too large is not kept, and what is nested too deep ends nothing', () => {
    const submissions = new Submissions(validator({}));
    submissions.add('x'.repeat(MAX_VALUE_BYTES));
    expect(submissions.finding().type).toBe('invalid');
    expect(submissions.kept).toBeNull();
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i += 1) deep = [deep];
    const recursive = new Submissions(validator({ $defs: { a: { items: { $ref: '#/$defs/a' } } }, $ref: '#/$defs/a' }));
    recursive.add(deep);
    expect(recursive.finding().type).toBe('invalid');
  });
});

describe('problems', () => {
  test('name the field, the rule, and the condition under which it holds', () => {
    const check = validator({
      type: 'object',
      properties: { a: {}, b: {}, kind: { enum: ['x', 'y'] } },
      if: { properties: { a: { const: 1 } }, required: ['a'] },
      // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema calls it so
      then: { required: ['b'] },
      else: { $ref: '#/$defs/other' },
      $defs: { other: { required: ['c'] } },
      additionalProperties: false,
    });
    expect(check({ a: 1 })).toEqual([
      {
        path: '',
        message:
          'must have required property \'b\', because it meets the condition {"properties":{"a":{"const":1}},"required":["a"]}',
      },
    ]);
    expect(check({ a: 1, b: 1, 'x/y~': 2, kind: 'z' })).toEqual([
      { path: '/x~1y~0', message: 'must not be there' },
      { path: '/kind', message: 'must be one of ["x","y"]' },
    ]);
    expect(check({})[0]?.message).toContain("required property 'c'");
  });

  test('of a large value that is wrong all over are not all gathered', () => {
    const submissions = new Submissions(validator({ items: { type: 'string', enum: ['a', 'b'] } }));
    const before = process.memoryUsage().rss;
    submissions.read(`[${'1,'.repeat(1_900_000)}1]`, true);
    expect((process.memoryUsage().rss - before) / 1024 ** 2).toBeLessThan(250);
    const [problem] = (submissions.finding() as { problems: object[] }).problems;
    expect(problem).toMatchObject({ path: '/0' });
  });

  test.each<[string, Record<string, unknown>, unknown]>([
    ['a pattern that goes back and forth', { pattern: '^(a+)+$' }, `${'a'.repeat(60)}!`],
    ['many objects, each held against each', { uniqueItems: true }, Array.from({ length: 100_000 }, (_, a) => ({ a }))],
  ])(
    '%s: what takes too long to be checked does not fit, and the next value is checked as ever',
    (_, schema, value) => {
      const check = validator(schema);
      const began = performance.now();
      expect(check(value)).toEqual([{ path: '', message: 'takes more than 2 s to be checked' }]);
      expect(performance.now() - began).toBeLessThan(6_000);
      expect(check('aaa')).toEqual([]);
    },
  );

  test('are few and short', () => {
    const check = validator({ items: { type: 'integer' } });
    expect(check(Array.from({ length: 50 }, () => 'no'))).toHaveLength(8);
    const long = 'n'.repeat(5_000);
    const [problem] = validator({ additionalProperties: false })({ [long]: 1 });
    expect(problem?.path.length).toBeLessThanOrEqual(300);
  });
});

describe('schemas', () => {
  test('what looks like a reference where values stand is a value', () => {
    const schema = { properties: { a: { const: { $ref: 'x.json' } }, b: { enum: [{ $ref: 'y.json' }] } } };
    expect(mistakes(schema)).toEqual([]);
    expect(validator(schema)({ a: { $ref: 'x.json' }, b: { $ref: 'y.json' } })).toEqual([]);
  });

  test('a property may be called const, and a reference out of it is still none', () => {
    expect(mistakes({ properties: { const: { $ref: 'x.json' } } })).toHaveLength(1);
  });

  test('both drafts, formats, references inside', () => {
    expect(validator({ format: 'date' })('2026-13-01')).not.toEqual([]);
    expect(validator({ $defs: { n: { type: 'integer' } }, items: { $ref: '#/$defs/n' } })([1, 'a'])).toHaveLength(1);
    const seven = { $schema: 'http://json-schema.org/draft-07/schema#', definitions: { n: { type: 'integer' } } };
    expect(validator({ ...seven, items: [{ $ref: '#/definitions/n' }] })(['a'])).toHaveLength(1);
    expect(
      validator({ $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'null' }] })([1]),
    ).toHaveLength(1);
  });

  test.each<[string, Record<string, unknown>, (string | number)[], RegExp]>([
    ['a keyword nobody knows', { type: 'object', requried: ['a'] }, [], /unknown keyword.*requried/],
    ['a rule of the wrong type', { properties: { a: { type: 'nubmer' } } }, ['properties', 'a', 'type'], /./],
    ['a format nobody knows', { format: 'colour' }, [], /unknown format/],
    [
      'a reference out of it',
      { items: [{ $ref: 'https://example.org/x.json' }] },
      ['items', 0, '$ref'],
      /nothing is looked up/,
    ],
    ['a reference to nothing', { $ref: '#/$defs/x' }, [], /can't resolve/],
    ['another draft', { $schema: 'http://json-schema.org/draft-04/schema#' }, ['$schema'], /2020-12/],
    ['a bad pattern', { pattern: '(' }, [], /./],
  ])('%s is a mistake at its place', (_, schema, path, message) => {
    const [first] = mistakes(schema);
    expect(first?.message).toMatch(message);
    expect(first?.path).toEqual(path);
  });

  test('are bounded', () => {
    let deep: Record<string, unknown> = {};
    for (let i = 0; i < 40; i += 1) deep = { not: deep };
    expect(mistakes(deep)[0]?.message).toContain('levels');
    expect(mistakes({ enum: ['x'.repeat(70_000)] })[0]?.message).toContain('bytes');
  });
});
