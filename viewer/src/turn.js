// A turn in full: the model's words, the code, what it printed, its sub-calls, its children.

import { callRows } from "./callrows.js";
import { el, fill, keyed } from "./el.js";
import { count, duration, grouped, money, sandboxStart, tokens, turnName } from "./format.js";
import { longText } from "./longtext.js";
import { dot, outcome } from "./marks.js";
import { nodeBrief } from "./node.js";
import { toNode, toTurn } from "./route.js";
import { callsOf } from "./run.js";
import { trouble } from "./source.js";

/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("./run.js").Told} Told */
/** @typedef {import("./el.js").Section} Section */

/** @param {Run} run @param {string} node @param {number} number */
export function turnBox(run, node, number) {
  const body = el("div", { class: "turn-body" });
  const box = el("section", { class: "turn", "aria-label": `${turnName(number)} of node ${node}` }, body);
  let shown = "";
  run.want();
  const show = async () => {
    if (!run.told) return;
    const short = run.nodes.get(node)?.turns.find((/** @type {Told} */ turn) => turn.number === number);
    const sign = JSON.stringify(short ?? null);
    if (sign === shown) return;
    shown = sign;
    try {
      const turn = await run.ask(`turns/${encodeURIComponent(node)}/${number}`);
      keyed(body, sections(run, turn, number && !short?.replied ? notReplied(run, node, short) : ""));
    } catch (error) {
      fill(body, trouble(error));
    }
  };
  show();
  run.watch(show, box);
  return box;
}

/** @param {string} title @param {import("./el.js").Kid[]} kids */
function part(title, ...kids) {
  return el("div", { class: "part" }, el("h3", null, title), kids);
}

/** @param {Run} run @param {string} node @param {Told | undefined} short */
function notReplied(run, node, short) {
  const reason = run.nodes.get(node)?.reason;
  return short?.over ? `The model did not reply${reason ? `: ${reason}` : "."}` : "The model has not replied yet.";
}

/** @param {Run} run @param {Told} turn @param {string} waits what is told of a turn without a reply @returns {(Section | null)[]} */
function sections(run, turn, waits) {
  const facts = [
    turn.model,
    tokens(turn.usage),
    turn.usage.calls ? money(turn.cost) : "",
    turn.seconds !== null ? `reply in ${duration(turn.seconds)}` : "",
    sandboxStart(turn),
    turn.retries ? `sent ${turn.retries + 1} times` : "",
    turn.shared ? "reply shared with the first branch" : "",
    turn.finish && !["stop", "tool"].includes(turn.finish) ? `the reply ended early: ${turn.finish}` : "",
  ].filter(Boolean);
  const long = (/** @type {string} */ title, /** @type {any} */ text, /** @type {string} */ kind) => () =>
    part(title, longText(run.id, text, { kind, label: title }));
  return [
    { key: "facts", sign: facts, make: () => el("p", { class: "facts" }, facts.map((fact) => el("span", null, fact))) },
    waits ? { key: "waiting", sign: waits, make: () => el("p", { class: "dim" }, waits) } : null,
    turn.thinking && {
      key: "thinking",
      sign: turn.thinking,
      make: () =>
        el(
          "details",
          { class: "part" },
          el("summary", null, "The model's thoughts"),
          longText(run.id, turn.thinking, { kind: "words dim", label: "The model's thoughts" }),
        ),
    },
    turn.words && { key: "words", sign: turn.words, make: long("The model's words", turn.words, "words") },
    ...turn.cells.flatMap((/** @type {Told} */ cell) => cellSections(run, turn, cell)),
    ...turn.hints.map((/** @type {string} */ hint, /** @type {number} */ at) => ({
      key: `hint-${at}`,
      sign: hint,
      make: () => part("Told the model", el("pre", { class: "text note" }, hint)),
    })),
    turn.accepted && {
      key: "accepted",
      sign: turn.accepted,
      make: () =>
        el(
          "div",
          { class: "part answer" },
          el(
            "h3",
            null,
            turn.node.includes(".") ? "The child's answer" : "The answer",
            el("small", null, `by ${turn.accepted.via}`),
          ),
          longText(run.id, turn.accepted.value, { kind: "final", label: "The answer" }),
        ),
    },
  ];
}

