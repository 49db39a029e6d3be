import { beforeAll, describe, expect, test } from 'vitest';
import { chartOf, statesOf } from '../../tools/chart/chart.ts';
import { isIgnored, labelText } from '../../tools/chart/content.ts';
import { faults, MAX_WIDTH } from '../../tools/chart/faults.ts';
import { pictureOf } from '../../tools/chart/picture.ts';
import type { Picture } from '../../tools/chart/layout.ts';
import { renderAll } from '../../tools/chart/render.ts';
import { drawSvg } from '../../tools/chart/svg.ts';
import { wrap } from '../../tools/chart/text.ts';
import { machines as ours } from '../../machines/index.ts';
import { machines as samples } from './samples.ts';
import { parseXml, textOf, walk, type Element } from './xml.ts';

const all = Object.entries({
  ...Object.fromEntries(Object.entries(samples).map(([name, machine]) => [`sample ${name}`, machine])),
  ...ours,
}).map(([name, machine]) => [name, chartOf(machine)] as const);

const pictures = new Map<string, Picture>();

beforeAll(async () => {
  // oxlint-disable-next-line no-await-in-loop -- layout is CPU work, side by side it is no faster
  for (const [name, chart] of all) pictures.set(name, await pictureOf(chart));
});

function picture(name: string): Picture {
  const found = pictures.get(name);
  if (found === undefined) throw new Error(`no picture of ${name}`);
  return found;
}

describe.each(all)('%s', (name, chart) => {
  test('fits a page, and nothing leaves its box or covers another', () => {
    expect(picture(name).width).toBeLessThan(MAX_WIDTH);
    expect(faults(picture(name))).toEqual([]);
  });

  test('shows every state once and every transition', () => {
    const { boxes, arrows } = picture(name);
    const states = boxes.filter((box) => box.kind !== 'initial' && box.kind !== 'any').map((box) => box.id);
    expect(states).toEqual(expect.arrayContaining(statesOf(chart).map((state) => state.id)));
    expect(states).toHaveLength(statesOf(chart).length);
    const svg = parseXml(drawSvg(picture(name), 'about'));
    const shown = textOf(svg).replaceAll(/\s/g, '');
    const labels = chart.transitions.map((each) => (isIgnored(each) ? each.event : labelText(each)));
    expect(labels.filter((label) => !shown.includes(label.replaceAll(' ', '')))).toEqual([]);
    expect(arrows.every((arrow) => arrow.points.length >= 2)).toBe(true);
  });

  test('in the drawing itself, text at 0.62 em stays inside the first rectangle of its group', () => {
    const svg = parseXml(drawSvg(picture(name), 'about'));
    const groups = walk(svg).filter(
      (each) => each.name === 'g' && each.children.some((child) => child.name === 'text'),
    );
    expect(groups.length).toBeGreaterThan(statesOf(chart).length / 2);
    expect(groups.flatMap(outside)).toEqual([]);
  });
});

function outside(group: Element): string[] {
  const frame = group.children.find((child) => child.name === 'rect' || child.name === 'circle');
  const [left, right] = sides(frame?.attributes ?? {});
  return group.children
    .filter((child) => child.name === 'text')
    .flatMap((text) => {
      const width = textOf(text).length * Number(text.attributes['font-size']) * 0.62;
      const x = Number(text.attributes['x']) - (text.attributes['text-anchor'] === 'middle' ? width / 2 : 0);
      return x >= left && x + width <= right ? [] : [textOf(text)];
    });
}

function sides(attributes: Element['attributes']): [number, number] {
  const number = (key: string): number => Number(attributes[key]);
  if ('r' in attributes) return [number('cx') - number('r'), number('cx') + number('r')];
  return [number('x'), number('x') + number('width')];
}

test('the search for faults finds what is wrong', () => {
  const broken = structuredClone(picture('sample attempt'));
  const [first, second] = broken.arrows.filter((arrow) => arrow.label !== null);
  const box = broken.boxes.find((each) => each.id === 'attempt.draining');
  if (first?.label == null || second?.label == null || box === undefined) throw new Error('the sample has changed');
  Object.assign(second.label, { x: first.label.x + 5, y: first.label.y + 5 });
  first.label.width -= 40;
  box.width -= 60;
  box.right -= 60;
  const found = faults({ ...broken, width: MAX_WIDTH });
  expect(found).toContain(`${MAX_WIDTH} px wide`);
  expect(found).toContain(`labels of ${first.id} and ${second.id} cover each other`);
  expect(found).toContain(`text leaves the label of ${first.id}`);
  expect(found).toContain('text leaves attempt.draining');
});

test('the search for faults sees an arrow through a label, a state and a text', () => {
  const broken = structuredClone(picture('sample attempt'));
  const [arrow] = broken.arrows;
  const label = broken.arrows[4]?.label;
  const leaf = broken.boxes.find((each) => each.id === 'attempt.closed');
  if (arrow === undefined || label == null || leaf === undefined) throw new Error('the sample has changed');
  const y = label.y + label.height / 2;
  const end = leaf.y + leaf.height / 2;
  arrow.points = [
    { x: 30, y: 20 },
    { x: 30, y },
    { x: broken.width, y },
    { x: broken.width, y: end },
    { x: 0, y: end },
  ];
  const found = faults(broken).join('\n');
  expect(found).toContain(`${arrow.id} crosses the label of`);
  expect(found).toContain(`${arrow.id} crosses attempt.closed`);
  expect(found).toContain(`${arrow.id} crosses the text of attempt`);
});

test('two exports are the same byte for byte, whatever the order of the machines', async () => {
  const once = await renderAll(samples);
  const twice = await renderAll(Object.fromEntries(Object.entries(samples).toReversed()));
  expect([...twice]).toEqual([...once]);
  expect([...once.keys()].filter((name) => name.startsWith('loops.'))).toEqual([
    'loops.json',
    'loops.mmd',
    'loops.scxml',
    'loops.svg',
  ]);
});

test('wrap breaks at spaces, then inside words, and never exceeds the columns', () => {
  const text = 'one two aVeryLongIdentifier.with.dots andAnotherOneThatIsLong xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx';
  const lines = wrap([{ text, tone: 'event' }], 16, 12).map((line) => line.spans.map((span) => span.text).join(''));
  expect(lines.filter((line) => line.length > 16)).toEqual([]);
  expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
  expect(lines[0]).toBe('one two');
});
