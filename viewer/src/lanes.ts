// Which bars stand on which line of the timeline. Pure. Its times are those of the run's own clock.

import { lived } from "./format";
import type { Place } from "./route";
import { gathered, type Run } from "./run";
import type { Call, Node } from "./told";

export interface Bar {
  kind: "model" | "cell" | "call";
  from: number;
  to: number;
  state: string;
  name: string;
  place: Place;
}

export interface Lane {
  label: string;
  depth: number;
  height: number;
  bars: Bar[];
}

interface Line {
  end: number;
  bars: Bar[];
}

type Clock = (at: number) => number;

const NODE = 22;
const CALL = 9;

/**
 * The lines: for each node one of its turns, then as many as its sub-calls need side by side, then its children.
 * `until` is the end of what has not ended.
 */
export function lanes(run: Run, until: number): Lane[] {
  const calls = new Map<string, Call[]>();
  for (const call of run.calls.values()) gathered(calls, call.node, call);
  const found: Lane[] = [];
  const clock: Clock = (at) => lived(run.told?.gaps ?? [], at);
  const add = (node: Node, depth: number) => {
    found.push({
      label: node.parent === null && !node.id.includes("@") ? "root" : node.id,
      depth,
      height: NODE,
      bars: turnBars(node, node.ended ?? until, clock),
    });
    for (const bars of packed((calls.get(node.id) ?? []).map((call) => callBar(call, until, clock)))) {
      found.push({ label: "", depth, height: CALL, bars });
    }
    for (const child of run.below.get(node.id) ?? []) add(child, depth + 1);
  };
  for (const root of run.below.get("") ?? []) add(root, 0);
  return found;
}

function turnBars(node: Node, until: number, clock: Clock): Bar[] {
  const bars: Bar[] = [];
  for (const turn of node.turns) {
    const place: Place = { page: "turn", node: node.id, turn: turn.number };
    if (turn.started !== null && (turn.seconds !== null || !turn.replied)) {
      const cell = turn.cells[0]?.[1] ?? null;
      const from = clock(turn.started);
      const first = cell === null ? Infinity : clock(cell);
      const to = turn.replied ? Math.min(first, from + (turn.seconds ?? 0)) : clock(until);
      bars.push({
        kind: "model",
        from,
        to,
        state: turn.replied ? "ok" : turn.over ? "no reply" : "going on",
        name: `model, turn ${turn.number} of node ${node.id}`,
        place,
      });
    }
    for (const [number, from, to, outcome] of turn.cells) {
      bars.push({
        kind: "cell",
        from: clock(from),
        to: clock(to ?? until),
        state: outcome ?? (turn.over ? "no reply" : "going on"),
        name: `cell ${number}, turn ${turn.number} of node ${node.id}`,
        place,
      });
    }
  }
  return bars;
}

function callBar(call: Call, until: number, clock: Clock): Bar {
  return {
    kind: "call",
    from: clock(call.started),
    to: clock(call.ended ?? until),
    state: call.state,
    name: `sub-call ${call.id}: ${call.prompt}`,
    place: { page: "call", call: call.id },
  };
}

/** Bars on as few lines as keep them apart. */
function packed(bars: Bar[]): Bar[][] {
  const heap: Line[] = []; // the line that is free first at the top
  const found: Bar[][] = [];
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

function rise(heap: Line[]): void {
  for (let at = heap.length - 1; at > 0; ) {
    const up = (at - 1) >> 1;
    if (heap[up].end <= heap[at].end) return;
    [heap[up], heap[at]] = [heap[at], heap[up]];
    at = up;
  }
}

function sink(heap: Line[]): void {
  for (let at = 0; ; ) {
    let least = at;
    for (const below of [2 * at + 1, 2 * at + 2]) if (below < heap.length && heap[below].end < heap[least].end) least = below;
    if (least === at) return;
    [heap[least], heap[at]] = [heap[at], heap[least]];
    at = least;
  }
}
