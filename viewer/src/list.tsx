// The runs that are kept, the newest first: to search, to filter, to open, to put side by side.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Choice, SearchField } from "./fields";
import { count, duration, grouped, modelName, moment, money, now } from "./format";
import { useClock, useNarrow } from "./hooks";
import { Mark, Trouble } from "./marks";
import { toBeside, toRun } from "./route";
import { Rows } from "./rows";
import { ask, listen } from "./source";
import type { Listed } from "./told";

const STATES = ["all", "running", "answered", "budget", "partial", "failed", "cancelled", "interrupted", "unreadable"];
const keyOf = (run: Listed) => run.id;

/** The runs, the newest first, as news of them come; null until they are there. */
function useRuns(): { runs: Listed[] | null; error: unknown } {
  const [told, put] = useState<{ runs: Listed[] | null; error: unknown }>({ runs: null, error: null });
  const busy = useRef(false);
  useEffect(() => {
    const refresh = async () => {
      if (busy.current) return;
      busy.current = true;
      try {
        const { runs } = await ask<{ runs: Listed[] }>("runs");
        put({ runs: runs.reverse(), error: null });
      } catch (error) {
        put(({ runs }) => ({ runs, error }));
      }
      busy.current = false;
    };
    refresh();
    return listen(null, refresh, () => {});
  }, []);
  return told;
}

export function ListPage() {
  const { runs: told, error } = useRuns();
  const runs = told ?? [];
  const [search, setSearch] = useState("");
  const [state, setState] = useState("all");
  const [chosen, setChosen] = useState<string[]>([]);
  const moving = runs.filter((run) => run.state === "running").length;
  useClock(moving > 0);
  const found = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    const has = (run: Listed) => `${run.query} ${run.model} ${run.id}`.toLowerCase().includes(wanted);
    return runs.filter((run) => (state === "all" || run.state === state) && (!wanted || has(run)));
  }, [told, search, state]);
  const choose = (id: string, wanted: boolean) => {
    const others = chosen.filter((each) => each !== id);
    setChosen(wanted ? [...others.slice(-1), id] : others);
  };
  const height = useNarrow() ? 78 : 54; // three lines, two
  const goes = () => {
    location.hash = toBeside(chosen[0], chosen[1]);
  };
  const going = moving ? `, ${grouped(moving)} going on` : "";
  return (
    <main class="fills page" id="detail">
      <h1 tabIndex={-1}>Runs</h1>
      <div class="tools">
        <SearchField label="Search in questions, models, ids" value={search} changed={setSearch} />
        <Choice label="Which runs" names={STATES} value={state} changed={setState} />
        <button type="button" disabled={chosen.length !== 2} onClick={goes}>
          {chosen.length === 2 ? "Side by side" : "Side by side: choose two"}
        </button>
        <p class="dim" role="status">
          {told && `${grouped(found.length)} of ${count(runs.length, "run")}${going}`}
        </p>
      </div>
      <div>
        {error !== null ? (
          <Trouble error={error} />
        ) : (
          told?.length === 0 && <p class="dim">There are no runs in this folder yet: unspool ask makes one.</p>
        )}
      </div>
      <Rows
        items={found}
        height={height}
        label="Runs, the newest first"
        none={runs.length ? "none is like that" : ""}
        class="runs tall"
        keyOf={keyOf}
        own={() => ({ class: "run" })}
        row={(run) => <RunRow run={run} isChosen={chosen.includes(run.id)} choose={choose} />}
      />
    </main>
  );
}

interface Row {
  run: Listed;
  isChosen: boolean;
  choose: (id: string, wanted: boolean) => void;
}

function RunRow({ run, isChosen, choose }: Row) {
  const begun = moment(run.started).slice(0, 16);
  const since = run.state === "running" ? Math.max(0, now() - run.ended) : 0;
  const amounts = [count(run.turns, "turn"), run.sub_calls > 0 && count(run.sub_calls, "sub-call")].filter(Boolean).join(", ");
  return (
    <>
      <input
        type="checkbox"
        value={run.id}
        aria-label={`choose run ${run.id} to put it beside another`}
        checked={isChosen}
        onChange={(event) => choose(run.id, event.currentTarget.checked)}
      />
      <a href={toRun(run.id)}>
        <span class="question" title={run.query || run.id}>
          {run.query || run.id}
        </span>
        <span class="about" title={[run.state, begun, run.model, amounts].join(" · ")}>
          <Mark state={run.state} />
          <span class="begun">{begun}</span>
          <span class="model">{modelName(run.model)}</span>
          <span class="amounts">{amounts}</span>
        </span>
        <span class="number cost">{money(run.cost)}</span>
        <span class="number time">{run.started > 0 && duration(run.seconds + since)}</span>
      </a>
    </>
  );
}
