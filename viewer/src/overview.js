// A run at a glance: the answer, what was read, what was spent and what is left, what was refused.

import { el, fill, keyed } from "./el.js";
import { count, grouped, moment, money, percent, turnName } from "./format.js";
import { longText } from "./longtext.js";
import { mark } from "./marks.js";
import { firstOf } from "./pieces.js";
import { toCall, toNode, toRange, toRun, toTurn } from "./route.js";
import { trouble } from "./source.js";
import { spent, table } from "./spent.js";

/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("./run.js").Told} Told */

/** @param {Run} run */
export function overview(run) {
  const body = el("div");
  const box = el("section", { "aria-label": "The run" }, body);
  const show = () => {
    if (run.told) keyed(body, sections(run, run.told));
  };
  show();
  run.watch(show, box);
  return box;
}

/** @param {Run} run @param {Told} told */
function sections(run, told) {
  return [
    { key: "answer", sign: [told.answer, told.status, told.reason, told.draft, told.go_on], make: () => answer(run, told) },
    told.notes?.length && {
      key: "notes",
      sign: told.notes,
      make: () => el(
        "div",
        { class: "part" },
        el("h3", null, "Notes"),
        el("ul", { class: "notes" }, told.notes.map((/** @type {string} */ note) => el("li", null, note))),
      ),
    },
    told.branches.length > 0 && { key: "branches", sign: told.branches, make: () => branches(run, told) },
    {
      key: "spent",
      sign: [told.ledger, told.settings, told.cost, told.turns, told.sub_calls, told.seconds],
      make: () => spent(told),
    },
    told.refused.length > 0 && { key: "refused", sign: told.refused, make: () => refused(run, told) },
    { key: "read", sign: run.step, make: () => reading(run) },
    { key: "asked", sign: [told.query, told.context], make: () => asked(run, told) },
    { key: "facts", sign: told.settings, make: () => facts(told) },
  ];
}

/** @param {Run} run @param {Told} told */
function answer(run, told) {
  const text = told.answer ? longText(run.id, told.answer, { kind: "final", label: "The answer of the run" }) : null;
  const reason = told.status === "interrupted" ? "the process that made it is gone" : told.reason;
  const why = told.status === "answered" || !reason ? null : el(
    "div",
    null,
    el("p", { class: "why" }, `${told.status}: ${reason}`),
    told.go_on ? el("p", { class: "dim" }, told.go_on) : null,
  );
  if (!text) {
    const still = told.status === "running" ? "The run is going on; there is no answer yet." : "There is no answer.";
    return el("div", { class: "part" }, el("h2", { tabindex: "-1" }, "Answer"), why, el("p", { class: "dim" }, still));
  }
  const draft = told.draft ? el("p", { class: "why" }, `It is a draft: ${told.draft}`) : null;
  return el(
    "div",
    { class: "part answer" },
    el("h2", { tabindex: "-1" }, told.draft ? "Draft" : "Answer"),
    why,
    draft,
    text,
  );
}

/** @param {Run} run @param {Told} told */
function branches(run, told) {
  const row = (/** @type {Told} */ branch) =>
    el(
      "tr",
      null,
      el("td", null, el("a", { href: toNode(run.id, branch.node) }, `branch ${branch.number}`)),
      el("td", null, mark(branch.status)),
      el("td", null, branch.agrees ? "agrees" : "does not agree"),
      el("td", { class: "number" }, money(branch.cost)),
      el(
        "td",
        null,
        branch.answer ? longText(
          run.id,
          branch.answer,
          { label: `Answer of branch ${branch.number}` },
        ) : el("span", { class: "dim" }, "no answer"),
      ),
    );
  return el(
    "div",
    { class: "part" },
    el("h3", null, "Branches"),
    table(["branch", "status", "agrees", "cost", "answer"], told.branches.map(row)),
  );
}

/** @param {Run} run @param {Told} told */
function refused(run, told) {
  const item = (/** @type {Told} */ each) =>
    el(
      "li",
      null,
      each.call === undefined
        ? el("a", { href: toTurn(run.id, each.node, each.turn) }, `an answer, ${turnName(each.turn)} of node ${each.node}`)
        : el("a", { href: toCall(run.id, each.call) }, refusedCalls(each)),
      el("span", null, each.why),
    );
  return el(
    "div",
    { class: "part refused" },
    el("h3", null, "Refused, and why"),
    el(
      "ul",
      { class: "steps" },
      told.refused.map(item),
      told.refused_more ? el("li", { class: "dim" }, `and ${grouped(told.refused_more)} more`) : null,
    ),
  );
}

