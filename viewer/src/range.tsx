// A range of the input: its text, and who was shown it.

import { grouped } from "./format";
import { useAnswer } from "./hooks";
import { Soon, Trouble } from "./marks";
import { toCall, toNode, toTurn } from "./route";
import { Rows } from "./rows";
import type { Run } from "./run";
import { ask, isExport, path } from "./source";
import type { Reader } from "./stretches";
import type { Piece } from "./told";

export interface Range {
  part: number;
  start: number;
  end: number;
  unit: string;
}

interface Detail {
  run: Run;
  name: string; // of the part
  range: Range;
  readers: Reader[];
}

export function RangeDetail({ run, name, range, readers }: Detail) {
  const times = readers.length === 1 ? "once" : `${grouped(readers.length)} times`;
  return (
    <>
      <h3>
        {name && `${name}, `}
        {`${grouped(range.start)} to ${grouped(range.end)}`}
        <small>{`${grouped(range.end - range.start)} ${range.unit}`}</small>
      </h3>
      <div>{isExport ? <NotHeld /> : <RangeText run={run} range={range} />}</div>
      <h4>{readers.length ? `Shown to models ${times}` : "No model was shown any of it"}</h4>
      {readers.length > 0 && (
        <Rows
          items={readers}
          height={28}
          label="Who was shown it"
          class="brief-list"
          keyOf={(each) => `${each.kind}-${each.node}-${each.cell}-${each.call}`}
          own={() => ({ class: "range" })}
          row={(each) => <ReaderLink run={run} reader={each} />}
        />
      )}
    </>
  );
}

function NotHeld() {
  return (
    <p class="dim">
      This page does not hold the input itself; unspool view shows the text where the run kept it or its files are the same.
    </p>
  );
}

function RangeText({ run, range }: { run: Run; range: Range }) {
  const question = `runs/${path(run.id)}/input?part=${range.part}&start=${range.start}&end=${range.end}`;
  const { told, error } = useAnswer(() => ask<Piece>(question), run.step);
  if (error) return <Trouble error={error} />;
  if (!told) return <Soon />;
  if (told.why !== undefined) return <p class="why">{told.why}</p>;
  return (
    <>
      {told.line !== null && (
        <p class="dim">{`from line ${grouped(told.line)}${told.cut ? "; only its beginning is shown" : ""}`}</p>
      )}
      <pre class="text input" tabIndex={0} role="group" aria-label="Text of the range">
        <span class="around">{told.before}</span>
        <mark>{told.text}</mark>
        <span class="around">{told.after}</span>
      </pre>
    </>
  );
}

function ReaderLink({ run, reader }: { run: Run; reader: Reader }) {
  const at = `turn ${reader.turn} of node ${reader.node}`;
  if (reader.call !== null) return <a href={toCall(run.id, reader.call)}>{`sub-call ${reader.call}, ${at}`}</a>;
  if (reader.kind === "description") return <span>the description of the input, which the model saw first</span>;
  if (reader.kind === "question") return <a href={toNode(run.id, reader.node)}>{`the question of child ${reader.node}`}</a>;
  return <a href={toTurn(run.id, reader.node, reader.turn)}>{`printed in cell ${reader.cell}, ${at}`}</a>;
}
