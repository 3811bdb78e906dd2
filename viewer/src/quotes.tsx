// Quotes, each with the way to its place in the input.

import { count, grouped } from "./format";
import { FirstOf } from "./pieces";
import { toRange } from "./route";
import type { Run } from "./run";
import type { Citation } from "./told";

export function Quotes({ run, citations }: { run: Run; citations: Citation[] }) {
  if (!citations.length) return null;
  return (
    <div>
      <h4>{count(citations.length, "quote")}</h4>
      <FirstOf items={citations} item={(each, at) => <Quote key={at} run={run} cited={each} />} />
    </div>
  );
}

function Quote({ run, cited }: { run: Run; cited: Citation }) {
  const at = cited.found && cited.line !== null ? `line ${grouped(cited.line)}` : "not in the input";
  const place = cited.source === null ? at : `${cited.source}, ${at}`;
  const sure = !cited.found ? "" : cited.verified ? "checked against the input" : "not checked";
  const { part, start, end } = cited;
  return (
    <li>
      <q>{cited.quote.slice(0, 400)}</q>
      {part !== null && start !== null && end !== null ? (
        <a href={toRange(run.id, part, start, end)}>{place}</a>
      ) : (
        <span class={cited.found ? "" : "bad"}>{place}</span>
      )}
      <span class="dim">{sure}</span>
    </li>
  );
}