/** @param {Told} each */
function refusedCalls({ call, count }) {
  return count === 1 ? `sub-call ${call}` : `${grouped(count)} sub-calls, from ${call} on`;
}

/** @param {Run} run */
function reading(run) {
  const box = el("div", { class: "part" }, el("h3", null, "What models read of the input"), el("p", { class: "dim" }, "…"));
  run.ask("map").then(
    (map) => fill(box, el("h3", null, "What models read of the input"), shares(run, map), quotes(run, map.citations)),
    (error) => fill(box, trouble(error)),
  );
  return box;
}

/** @param {Run} run @param {Told} map */
function shares(run, map) {
  const { coverage } = map;
  if (coverage.share === null) return el(
    "p",
    { class: "dim" },
    coverage.why || "It is not made of text, so no shares of it are known.",
    " ",
    map.parts.length ? el("a", { href: toRun(run.id, "map") }, "map of the input") : null,
  );
  const over = coverage.share < 1 && (coverage.unplaced || coverage.unknown) ? "at least " : "";
  const calls = coverage.by_sub_calls === null ? "of what was given to sub-calls it is not known" : `given to sub-calls ${percent(coverage.by_sub_calls)}`;
  return [
    el(
      "div",
      { class: "share" },
      el(
        "meter",
        {
          min: "0",
          max: "1",
          value: String(coverage.share),
          "aria-label": "share of the input that models read",
        },
      ),
      el("b", null, `${over}${percent(coverage.share)}`),
      el("span", { class: "dim" }, `of ${grouped(coverage.size)} ${coverage.unit ?? "characters"}`),
      el("a", { href: toRun(run.id, "map") }, "map of the input"),
    ),
    el(
      "p",
      { class: "dim" },
      `printed ${percent(coverage.by_prints)}, ${calls}, read by children ${percent(coverage.by_children)}. What code searched by itself is not known.`,
    ),
  ];
}

/** @param {Run} run @param {Told[]} citations */
export function quotes(run, citations) {
  if (!citations.length) return null;
  const item = (/** @type {Told} */ each) => {
    const at = each.found && each.line !== null ? `line ${grouped(each.line)}` : "not in the input";
    const place = each.source === null ? at : `${each.source}, ${at}`;
    const goes = each.href ? el("a", { href: each.href }, place) : el("span", { class: each.found ? "" : "bad" }, place);
    const sure = !each.found ? "" : each.verified ? "checked against the input" : "not checked";
    return el("li", null, el("q", null, each.quote.slice(0, 400)), goes, el("span", { class: "dim" }, sure));
  };
  const quote = (/** @type {Told} */ each) => item({ ...each, href: citationPlace(run, each) });
  return el("div", null, el("h4", null, count(citations.length, "quote")), firstOf(citations, quote));
}

/** @param {Run} run @param {Told} each */
function citationPlace(run, each) {
  return each.part === null ? null : toRange(run.id, each.part, each.start, each.end);
}

/** @param {Run} run @param {Told} told */
function asked(run, told) {
  return el(
    "div",
    { class: "part" },
    el("h3", null, "Question"),
    told.query ? longText(run.id, told.query, { label: "The question" }) : null,
    told.context
      ? el(
        "details",
        null,
        el("summary", null, "The input, as the model was told of it"),
        longText(run.id, told.context, { label: "The description of the input" }),
      )
      : null,
    told.sources?.length ? el("p", { class: "dim" }, `from ${told.sources.join(", ")}`) : null,
  );
}

/** @param {Told} told */
function facts(told) {
  const pairs = [
    ["run", told.id],
    ["begun", moment(told.started)],
    ["model", told.model],
    ["sub-calls", told.sub_model],
    ["profile", told.profile],
    ...Object.entries(told.settings ?? {}),
  ];
  return el(
    "details",
    { class: "part" },
    el("summary", null, "Settings"),
    el(
      "dl",
      { class: "pairs" },
      pairs.map(([name, value]) => [el("dt", null, String(name)), el("dd", null, String(value))]),
    ),
  );
}
