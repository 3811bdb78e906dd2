// What is long, in pieces: as much at once as keeps the page answering.

import { el } from "./el.js";
import { grouped } from "./format.js";

const AT_ONCE = 100; // items of a list
const FRAME = 12; // ms of work in one go

/**
 * A list of which the first are there, and more when they are asked for.
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => HTMLElement} item
 */
export function firstOf(items, item) {
  const list = el("ul", { class: "steps", tabindex: "-1" });
  const button = el("button", { type: "button", on: { click: () => more() } });
  const box = el("div", null, list);
  let at = 0;
  function more() {
    list.append(...items.slice(at, at + AT_ONCE).map(item));
    at += AT_ONCE;
    const left = items.length - at;
    if (left <= 0) return leave(button, list);
    button.textContent = `Show more: ${grouped(left)} are left`;
    if (button.parentNode !== box) box.append(button);
  }
  more();
  return box;
}

/** Takes away what was pressed; who came by the keyboard goes on at another place. @param {HTMLElement} button @param {HTMLElement} next */
export function leave(button, next) {
  const focused = document.activeElement === button;
  button.remove();
  if (focused) next.focus({ preventScroll: true });
}

/**
 * Adds what is made one by one to an element, over several frames where it takes long.
 * @param {Element} parent @param {(() => HTMLElement)[]} makers
 */
export function inPieces(parent, makers) {
  let at = 0;
  const some = () => {
    const begun = performance.now();
    while (at < makers.length && performance.now() - begun < FRAME) parent.append(makers[at++]());
    if (at < makers.length) setTimeout(() => parent.isConnected && some());
  };
  some();
}
