// A text of any length: its beginning at once, the rest in pieces when it is asked for.

import { el, fill } from "./el.js";
import { grouped } from "./format.js";
import { highlighted } from "./highlight.js";
import { leave } from "./pieces.js";
import { ask, path, trouble } from "./source.js";

/** @typedef {{ text: string, size?: number, next?: number, name?: string }} Long */

const FIRST = 16_000; // characters that are shown at first
const NEXT = 100_000; // and at most at once after that

/**
 * @param {string} run
 * @param {Long} long
 * @param {{ kind?: string, label: string, code?: boolean }} look
 */
export function longText(run, long, look) {
  const body = el("pre", { class: `text ${look.kind ?? ""}`, tabindex: "0", role: "group", "aria-label": look.label });
  let [text, rest] = parted(long.text, FIRST); // of what is here: an exported page holds texts whole
  body.append(look.code ? highlighted(text) : text);
  let at = long.next ?? Infinity; // of what is not: as the server counts, which is not how JavaScript does
  const size = long.size ?? 0;
  if (!rest && at >= size) return body;
  const box = el("div", { class: "long" }, body);
  const more = el("div", { class: "more" });
  const button = el("button", { type: "button", on: { click: () => next() } });
  const told = () => {
    const left = rest.length + Math.max(0, size - at);
    if (left <= 0) {
      leave(button, body);
      return more.remove();
    }
    button.textContent = `Show more: ${grouped(left)} characters are left`;
    if (button.parentNode !== more) fill(more, button);
  };
  let waits = false; // a second press, while a piece is on its way, would show it twice
  const next = async () => {
    if (waits) return;
    waits = true;
    try {
      if (!rest) {
        const piece = await ask(`runs/${path(run)}/text/${long.name}?from=${at}`);
        rest = piece.text;
        at = piece.text ? piece.next : Infinity;
      }
      [text, rest] = parted(rest, NEXT);
      body.append(text);
      told();
    } catch (error) {
      fill(more, trouble(error));
    } finally {
      waits = false;
    }
  };
  told();
  box.append(more);
  return box;
}

/** The beginning of a text and the rest, no character cut in two. @param {string} text @param {number} size @returns {[string, string]} */
function parted(text, size) {
  if (text.length <= size) return [text, ""];
  const at = size - Number(/[\ud800-\udbff]/.test(text[size - 1]));
  return [text.slice(0, at), text.slice(at)];
}
