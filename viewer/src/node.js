// A node: what it was asked, how it stands, what it took, its turns.

import { el, fill, keyed } from "./el.js";
import { count, money, now, sandboxStart, tokens, took, turnName } from "./format.js";
import { longText } from "./longtext.js";
import { dot, mark } from "./marks.js";
import { toNode, toTurn } from "./route.js";
import { rows } from "./rows.js";
import { trouble } from "./source.js";

/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("./run.js").Told} Told */

/** @param {Run} run @param {Told} node */
function nodeFacts(run, node) {
  const until = node.ended ?? (run.told?.going ? now() : run.told?.last ?? null);
  return [took(node.started, until === null ? null : until - node.paused), money(node.cost), tokens(node.usage)].filter(Boolean);
}

/** What it was asked and what it answered. @param {Run} run @param {Told} node @param {"h3" | "h4"} heading their level */
export function nodeBrief(run, node, heading) {
  const texts = el("div");
  const box = el(
    "div",
    { class: "brief" },
    el("p", { class: "facts" }, mark(node.status), nodeFacts(run, node).map((fact) => el("span", null, fact))),
    node.status && node.status !== "answered" ? el("p", { class: "bad" }, node.reason) : null,
    texts,
  );
  run.ask(`nodes/${encodeURIComponent(node.id)}`).then(
    (told) =>
      fill(
        texts,
        el(heading, null, "Question"),
        longText(run.id, told.query, { label: `Question of node ${node.id}` }),
        told.answer
          ? el(
            "div",
            { class: "answer" },
            el(heading, null, told.draft ? `A draft: ${told.draft}` : "Answer"),
            longText(run.id, told.answer, { kind: "final", label: `Answer of node ${node.id}` }),
          )
          : null,
      ),
    (error) => fill(texts, trouble(error)),
  );
  return box;
}

/** @param {Run} run @param {string} id */
export function nodePage(run, id) {
  const box = el("section", { "aria-label": `Node ${id}` });
  const show = () => {
    const node = run.nodes.get(id);
    if (!node) return run.told ? fill(box, trouble(new Error(`the run has no node ${id}`))) : undefined;
    keyed(box, [
      { key: "title", make: () => el("h2", { tabindex: "-1" }, `Node ${id}`) },
      { key: "brief", sign: [node.status, node.cost], make: () => nodeBrief(run, node, "h3") },
      {
        key: "turns",
        sign: node.turns,
        make: () =>
          el(
            "div",
            { class: "part" },
            el("h3", null, count(node.turns.length, "turn")),
            el(
              "ol",
              { class: "steps" },
              node.turns.map(
                (/** @type {Told} */ turn) => el(
                  "li",
                  null,
                  el("a", { href: toTurn(run.id, id, turn.number) }, turnName(turn.number)),
                  el("span", { class: "dim" }, turnTold(turn)),
                ),
              ),
            ),
          ),
      },
      {
        key: "children",
        sign: (run.below.get(id) ?? []).map((child) => [child.id, child.status]),
        make: () => childList(run, run.below.get(id) ?? []),
      },
    ]);
  };
  show();
  run.watch(show, box);
  return box;
}

/** @param {Run} run @param {Told[]} children */
function childList(run, children) {
  if (!children.length) return el("div");
  const list = rows({
    height: 30,
    label: "Children",
    key: (/** @type {Told} */ child) => child.id,
    row: (child) =>
      el(
        "div",
        { class: "child-row" },
        dot(child.status),
        el("a", { href: toNode(run.id, child.id) }, child.id),
        el("span", { class: "what", title: child.query }, child.query),
        el("span", { class: "number cost" }, money(child.cost)),
      ),
  });
  list.set(children);
  return el("div", { class: "part" }, el("h3", null, count(children.length, "child", "children")), list.box);
}

/** What a turn did, in a few words. @param {Told} turn */
export function turnTold(turn) {
  const errors = turn.cells.map(
    (/** @type {any[]} */ cell) => (cell[4] === "AnswerRefused" ? "answer refused" : cell[4]),
  ).filter(Boolean);
  const told = [
    !turn.replied ? `no reply${turn.over ? "" : " yet"}` : turn.cells.length ? `${count(turn.lines, "line")} of code` : "nothing to run",
    turn.calls ? count(turn.calls, "sub-call") : "",
    turn.failed ? `${turn.failed} failed` : "",
    turn.refused ? `${turn.refused} refused for a limit` : "",
    turn.children ? count(turn.children, "child", "children") : "",
    turn.cells.some((/** @type {any[]} */ cell) => cell[3] === "submitted") ? "submitted" : "",
    ...errors,
    sandboxStart(turn),
  ];
  return told.filter(Boolean).join(", ");
}
