import { ANY_TEXT, DOT } from './graph.ts';
import type { Arrow, Box, Label, Picture, Point } from './layout.ts';
import { placeBox, placeLabel, placeLine, type PlacedLine, type PlacedTag } from './place.ts';
import { baseline, lineHeight, SIZE, type Line, type Tone } from './text.ts';
import { element, escapeXml } from './xml.ts';

const FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace';

/** One light sheet of its own, so the picture reads the same on a white page and on a dark one. */
const COLOR = {
  sheet: '#ffffff',
  frame: '#d0d7de',
  region: '#f6f8fa',
  box: '#eef6ff',
  border: '#7aa7d6',
  rule: '#c6dcf3',
  end: '#eefaf0',
  endBorder: '#5aa469',
  endRule: '#bfe3c6',
  group: '#8c959f',
  line: '#6e7781',
  ink: '#1f2328',
  tag: '#e7ebf0',
} as const;

const TONES: Readonly<Record<Tone, string>> = {
  title: '#1f2328',
  name: '#1f2328',
  event: '#0a3069',
  guard: '#8a4600',
  action: '#3d5a45',
  muted: '#59636e',
};

/** Draws a picture. Each state is `<g id="state.<id>">`, each arrow has its transitions as tooltip. */
export function drawSvg(picture: Picture, about: string): string {
  const { width, height } = picture;
  const groups = picture.boxes.filter((box) => box.hasChildren);
  const leaves = picture.boxes.filter((box) => !box.hasChildren);
  const labels = picture.arrows.flatMap((arrow) => (arrow.label === null ? [] : [drawLabel(arrow.label, arrow)]));
  const content = [
    element('title', {}, escapeXml(about)),
    marker(),
    element('rect', { width, height, rx: 10, fill: COLOR.sheet }),
    ...groups.map(drawBox),
    ...picture.arrows.map(drawArrow),
    ...leaves.map(drawBox),
    ...labels,
  ];
  return `${element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'font-family': FONT,
      'font-size': SIZE.body,
    },
    `\n${content.join('\n')}\n`,
  )}\n`;
}

function marker(): string {
  const tip = element('path', { d: 'M0,0 L9,4 L0,8 L2,4 Z', fill: COLOR.line });
  const shape = { id: 'tip', markerWidth: 9, markerHeight: 8, refX: 8, refY: 4, orient: 'auto' };
  return element('defs', {}, element('marker', { ...shape, markerUnits: 'userSpaceOnUse' }, tip));
}

function drawBox(box: Box): string {
  switch (box.kind) {
    case 'initial':
      return element('circle', { cx: box.x + DOT / 2, cy: box.y + DOT / 2, r: DOT / 2, fill: COLOR.ink });
    case 'any':
      return drawAny(box);
    case 'history':
      return group(box, [drawHistory(box)]);
    case 'atomic':
    case 'compound':
    case 'parallel':
    case 'final':
      return group(box, [...outline(box), ...drawText(box)]);
  }
}

function group(box: Box, content: readonly string[]): string {
  const title = element('title', {}, escapeXml(`${box.id} (${box.kind})`));
  return element('g', { id: `state.${box.id}` }, [title, ...content].join(''));
}

function outline(box: Box): string[] {
  const place = { x: box.x, y: box.y, width: box.width, height: box.height };
  if (box.parent === null) return [element('rect', { ...place, rx: 10, fill: COLOR.sheet, stroke: COLOR.frame })];
  if (box.hasChildren) {
    const dash = box.kind === 'parallel' ? '6 4' : undefined;
    return [element('rect', { ...place, rx: 10, fill: COLOR.region, stroke: COLOR.group, 'stroke-dasharray': dash })];
  }
  if (box.kind === 'final') {
    const inner = { x: box.x + 3, y: box.y + 3, width: box.width - 6, height: box.height - 6 };
    return [
      element('rect', { ...place, rx: 9, fill: COLOR.sheet, stroke: COLOR.endBorder }),
      element('rect', { ...inner, rx: 6, fill: COLOR.end, stroke: COLOR.endBorder }),
    ];
  }
  return [element('rect', { ...place, rx: 8, fill: COLOR.box, stroke: COLOR.border })];
}

