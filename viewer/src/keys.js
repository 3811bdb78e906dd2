// What the keyboard does beside what browsers do, and the page that says it.

import { el } from "./el.js";

const KEYS = [
  ["/", "search"],
  ["↑ ↓", "in the tree: the node or turn above or below, which is shown"],
  ["← →", "in the tree: shut and open; in the timeline: the bar before or after"],
  ["Enter", "in the tree: go to what is shown; in the timeline: open the bar"],
  ["p n", "previous and next turn"],
  ["t", "to the tree"],
  ["1 … 5", "overview, turns, sub-calls, timeline, input"],
  ["?", "this list"],
];

export function listenToKeys() {
  const dialog = /** @type {HTMLDialogElement} */ (
    el(
      "dialog",
      { "aria-label": "Keys" },
      el("h2", null, "Keys"),
      el("dl", { class: "pairs" }, KEYS.map(([key, what]) => [el("dt", null, el("kbd", null, key)), el("dd", null, what)])),
      el(
        "form",
        {
          method: "dialog",
          on: { submit: (/** @type {Event} */ event) => (event.preventDefault(), dialog.close()) },
        },
        el("button", null, "Close"),
      ),
    )
  );
  document.body.append(dialog);
  addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (press(event.key, dialog)) event.preventDefault();
  });
  return () => dialog.showModal();
}

/** @param {string} key @param {HTMLDialogElement} dialog */
function press(key, dialog) {
  const find = (/** @type {string} */ selector) => /** @type {HTMLElement | null} */ (document.querySelector(selector));
  if (key === "?") dialog.showModal();
  else if (key === "/") find("[data-search]")?.focus();
  else if (key === "t") find(".tree")?.focus();
  else if (key === "n") find('[data-step="next turn"]')?.click();
  else if (key === "p") find('[data-step="previous turn"]')?.click();
  else if (/^[1-5]$/.test(key)) find(`.tabs a:nth-of-type(${key})`)?.click();
  else return false;
  return true;
}
