import type { Arrow, Box, Picture, Rect } from './layout.ts';
import { placeBox, placeLabel } from './place.ts';

/** Widest picture in px. */
export const MAX_WIDTH = 1_600;

/**
 * What is wrong with a picture, in words; empty for a good one. Looked for: too wide; text out of its box; boxes,
 * labels or texts over each other; an arrow through a label, a state or a text that is not its own.
 */
export function faults(picture: Picture): string[] {
  const labels = picture.arrows.flatMap((arrow) => (arrow.label === null ? [] : [{ arrow, rect: arrow.label }]));
  const boxes = new Map(picture.boxes.map((box) => [box.id, box]));
  return [
    ...(picture.width >= MAX_WIDTH ? [`${picture.width} px wide`] : []),
    ...picture.boxes.flatMap(textFaults),
    ...labels.flatMap(({ arrow, rect }) =>
      placeLabel(rect).lines.some((line) => !contains(rect, line)) ? [`text leaves the label of ${arrow.id}`] : [],
    ),
    ...pairs(picture.boxes).flatMap(([a, b]) =>
      overlap(a, b) && !isAround(a, b, boxes) && !isAround(b, a, boxes) ? [`${a.id} covers ${b.id}`] : [],
    ),
    ...pairs(labels).flatMap(([a, b]) =>
      overlap(a.rect, b.rect) ? [`labels of ${a.arrow.id} and ${b.arrow.id} cover each other`] : [],
    ),
    ...labels.flatMap(({ arrow, rect }) =>
      picture.boxes
        .filter((box) => collides(rect, arrow, box, boxes))
        .map((box) => `label of ${arrow.id} on ${box.id}`),
    ),
    ...picture.arrows.flatMap((arrow) => arrowFaults(arrow, picture)),
  ];
}

function textFaults(box: Box): string[] {
  const placed = placeBox(box);
  if (placed === null || box.kind === 'history') return [];
  const all = [placed.head, ...placed.tags, ...placed.body];
  return [
    ...(all.some((each) => !contains(box, each)) ? [`text leaves ${box.id}`] : []),
    ...(pairs(all).some(([a, b]) => overlap(a, b)) ? [`texts in ${box.id} cover each other`] : []),
  ];
}

/** A label may stand free, or inside a box that its arrow starts in, ends in or belongs to. */
function collides(label: Rect, arrow: Arrow, box: Box, boxes: ReadonlyMap<string, Box>): boolean {
  if (!overlap(label, box)) return false;
  if (!box.hasChildren || !contains(box, label)) return true;
  if (textsOf(box).some((text) => overlap(text, label))) return true;
  return ![arrow.source, arrow.target].some((id) => {
    const end = boxes.get(id);
    return end !== undefined && (end === box || isAround(box, end, boxes));
  });
}

function arrowFaults(arrow: Arrow, { boxes, arrows }: Picture): string[] {
  const segments = arrow.points.slice(1).map((to, index) => span(arrow.points[index] ?? to, to));
  const crosses = (rect: Rect): boolean => segments.some((segment) => overlap(segment, rect));
  return [
    ...arrows
      .filter((other) => other !== arrow && other.label !== null && crosses(other.label))
      .map((other) => `${arrow.id} crosses the label of ${other.id}`),
    ...boxes.filter((box) => !box.hasChildren && crosses(box)).map((box) => `${arrow.id} crosses ${box.id}`),
    ...boxes
      .filter((box) => box.hasChildren && textsOf(box).some(crosses))
      .map((box) => `${arrow.id} crosses the text of ${box.id}`),
  ];
}

function textsOf(box: Box): Rect[] {
  const placed = placeBox(box);
  return placed === null ? [] : [placed.head, ...placed.tags, ...placed.body];
}

function isAround(outer: Box, inner: Box, boxes: ReadonlyMap<string, Box>): boolean {
  const parent = inner.parent === null ? undefined : boxes.get(inner.parent);
  return parent !== undefined && (parent === outer || isAround(outer, parent, boxes));
}

function pairs<T>(items: readonly T[]): [T, T][] {
  return items.flatMap((a, index) => items.slice(index + 1).map((b): [T, T] => [a, b]));
}

/** A segment as a rectangle without area: it overlaps what it runs through, not what it ends at. */
function span(a: { x: number; y: number }, b: { x: number; y: number }): Rect {
  return { x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) };
}

/** Sharing an edge, or the pixel that rounding takes, is no overlap. */
function overlap(a: Rect, b: Rect): boolean {
  return a.x + a.width > b.x + 1 && b.x + b.width > a.x + 1 && a.y + a.height > b.y + 1 && b.y + b.height > a.y + 1;
}

function contains(outer: Rect, inner: Rect): boolean {
  return (
    inner.x >= outer.x &&
    inner.y >= outer.y &&
    inner.x + inner.width <= outer.x + outer.width &&
    inner.y + inner.height <= outer.y + outer.height
  );
}
