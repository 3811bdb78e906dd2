// A turn in full: the model's words, the code, what it printed, its sub-calls, its children.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { CallRows } from "./callrows";
import { count, duration, grouped, money, sandboxStart, tokens, turnName } from "./format";
import { useAnswer } from "./hooks";
import { LongText } from "./longtext";
import { Dot, Facts, Outcome, Titled, Trouble } from "./marks";
import { NodeBrief } from "./node";
import { toNode, toTurn } from "./route";
import { callsOf, type Run } from "./run";
import type { Call, ShortTurn, Turn, WholeCell } from "./told";

const MOST_CHILDREN = 100; // that open in place

interface Place {
  run: Run;
  node: string;
  number: number;
}

/** A turn under its name, with the ways to those before and after it. */
export function TurnPage({ run, node, number }: Place) {
  const turns = run.nodes.get(node)?.turns ?? [];
  const at = turns.findIndex((turn) => turn.number === number);
  const way = (word: string, to: number) =>
    turns[to] && at >= 0 ? (
      <a href={toTurn(run.id, node, turns[to].number)} data-step={word}>
        {word}
      </a>
    ) : (
      <span class="dim">{word}</span>
    );
  const name = turnName(number);
  return (
    <div>
      <h2 tabIndex={-1}>
        {`${name[0].toUpperCase()}${name.slice(1)}`}
        <small>
          <a href={toNode(run.id, node)}>{`node ${node}`}</a>
        </small>
      </h2>
      <p class="tools">
        {way("previous turn", at - 1)}
        {way("next turn", at + 1)}
      </p>
      <TurnBox run={run} node={node} number={number} />
    </div>
  );
}

function TurnBox({ run, node, number }: Place) {
  useLayoutEffect(() => run.want(), [run]);
  const short = run.nodes.get(node)?.turns.find((turn) => turn.number === number);
  return (
    <section class="turn" aria-label={`${turnName(number)} of node ${node}`}>
      <div class="turn-body">{run.told && <TurnBody run={run} node={node} number={number} short={short} />}</div>
    </section>
  );
}

function TurnBody({ run, node, number, short }: Place & { short?: ShortTurn }) {
  const sign = JSON.stringify(short ?? null);
  const { told, error } = useAnswer(() => run.ask<Turn>(`turns/${encodeURIComponent(node)}/${number}`), sign);
  if (error) return <Trouble error={error} />;
  if (!told) return null;
  return <Told run={run} turn={told} waits={number && !short?.replied ? notReplied(run, node, short) : ""} />;
}

/** What is told of a turn without a reply. */
function notReplied(run: Run, node: string, short?: ShortTurn): string {
  const reason = run.nodes.get(node)?.reason;
  return short?.over ? `The model did not reply${reason ? `: ${reason}` : "."}` : "The model has not replied yet.";
}

function Told({ run, turn, waits }: { run: Run; turn: Turn; waits: string }) {
  const paid = turn.usage.calls > 0;
  const facts = [
    turn.model,
    tokens(turn.usage),
    paid && money(turn.cost),
    turn.seconds !== null && `reply in ${duration(turn.seconds)}`,
    sandboxStart(turn),
    turn.retries > 0 && `sent ${turn.retries + 1} times`,
    turn.shared && "reply shared with the first branch",
    turn.finish !== null && !["", "stop", "tool"].includes(turn.finish) && `the reply ended early: ${turn.finish}`,
  ];
  return (
    <>
      <p class="facts">
        <Facts facts={facts} />
      </p>
      {waits && <p class="dim">{waits}</p>}
      {turn.thinking && (
        <details class="part">
          <summary>The model's thoughts</summary>
          <LongText run={run.id} long={turn.thinking} kind="words dim" label="The model's thoughts" />
        </details>
      )}
      {turn.words && (
        <Titled title="The model's words">
          <LongText run={run.id} long={turn.words} kind="words" label="The model's words" />
        </Titled>
      )}
      {turn.cells.map((cell) => (
        <CellParts key={cell.number} run={run} node={turn.node} cell={cell} />
      ))}
      {turn.hints.map((hint, at) => (
        <Titled key={at} title="Told the model">
          <pre class="text note">{hint}</pre>
        </Titled>
      ))}
      {turn.accepted && (
        <div class="part answer">
          <h3>
            {turn.node.includes(".") ? "The child's answer" : "The answer"}
            <small>{`by ${turn.accepted.via}`}</small>
          </h3>
          <LongText run={run.id} long={turn.accepted.value} kind="final" label="The answer" />
        </div>
      )}
    </>
  );
}

interface InCell {
  run: Run;
  node: string;
  cell: WholeCell;
}

