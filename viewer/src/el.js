// Elements, and lists of them that change. Text is only ever set as text: nothing here takes markup.

/** @typedef {Node | string | number | null | undefined | false | Kid[]} Kid */
/** @typedef {{ key: string, sign?: unknown, make: () => HTMLElement }} Section */

/**
 * An element. Props: `class`, `on` (handlers by event), `data-*`, `aria-*` and plain attributes; true is an
 * attribute without a value, false and null are none.
 * @param {string} tag
 * @param {Record<string, any> | null} [props]
 * @param {...Kid} kids
 * @returns {any}
 */
export function el(tag, props, ...kids) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, run] of Object.entries(value)) made.addEventListener(event, run);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  put(made, kids);
  return made;
}

/** @param {Element} parent @param {Kid[]} kids */
function put(parent, kids) {
  for (const kid of /** @type {Kid[]} */ (/** @type {unknown[]} */ (kids).flat(Infinity))) {
    if (kid === null || kid === undefined || kid === false || kid === "") continue;
    parent.append(kid instanceof Node ? kid : String(kid));
  }
}

/** Puts these in the place of all that an element holds. @param {Element} parent @param {...Kid} kids */
export function fill(parent, ...kids) {
  parent.replaceChildren();
  put(parent, kids);
}

/** @type {WeakMap<Element, Map<string, { sign: string, element: HTMLElement }>>} */
const held = new WeakMap();

/**
 * Makes a parent hold these sections in this order. One whose sign is as it was stays the element that it is,
 * so that what is open, focused or scrolled in it stays so.
 * @param {Element} parent
 * @param {(Section | null | false | undefined)[]} sections
 */
export function keyed(parent, sections) {
  const before = held.get(parent) ?? new Map();
  const now = new Map();
  /** @type {ChildNode | null} */
  let at = parent.firstChild;
  for (const section of sections) {
    if (!section) continue;
    const sign = JSON.stringify(section.sign ?? null);
    const known = before.get(section.key);
    const element = known && known.sign === sign ? known.element : section.make();
    now.set(section.key, { sign, element });
    if (element === at) at = element.nextSibling;
    else parent.insertBefore(element, at);
  }
  const kept = new Set([...now.values()].map((each) => each.element));
  for (const { element } of before.values()) if (!kept.has(element)) element.remove();
  held.set(parent, now);
}

/** Says something where screen readers listen, if it is news. @param {Element} place @param {string} text */
export function say(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

/** Text for a screen reader alone. @param {string} text */
export function unseen(text) {
  return el("span", { class: "unseen" }, text);
}
