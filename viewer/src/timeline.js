// What went on when: turns, cells and sub-calls as bars over time. Drawn on a canvas, of which a list is beside:
// the bars can be gone through with the arrow keys, and each says what it is in words.

import { drawLane, firstThat } from "./bars.js";
import { el, fill } from "./el.js";
import { count, duration, now } from "./format.js";
import { colours, legend } from "./ink.js";
import { lanes } from "./lanes.js";
import { toCall, toRun, toTurn } from "./route.js";

/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("./lanes.js").Bar} Bar */
/** @typedef {import("./lanes.js").Lane} Lane */

const AXIS = 22;
const MOST_ZOOM = 400;

/** @param {Run} run */
export function timelinePage(run) {
  const canvas = /** @type {HTMLCanvasElement} */ (
    el("canvas", { role: "img", "aria-label": "Turns, cells and sub-calls over time" })
  );
  const space = el("div", { class: "timeline-space" }, canvas);
  const scroller = el(
    "div",
    {
      class: "timeline",
      tabindex: "0",
      role: "group",
      "aria-label": "Timeline: left and right go from bar to bar, Enter opens one, plus and minus change the scale",
    },
    space,
  );
  const told = el("p", { class: "timeline-told", role: "status" }, "Point at a bar, or use the arrow keys.");
  const zoomed = (/** @type {string} */ sign, /** @type {string} */ label, /** @type {number} */ by) => el(
    "button",
    { type: "button", "aria-label": label, on: { click: () => zoom(by) } },
    sign,
  );
  const box = el(
    "section",
    { class: "fills", "aria-label": "Timeline" },
    el("h2", { tabindex: "-1" }, "Timeline"),
    el(
      "div",
      { class: "tools" },
      zoomed("+", "larger scale", 2),
      zoomed("−", "smaller scale", 0.5),
      el("button", { type: "button", on: { click: () => zoom(0) } }, "all"),
      el("a", { href: toRun(run.id, "calls") }, "the sub-calls as a list"),
      legend(),
    ),
    scroller,
    told,
  );

  /** @type {Lane[]} */
  let lines = [];
  /** @type {number[]} */
  let tops = [];
  /** @type {Bar[]} in the order of their beginnings */
  let order = [];
  let scale = 1;
  let from = 0;
  let to = 1;
  /** @type {Bar | null} */
  let chosen = null;
  let waiting = false;

  // What is asked of the layout is asked once for all bars: each time it may have to be made anew.
  let wide = 0;
  let high = 0;
  let gutter = 88;
  let width = 50;
  const measure = () => {
    [wide, high] = [scroller.clientWidth, scroller.clientHeight];
    gutter = wide < 600 ? 44 : 88;
    width = Math.max(50, (wide - gutter) * scale);
  };
  const x = (/** @type {number} */ at) => ((at - from) / (to - from)) * width;

  let shown = "";
  function show() {
    const sign = JSON.stringify([run.version, run.told?.seq, run.told?.going && now()]);
    if (sign === shown) return;
    shown = sign;
    const until = run.told?.going ? now() : run.told?.last ?? 1;
    lines = lanes(run, until);
    const all = lines.flatMap((lane) => lane.bars);
    from = run.told?.started ?? 0;
    to = Math.max(from + 1e-6, all.reduce((most, bar) => Math.max(most, bar.to), from));
    order = all.sort((a, b) => a.from - b.from);
    if (chosen) chosen = order.find((bar) => bar.name === chosen?.name) ?? null;
    let top = AXIS;
    tops = lines.map((lane) => (top += lane.height) - lane.height);
    canvas.setAttribute("aria-label", `Turns, cells and ${count(run.calls.size, "sub-call")} over time`);
    space.style.height = `${top + 12}px`;
    soon();
  }

  function soon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(draw);
  }

  function draw() {
    waiting = false;
    measure();
    const [above, before] = [scroller.scrollTop, scroller.scrollLeft];
    space.style.width = `${gutter + width}px`;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(high * ratio);
    canvas.style.width = `${wide}px`;
    canvas.style.height = `${high}px`;
    const pen = canvas.getContext("2d");
    if (!pen) return;
    pen.scale(ratio, ratio);
    const look = colours();
    pen.font = `12px ${look.font}`;
    const left = gutter - before;
    pen.save();
    pen.beginPath();
    pen.rect(gutter, 0, wide, high);
    pen.clip();
    ticks(pen, look, left);
    const first = from + ((-left - 2) / width) * (to - from); // the time at the left edge
    for (let at = firstLane(above); at < lines.length && tops[at] - above < high; at++) {
      drawLane(pen, look, lines[at], { first, place: (time) => left + x(time), wide, y: tops[at] - above, chosen });
    }
    pen.restore();
    labels(pen, look, above);
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, wide, AXIS - 2);
    axis(pen, look, left);
  }

  const firstLane = (/** @type {number} */ above) => firstThat(lines.length, (at) => tops[at] + lines[at].height >= above);

  /** @param {CanvasRenderingContext2D} pen @param {any} look @param {number} above */
  function labels(pen, look, above) {
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, gutter - 4, high);
    pen.fillStyle = look.dim;
    for (let at = firstLane(above); at < lines.length && tops[at] - above < high; at++) {
      if (lines[at].label) pen.fillText(
        lines[at].label.slice(-12),
        4 + Math.min(4, lines[at].depth) * 6,
        tops[at] - above + 15,
        gutter - 12,
      );
    }
  }

  const steps = () => {
    const about = ((to - from) * 110) / width;
    const power = 10 ** Math.floor(Math.log10(about));
    const step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= about) ?? about;
    const first = Math.max(0, Math.floor((scroller.scrollLeft / width) * ((to - from) / step)));
    const last = Math.min(Math.floor((to - from) / step), first + Math.ceil(wide / 60));
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => (first + at) * step);
  };

  /** @param {CanvasRenderingContext2D} pen @param {any} look @param {number} left */
  function ticks(pen, look, left) {
    pen.fillStyle = look.line;
    for (const at of steps()) if (left + x(from + at) < wide) pen.fillRect(
      Math.round(left + x(from + at)),
      AXIS - 2,
      1,
      high,
    );
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} look @param {number} left */
  function axis(pen, look, left) {
    pen.fillStyle = look.dim;
    for (const at of steps()) {
      const place = left + x(from + at);
      if (place >= gutter - 1 && place < wide - 20) pen.fillText(at ? duration(at) : "0", place + 3, 13);
    }
  }

  /** @param {number} by 0: all of it */
  function zoom(by) {
    measure();
    const middle = (scroller.scrollLeft + wide / 2) / (gutter + width);
    scale = by ? Math.min(MOST_ZOOM, Math.max(1, scale * by)) : 1;
    measure();
    space.style.width = `${gutter + width}px`;
    scroller.scrollLeft = middle * (gutter + width) - wide / 2;
    soon();
  }

  /** @param {Bar | null} bar @param {boolean} moves whether it is brought in sight */
  function choose(bar, moves) {
    chosen = bar;
    if (bar) {
      const state = bar.state === "ok" ? "" : `, ${bar.state}`;
      fill(
        told,
        el("a", { href: address(bar) }, bar.name.slice(0, 140)),
        el(
          "span",
          { class: "dim" },
          `  ${duration(bar.to - bar.from)}, after ${duration(bar.from - from)}${state}`,
        ),
      );
      const lane = lines.findIndex((each) => each.bars.includes(bar));
      if (moves && lane >= 0) {
        if (tops[lane] < scroller.scrollTop + AXIS) scroller.scrollTop = tops[lane] - AXIS;
        else if (tops[lane] + 30 > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = tops[lane] + 30 - scroller.clientHeight;
        const at = x(bar.from);
        if (at < scroller.scrollLeft || at > scroller.scrollLeft + wide - gutter) scroller.scrollLeft = at - 40;
      }
    }
    soon();
  }

  /** @param {Bar} bar */
  const address = (bar) => (
    bar.place.call === undefined ? toTurn(
      run.id,
      bar.place.node ?? "0",
      bar.place.turn ?? 0,
    ) : toCall(run.id, bar.place.call)
  );

  /** @param {MouseEvent} event @returns {Bar | null} */
  function under(event) {
    const area = canvas.getBoundingClientRect();
    const y = event.clientY - area.top + scroller.scrollTop;
    const at = event.clientX - area.left - gutter + scroller.scrollLeft;
    const lane = lines.findIndex((each, place) => y >= tops[place] && y < tops[place] + each.height);
    return lane < 0 ? null : lines[lane].bars.find(
      (bar) => at >= x(bar.from) - 1 && at <= Math.max(x(bar.to), x(bar.from) + 2) + 1,
    ) ?? null;
  }

  scroller.addEventListener("scroll", soon, { passive: true });
  canvas.addEventListener("mousemove", (event) => {
    const bar = under(event);
    canvas.classList.toggle("hand", bar !== null);
    if (bar && bar !== chosen) choose(bar, false);
  });
  canvas.addEventListener("click", (event) => {
    const bar = under(event);
    if (bar) location.hash = address(bar);
  });
  scroller.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const at = chosen ? order.indexOf(chosen) : -1;
    if (event.key === "ArrowRight") choose(order[Math.min(order.length - 1, at + 1)] ?? null, true);
    else if (event.key === "ArrowLeft") choose(order[Math.max(0, at - 1)] ?? null, true);
    else if (event.key === "Enter" && chosen) location.hash = address(chosen);
    else if (event.key === "+" || event.key === "=") zoom(2);
    else if (event.key === "-") zoom(0.5);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(soon).observe(scroller);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
  run.want();
  show();
  run.watch(show, box);
  return box;
}
