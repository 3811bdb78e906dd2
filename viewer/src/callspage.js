// All sub-calls of a run: to search, to filter, to put in order.

import { callDetail, callRows } from "./callrows.js";
import { el, fill, say } from "./el.js";
import { grouped } from "./format.js";
import { toTurn } from "./route.js";
import { trouble } from "./source.js";

/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("./run.js").Told} Told */

/** @type {Record<string, (call: Told) => boolean>} */
const STATES = {
  all: () => true,
  failed: (call) => call.state.startsWith("failed"),
  "refused for a limit": (call) => call.state === "refused",
  "from the cache": (call) => call.state === "cached",
  "sent again": (call) => call.retries > 0,
  "without a reply": (call) => call.state === "going on" || call.state === "no reply",
};

/** @type {Record<string, (a: Told, b: Told) => number>} */
const ORDERS = {
  "as they were asked": (a, b) => a.id - b.id,
  "longest first": (a, b) => (b.seconds ?? 0) - (a.seconds ?? 0),
  "dearest first": (a, b) => (b.cost ?? 0) - (a.cost ?? 0),
  "most tokens first": (a, b) => (b.read ?? 0) + (b.written ?? 0) - (a.read ?? 0) - (a.written ?? 0),
};

/** @param {string} label @param {string[]} names @param {() => void} changed */
export function choice(label, names, changed) {
  const select = el(
    "select",
    { "aria-label": label, on: { change: changed } },
    names.map((name) => el("option", { value: name }, name)),
  );
  return /** @type {HTMLSelectElement} */ (select);
}

/** @param {string} label @param {() => void} changed */
export function searchField(label, changed) {
  const field = el(
    "input",
    {
      type: "search",
      placeholder: label,
      "aria-label": label,
      "data-search": true,
      spellcheck: "false",
      on: { input: changed },
    },
  );
  return /** @type {HTMLInputElement} */ (field);
}

/** @param {Run} run */
export function callsPage(run) {
  const list = callRows(run, "Sub-calls of the run", { places: true });
  list.box.classList.add("tall");
  const search = searchField("Search in how prompts and replies begin", () => show());
  const state = choice("Which sub-calls", Object.keys(STATES), () => show());
  const order = choice("In which order", Object.keys(ORDERS), () => show());
  const told = el("p", { class: "dim", role: "status" });
  const box = el(
    "section",
    { class: "fills", "aria-label": "Sub-calls" },
    el("h2", { tabindex: "-1" }, "Sub-calls"),
    el("div", { class: "tools" }, search, state, order, told),
    list.box,
  );
  let shown = "";
  const show = () => {
    const sign = JSON.stringify([run.version, run.whole, search.value, state.value, order.value]);
    if (sign === shown) return;
    shown = sign;
    const wanted = search.value.trim().toLowerCase();
    const has = (/** @type {Told} */ call) => `${call.id} ${call.prompt} ${call.reply} ${call.model}`.toLowerCase().includes(wanted);
    const found = [...run.calls.values()].filter((call) => STATES[state.value](call) && (!wanted || has(call)));
    list.set(found.sort(ORDERS[order.value]));
    const more = run.whole ? "" : ", more are on their way";
    say(told, `${grouped(found.length)} of ${grouped(run.calls.size)}${more}`);
  };
  run.want();
  show();
  run.watch(show, box);
  return box;
}

/** One sub-call alone. @param {Run} run @param {number} id */
export function callPage(run, id) {
  run.want();
  const way = el("p", { class: "tools" });
  const box = el(
    "section",
    { "aria-label": `Sub-call ${id}` },
    el("h2", { tabindex: "-1" }, `Sub-call ${id}`),
    way,
    callDetail(run, id, { linked: false, heading: "h3" }),
  );
  const show = () => {
    const call = run.calls.get(id);
    if (call) fill(
      way,
      el(
        "a",
        { href: toTurn(run.id, call.node, call.turn) },
        `turn ${call.turn} of node ${call.node}, cell ${call.cell}`,
      ),
    );
    else if (run.error) fill(way, trouble(run.error));
  };
  show();
  run.watch(show, box);
  return box;
}
