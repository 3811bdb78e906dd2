// Two runs side by side: what each came to, where they part, their turns.

import type { ComponentChildren } from "preact";
import { count, duration, grouped, lasted, money, tokens, turnName } from "./format";
import { highlighted } from "./highlight";
import { useAnswer } from "./hooks";
import { Mark, Soon, Trouble } from "./marks";
import { Pieces } from "./pieces";
import { toCall, toRun, toTurn } from "./route";
import { ask, path } from "./source";
import type { Beside, BesideRun, BesideTurn } from "./told";

export function BesidePage({ one, two }: { one: string; two: string }) {
  const { told, error } = useAnswer(() => ask<Beside>(`beside/${path(one, two)}`), "");
  return (
    <main class="page" id="detail">
      <h1 tabIndex={-1}>Two runs side by side</h1>
      <div>
        {error ? <Trouble error={error} /> : null}
        {!error && !told && <Soon />}
        {told && (
          <>
            <Figures told={told} />
            <Parting told={told} />
            <div class="pair">
              {told.runs.map((run, at) => (
                <Answer key={at} run={run} />
              ))}
            </div>
            <h2>Turn by turn</h2>
            <Pieces items={told.turns} item={(turn) => <TurnBox told={told} turn={turn} />} />
          </>
        )}
      </div>
    </main>
  );
}

const FIGURES: [name: string, of: (run: BesideRun) => ComponentChildren][] = [
  ["question", (run) => run.query.slice(0, 300)],
  ["status", (run) => <Mark state={run.status} />],
  ["model", (run) => run.model],
  ["sub-calls by", (run) => run.sub_model],
  ["cost", (run) => money(run.cost)],
  ["tokens", (run) => tokens(run.usage)],
  ["time", (run) => duration(lasted(run))],
  ["turns", (run) => grouped(run.turns)],
  ["sub-calls", (run) => `${grouped(run.sub_calls)}${run.failed_calls ? `, ${grouped(run.failed_calls)} failed` : ""}`],
  ["children", (run) => grouped(run.children)],
];

function Figures({ told }: { told: Beside }) {
  const [one, two] = told.runs;
  return (
    <div class="part">
      <p>{`${told.same[0].toUpperCase()}${told.same.slice(1)}.`}</p>
      <div class="scrolls" tabIndex={0} role="group" aria-label="Figures of both runs">
        <table class="beside">
          <thead>
            <tr>
              <td />
              {told.runs.map((run, at) => (
                <th key={at} scope="col">
                  <a href={toRun(run.id)}>{run.id}</a>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {FIGURES.map(([name, of]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{of(one)}</td>
                <td>{of(two)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function Parting({ told }: { told: Beside }) {
  const { parting } = told;
  if (!told.begun) return <p class="part why">One of them has not begun.</p>;
  if (!parting) return <p class="part">They did the same, turn by turn.</p>;
  const there = told.turns.find((turn) => turn.number === parting.turn)?.there ?? [true, true];
  const links = ([0, 1] as const).filter((at) => there[at]).map((at) => {
    const { id } = told.runs[at];
    const which = at ? "the second" : "the first";
    const call = parting.calls?.[at];
    return (
      <span key={at}>
        {at > 0 && there[0] ? " · " : ""}
        {call ? (
          <a href={toCall(id, call)}>{`sub-call ${call} of ${which}`}</a>
        ) : (
          <a href={toTurn(id, "0", parting.turn)}>{`${turnName(parting.turn)} of ${which}`}</a>
        )}
      </span>
    );
  });
  return (
    <p class="part parts">
      <b>{`They part in ${turnName(parting.turn)}: `}</b>
      {`${parting.told}. `}
      {links}
    </p>
  );
}

function Answer({ run }: { run: BesideRun }) {
  return (
    <div class="answer">
      <h2>{run.draft ? "Draft" : "Answer"}</h2>
      {run.answer ? (
        <pre class="text final" tabIndex={0}>
          {run.answer}
        </pre>
      ) : (
        <p class="dim">{run.reason || "none"}</p>
      )}
    </div>
  );
}

function TurnBox({ told, turn }: { told: Beside; turn: BesideTurn }) {
  const parts = told.parting?.turn === turn.number;
  return (
    <section class={parts ? "part parts" : "part"} aria-label={turnName(turn.number)}>
      <h3>
        {turnName(turn.number)}
        {parts && <small>here they part</small>}
      </h3>
      {turn.code.length > 0 && <CodeLines lines={turn.code} />}
      <div class="pair">
        <Output turn={turn} at={0} />
        <Output turn={turn} at={1} />
      </div>
    </section>
  );
}

function Output({ turn, at }: { turn: BesideTurn; at: 0 | 1 }) {
  if (!turn.there[at]) {
    return (
      <div>
        <p class="dim">no such turn</p>
      </div>
    );
  }
  return (
    <div>
      {turn.words[at] && <pre class="text words">{turn.words[at]}</pre>}
      {turn.output[at].map(([state, text], place) => (
        <div key={place}>
          <p class="facts">
            <Mark state={state} />
          </p>
          {text && (
            <pre class="text output" tabIndex={0}>
              {text}
            </pre>
          )}
        </div>
      ))}
      {turn.calls[at] > 0 && <p class="dim">{count(turn.calls[at], "sub-call")}</p>}
    </div>
  );
}

const SIGNS = {
  " ": { kind: "both", word: undefined },
  "-": { kind: "first", word: "first run alone: " },
  "+": { kind: "second", word: "second run alone: " },
};

function CodeLines({ lines }: { lines: BesideTurn["code"] }) {
  return (
    <pre
      class="text code diff"
      tabIndex={0}
      role="group"
      aria-label="Code of both: - is the first run's alone, + the second's"
    >
      {lines.map(([sign, text], at) => (
        <span key={at} class={`line ${SIGNS[sign].kind}`} title={SIGNS[sign].word}>
          {`${sign} `}
          {highlighted(text)}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
