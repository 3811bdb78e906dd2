// A long list of which only what is in sight is made. Rows are of one height; one of them may be open.

import { el } from "./el.js";

const SPARE = 8; // rows that are made above and below what is in sight

/**
 * @template T
 * @typedef {{ height: number, label: string, key: (item: T) => string, row: (item: T, place: number) => HTMLElement,
 *   open?: (item: T) => HTMLElement, drawn?: () => void, role?: string, class?: string }} Look
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
  let drawnAt = -Infinity;
  let old = false; // the rows that are made look otherwise now
  const places = new Map();

  const openAt = () => (openKey === null ? undefined : places.get(openKey));
  const openHeight = () => (panel && openAt() !== undefined ? panel.element.offsetHeight : 0);
  const top = (/** @type {number} */ place) => {
    const at = openAt();
    return place * look.height + (at !== undefined && place > at ? openHeight() : 0);
  };

  function draw() {
    waiting = false;
    const extra = openHeight(); // all that is read of the layout is read before anything is written
    const [above, high] = [box.scrollTop, box.clientHeight];
    const jumps = Math.abs(above - drawnAt) > high; // then what is in sight comes first, the spare rows a frame later
    const spare = jumps ? 0 : SPARE;
    drawnAt = above;
    const first = Math.max(0, Math.floor((above - extra) / look.height) - spare);
    const last = Math.min(items.length, Math.ceil((above + high) / look.height) + spare);
    const now = new Map();
    for (let place = first; place < last; place++) {
      const item = items[place];
      const key = look.key(item);
      const known = made.get(key);
      const same = known && !old && known.item === item && known.place === place;
      now.set(key, { item, place, element: same ? known.element : make(item, place) });
    }
    const active = document.activeElement;
    const focused = active && space.contains(active) ? [...made].find(([, each]) => each.element.contains(active))?.[0] : undefined;
    for (const [key, { element }] of made) if (now.get(key)?.element !== element) element.remove();
    made = now;
    old = false;
    space.style.height = `${items.length * look.height + extra}px`;
    inOrder(extra);
    // A row that was made anew keeps the focus of the one in whose place it is.
    if (focused !== undefined && active && !active.isConnected) {
      /** @type {HTMLElement | null | undefined} */ (made.get(focused)?.element.querySelector("button, a, input"))?.focus({ preventScroll: true });
    }
    if (jumps) soon();
  }

  /** Puts the rows, and what is open below one, where they stand: for who hears the page or goes by the keyboard, too.
   * @param {number} extra */
  function inOrder(extra) {
    const at = openAt();
    drawOpen();
    /** @type {ChildNode | null} */
    let next = space.firstChild;
    const put = (/** @type {HTMLElement} */ element, /** @type {number} */ y) => {
      element.style.transform = `translateY(${y}px)`;
      if (element === next) next = next.nextSibling;
      else space.insertBefore(element, next);
    };
    let waits = panel !== null && at !== undefined;
    const putOpen = () => {
      if (waits && panel && at !== undefined) put(panel.element, (at + 1) * look.height);
      waits = false;
    };
    for (const { place, element } of made.values()) {
      if (at !== undefined && place > at) putOpen();
      put(element, place * look.height + (at !== undefined && place > at ? extra : 0));
    }
    putOpen();
    look.drawn?.();
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
      const element = el("div", { class: "opened", role: "listitem" }, look.open(items[at]));
      panel = { key: /** @type {string} */ (openKey), element };
      grows.observe(element);
      soon();
    }
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
      old = true;
      soon();
    },
    isOpen: (/** @type {string} */ key) => openKey === key,
    /** @param {string} key */
    show(key) {
      const place = places.get(key);
      if (place === undefined) return;
      if (waiting) draw(); // else it is not yet as high as its items need
      const at = top(place);
      if (at < box.scrollTop) box.scrollTop = at;
      else if (at + look.height > box.scrollTop + box.clientHeight) box.scrollTop = at + look.height - box.clientHeight;
      draw();
    },
    /** Makes rows anew that look otherwise now. */
    again() {
      old = true;
      soon();
    },
    get items() {
      return items;
    },
  };
}
