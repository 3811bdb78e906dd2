// The runs that are kept, the newest first: to search, to filter, to open, to put side by side.

import { choice, searchField } from "./callspage.js";
import { el, fill, say } from "./el.js";
import { count, duration, grouped, modelName, moment, money, now } from "./format.js";
import { mark } from "./marks.js";
import { toBeside, toRun } from "./route.js";
import { rows } from "./rows.js";
import { ask, listen, trouble } from "./source.js";

/** @typedef {Record<string, any>} Told */

const STATES = ["all", "running", "answered", "budget", "partial", "failed", "cancelled", "interrupted", "unreadable"];

export function listPage() {
  /** @type {Told[]} */
  let runs = [];
  /** @type {string[]} */
  let chosen = [];
  const search = searchField("Search in questions, models, ids", () => show());
  const state = choice("Which runs", STATES, () => show());
  const told = el("p", { class: "dim", role: "status" });
  const beside = el(
    "button",
    { type: "button", disabled: true, on: { click: () => (location.hash = toBeside(chosen[0], chosen[1])) } },
    "Side by side",
  );
  const list = rows({
    height: 54,
    label: "Runs, the newest first",
    class: "runs tall",
    key: (/** @type {Told} */ run) => run.id,
    row: (run) => runRow(run, chosen, choose),
  });
  const problem = el("div");
  const box = el(
    "main",
    { class: "fills page", id: "detail" },
    el("h1", { tabindex: "-1" }, "Runs"),
    el("div", { class: "tools" }, search, state, beside, told),
    problem,
    list.box,
  );

  /** @param {string} id @param {boolean} wanted */
  function choose(id, wanted) {
    chosen = chosen.filter((each) => each !== id);
    if (wanted) chosen = [...chosen.slice(-1), id];
    /** @type {HTMLButtonElement} */ (beside).disabled = chosen.length !== 2;
    fill(beside, chosen.length === 2 ? "Side by side" : "Side by side: choose two");
    for (const each of list.box.querySelectorAll("input[type=checkbox]")) {
      /** @type {HTMLInputElement} */ (each).checked = chosen.includes(/** @type {HTMLInputElement} */ (each).value);
    }
  }

  function show() {
    const wanted = search.value.trim().toLowerCase();
    const has = (/** @type {Told} */ run) => `${run.query} ${run.model} ${run.id}`.toLowerCase().includes(wanted);
    const found = runs.filter((run) => (state.value === "all" || run.state === state.value) && (!wanted || has(run)));
    list.set(found);
    const moving = runs.filter((run) => run.state === "running").length;
    say(told, `${grouped(found.length)} of ${count(runs.length, "run")}${moving ? `, ${grouped(moving)} going on` : ""}`);
  }

  let busy = false;
  async function refresh() {
    if (busy) return;
    busy = true;
    try {
      const known = new Map(runs.map((run) => [run.id, run]));
      const next = (await ask("runs")).runs.reverse();
      // A row that is as it was stays the element that it is.
      runs = next.map((/** @type {Told} */ run) => {
        const old = known.get(run.id);
        return old && JSON.stringify(old) === JSON.stringify(run) ? old : run;
      });
      fill(
        problem,
        runs.length ? null : el(
          "p",
          { class: "dim" },
          "There are no runs in this folder yet: unspool ask makes one.",
        ),
      );
      show();
    } catch (error) {
      fill(problem, trouble(error));
    }
    busy = false;
  }

  const stop = listen(null, refresh, () => {});
  const clock = setInterval(() => runs.some((run) => run.state === "running") && list.again(), 1000);
  choose("", false);
  refresh();
  return {
    box,
    close() {
      clearInterval(clock);
      stop();
    },
  };
}

/** @param {Told} run @param {string[]} chosen @param {(id: string, wanted: boolean) => void} choose */
function runRow(run, chosen, choose) {
  const check = el(
    "input",
    {
      type: "checkbox",
      value: run.id,
      "aria-label": `choose run ${run.id} to put it beside another`,
      on: {
        change: (/** @type {Event} */ event) => choose(
          run.id,
          /** @type {HTMLInputElement} */ (event.target).checked,
        ),
      },
    },
  );
  /** @type {HTMLInputElement} */ (check).checked = chosen.includes(run.id);
  const begun = moment(run.started).slice(0, 16);
  const since = run.state === "running" ? Math.max(0, now() - run.ended) : 0;
  const amounts = [
    count(run.turns, "turn"),
    run.sub_calls ? count(run.sub_calls, "sub-call") : "",
  ].filter(Boolean).join(", ");
  return el(
    "div",
    { class: "run" },
    check,
    el(
      "a",
      { href: toRun(run.id) },
      el("span", { class: "question", title: run.query || run.id }, run.query || run.id),
      el(
        "span",
        { class: "about", title: [run.state, begun, run.model, amounts].join(" · ") },
        mark(run.state),
        el("span", null, begun),
        el("span", { class: "model" }, modelName(run.model)),
        el("span", { class: "amounts" }, amounts),
      ),
      el("span", { class: "number cost" }, money(run.cost)),
      el("span", { class: "number time" }, run.started ? duration(run.seconds + since) : ""),
    ),
  );
}
