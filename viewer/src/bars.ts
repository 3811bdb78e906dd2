// How the bars of the timeline are drawn.

import type { Colours } from "./ink";
import type { Bar, Lane } from "./lanes";

type Pen = CanvasRenderingContext2D;

export interface View {
  first: number; // the time at the left edge
  place: (time: number) => number;
  wide: number; // where the right edge is
  y: number; // and the lane
  chosen: Bar | null;
}

/**
 * Of a lane what is in sight; of bars that fall on the same pixels and look alike, the first: there may be
 * thousands for each.
 */
export function drawLane(pen: Pen, look: Colours, lane: Lane, view: View): void {
  const { bars, height } = lane;
  let full = -Infinity;
  let state = "";
  for (let at = firstThat(bars.length, (each) => bars[each].to >= view.first); at < bars.length; at++) {
    const bar = bars[at];
    const [start, end] = [view.place(bar.from), view.place(bar.to)];
    if (start > view.wide) return;
    const isChosen = bar.name === view.chosen?.name;
    if (end <= full && bar.state === state && !isChosen) continue;
    const size = Math.max(2, end - start - (bar.kind === "call" ? 0.5 : 1));
    drawBar(pen, look, bar, { start, size, y: view.y, height, isChosen });
    full = start + size;
    state = bar.state;
  }
}

interface Area {
  start: number;
  size: number;
  y: number;
  height: number;
  isChosen: boolean;
}

function drawBar(pen: Pen, look: Colours, bar: Bar, { start, size, y, height, isChosen }: Area): void {
  const top = y + (bar.kind === "call" ? 1 : 3);
  const tall = height - 2 * (top - y);
  const failed = /^(failed|refused|error)/.test(bar.state);
  const colour = failed ? look.bad : bar.state === "going on" ? look.live : bar.state === "no reply" ? look.dim : look[bar.kind];
  pen.fillStyle = pen.strokeStyle = colour;
  if (bar.state === "cached") {
    pen.lineWidth = 1;
    pen.strokeRect(start + 0.5, top + 0.5, Math.max(1, size - 1), tall - 1);
  } else pen.fillRect(start, top, size, tall);
  if (failed && size > 3) {
    pen.fillStyle = look.paper; // a notch: not by colour alone
    pen.fillRect(start + size / 2 - 0.75, top, 1.5, tall);
  }
  if (isChosen) {
    pen.strokeStyle = look.ink;
    pen.lineWidth = 2;
    pen.strokeRect(start - 1, top - 1, size + 2, tall + 2);
  }
}

/** The least number below a count of which something is true that stays true from there on. */
export function firstThat(count: number, is: (at: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (is(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
