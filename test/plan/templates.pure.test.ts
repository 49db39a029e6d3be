import { describe, expect, test } from 'vitest';
import { compileTemplate, renderStep, type Scope } from '../../src/plan/index.ts';
import { parse, planFrom } from './support.ts';

const scope: Scope = {
  steps: {
    a: { output: 'one' },
    'my-step': { output: 2 },
    'a.b': { output: { list: ['x', 'y'], flag: true, none: null, text: 't' } },
    evil: { output: '{{ steps.a.output }}{% raw %}{% if x %}' },
    many: { output: ['p', 'q'] },
    rows: { output: [{ n: 1 }, { n: 2 }] },
    constructor: { output: 'mine' },
    size: { output: 'large' },
    first: { output: 'front' },
    empty: { output: [] },
    big: { output: 'x'.repeat(1024 * 1024) },
  },
};

function compiled(text: string): Extract<ReturnType<typeof compileTemplate>, { type: 'ok' }> {
  const result = compileTemplate(text);
  if (result.type === 'invalid') throw new Error(result.message);
  return result;
}

const render = (text: string) => compiled(text).render(scope);

describe('renders', () => {
  test.each([
    ['plain } text { with %} signs', 'plain } text { with %} signs'],
    ['{{ steps.a.output }}', 'one'],
    ['-{{- steps.a.output -}} -', '-one-'],
    ['{{ steps.my-step.output }}', '2'],
    ["{{ steps['a.b'].output.text }}", 't'],
    ["{{ steps['a.b'].output.list | join: '+' }}", 'x+y'],
    ["{{ steps['a.b'].output | json }}", '{"list":["x","y"],"flag":true,"none":null,"text":"t"}'],
    ["{{ steps['a.b'].output.list[1] }}", 'y'],
    ["{{ steps['a.b'].output.list.size }}", '2'],
    ["{{ steps['a.b'].output.flag }}", 'true'],
    ["[{{ steps['a.b'].output.none }}]", '[]'],
    ["{{ steps['a.b'].output.other | default: 'd' }}", 'd'],
    ['{{ steps.constructor.output }} {{ steps.size.output }} {{ steps.first.output }}', 'mine large front'],
    ['{% raw %}{{ steps.a.output }}{% endraw %}', '{{ steps.a.output }}'],
    ['{{ steps.a.output.size }}', '3'],
    ['{{ steps.rows.output | where: "n", 2 | json }}', '[{"n":2}]'],
    ['{{ steps.rows.output | map: "n" | join: "," }}', '1,2'],
    ['{{ "literal" | upcase }}', 'LITERAL'],
    ["{{ steps.a.output | append: steps['a.b'].output.text }}", 'onet'],
  ])('%s', (text, expected) => {
    expect(render(text)).toEqual({ type: 'ok', text: expected });
  });

  test('values are inserted as they are, never parsed', () => {
    expect(render('{{ steps.evil.output }}')).toEqual({ type: 'ok', text: '{{ steps.a.output }}{% raw %}{% if x %}' });
    expect(render('{{ steps.evil.output | append: "" }}')).toMatchObject({ text: expect.stringContaining('{% if') });
  });

  test('the same twice', () => {
    const template = compiled('{{ steps.a.output }}');
    expect(template.render(scope)).toEqual(template.render(scope));
  });
});

