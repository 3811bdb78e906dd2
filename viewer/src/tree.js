// The run as a tree of nodes and their turns, of which only what is in sight is made. One stop for the keyboard.

import { el, unseen } from "./el.js";
import { duration, money, now, short, took, turnName } from "./format.js";
import { dot } from "./marks.js";
import { turnTold } from "./node.js";
import { swap, toNode, toTurn } from "./route.js";
import { rows } from "./rows.js";
import { gathered } from "./run.js";

/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("./run.js").Told} Told */
/** @typedef {{ key: string, depth: number, node: Told, turn: Told | null, opens: boolean, open: boolean }} Leaf */

/** @param {Run} run */
export function treeBox(run) {
  /** @type {Set<string>} */
  const shut = new Set();
  /** @type {Set<string>} */
  const opened = new Set(); // of children, which are shut at first where there are many
  let active = "";
  let wanted = ""; // a leaf that is to be brought in sight, once it is there

  const list = rows({
    height: 28,
    label: "Nodes and turns of the run",
    role: "tree",
    class: "tree",
    key: (/** @type {Leaf} */ leaf) => leaf.key,
    row: leafRow,
    drawn: pointOut,
  });

  const many = () => run.nodes.size > 30;
  const isOpen = (/** @type {string} */ key, /** @type {Told} */ node) =>
    many() && node.parent !== null ? opened.has(key) : !shut.has(key);

  /** @returns {Leaf[]} */
  function leaves() {
    /** @type {Leaf[]} */
    const found = [];
    const add = (/** @type {Told} */ node, /** @type {number} */ depth) => {
      const key = `node-${node.id}`;
      const open = isOpen(key, node);
      found.push({ key, depth, node, turn: null, opens: node.turns.length > 0, open });
      if (!open) return;
      const children = run.below.get(node.id) ?? [];
      const byTurn = new Map();
      for (const child of children) gathered(byTurn, child.turn, child);
      for (const turn of node.turns) {
        const asked = byTurn.get(turn.number) ?? [];
        byTurn.delete(turn.number);
        const turnKey = `${key}-turn-${turn.number}`;
        const turnOpen = !shut.has(turnKey);
        found.push({ key: turnKey, depth: depth + 1, node, turn, opens: asked.length > 0, open: turnOpen });
        if (turnOpen) for (const child of asked) add(child, depth + 2);
      }
      for (const rest of byTurn.values()) for (const child of rest) add(child, depth + 1);
    };
    for (const root of run.below.get("") ?? []) add(root, 0);
    return found;
  }

  /** @param {Leaf} leaf */
  function leafRow(leaf) {
    const { node, turn } = leaf;
    const twisty = leaf.opens
      ? el(
        "span",
        {
          class: "twisty",
          "aria-hidden": "true",
          on: { click: (/** @type {Event} */ event) => (event.stopPropagation(), turnTwisty(leaf)) },
        },
        leaf.open ? "▾" : "▸",
      )
      : el("span", { class: "twisty", "aria-hidden": "true" });
    const row = el(
      "div",
      {
        class: leaf.key === active ? "leaf active" : "leaf",
        id: `leaf-${leaf.key}`,
        role: "treeitem",
        "aria-level": String(leaf.depth + 1),
        "aria-selected": String(leaf.key === active),
        "aria-expanded": leaf.opens ? String(leaf.open) : null,
        on: { click: () => go(leaf) },
      },
      twisty,
      ...(turn ? turnKids(node, turn) : nodeKids(node)),
    );
    twisty.style.marginLeft = `${leaf.depth * 14}px`;
    return row;
  }

  /** @param {Told} node */
  function lasted(node) {
    const until = node.ended ?? (run.told?.going ? now() : run.told?.last ?? null);
    return took(node.started, until === null ? null : until - node.paused);
  }

  /** @param {Told} node */
  function nodeKids(node) {
    const used = (node.usage.read ?? 0) + (node.usage.written ?? 0);
    return [
      dot(node.status),
      el("span", { class: "name node" }, `${node.parent === null && !node.id.includes("@") ? "root" : node.id}`),
      el("span", { class: "what", title: node.parent === null ? null : node.query }, node.parent === null ? "" : node.query),
      el("span", { class: "number tokens" }, node.usage.calls && used ? short(used) : "", unseen(" tokens")),
      el("span", { class: "number cost" }, node.cost === null ? "$?" : money(node.cost)),
      el("span", { class: "number time" }, lasted(node)),
    ];
  }

  /** @param {Told} node @param {Told} turn */
  function turnKids(node, turn) {
    const errors = turn.cells.map((/** @type {any[]} */ cell) => cell[4]).filter(Boolean);
    const stopped = node.status === "failed" ? "failed" : "interrupted";
    const going = turn.ended === null || turn.cells.some((/** @type {any[]} */ cell) => cell[3] === null);
    const bad = errors.some((/** @type {string} */ error) => error !== "AnswerRefused") ? "error" : "";
    const state = going ? null : bad || (turn.failed || turn.refused || errors.length ? "not all went well" : "");
    return [
      state === "" ? el("span", { class: "dot" }) : dot(state === null && turn.over ? stopped : state),
      el("span", { class: "name" }, turnName(turn.number)),
      el("span", { class: "what", title: turnTold(turn) }, turnTold(turn)),
      el(
        "span",
        { class: "number time" },
        turn.started === null || turn.ended === null ? "" : duration(Math.max(0, turn.ended - turn.started - turn.waited - turn.paused)),
      ),
    ];
  }

  /** @param {Leaf} leaf */
  function turnTwisty(leaf) {
    const set = many() && !leaf.turn && leaf.node.parent !== null ? opened : shut;
    if (!set.delete(leaf.key)) set.add(leaf.key);
    show();
  }

  /** @param {Leaf} leaf */
  function address(leaf) {
    return leaf.turn ? toTurn(run.id, leaf.node.id, leaf.turn.number) : toNode(run.id, leaf.node.id);
  }

  /** @param {Leaf} leaf */
  function go(leaf) {
    location.hash = address(leaf);
  }

  const keys = (/** @type {KeyboardEvent} */ event) => {
    const items = /** @type {readonly Leaf[]} */ (list.items);
    const at = items.findIndex((leaf) => leaf.key === active);
    const leaf = items[at];
    const steps = { ArrowDown: at + 1, ArrowUp: at < 0 ? 0 : at - 1, Home: 0, End: items.length - 1 };
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in steps) {
      const next = items[steps[/** @type {keyof typeof steps} */ (event.key)]];
      if (next) swap(address(next));
    } else if (event.key === "ArrowRight" && leaf) {
      if (leaf.opens && !leaf.open) turnTwisty(leaf);
      else if (leaf.opens && items[at + 1]) swap(address(items[at + 1]));
    } else if (event.key === "ArrowLeft" && leaf) {
      if (leaf.opens && leaf.open) turnTwisty(leaf);
      else {
        const up = items.slice(0, at).findLast((each) => each.depth < leaf.depth);
        if (up) swap(address(up));
      }
    } else if ((event.key === "Enter" || event.key === " ") && leaf) {
      document.querySelector("#detail h2")?.scrollIntoView();
      /** @type {HTMLElement | null} */ (document.querySelector("#detail h2"))?.focus();
    } else return;
    event.preventDefault();
  };
  list.box.addEventListener("keydown", keys);

  const show = () => {
    list.set(leaves());
    list.again();
    if (wanted && list.items.some((leaf) => leaf.key === wanted)) {
      list.show(wanted);
      wanted = "";
    }
  };
  show();
  /** @type {Told | null} */
  let shown = null;
  run.watch(() => {
    if (shown === run.told && !run.told?.going) return; // the news are of sub-calls
    shown = run.told;
    show();
  }, list.box);
  return {
    box: list.box,
    /** Says anew how long what goes on has taken; the rows stay, so that no click is lost. */
    tick() {
      for (const { key, node, turn } of /** @type {readonly Leaf[]} */ (list.items)) {
        if (turn || node.ended !== null) continue;
        const told = list.box.querySelector(`[id="${CSS.escape(`leaf-${key}`)}"] > .time`);
        if (told) told.textContent = lasted(node);
      }
    },
    /** Marks the leaf of a place, and brings it in sight. @param {import("./route.js").Place} place */
    select(place) {
      const node = place.node ?? "0";
      const key = place.page === "turn" ? `node-${node}-turn-${place.turn}` : place.page === "node" ? `node-${node}` : "";
      if (key === active) return;
      active = wanted = key;
      if (key && !list.items.some((leaf) => leaf.key === key)) openTo(node);
      show();
      if (!key) pointOut();
    },
  };

  /** Tells which leaf is chosen, while it is there: one that is out of sight is not made. */
  function pointOut() {
    const id = `leaf-${active}`;
    if (active && list.box.querySelector(`[id="${CSS.escape(id)}"]`)) list.box.setAttribute("aria-activedescendant", id);
    else list.box.removeAttribute("aria-activedescendant");
  }

  /** Opens all above a node. @param {string} id */
  function openTo(id) {
    for (let node = run.nodes.get(id); node; node = run.nodes.get(node.parent)) {
      opened.add(`node-${node.id}`);
      shut.delete(`node-${node.id}`);
      if (node.parent !== null) shut.delete(`node-${node.parent}-turn-${node.turn}`);
    }
    list.set(leaves());
  }
}
