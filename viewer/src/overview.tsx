// A run at a glance: the answer, what was read, what was spent and what is left, what was refused.

import { grouped, moment, money, percent, share, turnName } from "./format";
import { useAnswer } from "./hooks";
import { LongText } from "./longtext";
import { Mark, Soon, Titled, Trouble } from "./marks";
import { Quotes } from "./quotes";
import { toCall, toNode, toRun, toTurn } from "./route";
import type { Run } from "./run";
import { Spent, Table } from "./spent";
import type { Branch, MapTold, Refused, RunTold } from "./told";

interface Of {
  run: Run;
  told: RunTold;
}

export function Overview({ run }: { run: Run }) {
  const { told } = run;
  return (
    <section aria-label="The run">
      <div>
        {told && (
          <>
            <Answer run={run} told={told} />
            {told.notes && told.notes.length > 0 && (
              <Titled title="Notes">
                <ul class="notes">
                  {told.notes.map((note, at) => (
                    <li key={at}>{note}</li>
                  ))}
                </ul>
              </Titled>
            )}
            {told.branches.length > 0 && <Branches run={run} told={told} />}
            <Spent told={told} />
            {told.refused.length > 0 && <Refusals run={run} told={told} />}
            <Reading run={run} />
            <Asked run={run} told={told} />
            <Settings told={told} />
          </>
        )}
      </div>
    </section>
  );
}

function Answer({ run, told }: Of) {
  const reason = told.status === "interrupted" ? "the process that made it is gone" : told.reason;
  const why = told.status !== "answered" && reason && (
    <div>
      <p class="why">{`${told.status}: ${reason}`}</p>
      {told.go_on && <p class="dim">{told.go_on}</p>}
    </div>
  );
  if (!told.answer) {
    const still = told.status === "running" ? "The run is going on; there is no answer yet." : "There is no answer.";
    return (
      <div class="part">
        <h2 tabIndex={-1}>Answer</h2>
        {why}
        <p class="dim">{still}</p>
      </div>
    );
  }
  return (
    <div class="part answer">
      <h2 tabIndex={-1}>{told.draft ? "Draft" : "Answer"}</h2>
      {why}
      {told.draft && <p class="why">{`It is a draft: ${told.draft}`}</p>}
      <LongText run={run.id} long={told.answer} kind="final" label="The answer of the run" />
    </div>
  );
}

/** A branch that gave no answer neither agrees nor does not. */
function silent({ draft, status }: Branch): string {
  if (draft) return "a draft";
  return status === "cancelled" ? "stopped early" : "–";
}

function Branches({ run, told }: Of) {
  const row = (branch: Branch) => (
    <tr key={branch.node}>
      <td>
        <a href={toNode(run.id, branch.node)}>{`branch ${branch.number}`}</a>
      </td>
      <td>
        <Mark state={branch.status} />
      </td>
      <td>{branch.agrees === null ? <span class="dim">{silent(branch)}</span> : branch.agrees ? "agrees" : "does not agree"}</td>
      <td class="number">{money(branch.cost)}</td>
      <td>
        {branch.answer ? (
          <LongText run={run.id} long={branch.answer} label={`Answer of branch ${branch.number}`} />
        ) : (
          <span class="dim">no answer</span>
        )}
      </td>
    </tr>
  );
  return (
    <Titled title="Branches">
      <Table heads={["branch", "status", "agrees", "cost", "answer"]}>{told.branches.map(row)}</Table>
    </Titled>
  );
}

function Refusals({ run, told }: Of) {
  const item = (each: Refused, at: number) => (
    <li key={at}>
      {each.call === undefined ? (
        <a href={toTurn(run.id, each.node, each.turn)}>{`an answer, ${turnName(each.turn)} of node ${each.node}`}</a>
      ) : (
        <a href={toCall(run.id, each.call)}>{refusedCalls(each.call, each.count ?? 1)}</a>
      )}
      <span>{each.why}</span>
    </li>
  );
  return (
    <div class="part refused">
      <h3>Refused, and why</h3>
      <ul class="steps">
        {told.refused.map(item)}
        {told.refused_more > 0 && <li class="dim">{`and ${grouped(told.refused_more)} more`}</li>}
      </ul>
    </div>
  );
}

function refusedCalls(first: number, count: number): string {
  return count === 1 ? `sub-call ${first}` : `${grouped(count)} sub-calls, from ${first} on`;
}

function Reading({ run }: { run: Run }) {
  const { told, error } = useAnswer(() => run.ask<MapTold>("map"), run.step);
  if (error) {
    return (
      <div class="part">
        <Trouble error={error} />
      </div>
    );
  }
  return (
    <Titled title="What models read of the input">
      {told ? (
        <>
          <Shares run={run} map={told} />
          <Quotes run={run} citations={told.citations} />
        </>
      ) : (
        <Soon />
      )}
    </Titled>
  );
}

function Shares({ run, map }: { run: Run; map: MapTold }) {
  const { coverage } = map;
  const way = <a href={toRun(run.id, "map")}>map of the input</a>;
  if (coverage.share === null) {
    return (
      <p class="dim">
        {coverage.why || "It is not made of text, so no shares of it are known."} {map.parts.length > 0 && way}
      </p>
    );
  }
  const calls =
    coverage.by_sub_calls === null
      ? "of what was given to sub-calls it is not known"
      : `given to sub-calls ${percent(coverage.by_sub_calls)}`;
  const printed = `printed ${percent(coverage.by_prints)}, ${calls}, read by children ${percent(coverage.by_children)}.`;
  return (
    <>
      <div class="share">
        <meter min={0} max={1} value={coverage.share} aria-label="share of the input that models read" />
        <b>{share(coverage.share, Boolean(coverage.unplaced || coverage.unknown))}</b>
        <span class="dim">{`of ${grouped(coverage.size)} ${coverage.unit ?? "characters"}`}</span>
        {way}
      </div>
      <p class="dim">{`${printed} What code searched by itself is not known.`}</p>
    </>
  );
}

function Asked({ run, told }: Of) {
  return (
    <Titled title="Question">
      {told.query && <LongText run={run.id} long={told.query} label="The question" />}
      {told.context && (
        <details>
          <summary>The input, as the model was told of it</summary>
          <LongText run={run.id} long={told.context} label="The description of the input" />
        </details>
      )}
      {told.sources && told.sources.length > 0 && <p class="dim">{`from ${told.sources.join(", ")}`}</p>}
    </Titled>
  );
}

function Settings({ told }: { told: RunTold }) {
  const pairs: [string, unknown][] = [
    ["run", told.id],
    ["begun", moment(told.started)],
    ["model", told.model],
    ["sub-calls", told.sub_model],
    ["profile", told.profile],
    ...Object.entries(told.settings ?? {}),
  ];
  return (
    <details class="part">
      <summary>Settings</summary>
      <dl class="pairs">
        {pairs.flatMap(([name, value]) => [<dt key={`dt ${name}`}>{name}</dt>, <dd key={`dd ${name}`}>{String(value)}</dd>])}
      </dl>
    </details>
  );
}
