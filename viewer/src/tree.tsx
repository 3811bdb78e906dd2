// The run as a tree of nodes and their turns, of which only what is in sight is made. One stop for the keyboard.

import { useRef } from "preact/hooks";
import { duration, money, short, turnName } from "./format";
import { useAgain } from "./hooks";
import { leavesOf, openTo, toggle, type Leaf, type Opened } from "./leaves";
import { Dot } from "./marks";
import { nodeTook, turnTold } from "./node";
import { swap, toNode, toTurn, type Place } from "./route";
import { Rows } from "./rows";
import type { Run } from "./run";
import type { Node, ShortTurn } from "./told";

const keyOf = (leaf: Leaf) => leaf.key;

/** The leaf of a place, if it has one. */
function leafOf({ page, node = "0", turn }: Place): string {
  return page === "turn" ? `node-${node}-turn-${turn}` : page === "node" ? `node-${node}` : "";
}

export function Tree({ run, place }: { run: Run; place: Place }) {
  const opened = useRef<Opened>({ shut: new Set(), opened: new Set() });
  const again = useAgain();
  const active = leafOf(place);
  let leaves = leavesOf(run, opened.current);
  const reached = useRef(""); // the leaf for which all above it was opened: once, then a person may shut it
  if (active !== reached.current && run.told) {
    reached.current = active;
    if (active && !leaves.some((leaf) => leaf.key === active)) {
      openTo(run, opened.current, place.node ?? "0");
      leaves = leavesOf(run, opened.current);
    }
  }
  const address = ({ node, turn }: Leaf) => (turn ? toTurn(run.id, node.id, turn.number) : toNode(run.id, node.id));
  const twist = (leaf: Leaf) => {
    toggle(run, opened.current, leaf);
    again();
  };
  return (
    <Rows
      items={leaves}
      height={28}
      label="Nodes and turns of the run"
      role="tree"
      class="tree"
      keyOf={keyOf}
      own={(leaf) => ({
        class: leaf.key === active ? "leaf active" : "leaf",
        id: `leaf-${leaf.key}`,
        role: "treeitem",
        "aria-level": leaf.depth + 1,
        "aria-selected": leaf.key === active,
        "aria-expanded": leaf.opens ? leaf.open : undefined,
        onClick: () => {
          location.hash = address(leaf);
        },
      })}
      row={(leaf) => (
        <>
          <Twisty leaf={leaf} twist={() => twist(leaf)} />
          {leaf.turn ? <TurnLeaf node={leaf.node} turn={leaf.turn} /> : <NodeLeaf run={run} node={leaf.node} />}
        </>
      )}
      active={active}
      inSight={active}
      onKeyDown={(event) => pressed(event, { leaves, active, twist, address })}
    />
  );
}

function Twisty({ leaf, twist }: { leaf: Leaf; twist: () => void }) {
  const pressed = (event: MouseEvent) => {
    event.stopPropagation();
    twist();
  };
  return (
    <span
      class="twisty"
      aria-hidden="true"
      style={{ marginLeft: `${leaf.depth * 14}px` }}
      onClick={leaf.opens ? pressed : undefined}
    >
      {leaf.opens && (leaf.open ? "▾" : "▸")}
    </span>
  );
}

function NodeLeaf({ run, node }: { run: Run; node: Node }) {
  const used = (node.usage.read ?? 0) + (node.usage.written ?? 0);
  const isRoot = node.parent === null;
  return (
    <>
      <Dot state={node.status} />
      <span class="name node">{isRoot && !node.id.includes("@") ? "root" : node.id}</span>
      <span class="what" title={isRoot ? undefined : node.query}>
        {!isRoot && node.query}
      </span>
      <span class="number tokens">
        {node.usage.calls > 0 && used > 0 && short(used)}
        <span class="unseen"> tokens</span>
      </span>
      <span class="number cost">{node.cost === null ? "$?" : money(node.cost)}</span>
      <span class="number time">{nodeTook(run, node)}</span>
    </>
  );
}

function TurnLeaf({ node, turn }: { node: Node; turn: ShortTurn }) {
  const state = turnState(node, turn);
  const known = turn.started !== null && turn.ended !== null;
  return (
    <>
      {state === "" ? <span class="dot" /> : <Dot state={state} />}
      <span class="name">{turnName(turn.number)}</span>
      <span class="what" title={turnTold(turn)}>
        {turnTold(turn)}
      </span>
      <span class="number time">
        {known && duration(Math.max(0, Number(turn.ended) - Number(turn.started) - turn.waited - turn.paused))}
      </span>
    </>
  );
}

/** How a turn stands; nothing is said of one that went well. */
function turnState(node: Node, turn: ShortTurn): string | null {
  const errors = turn.cells.map(([, , , , error]) => error).filter(Boolean);
  const going = turn.ended === null || turn.cells.some(([, , , outcome]) => outcome === null);
  if (going) return !turn.over ? null : node.status === "failed" ? "failed" : "interrupted";
  if (errors.some((error) => error !== "AnswerRefused")) return "error";
  return turn.failed || turn.refused || errors.length ? "not all went well" : "";
}

interface Keyboard {
  leaves: Leaf[];
  active: string;
  twist: (leaf: Leaf) => void;
  address: (leaf: Leaf) => string;
}

function pressed(event: KeyboardEvent, { leaves, active, twist, address }: Keyboard): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const at = leaves.findIndex((leaf) => leaf.key === active);
  const leaf = at < 0 ? undefined : leaves[at];
  const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at < 0 ? 0 : at - 1, Home: 0, End: leaves.length - 1 };
  const go = (to: Leaf | undefined) => to && swap(address(to));
  if (Object.hasOwn(steps, event.key)) go(leaves[steps[event.key]]);
  else if (event.key === "ArrowRight" && leaf) {
    if (leaf.opens && !leaf.open) twist(leaf);
    else if (leaf.opens) go(leaves[at + 1]);
  } else if (event.key === "ArrowLeft" && leaf) {
    if (leaf.opens && leaf.open) twist(leaf);
    else go(leaves.slice(0, at).findLast((each) => each.depth < leaf.depth));
  } else if ((event.key === "Enter" || event.key === " ") && leaf) {
    const heading = document.querySelector<HTMLElement>("#detail h2");
    heading?.scrollIntoView();
    heading?.focus();
  } else return;
  event.preventDefault();
}