function drawText(box: Box): string[] {
  const placed = placeBox(box);
  if (placed === null) return [];
  const parts = [drawLine(placed.head, true), ...placed.tags.flatMap(drawTag)];
  if (placed.rule !== null) {
    const rule = { x1: box.x, x2: box.x + box.width, y1: round(placed.rule), y2: round(placed.rule) };
    parts.push(element('line', { ...rule, stroke: ruleColor(box) }), ...placed.body.map((line) => drawLine(line)));
  }
  return parts;
}

function ruleColor(box: Box): string {
  if (box.hasChildren) return COLOR.frame;
  return box.kind === 'final' ? COLOR.endRule : COLOR.rule;
}

function drawTag(tag: PlacedTag): string[] {
  const place = { x: round(tag.x), y: round(tag.y), width: round(tag.width), height: tag.height };
  return [element('rect', { ...place, rx: 8, fill: COLOR.tag }), drawLine(tag.text)];
}

function drawHistory(box: Box): string {
  const [cx, cy] = [box.x + box.width / 2, box.y + box.height / 2];
  const circle = element('circle', { cx, cy, r: box.width / 2, fill: COLOR.sheet, stroke: COLOR.group });
  const at = { x: cx, y: cy + 4.5, 'text-anchor': 'middle', 'font-size': SIZE.name, fill: COLOR.ink };
  return circle + element('text', at, box.history === 'deep' ? 'H*' : 'H');
}

function drawAny(box: Box): string {
  const place = { x: box.x, y: box.y, width: box.width, height: box.height, rx: box.height / 2 };
  const pill = element('rect', { ...place, fill: COLOR.sheet, stroke: COLOR.group, 'stroke-dasharray': '3 3' });
  const line: Line = { spans: [{ text: ANY_TEXT, tone: 'muted' }], size: SIZE.small };
  return pill + drawLine(placeLine(line, box.x + 9, box.y + (box.height - lineHeight(line)) / 2));
}

function drawArrow(arrow: Arrow): string {
  const path = { d: pathOf(arrow.points), fill: 'none', stroke: COLOR.line, 'stroke-width': 1.3 };
  return element(
    'g',
    {},
    element('title', {}, escapeXml(arrow.title.join('\n'))) + element('path', { ...path, 'marker-end': 'url(#tip)' }),
  );
}

/** A path along the points with rounded corners. */
function pathOf(points: readonly Point[]): string {
  const [start, ...rest] = points;
  if (start === undefined) return '';
  const parts = [`M${start.x},${start.y}`];
  let from = start;
  for (const [index, corner] of rest.entries()) {
    const next = rest[index + 1];
    if (next === undefined) parts.push(`L${corner.x},${corner.y}`);
    else {
      const enter = towards(corner, from);
      const leave = towards(corner, next);
      parts.push(`L${enter.x},${enter.y}`, `Q${corner.x},${corner.y} ${leave.x},${leave.y}`);
    }
    from = corner;
  }
  return parts.join(' ');
}

/** The point at most 7 px, and at most half the way, from `corner` to `to`. */
function towards(corner: Point, to: Point): Point {
  const length = Math.hypot(to.x - corner.x, to.y - corner.y);
  const share = length === 0 ? 0 : Math.min(7, length / 2) / length;
  return { x: round(corner.x + (to.x - corner.x) * share), y: round(corner.y + (to.y - corner.y) * share) };
}

function drawLabel(label: Label, arrow: Arrow): string {
  const place = { x: label.x, y: label.y, width: label.width, height: label.height };
  const parts = [
    element('title', {}, escapeXml(arrow.title.join('\n'))),
    element('rect', { ...place, rx: 6, fill: COLOR.sheet, stroke: COLOR.frame }),
  ];
  const placed = placeLabel(label);
  const [x1, x2] = [label.x, label.x + label.width];
  const rules = placed.rules.map((y) => element('line', { x1, x2, y1: round(y), y2: round(y), stroke: COLOR.frame }));
  return element('g', {}, [...parts, ...rules, ...placed.lines.map((line) => drawLine(line))].join(''));
}

function drawLine({ line, x, y }: PlacedLine, bold = false): string {
  const spans = line.spans.map(({ text, tone }) => element('tspan', { fill: TONES[tone] }, escapeXml(text)));
  const keepsSpace = line.spans.length > 1 || line.spans.some(({ text }) => text.startsWith(' '));
  return element(
    'text',
    {
      x: round(x),
      y: round(y + baseline(line)),
      'font-size': line.size,
      'font-weight': bold ? 600 : undefined,
      'xml:space': keepsSpace ? 'preserve' : undefined,
    },
    spans.join(''),
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
