// Two runs side by side: what each came to, where they part, their turns.

import { el, fill } from "./el.js";
import { count, duration, grouped, lasted, money, tokens, turnName } from "./format.js";
import { highlighted } from "./highlight.js";
import { mark } from "./marks.js";
import { inPieces } from "./pieces.js";
import { toCall, toRun, toTurn } from "./route.js";
import { ask, path, trouble } from "./source.js";

/** @typedef {Record<string, any>} Told */

/** @param {string} one @param {string} two */
export function besidePage(one, two) {
  const body = el("div", null, el("p", { class: "dim" }, "…"));
  const box = el("main", { class: "page", id: "detail" }, el("h1", { tabindex: "-1" }, "Two runs side by side"), body);
  ask(`beside/${path(one, two)}`).then(
    (told) => {
      fill(body, ...kids(told));
      inPieces(body, told.turns.map((/** @type {Told} */ turn) => () => turnBox(told, turn)));
    },
    (error) => fill(body, trouble(error)),
  );
  return { box, close: () => {} };
}

/** @param {Told} told */
function kids(told) {
  return [
    figures(told),
    parting(told),
    answers(told),
    el("h2", null, "Turn by turn"),
  ];
}

/** @param {Told} told */
function figures(told) {
  const [one, two] = told.runs;
  const row = (/** @type {string} */ name, /** @type {(run: Told) => any} */ of) => el(
    "tr",
    null,
    el("th", { scope: "row" }, name),
    el("td", null, of(one)),
    el("td", null, of(two)),
  );
  const took = (/** @type {Told} */ run) => duration(lasted(run));
  return el(
    "div",
    { class: "part" },
    el("p", null, `${told.same[0].toUpperCase()}${told.same.slice(1)}.`),
    el("div", { class: "scrolls", tabindex: "0", role: "group", "aria-label": "Figures of both runs" }, el(
      "table",
      { class: "beside" },
      el(
        "thead",
        null,
        el(
          "tr",
          null,
          el("td"),
          [one, two].map((run) => el("th", { scope: "col" }, el("a", { href: toRun(run.id) }, run.id))),
        ),
      ),
      el(
        "tbody",
        null,
        row("question", (run) => run.query.slice(0, 300)),
        row("status", (run) => mark(run.status)),
        row("model", (run) => run.model),
        row("sub-calls by", (run) => run.sub_model),
        row("cost", (run) => money(run.cost)),
        row("tokens", (run) => tokens(run.usage)),
        row("time", took),
        row("turns", (run) => grouped(run.turns)),
        row(
          "sub-calls",
          (run) => `${grouped(run.sub_calls)}${run.failed_calls ? `, ${grouped(run.failed_calls)} failed` : ""}`,
        ),
        row("children", (run) => grouped(run.children)),
      ),
    )),
  );
}

/** @param {Told} told */
function parting(told) {
  const where = told.parting;
  if (!told.begun) return el("p", { class: "part why" }, "One of them has not begun.");
  if (!where) return el("p", { class: "part" }, "They did the same, turn by turn.");
  const links = told.runs.map((/** @type {Told} */ run, /** @type {number} */ at) => {
    const call = where.calls?.[at];
    return call ? el("a", { href: toCall(run.id, call) }, `sub-call ${call} of ${at ? "the second" : "the first"}`) : el(
      "a",
      { href: toTurn(run.id, "0", where.turn) },
      `${turnName(where.turn)} of ${at ? "the second" : "the first"}`,
    );
  });
  return el(
    "p",
    { class: "part parts" },
    el("b", null, `They part in ${turnName(where.turn)}: `),
    where.told,
    ". ",
    links[0],
    " · ",
    links[1],
  );
}

/** @param {Told} told */
function answers(told) {
  const answer = (/** @type {Told} */ run) => el(
    "div",
    { class: "answer" },
    el("h2", null, run.draft ? "Draft" : "Answer"),
    run.answer ? el(
      "pre",
      { class: "text final", tabindex: "0" },
      run.answer,
    ) : el("p", { class: "dim" }, run.reason || "none"),
  );
  return el("div", { class: "pair" }, told.runs.map(answer));
}

/** @param {Told} told @param {Told} turn */
function turnBox(told, turn) {
  const parts = told.parting?.turn === turn.number;
  const output = (/** @type {number} */ at) =>
    el(
      "div",
      null,
      turn.there[at]
        ? [
            turn.words[at] ? el("pre", { class: "text words" }, turn.words[at]) : null,
            ...turn.output[at].map(
              (/** @type {[string, string]} */ [state, text]) => el(
                "div",
                null,
                el("p", { class: "facts" }, mark(state)),
                text ? el("pre", { class: "text output", tabindex: "0" }, text) : null,
              ),
            ),
            turn.calls[at] ? el("p", { class: "dim" }, count(turn.calls[at], "sub-call")) : null,
          ]
        : el("p", { class: "dim" }, "no such turn"),
    );
  return el(
    "section",
    { class: `part${parts ? " parts" : ""}`, "aria-label": turnName(turn.number) },
    el("h3", null, turnName(turn.number), parts ? el("small", null, "here they part") : null),
    turn.code.length ? codeLines(turn.code) : null,
    el("div", { class: "pair" }, output(0), output(1)),
  );
}

/** @param {[string, string][]} lines */
function codeLines(lines) {
  const kinds = { " ": "both", "-": "first", "+": "second" };
  const words = { " ": "", "-": "first run alone: ", "+": "second run alone: " };
  return el(
    "pre",
    {
      class: "text code diff",
      tabindex: "0",
      role: "group",
      "aria-label": "Code of both: - is the first run's alone, + the second's",
    },
    lines.map(([sign, text]) => {
      const key = /** @type {keyof typeof kinds} */ (sign);
      return el("span", { class: `line ${kinds[key]}`, title: words[key] || null }, `${sign} `, highlighted(text), "\n");
    }),
  );
}
