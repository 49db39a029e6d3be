import { and, createMachine, not, or, setup } from 'xstate';
import { describe, expect, test } from 'vitest';
import { chartOf, statesOf, type Chart } from '../../tools/chart/chart.ts';
import { configJson } from '../../tools/chart/config.ts';
import { labelText } from '../../tools/chart/content.ts';
import { attempt, loops, machines, regions } from './samples.ts';

const all = Object.entries(machines);

function labels(chart: Chart, source: string): string[] {
  return chart.transitions
    .filter((each) => each.source === source)
    .map((each) => `${labelText(each)} -> ${each.targets.join(', ')}`);
}

describe('chartOf', () => {
  test('reads states in definition order with kind, initial and history', () => {
    const states = statesOf(chartOf(regions)).map(({ id, kind, initial, history }) => [id, kind, initial ?? history]);
    expect(states.slice(0, 5)).toEqual([
      ['regions', 'parallel', undefined],
      ['regions.power', 'compound', 'regions.power.on'],
      ['regions.power.on', 'atomic', undefined],
      ['regions.power.off', 'atomic', undefined],
      ['regions.work', 'compound', 'regions.work.idle'],
    ]);
    expect(states).toContainEqual(['regions.work.busy.hist', 'history', 'deep']);
    expect(states).toContainEqual(['regions.work.busy.finished', 'final', undefined]);
  });

  test('calls XState’s own events by short names', () => {
    const chart = chartOf(attempt);
    expect(labels(chart, 'attempt')).toContain('error: child / raiseCause -> attempt.terminating');
    expect(labels(chart, 'attempt.running')).toContain('after timeLimit / raiseTimeLimit -> attempt.terminating');
    expect(labels(chart, 'attempt.terminating')).toContain(
      'done: termination / keepProof, recordClosed -> attempt.closed',
    );
    expect(labels(chartOf(regions), 'regions.work.busy')).toEqual(['done -> regions.work.idle']);
    expect(labels(chartOf(regions), 'regions.work.busy.flushing')).toEqual([
      'after 250 ms -> regions.work.busy.finished',
    ]);
    expect(labels(chartOf(regions), 'regions.work.busy.hist')).toEqual(['default -> regions.work.busy.reading']);
  });

  test('writes composed guards as expressions and parameterised names by type', () => {
    expect(labels(chartOf(loops), 'loops.outer.first')).toEqual([
      'poke / count -> loops.outer.first',
      'inner / count, log -> ',
      'outer [isReady && (!isLate || isForced)] -> loops.other.deep.deepest',
      'always [above] -> loops.outer.second',
    ]);
    const nested = setup({ guards: { a: () => true, b: () => true, c: () => true } }).createMachine({
      id: 'n',
      on: { x: { guard: not(or(['a', and(['b', 'c'])])) } },
    });
    expect(labels(chartOf(nested), 'n')).toEqual(['x [!(a || (b && c))] -> ']);
  });

  test('marks the last of several by else, and the timers of `after` are no entry action', () => {
    const chart = chartOf(attempt);
    expect(labels(chart, 'attempt.running').filter((each) => each.startsWith('child.usage'))).toEqual([
      'child.usage [isBeyondBudget] / noteUsage, raiseCause -> attempt.terminating',
      'child.usage [else] / noteUsage -> ',
    ]);
    expect(statesOf(chart).find((state) => state.id === 'attempt.finishing')?.entry).toEqual([]);
  });

  test('takes descriptions from the state or its meta', () => {
    const machine = createMachine({
      id: 'm',
      description: 'own',
      initial: 'a',
      states: { a: { meta: { description: 'meta' } } },
    });
    expect(statesOf(chartOf(machine)).map((state) => state.description)).toEqual(['own', 'meta']);
  });
});

describe('configJson', () => {
  test.each(all)('%s makes the same chart again', (_name, machine) => {
    const again = createMachine(JSON.parse(configJson(machine)) as Parameters<typeof createMachine>[0]);
    expect(chartOf(again)).toEqual(chartOf(machine));
  });

  test('keeps parameters and marks functions that compute data', () => {
    const machine = createMachine({ id: 'm', context: () => ({ a: 1 }), entry: { type: 'log', params: { n: 3 } } });
    expect(JSON.parse(configJson(machine))).toEqual({
      id: 'm',
      context: { $computed: true },
      entry: { type: 'log', params: { n: 3 } },
    });
  });

  test.each<[string, object]>([
    ['m.states.a.entry', { initial: 'a', states: { a: { entry: () => {} } } }],
    ['m.on.x[1].actions[0]', { on: { x: [{ guard: 'g' }, { actions: [() => {}] }] } }],
    ['m.on.x.guard', { on: { x: { guard: () => true } } }],
    ['m.on.x.guard[1]', { on: { x: { guard: and(['a', () => true]) } } }],
    ['m.invoke.src', { invoke: { src: createMachine({}) } }],
    ['m.context.at', { context: { at: new Date(0) } }],
  ])('names the place of what cannot be written: %s', (place, config) => {
    const machine = createMachine(Object.assign({ id: 'm' }, config));
    expect(() => configJson(machine)).toThrow(`${place} `);
  });
});
