// The parts of the input as strips: three lines each, of what was printed, given to sub-calls, read by children.

import { firstThat } from "./bars.js";
import { el } from "./el.js";
import { grouped, percent, shortName } from "./format.js";
import { rows } from "./rows.js";
import { isUnread } from "./stretches.js";

/** @typedef {import("./stretches.js").Stretch} Stretch */
/** @typedef {{ number: number, size: number, name: string | null }} Part */
/** @typedef {(part: number, start: number, end: number) => void} Go */

const HEIGHT = 17;
const ROWS = 24; // of a single text

/**
 * One text is folded into rows like lines of a page; of several, each is a row.
 * @param {Part[]} parts @param {Stretch[][]} stretches @param {Go} go
 */
export function strip(parts, stretches, go) {
  const [only] = parts;
  const lines = parts.length > 1 ? 1 : Math.max(1, Math.min(ROWS, Math.ceil(only.size / 400)));
  /** @typedef {{ part: Part, from: number, to: number, key: string }} Line */
  /** @type {Line[]} */
  const all = parts.flatMap(
    (part) => Array.from(
      { length: lines },
      (_, at) => (
        {
          part,
          from: Math.floor((part.size * at) / lines),
          to: Math.floor((part.size * (at + 1)) / lines),
          key: `${part.number}-${at}`,
        }
      ),
    ),
  );
  /** @type {{ part: number, start: number, end: number } | null} */
  let marked = null;

  const list = rows({
    height: HEIGHT + 5,
    label: "The input, from its beginning to its end",
    class: parts.length > 1 ? "strips named" : "strips",
    key: (/** @type {Line} */ line) => line.key,
    row: (line) => {
      const canvas = /** @type {HTMLCanvasElement} */ (
        el(
          "canvas",
          {
            role: "img",
            "aria-label": said(line, stretches[line.part.number]),
            on: { click: (/** @type {MouseEvent} */ event) => clicked(event, line) },
          },
        )
      );
      requestAnimationFrame(() => draw(canvas, line, stretches[line.part.number], marked));
      return el(
        "div",
        { class: "strip" },
        parts.length > 1 ? partLabel(line.part) : el("span", { class: "label" }, grouped(line.from)),
        canvas,
      );
    },
  });

  /** @param {MouseEvent} event @param {Line} line */
  function clicked(event, line) {
    const area = /** @type {HTMLElement} */ (event.target).getBoundingClientRect();
    const at = line.from + Math.floor(((event.clientX - area.left) / area.width) * (line.to - line.from));
    const found = stretches[line.part.number].find((each) => each.start <= at && each.end > at);
    if (found) go(line.part.number, found.start, found.end);
  }

  list.set(all);
  list.box.style.height = `${Math.min(all.length, ROWS) * (HEIGHT + 5) + 4}px`;
  let wide = 0;
  new ResizeObserver(() => {
    if (wide && wide !== list.box.clientWidth) list.again();
    wide = list.box.clientWidth;
  }).observe(list.box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => list.again());
  return {
    box: list.box,
    mark(/** @type {number} */ part, /** @type {number} */ start, /** @type {number} */ end) {
      marked = { part, start, end };
      list.again();
      const line = all.findLast((each) => each.part.number === part && each.from <= start);
      if (line) list.show(line.key);
    },
  };
}

/** @param {Part} part */
function partLabel({ name, number }) {
  const most = matchMedia("(max-width: 899px)").matches ? 12 : 24;
  return el("span", { class: "label", title: name }, shortName(name ?? String(number), most));
}

/** A row in words. @param {{ from: number, to: number }} line @param {Stretch[]} stretches */
function said(line, stretches) {
  let read = 0;
  for (let at = firstThat(stretches.length, (place) => stretches[place].end > line.from); at < stretches.length; at++) {
    const each = stretches[at];
    if (each.start >= line.to) break;
    if (!isUnread(each)) read += Math.max(0, Math.min(each.end, line.to) - Math.max(each.start, line.from));
  }
  return `${grouped(line.from)} to ${grouped(line.to)}: ${percent(read / Math.max(1, line.to - line.from))} was read`;
}

/**
 * @param {HTMLCanvasElement} canvas @param {{ part: Part, from: number, to: number }} line @param {Stretch[]} stretches
 * @param {{ part: number, start: number, end: number } | null} marked
 */
function draw(canvas, line, stretches, marked) {
  const ratio = devicePixelRatio || 1;
  const wide = canvas.clientWidth;
  canvas.width = Math.round(wide * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const pen = canvas.getContext("2d");
  if (!pen || !wide) return;
  pen.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  const [unread, soft] = [of("unread"), of("soft")];
  const bands = [of("print"), of("call"), of("child")];
  const x = (/** @type {number} */ at) => ((at - line.from) / Math.max(1, line.to - line.from)) * wide;
  pen.fillStyle = soft;
  pen.fillRect(0, 0, wide, HEIGHT);
  let [full, look] = [-1, ""];
  for (let each = firstThat(stretches.length, (at) => stretches[at].end > line.from); each < stretches.length && stretches[each].start < line.to; each++) {
    const stretch = stretches[each];
    const [left, right] = [x(Math.max(stretch.start, line.from)), x(Math.min(stretch.end, line.to))];
    const size = Math.max(1, right - left);
    const alike = `${stretch.prints} ${stretch.calls} ${stretch.children}`;
    if (right <= full && alike === look) continue; // of thousands that fall on a pixel, one of each kind
    [full, look] = [left + size, alike];
    if (isUnread(stretch)) {
      pen.fillStyle = unread;
      for (let at = Math.ceil(left / 5) * 5; at < left + size; at += 5) pen.fillRect(at, HEIGHT / 2 - 1, 2, 2);
      continue;
    }
    [stretch.prints, stretch.calls, stretch.children].forEach((times, band) => {
      if (!times) return;
      pen.globalAlpha = Math.min(1, 0.5 + 0.25 * (times - 1));
      pen.fillStyle = bands[band];
      pen.fillRect(left, 1 + band * 5, size, 5);
    });
    pen.globalAlpha = 1;
  }
  if (marked && marked.part === line.part.number && marked.start < line.to && marked.end > line.from) {
    pen.strokeStyle = of("ink");
    pen.lineWidth = 1.5;
    const [left, right] = [x(Math.max(marked.start, line.from)), x(Math.min(marked.end, line.to))];
    pen.strokeRect(left + 0.75, 0.75, Math.max(3, right - left - 1.5), HEIGHT - 1.5);
  }
}