/** @param {Run} run @param {Told} turn @param {Told} cell @returns {(Section | null)[]} */
function cellSections(run, turn, cell) {
  const key = (/** @type {string} */ what) => `cell-${cell.number}-${what}`;
  const state = [cell.outcome, cell.seconds, cell.own_seconds, cell.omitted];
  return [
    {
      key: key("code"),
      sign: [cell.code, state],
      make: () =>
        el(
          "div",
          { class: "part code" },
          el(
            "h3",
            null,
            `Code of cell ${cell.number}`,
            el("small", null, outcome(cell.outcome), cell.seconds === null ? "" : duration(cell.seconds)),
          ),
          longText(run.id, cell.code, { kind: "code", label: `Code of cell ${cell.number}`, code: true }),
        ),
    },
    cell.outcome !== null || cell.output
      ? {
          key: key("output"),
          sign: [cell.output, cell.omitted],
          make: () =>
            part(
              "Output",
              cell.output ? longText(
                run.id,
                cell.output,
                { kind: "output", label: `Output of cell ${cell.number}` },
              ) : el("p", { class: "dim" }, "It printed nothing."),
              cell.omitted ? el(
                "p",
                { class: "dim" },
                `${grouped(cell.omitted)} of ${grouped(cell.printed)} characters were not shown to the model.`,
              ) : null,
            ),
        }
      : null,
    cell.error && {
      key: key("error"),
      sign: cell.error,
      make: () => part(
        "Error",
        el(
          "pre",
          { class: "text error", tabindex: "0" },
          cell.error.traceback.trim() || `${cell.error.type}: ${cell.error.message}`,
        ),
      ),
    },
    ...cell.refused.map((/** @type {Told} */ refused, /** @type {number} */ at) => ({
      key: key(`refused-${at}`),
      sign: refused,
      make: () =>
        el(
          "div",
          { class: "part refused" },
          el("h3", null, "An answer that was refused"),
          el("p", null, refused.reason),
          longText(run.id, refused.value, { label: "The refused answer" }),
        ),
    })),
    cell.notes.length || cell.tools.length
      ? { key: key("notes"), sign: [cell.notes, cell.tools], make: () => part("Notes", notes(cell)) }
      : null,
    cell.calls ? { key: key("calls"), make: () => cellCalls(run, turn.node, cell.number) } : null,
    ...cell.children
      .slice(0, MOST_CHILDREN)
      .map((/** @type {string} */ child) => ({ key: `child-${child}`, make: () => childBox(run, child) })),
    cell.children.length > MOST_CHILDREN
      ? { key: key("more"), sign: cell.children.length, make: () => moreChildren(cell.children.length) }
      : null,
  ];
}

const MOST_CHILDREN = 100; // that open in place

/** @param {number} all */
function moreChildren(all) {
  return el("p", { class: "dim" }, `and ${grouped(all - MOST_CHILDREN)} children more: they are in the tree`);
}

/** @param {Told} cell */
function notes(cell) {
  const tools = new Map();
  for (const tool of cell.tools) tools.set(tool.name, (tools.get(tool.name) ?? 0) + 1);
  const used = [...tools].map(([name, times]) => `${name}() was called ${times === 1 ? "once" : `${times} times`}`);
  return el("ul", { class: "notes" }, [...cell.notes, ...used].map((note) => el("li", null, note)));
}

/** @param {Run} run @param {string} node @param {number} cell */
function cellCalls(run, node, cell) {
  const title = el("h3", null);
  const list = callRows(run, `Sub-calls of cell ${cell}`);
  const box = el("div", { class: "part" }, title, list.box);
  let shown = -1;
  const show = () => {
    if (shown === run.version) return;
    shown = run.version;
    const calls = callsOf(run, node, cell);
    const number = (/** @type {(call: Told) => boolean} */ which) => calls.filter(which).length;
    const told = [
      [number((call) => call.state.startsWith("failed")), "failed"],
      [number((call) => call.state === "refused"), "refused for a limit"],
      [number((call) => call.state === "cached"), "from the cache"],
      [number((call) => call.state === "going on" || call.state === "no reply"), "without a reply"],
    ].filter(([many]) => many);
    fill(
      title,
      count(calls.filter((call) => call.state !== "refused").length, "sub-call"),
      el("small", null, told.map(([many, what]) => `${many} ${what}`).join(", ")),
    );
    list.set(calls);
  };
  show();
  run.watch(show, box);
  return box;
}

/** A child that opens in place. @param {Run} run @param {string} id */
function childBox(run, id) {
  const head = el("span", { class: "child-head" });
  const body = el("div", { class: "child-body" });
  const box = el(
    "details",
    { class: "part child", on: { toggle: () => box.open && open() } },
    el("summary", null, head),
    body,
  );
  const open = () => {
    const node = run.nodes.get(id);
    if (!node) return;
    keyed(body, [
      { key: "way", make: () => el("p", null, el("a", { href: toNode(run.id, id) }, `node ${id}`)) },
      { key: "brief", sign: [node.status, node.cost], make: () => nodeBrief(run, node, "h4") },
      ...node.turns.map((/** @type {Told} */ turn) => ({
        key: `turn-${turn.number}`,
        make: () => el(
          "div",
          { class: "nested" },
          el("h3", null, el("a", { href: toTurn(run.id, id, turn.number) }, turnName(turn.number))),
          turnBox(run, id, turn.number),
        ),
      })),
    ]);
  };
  const show = () => {
    const node = run.nodes.get(id);
    if (!node) return;
    fill(
      head,
      dot(node.status),
      el("b", null, `Child ${id}`),
      " ",
      el("q", { title: node.query }, node.query),
      el("small", null, money(node.cost)),
    );
    if (box.open) open();
  };
  show();
  run.watch(show, box);
  return box;
}
