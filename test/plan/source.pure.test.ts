import { describe, expect, test } from 'vitest';
import { brief, errorsOf, parse, planFrom } from './support.ts';

const ok = 'version: 1\nsteps: [{ id: a, run: ls }]\n';

describe('YAML', () => {
  test.each<[string, string, string]>([
    ['a second document', `${ok}---\nname: b\n`, '3:1  syntax'],
    ['an unknown tag', `name: !!js/function "x"\n${ok}`, '1:7  syntax'],
    ['an older YAML', `%YAML 1.1\n---\n${ok}`, '1:1  syntax'],
    ['a key that is a list', `? [a]\n: 1\n${ok}`, '1:3  syntax'],
    ['tabs', 'version: 1\nsteps:\n\t- id: a\n', '3:1  syntax'],
    ['an alias of nothing', `name: *x\n${ok}`, '1:7  syntax'],
    ['merge keys', `<<: { name: x }\n${ok}`, '1:1 ["<<"] unknown-field'],
  ])('%s is refused', (_, text, expected) => {
    expect(brief(parse(text))).toEqual([expected]);
  });

  test('aliases that multiply are refused', () => {
    const lines = ['a: &a [x,x,x,x,x,x,x,x,x]'];
    for (const [of, by] of ['ab', 'bc', 'cd', 'de'] as Iterable<string>) {
      lines.push(`${by}: &${by} [${Array.from({ length: 9 }, () => `*${of}`).join(',')}]`);
    }
    expect(errorsOf(parse(lines.join('\n')))[0]?.code).toBe('syntax');
  });

  test.each<[string, number]>([
    ['[', 20_000],
    ['{"a":', 5_000],
    ['- ', 5_000],
    ['? ', 5_000],
  ])('%j, %i times, ends in an error, not in a crash', (part, times) => {
    const [error] = errorsOf(parse(part.repeat(times)));
    expect(error?.code).toBe('syntax');
    expect(error?.message).toContain('nested');
  });

  test('yes and on are texts', () => {
    expect(planFrom(parse(`labels: { a: yes, b: on }\n${ok}`)).labels).toEqual({ a: 'yes', b: 'on' });
  });

  test('many keys take time in proportion', () => {
    const text = Array.from({ length: 20_000 }, (_, n) => `k${n}: 1`).join('\n');
    const loaded = parse(`${text}\nk0: 2\n`);
    expect(brief(loaded)).toEqual(['20001:1  duplicate-key']);
    expect(errorsOf(loaded)[0]?.message).toContain('"k0"');
  });

  test('CRLF and a byte order mark do no harm', () => {
    expect(brief(parse(`\uFEFF${ok}nmae: x\n`.replaceAll('\n', '\r\n')))).toEqual(['3:1 nmae unknown-field']);
  });
});

describe('JSON', () => {
  test.each<[string, string]>([
    ['{"version":1,\n "steps":[{"id":"a","run":"ls"},]}', '2:33'],
    ['{"version":1,\n "steps":[],}', '2:13'],
    ["{\n'version': 1}", '2:1'],
    ['{"version": 1 // no\n}', '1:15'],
    ['{"version": 01}', '1:14'],
    ['{"version" 1}', '1:12'],
    ['{"name": "a\nb"}', '1:12'],
    ['{"name": "\\q"}', '1:11'],
    ['{"a": 1', '1:8'],
    ['{"a": "x', '1:9'],
    ['[1}', '1:3'],
    ['{} {}', '1:4'],
    ['{"a": tru}', '1:7'],
    ['{"a": [,1]}', '1:8'],
    ['', '1:1'],
  ])('%j is refused at %s', (text, place) => {
    expect(brief(parse(text, 'plan.json'))).toEqual([`${place}  syntax`]);
  });

  test('a duplicate key', () => {
    expect(brief(parse('{"version":1,\n"version":1,"steps":[]}', 'p.JSON'))).toEqual(['2:1  duplicate-key']);
  });

  test('mistakes have places too', () => {
    expect(brief(parse('{"version":1,\n\t"steps":[{"id":"a","run":"ls","needs":["b"]}]}', 'p.json'))).toEqual([
      '2:41 steps[0].needs[0] unknown-step',
    ]);
  });
});
