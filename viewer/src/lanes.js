// Which bars stand on which line of the timeline. Pure. Its times are those of the run's own clock.

import { lived } from "./format.js";
import { gathered } from "./run.js";

/** @typedef {{ kind: string, from: number, to: number, state: string, name: string, place: import("./route.js").Place }} Bar */
/** @typedef {{ label: string, depth: number, height: number, bars: Bar[] }} Lane */
/** @typedef {Record<string, any>} Told */

const NODE = 22;
const CALL = 9;

/**
 * The lines: for each node one of its turns, then as many as its sub-calls need side by side, then its children.
 * @param {import("./run.js").Run} run
 * @param {number} until the end of what has not ended
 * @returns {Lane[]}
 */
export function lanes(run, until) {
  /** @type {Map<string, Told[]>} */
  const calls = new Map();
  for (const call of run.calls.values()) gathered(calls, call.node, call);
  /** @type {Lane[]} */
  const found = [];
  const clock = (/** @type {number} */ at) => lived(run.told?.gaps ?? [], at);
  const add = (/** @type {Told} */ node, /** @type {number} */ depth) => {
    found.push(
      {
        label: node.parent === null && !node.id.includes("@") ? "root" : node.id,
        depth,
        height: NODE,
        bars: turnBars(node, node.ended ?? until, clock),
      },
    );
    for (const bars of packed((calls.get(node.id) ?? []).map((call) => callBar(call, until, clock)))) {
      found.push({ label: "", depth, height: CALL, bars });
    }
    for (const child of run.below.get(node.id) ?? []) add(child, depth + 1);
  };
  for (const root of run.below.get("") ?? []) add(root, 0);
  return found;
}

/** @typedef {(at: number) => number} Clock */

/** @param {Told} node @param {number} until @param {Clock} clock @returns {Bar[]} */
function turnBars(node, until, clock) {
  const bars = [];
  for (const turn of node.turns) {
    const place = { page: "turn", node: node.id, turn: turn.number };
    if (turn.started !== null && (turn.seconds !== null || !turn.replied)) {
      const cell = turn.cells[0]?.[1] ?? null;
      const from = clock(turn.started);
      const first = cell === null ? Infinity : clock(cell);
      const to = turn.replied ? Math.min(first, from + (turn.seconds ?? 0)) : clock(until);
      bars.push(
        {
          kind: "model",
          from,
          to,
          state: turn.replied ? "ok" : turn.over ? "no reply" : "going on",
          name: `model, turn ${turn.number} of node ${node.id}`,
          place,
        },
      );
    }
    for (const [number, from, to, outcome] of turn.cells) {
      bars.push(
        {
          kind: "cell",
          from: clock(from),
          to: clock(to ?? until),
          state: outcome ?? (turn.over ? "no reply" : "going on"),
          name: `cell ${number}, turn ${turn.number} of node ${node.id}`,
          place,
        },
      );
    }
  }
  return bars;
}

/** @param {Told} call @param {number} until @param {Clock} clock @returns {Bar} */
function callBar(call, until, clock) {
  return {
    kind: "call",
    from: clock(call.started),
    to: clock(call.ended ?? until),
    state: call.state,
    name: `sub-call ${call.id}: ${call.prompt}`,
    place: { page: "call", call: call.id },
  };
}

/** Bars on as few lines as keep them apart. @param {Bar[]} bars @returns {Bar[][]} */
function packed(bars) {
  /** @type {{ end: number, bars: Bar[] }[]} the line that is free first at the top */
  const heap = [];
  /** @type {Bar[][]} */
  const found = [];
  for (const bar of bars.sort((a, b) => a.from - b.from)) {
    if (heap.length && heap[0].end <= bar.from) {
      heap[0].bars.push(bar);
      heap[0].end = bar.to;
      sink(heap);
    } else {
      const line = { end: bar.to, bars: [bar] };
      found.push(line.bars);
      heap.push(line);
      rise(heap);
    }
  }
  return found;
}

/** @param {{ end: number }[]} heap */
function rise(heap) {
  for (let at = heap.length - 1; at > 0; ) {
    const up = (at - 1) >> 1;
    if (heap[up].end <= heap[at].end) return;
    [heap[up], heap[at]] = [heap[at], heap[up]];
    at = up;
  }
}

/** @param {{ end: number }[]} heap */
function sink(heap) {
  for (let at = 0; ; ) {
    let least = at;
    for (const below of [2 * at + 1, 2 * at + 2]) if (below < heap.length && heap[below].end < heap[least].end) least = below;
    if (least === at) return;
    [heap[least], heap[at]] = [heap[at], heap[least]];
    at = least;
  }
}
