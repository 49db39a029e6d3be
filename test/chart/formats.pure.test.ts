import { createMachine } from 'xstate';
import { describe, expect, test } from 'vitest';
import { chartOf, statesOf } from '../../tools/chart/chart.ts';
import { mermaidOf } from '../../tools/chart/mermaid.ts';
import { scxmlOf } from '../../tools/chart/scxml.ts';
import { attempt, loops, machines, regions } from './samples.ts';
import { parseXml, walk } from './xml.ts';

const charts = Object.entries(machines).map(([name, machine]) => [name, chartOf(machine)] as const);

describe('mermaid', () => {
  test('regions in a box of their own, arrows in the smallest box around their ends', () => {
    const text = mermaidOf(chartOf(regions));
    expect(text).toMatch(/^---\ntitle: "regions"\n---\nstateDiagram-v2\n {2}state "regions" as regions \{\n/);
    expect(text.match(/^ {4}--$/gm)).toHaveLength(2);
    expect(text).toContain('      regions_work_paused --> regions_work_busy_hist : power.back [wasBusy]\n');
    expect(text).toContain('        regions_work_busy_finished --> [*]\n');
    expect(text).toContain('regions_door_opened : ignores knock\n');
  });

  test('what Mermaid would lose stands in a note', () => {
    expect(mermaidOf(chartOf(regions))).toContain('      work.reset, to regions.work.idle\n');
    expect(mermaidOf(chartOf(loops))).toContain('entry / count\n');
  });

  test('nothing in a label can end it or start something else', () => {
    const machine = createMachine({
      id: 'odd',
      initial: 'a b',
      states: { 'a b': { description: 'x; y "z" {q} <b> # 3::4', on: { 'e;f': 'a-b' } }, 'a-b': {}, a_b: {} },
    });
    const text = mermaidOf(chartOf(machine));
    expect(text).toContain('odd_a_b : x#59; y #34;z#34; #123;q#125; #60;b#62; #35; 3#58;#58;4\n');
    expect(text).toContain('odd_a_b --> odd_a_b_2 : e#59;f\n');
    expect(text).toContain('state "a_b" as odd_a_b_3\n');
  });

  test.each(charts)('%s: every state is declared once and every brace is closed', (_name, chart) => {
    const text = mermaidOf(chart);
    const declared = [...text.matchAll(/^\s*state "[^"]*" as (\w+)/gm)].map((match) => match[1]);
    expect(new Set(declared).size).toBe(declared.length);
    expect(declared).toHaveLength(statesOf(chart).length - (chart.root.kind === 'parallel' ? 0 : 1));
    expect(text.match(/\{$/gm)?.length ?? 0).toBe(text.match(/^\s*\}$/gm)?.length ?? 0);
  });
});

describe('scxml', () => {
  test.each(charts)('%s: well-formed, every state once, every target there', (_name, chart) => {
    const elements = walk(parseXml(scxmlOf(chart)));
    const ids = elements
      .filter(({ name }) => ['state', 'parallel', 'final', 'history'].includes(name))
      .map(({ attributes }) => attributes['id']);
    expect(ids).toEqual(statesOf(chart).map((state) => state.id));
    const transitions = elements.filter(({ name }) => name === 'transition');
    expect(transitions).toHaveLength(chart.transitions.length);
    const targets = transitions.flatMap(({ attributes }) => attributes['target']?.split(' ') ?? []);
    expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
  });

  test('speaks SCXML: event names, delays, conditions, internal transitions', () => {
    const text = scxmlOf(chartOf(attempt));
    expect(text).toContain('<transition event="done.invoke.termination" target="attempt.closed">');
    expect(text).toContain(
      '<send event="after.timeLimit.attempt.running" id="after.timeLimit.attempt.running" delayexpr="timeLimit"/>',
    );
    expect(text).toContain('<cancel sendid="after.timeLimit.attempt.running"/>');
    expect(text).toContain('cond="isFinalEnd &amp;&amp; exitIsAsked"');
    const others = scxmlOf(chartOf(regions));
    expect(others).toContain('<transition event="work.reset" target="regions.work.idle" type="internal"/>');
    expect(others).toContain('<transition event="power.cut" target="regions.work.paused"/>');
    expect(others).toContain('<history id="regions.work.busy.hist" type="deep">');
    expect(others).toContain('delay="250ms"');
    expect(others).toContain('<transition event="done.state.regions.work.busy" target="regions.work.idle"/>');
  });
});
