// How the bars of the timeline are drawn.

/** @typedef {import("./lanes.js").Bar} Bar */
/** @typedef {import("./lanes.js").Lane} Lane */

/**
 * Of a lane what is in sight; of bars that fall on the same pixels and look alike, the first: there may be
 * thousands for each.
 * @param {CanvasRenderingContext2D} pen @param {any} look @param {Lane} lane
 * @param {{ first: number, place: (time: number) => number, wide: number, y: number, chosen: Bar | null }} view
 *   the time at the left edge, where a time stands, where the right edge and the lane are
 */
export function drawLane(pen, look, lane, view) {
  const { bars, height } = lane;
  let [full, state] = [-Infinity, ""];
  for (let at = firstThat(bars.length, (each) => bars[each].to >= view.first); at < bars.length; at++) {
    const bar = bars[at];
    const [start, end] = [view.place(bar.from), view.place(bar.to)];
    if (start > view.wide) return;
    const isChosen = bar.name === view.chosen?.name;
    if (end <= full && bar.state === state && !isChosen) continue;
    const size = Math.max(2, end - start - (bar.kind === "call" ? 0.5 : 1));
    drawBar(pen, look, bar, { start, size, y: view.y, height, isChosen });
    [full, state] = [start + size, bar.state];
  }
}

/**
 * @param {CanvasRenderingContext2D} pen @param {any} look @param {Bar} bar
 * @param {{ start: number, size: number, y: number, height: number, isChosen: boolean }} area
 */
function drawBar(pen, look, bar, { start, size, y, height, isChosen }) {
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

/** The least number below a count of which something is true that stays true from there on. @param {number} count @param {(at: number) => boolean} is */
export function firstThat(count, is) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (is(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
