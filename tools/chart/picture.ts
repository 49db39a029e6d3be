import type { Chart } from './chart.ts';
import { faults } from './faults.ts';
import type { Style } from './graph.ts';
import { layout, type Picture } from './layout.ts';

/** Tried in this order: tall pictures read best on a page, narrow text needs less room beside arrows. */
const STYLES: readonly Style[] = [
  { direction: 'DOWN', columns: { leaf: 34, group: 52, label: 28 } },
  { direction: 'DOWN', columns: { leaf: 28, group: 30, label: 22 } },
  { direction: 'RIGHT', columns: { leaf: 34, group: 52, label: 28 } },
  { direction: 'RIGHT', columns: { leaf: 26, group: 40, label: 20 } },
];

/** The first picture without faults, else the one with the fewest: ask `faults` before you show it. */
export async function pictureOf(chart: Chart): Promise<Picture> {
  let best: { picture: Picture; count: number } | null = null;
  for (const style of STYLES) {
    // One after the other: mostly the first will do.
    // oxlint-disable-next-line no-await-in-loop -- as above
    const picture = await layout(chart, style);
    const count = faults(picture).length;
    if (count === 0) return picture;
    if (best === null || count < best.count) best = { picture, count };
  }
  if (best === null) throw new Error('no style to lay out with');
  return best.picture;
}
