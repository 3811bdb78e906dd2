// A long list of which only what is in sight is made. Rows are of one height; one of them may be open.

import { el } from "./el.js";

const SPARE = 8; // rows that are made above and below what is in sight

/**
 * @template T
 * @typedef {{ height: number, label: string, key: (item: T) => string, row: (item: T, place: number) => HTMLElement,
 *   open?: (item: T) => HTMLElement, role?: string, class?: string }} Look
 */

/**
 * @template T
 * @param {Look<T>} look
 */
export function rows(look) {
  const space = el("div", { class: "space", role: "presentation" });
  const box = el(
    "div",
    { class: `rows ${look.class ?? ""}`, role: look.role ?? "list", "aria-label": look.label, tabindex: "0" },
    space,
  );
  /** @type {readonly T[]} */
  let items = [];
  /** @type {Map<string, { item: T, place: number, element: HTMLElement }>} */
  let made = new Map();
  /** @type {string | null} */
  let openKey = null;
  /** @type {{ key: string, element: HTMLElement } | null} */
  let panel = null;
  let waiting = false;
  const places = new Map();

  const openAt = () => (openKey === null ? undefined : places.get(openKey));
  const openHeight = () => (panel && openAt() !== undefined ? panel.element.offsetHeight : 0);
  const top = (/** @type {number} */ place) => {
    const at = openAt();
    return place * look.height + (at !== undefined && place > at ? openHeight() : 0);
  };

  function draw() {
    waiting = false;
    const extra = openHeight();
    space.style.height = `${items.length * look.height + extra}px`;
    const first = Math.max(0, Math.floor((box.scrollTop - extra) / look.height) - SPARE);
    const last = Math.min(items.length, Math.ceil((box.scrollTop + box.clientHeight) / look.height) + SPARE);
    const now = new Map();
    for (let place = first; place < last; place++) {
      const item = items[place];
      const key = look.key(item);
      const known = made.get(key);
      const element = known && known.item === item && known.place === place ? known.element : make(item, place);
      if (known && known.element !== element) known.element.replaceWith(element);
      else if (!known) space.append(element);
      element.style.transform = `translateY(${top(place)}px)`;
      now.set(key, { item, place, element });
    }
    for (const [key, { element }] of made) if (!now.has(key)) element.remove();
    made = now;
    drawOpen();
  }

  function make(/** @type {T} */ item, /** @type {number} */ place) {
    const element = look.row(item, place);
    element.classList.add("row");
    element.style.height = `${look.height}px`;
    if (!element.hasAttribute("role")) element.setAttribute("role", "listitem");
    element.setAttribute("aria-setsize", String(items.length));
    element.setAttribute("aria-posinset", String(place + 1));
    return element;
  }

  function drawOpen() {
    const at = openAt();
    if (at === undefined || !look.open) {
      panel?.element.remove();
      panel = null;
      return;
    }
    if (panel?.key !== openKey) {
      panel?.element.remove();
      const element = el("div", { class: "opened" }, look.open(items[at]));
      panel = { key: /** @type {string} */ (openKey), element };
      space.append(element);
      grows.observe(element);
      soon();
    }
    panel.element.style.transform = `translateY(${(at + 1) * look.height}px)`;
  }

  function soon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(draw);
  }

  const grows = new ResizeObserver(soon);
  grows.observe(box);
  box.addEventListener("scroll", soon, { passive: true });

  return {
    box,
    /** @param {readonly T[]} next */
    set(next) {
      items = next;
      places.clear();
      next.forEach((item, place) => places.set(look.key(item), place));
      soon();
    },
    /** Opens a row, or closes it. @param {string | null} key */
    toggle(key) {
      openKey = openKey === key ? null : key;
      for (const each of made.values()) each.element.remove();
      made = new Map();
      soon();
    },
    isOpen: (/** @type {string} */ key) => openKey === key,
    /** @param {string} key */
    show(key) {
      const place = places.get(key);
      if (place === undefined) return;
      const at = top(place);
      if (at < box.scrollTop) box.scrollTop = at;
      else if (at + look.height > box.scrollTop + box.clientHeight) box.scrollTop = at + look.height - box.clientHeight;
      draw();
    },
    /** Makes rows anew that look otherwise now. */
    again() {
      for (const each of made.values()) each.element.remove();
      made = new Map();
      soon();
    },
    get items() {
      return items;
    },
  };
}