describe('fails, and says where but not with what', () => {
  test.each([
    ['{{ steps.b.output }}', 'not there: steps.b.output'],
    ["{{ steps['a.b'].output.other }}", "not there: steps['a.b'].output.other"],
    ['{{ steps.a.output.x }}', 'not there'],
    ['{{ steps.a.output.constructor }}', 'not there'],
    ["{{ steps['a.b'].output.__proto__ }}", 'not there'],
    ["{{ steps['a.b'].output.toString }}", 'not there'],
    ['{{ steps.__proto__.output }}', 'not there'],
    ['{{ steps.many.output }}', '| json or | join'],
    ['{{ steps.many.output | reverse }}', '| json or | join'],
    ["{{ steps['a.b'].output }}", '| json'],
    ['{{ steps.empty.output | first }}', 'gives nothing'],
    ['{{ (1..100000000) | join }}', 'could not be evaluated'],
    ["{{ steps.big.output | replace: 'x', steps.big.output }}", 'could not be evaluated'],
    ['{{ steps.big.output }}'.repeat(17), 'grew beyond'],
  ])('%s', (text, expected) => {
    const rendered = render(text);
    expect(rendered).toEqual({ type: 'failed', message: expect.stringContaining(expected) });
  });

  test('no value and nothing of the text around is in the message', () => {
    const secret = { steps: { a: { output: { key: 'SENTINEL-1' } } } };
    for (const text of ['SENTINEL-2 {{ steps.a.output }}', 'SENTINEL-2\n{{ steps.a.output[steps.a.output.key] }}']) {
      const rendered = compiled(text).render(secret);
      expect(rendered.type).toBe('failed');
      expect(JSON.stringify(rendered)).not.toContain('SENTINEL');
    }
  });
});

describe('is refused', () => {
  test.each([
    '{% if true %}x{% endif %}', '{% assign x = 1 %}', '{% include "x" %}', '{% render "x" %}', '{% layout "x" %}',
    '{% comment %}x{% endcomment %}', '{% constructor %}', '{% # x %}', '{% liquid %}', '{{', '{{ }}', '{% raw %}x',
    '{{ x }}', '{{ steps }}', '{{ steps | json }}', '{{ steps.a }}', '{{ steps[0].output }}', '{{ steps.a.b.output }}',
    '{{ steps.a.output "x" }}', '{{ steps.a.output steps.b.output }}', '{{ steps.a.output == 1 }}', '{{ __proto__ }}',
    "{{ steps[steps.a.output].output }}", '{{ steps.a.output | nope }}', '{{ steps.a.output | constructor }}',
    '{{ steps.a.output | where_exp: "x", "x" }}', '{{ steps.a.output | sample }}', '{{ steps.a.output | raw }}',
    '{{ "x" | append: y }}', '{{ steps.a.output | where: steps.b.output, 1 }}', '{{ steps.a.output | find }}',
  ])('%s', (text) => {
    expect(compileTemplate(text)).toEqual({ type: 'invalid', message: expect.any(String) });
  }); // prettier-ignore
});

describe('references', () => {
  test('are found wherever they stand, each once', () => {
    const text = `{{ steps.a.output }} {{ steps['a'].output.x | append: steps.my-step.output }} {{ steps.b.output[steps['c.d'].output] }} {% raw %}{{ steps.z.output }}{% endraw %} {{ steps.g.outputs | json }}`;
    expect(compiled(text).references.map((reference) => reference.text)).toEqual([
      'steps.a.output',
      'steps.my-step.output',
      'steps.b.output',
      "steps['c.d'].output",
      'steps.g.outputs',
    ]);
  });
});

describe('renderStep', () => {
  const text = `version: 1
steps:
  - { id: a, run: ls }
  - { id: b, agent: pi, task: "Do {{ steps.a.output }}", env: { A: "{{ steps.a.output | upcase }}" } }
  - { id: c, run: [echo, "{{ steps.a.output }}", "{{ steps.b.output.x }}"] }
  - { id: d, run: [echo, "{{ steps.a.output }}"], template: false }
`;
  const { steps } = planFrom(parse(text));
  const outputs: Scope = { steps: { a: { output: 'one' }, b: { output: 'two' } } };
  const rendered = (index: number) => {
    const step = steps[index];
    if (step === undefined) throw new Error('no step');
    return renderStep(step, outputs);
  };

  test('task and env', () => {
    expect(rendered(1)).toEqual({ type: 'ok', step: { task: 'Do one', run: null, env: { A: 'ONE' } } });
  });
  test('the field that fails is named', () => {
    expect(rendered(2)).toEqual({ type: 'failed', field: 'run[2]', message: expect.stringContaining('not there') });
  });
  test('template: false changes nothing', () => {
    expect(rendered(3)).toEqual({ type: 'ok', step: { task: null, run: ['echo', '{{ steps.a.output }}'], env: {} } });
  });
});
