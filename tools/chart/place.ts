import { headHeight, PAD, tagSize } from './graph.ts';
import type { Box, Label, Rect } from './layout.ts';
import { lineHeight, lineWidth, SIZE, type Line } from './text.ts';

/** Where each line of text stands. The drawing and the checks of the drawing both read it. */

export interface PlacedLine extends Rect {
  line: Line;
}

export interface PlacedTag extends Rect {
  text: PlacedLine;
}

export interface PlacedBox {
  head: PlacedLine;
  tags: PlacedTag[];
  body: PlacedLine[];
  /** Height of the line between head and body; null where there is no body. */
  rule: number | null;
}

export interface PlacedLabel {
  lines: PlacedLine[];
  /** Heights of the lines between transitions. */
  rules: number[];
}

export function placeBox(box: Box): PlacedBox | null {
  const { text } = box;
  if (text === null) return null;
  const head = headHeight(text);
  const hasBody = text.body.length > 0;
  return {
    head: placeLine(text.head, box.left + PAD.x, box.y + PAD.y),
    tags: placeTags(box, text.tags, head),
    body: placeLines(text.body, box.left + PAD.x, box.y + head + PAD.rule),
    rule: hasBody ? box.y + head : null,
  };
}

function placeTags(box: Box, tags: readonly string[], head: number): PlacedTag[] {
  let right = box.right - PAD.x;
  return tags.toReversed().map((tag) => {
    const { width, height } = tagSize(tag);
    const place = { x: right - width, y: box.y + (head - height) / 2, width, height };
    right = place.x - PAD.tag;
    const line: Line = { spans: [{ text: tag, tone: 'muted' }], size: SIZE.small };
    return { ...place, text: placeLine(line, place.x + 6, place.y + (height - lineHeight(line)) / 2) };
  });
}

export function placeLabel(label: Label): PlacedLabel {
  const placed: PlacedLabel = { lines: [], rules: [] };
  let y = label.y + PAD.label / 2;
  for (const [index, block] of label.blocks.entries()) {
    if (index > 0) {
      placed.rules.push(y + PAD.between / 2);
      y += PAD.between;
    }
    placed.lines.push(...placeLines(block, label.x + PAD.label, y));
    y += block.reduce((sum, line) => sum + lineHeight(line), 0);
  }
  return placed;
}

function placeLines(lines: readonly Line[], x: number, top: number): PlacedLine[] {
  let y = top;
  return lines.map((line) => {
    const placed = placeLine(line, x, y);
    y += placed.height;
    return placed;
  });
}

export function placeLine(line: Line, x: number, y: number): PlacedLine {
  return { line, x, y, width: lineWidth(line), height: lineHeight(line) };
}
