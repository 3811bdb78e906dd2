// A node: what it was asked, how it stands, what it took, its turns.

import { count, money, now, sandboxStart, tokens, took, turnName } from "./format";
import { useAnswer } from "./hooks";
import { LongText } from "./longtext";
import { Dot, Facts, Mark, Titled, Trouble } from "./marks";
import { toNode, toTurn } from "./route";
import { Rows } from "./rows";
import type { Run } from "./run";
import type { Node, NodeTexts, ShortTurn } from "./told";

/** How long a node has taken so far, without the time in which it waited. */
export function nodeTook(run: Run, node: Node): string {
  const until = node.ended ?? (run.told?.going ? now() : (run.told?.last ?? null));
  return took(node.started, until === null ? null : until - node.paused);
}

interface Brief {
  run: Run;
  node: Node;
  heading: "h3" | "h4"; // their level
}

/** What it was asked and what it answered. */
export function NodeBrief({ run, node, heading: Heading }: Brief) {
  const { told, error } = useAnswer(
    () => run.ask<NodeTexts>(`nodes/${encodeURIComponent(node.id)}`),
    `${node.status} ${node.cost}`,
  );
  return (
    <div class="brief">
      <p class="facts">
        <Mark state={node.status} />
        <Facts facts={[nodeTook(run, node), money(node.cost), tokens(node.usage)]} />
      </p>
      {node.status && node.status !== "answered" && <p class="bad">{node.reason}</p>}
      <div>
        {error ? <Trouble error={error} /> : null}
        {told && (
          <>
            <Heading>Question</Heading>
            <LongText run={run.id} long={told.query} label={`Question of node ${node.id}`} />
            {told.answer && (
              <div class="answer">
                <Heading>{told.draft ? `A draft: ${told.draft}` : "Answer"}</Heading>
                <LongText run={run.id} long={told.answer} kind="final" label={`Answer of node ${node.id}`} />
              </div>
            )}
          </>
        )}
      </div>
    </div>
  );
}

export function NodePage({ run, id }: { run: Run; id: string }) {
  const node = run.nodes.get(id);
  const children = run.below.get(id) ?? [];
  if (!node) {
    const begins = run.told?.going ? "The run has no turns yet." : "The run has no turns.";
    if (run.told && run.nodes.size === 0) return <p class="dim">{begins}</p>;
    return (
      <section aria-label={`Node ${id}`}>{run.told && <Trouble error={new Error(`the run has no node ${id}`)} />}</section>
    );
  }
  return (
    <section aria-label={`Node ${id}`}>
      <h2 tabIndex={-1}>{`Node ${id}`}</h2>
      <NodeBrief run={run} node={node} heading="h3" />
      <Titled title={count(node.turns.length, "turn")}>
        {node.turns.length === 0 && <p class="dim">{node.status === null && run.told?.going ? "no turns yet" : "no turns"}</p>}
        <ol class="steps">
          {node.turns.map((turn) => (
            <li key={turn.number}>
              <a href={toTurn(run.id, id, turn.number)}>{turnName(turn.number)}</a>
              <span class="dim">{turnTold(turn)}</span>
            </li>
          ))}
        </ol>
      </Titled>
      {children.length > 0 && (
        <Titled title={count(children.length, "child", "children")}>
          <Rows
            items={children}
            height={30}
            label="Children"
            keyOf={(child) => child.id}
            own={() => ({ class: "child-row" })}
            row={(child) => <ChildRow run={run} child={child} />}
          />
        </Titled>
      )}
    </section>
  );
}

function ChildRow({ run, child }: { run: Run; child: Node }) {
  return (
    <>
      <Dot state={child.status} />
      <a href={toNode(run.id, child.id)}>{child.id}</a>
      <span class="what" title={child.query}>
        {child.query}
      </span>
      <span class="number cost">{money(child.cost)}</span>
    </>
  );
}

/** What a turn did, in a few words. */
export function turnTold(turn: ShortTurn): string {
  const errors = turn.cells.map(([, , , , error]) => (error === "AnswerRefused" ? "answer refused" : error));
  const code = turn.cells.length ? `${count(turn.lines, "line")} of code` : "nothing to run";
  const told = [
    turn.replied ? code : `no reply${turn.over ? "" : " yet"}`,
    turn.calls && count(turn.calls, "sub-call"),
    turn.failed && `${turn.failed} failed`,
    turn.refused && `${turn.refused} refused for a limit`,
    turn.children && count(turn.children, "child", "children"),
    turn.cells.some(([, , , outcome]) => outcome === "submitted") && "submitted",
    ...errors,
    sandboxStart(turn),
  ];
  return told.filter(Boolean).join(", ");
}
