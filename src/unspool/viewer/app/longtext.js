// A text of any length: its beginning at once, the rest in pieces when it is asked for.

import { el, fill } from "./el.js";
import { grouped } from "./format.js";
import { highlighted } from "./highlight.js";
import { ask, path, trouble } from "./source.js";

/** @typedef {{ text: string, size?: number, next?: number, name?: string }} Long */

/**
 * @param {string} run
 * @param {Long} long
 * @param {{ kind?: string, label: string, code?: boolean }} look
 */
export function longText(run, long, look) {
  const body = el("pre", { class: `text ${look.kind ?? ""}`, tabindex: "0", role: "group", "aria-label": look.label });
  body.append(look.code ? highlighted(long.text) : long.text);
  if (long.size === undefined) return body;
  const box = el("div", { class: "long" }, body);
  const more = el("div", { class: "more" });
  let at = long.next ?? 0; // as the server counts, which is not how JavaScript does
  const told = () => {
    const left = /** @type {number} */ (long.size) - at;
    if (left <= 0) return more.remove();
    fill(more, el("button", { type: "button", on: { click: next } }, `Show more: ${grouped(left)} characters are left`));
  };
  const next = async () => {
    try {
      const piece = await ask(`runs/${path(run)}/text/${long.name}?from=${at}`);
      body.append(piece.text);
      at = piece.text ? piece.next : Infinity;
      told();
    } catch (error) {
      fill(more, trouble(error));
    }
  };
  told();
  box.append(more);
  return box;
}
