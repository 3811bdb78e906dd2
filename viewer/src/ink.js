// The colours of the timeline, as the style sheet has them, and what they stand for.

import { el } from "./el.js";

export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: of("ink"), dim: of("dim"), line: of("line"), paper: of("paper"), bad: of("bad"), live: of("live"),
    model: of("model"), cell: of("cell"), call: of("call"), font: of("sans"),
  };
}

export function legend() {
  const item = (/** @type {string} */ kind, /** @type {string} */ word) => el(
    "span",
    { class: "key" },
    el("span", { class: `swatch ${kind}`, "aria-hidden": "true" }),
    word,
  );
  return el(
    "span",
    { class: "keys" },
    item("model", "model"),
    item("cell", "code"),
    item("call", "sub-call"),
    item("hollow", "cached"),
    item("notched", "failed"),
  );
}