function CellParts({ run, node, cell }: InCell) {
  return (
    <>
      <div class="part code">
        <h3>
          {`Code of cell ${cell.number}`}
          <small>
            <Outcome state={cell.outcome} />
            {cell.seconds !== null && duration(cell.seconds)}
          </small>
        </h3>
        <LongText run={run.id} long={cell.code} kind="code" label={`Code of cell ${cell.number}`} code />
      </div>
      {(cell.outcome !== null || cell.output) && <Output run={run} cell={cell} />}
      {cell.error && (
        <Titled title="Error">
          <pre class="text error" tabIndex={0}>
            {cell.error.traceback.trim() || `${cell.error.type}: ${cell.error.message}`}
          </pre>
        </Titled>
      )}
      {cell.refused.map((refused, at) => (
        <div key={at} class="part refused">
          <h3>An answer that was refused</h3>
          <p>{refused.reason}</p>
          <LongText run={run.id} long={refused.value} label="The refused answer" />
        </div>
      ))}
      {(cell.notes.length > 0 || cell.tools.length > 0) && <Notes cell={cell} />}
      {cell.calls > 0 && <CellCalls run={run} node={node} cell={cell.number} />}
      {cell.children.slice(0, MOST_CHILDREN).map((child) => (
        <ChildBox key={child} run={run} id={child} />
      ))}
      {cell.children.length > MOST_CHILDREN && (
        <p class="dim">{`and ${grouped(cell.children.length - MOST_CHILDREN)} children more: they are in the tree`}</p>
      )}
    </>
  );
}

function Output({ run, cell }: Omit<InCell, "node">) {
  return (
    <Titled title="Output">
      {cell.output ? (
        <LongText run={run.id} long={cell.output} kind="output" label={`Output of cell ${cell.number}`} />
      ) : (
        <p class="dim">It printed nothing.</p>
      )}
      {cell.omitted > 0 && (
        <p class="dim">{`${grouped(cell.omitted)} of ${grouped(cell.printed ?? 0)} characters were not shown to the model.`}</p>
      )}
    </Titled>
  );
}

function Notes({ cell }: { cell: WholeCell }) {
  const tools = new Map<string, number>();
  for (const tool of cell.tools) tools.set(tool.name, (tools.get(tool.name) ?? 0) + 1);
  const used = [...tools].map(([name, times]) => `${name}() was called ${times === 1 ? "once" : `${times} times`}`);
  return (
    <Titled title="Notes">
      <ul class="notes">
        {[...cell.notes, ...used].map((note, at) => (
          <li key={at}>{note}</li>
        ))}
      </ul>
    </Titled>
  );
}

function CellCalls({ run, node, cell }: { run: Run; node: string; cell: number }) {
  const calls = useMemo(() => callsOf(run, node, cell), [run.version]);
  const number = (which: (call: Call) => boolean) => calls.filter(which).length;
  const told: [number, string][] = [
    [number((call) => call.state.startsWith("failed")), "failed"],
    [number((call) => call.state === "refused"), "refused for a limit"],
    [number((call) => call.state === "cached"), "from the cache"],
    [number((call) => call.state === "going on" || call.state === "no reply"), "without a reply"],
  ];
  const title = (
    <>
      {count(number((call) => call.state !== "refused"), "sub-call")}
      <small>
        {told
          .filter(([many]) => many)
          .map(([many, what]) => `${many} ${what}`)
          .join(", ")}
      </small>
    </>
  );
  return (
    <Titled title={title}>
      <CallRows run={run} calls={calls} label={`Sub-calls of cell ${cell}`} />
    </Titled>
  );
}

/** A child that opens in place. */
function ChildBox({ run, id }: { run: Run; id: string }) {
  const [open, setOpen] = useState(false);
  const node = run.nodes.get(id);
  return (
    <details class="part child" onToggle={(event) => setOpen(open || event.currentTarget.open)}>
      <summary>
        <span class="child-head">
          {node && (
            <>
              <Dot state={node.status} />
              <b>{`Child ${id}`}</b> <q title={node.query}>{node.query}</q>
              <small>{money(node.cost)}</small>
            </>
          )}
        </span>
      </summary>
      <div class="child-body">
        {open && node && (
          <>
            <p>
              <a href={toNode(run.id, id)}>{`node ${id}`}</a>
            </p>
            <NodeBrief run={run} node={node} heading="h4" />
            {node.turns.map((turn) => (
              <div key={turn.number} class="nested">
                <h3>
                  <a href={toTurn(run.id, id, turn.number)}>{turnName(turn.number)}</a>
                </h3>
                <TurnBox run={run} node={id} number={turn.number} />
              </div>
            ))}
          </>
        )}
      </div>
    </details>
  );
}
