// Which leaves of the tree are there, and which are open. Of children, where there are many, none are at first.

import { gathered, type Run } from "./run";
import type { Node, ShortTurn } from "./told";

const MANY = 30; // nodes

export interface Leaf {
  key: string;
  depth: number;
  node: Node;
  turn: ShortTurn | null;
  opens: boolean;
  open: boolean;
}

/** What a person has shut, and what was opened of what is shut at first. */
export interface Opened {
  shut: Set<string>;
  opened: Set<string>;
}

const startsShut = (run: Run, node: Node) => run.nodes.size > MANY && node.parent !== null;

export function leavesOf(run: Run, { shut, opened }: Opened): Leaf[] {
  const found: Leaf[] = [];
  const add = (node: Node, depth: number) => {
    const key = `node-${node.id}`;
    const open = startsShut(run, node) ? opened.has(key) : !shut.has(key);
    found.push({ key, depth, node, turn: null, opens: node.turns.length > 0, open });
    if (!open) return;
    const byTurn = new Map<number | null, Node[]>();
    for (const child of run.below.get(node.id) ?? []) gathered(byTurn, child.turn, child);
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

/** Opens a leaf, or shuts it. */
export function toggle(run: Run, { shut, opened }: Opened, leaf: Leaf): void {
  const set = !leaf.turn && startsShut(run, leaf.node) ? opened : shut;
  if (!set.delete(leaf.key)) set.add(leaf.key);
}

/** Opens all above a node, and the node. */
export function openTo(run: Run, { shut, opened }: Opened, id: string): void {
  for (let node = run.nodes.get(id); node; node = node.parent === null ? undefined : run.nodes.get(node.parent)) {
    opened.add(`node-${node.id}`);
    shut.delete(`node-${node.id}`);
    if (node.parent !== null) shut.delete(`node-${node.parent}-turn-${node.turn}`);
  }
}
