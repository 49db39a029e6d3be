import { writeSync } from 'node:fs';
import type { Run } from '../../index.ts';
import type { Out } from '../out.ts';
import { type BlockLine, block } from './block.ts';
import type { View } from './view.ts';

/** Between two looks: five redraws a second at most, and none when nothing has changed. */
const LOOK_MS = 200;

const ESC = '\u001B[';
const HIDE_CURSOR = `${ESC}?25l`;
const SHOW_CURSOR = `${ESC}?25h`;
// A line that a terminal finds wider than we did must not become two: the next redraw would miss its place.
const NO_WRAP = `${ESC}?7l`;
const WRAP = `${ESC}?7h`;
const ERASE_BELOW = `${ESC}0J`;
const COLOURS: Record<BlockLine['colour'], string> = {
  none: '',
  dim: `${ESC}2m`,
  green: `${ESC}32m`,
  red: `${ESC}31m`,
  yellow: `${ESC}33m`,
  cyan: `${ESC}36m`,
};

/** A small block on the terminal that is drawn over itself. Leaves the cursor as it was, also when the process exits. */
export function liveView(run: Pick<Run, 'status'>, out: Out): View {
  let drawn = 0;
  let last = '';
  const draw = (): void => {
    const lines = block(run.status(), { columns: out.columns, rows: out.rows, now: Date.now() });
    const text = lines.map(painted).join('\n');
    if (text === last) return;
    out.put(`${back(drawn)}${NO_WRAP}${text}${WRAP}\n`);
    drawn = lines.length;
    last = text;
  };
  process.on('exit', restore);
  out.put(HIDE_CURSOR);
  const timer = setInterval(draw, LOOK_MS);
  draw();
  return {
    close() {
      clearInterval(timer);
      // The summary says it all.
      out.put(`${back(drawn)}${SHOW_CURSOR}`);
      process.off('exit', restore);
      return Promise.resolve();
    },
  };
}

/** The last chance to give the terminal back as it was: the process exits in the middle of a run. */
function restore(): void {
  try {
    writeSync(1, `${WRAP}${SHOW_CURSOR}`);
  } catch {
    // The terminal has gone.
  }
}

/** To the beginning of the block, which is erased. */
function back(lines: number): string {
  return `${lines === 0 ? '\r' : `${ESC}${lines}F`}${ERASE_BELOW}`;
}

function painted({ mark, colour, text }: BlockLine): string {
  return colour === 'none' ? `${mark} ${text}` : `${COLOURS[colour]}${mark}${ESC}0m ${text}`;
}
