// All sub-calls of a run: to search, to filter, to put in order.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { CallDetail, CallRows } from "./callrows";
import { Choice, SearchField } from "./fields";
import { grouped } from "./format";
import { Trouble } from "./marks";
import { toTurn } from "./route";
import type { Run } from "./run";
import type { Call } from "./told";

const STATES: Record<string, (call: Call) => boolean> = {
  all: () => true,
  failed: (call) => call.state.startsWith("failed"),
  "refused for a limit": (call) => call.state === "refused",
  "from the cache": (call) => call.state === "cached",
  "sent again": (call) => call.retries > 0,
  "without a reply": (call) => call.state === "going on" || call.state === "no reply",
};

const ORDERS: Record<string, (a: Call, b: Call) => number> = {
  "as they were asked": (a, b) => a.id - b.id,
  "longest first": (a, b) => (b.seconds ?? 0) - (a.seconds ?? 0),
  "dearest first": (a, b) => (b.cost ?? 0) - (a.cost ?? 0),
  "most tokens first": (a, b) => (b.read ?? 0) + (b.written ?? 0) - (a.read ?? 0) - (a.written ?? 0),
};

export function CallsPage({ run }: { run: Run }) {
  const [search, setSearch] = useState("");
  const [state, setState] = useState("all");
  const [order, setOrder] = useState("as they were asked");
  useLayoutEffect(() => run.want(), [run]);
  const found = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    const has = (call: Call) => `${call.id} ${call.prompt} ${call.reply} ${call.model}`.toLowerCase().includes(wanted);
    return [...run.calls.values()].filter((call) => STATES[state](call) && (!wanted || has(call))).sort(ORDERS[order]);
  }, [run.version, search, state, order]);
  if (run.whole && run.calls.size === 0) {
    return (
      <section aria-label="Sub-calls">
        <h2 tabIndex={-1}>Sub-calls</h2>
        <p class="dim">{run.told?.going ? "no sub-calls yet" : "no sub-calls"}</p>
      </section>
    );
  }
  const more = run.whole ? "" : ", more are on their way";
  return (
    <section class="fills" aria-label="Sub-calls">
      <h2 tabIndex={-1}>Sub-calls</h2>
      <div class="tools">
        <SearchField label="Search in how prompts and replies begin" value={search} changed={setSearch} />
        <Choice label="Which sub-calls" names={Object.keys(STATES)} value={state} changed={setState} />
        <Choice label="In which order" names={Object.keys(ORDERS)} value={order} changed={setOrder} />
        <p class="dim" role="status">
          {`${grouped(found.length)} of ${grouped(run.calls.size)}${more}`}
        </p>
      </div>
      <CallRows run={run} calls={found} label="Sub-calls of the run" none={run.whole ? "none is like that" : ""} places />
    </section>
  );
}

/** One sub-call alone. */
export function CallPage({ run, id }: { run: Run; id: number }) {
  useLayoutEffect(() => run.want(), [run]);
  const call = run.calls.get(id);
  return (
    <section aria-label={`Sub-call ${id}`}>
      <h2 tabIndex={-1}>{`Sub-call ${id}`}</h2>
      <p class="tools">
        {call ? (
          <a href={toTurn(run.id, call.node, call.turn)}>{`turn ${call.turn} of node ${call.node}, cell ${call.cell}`}</a>
        ) : (
          run.error !== null && <Trouble error={run.error} />
        )}
      </p>
      <CallDetail run={run} id={id} linked={false} heading="h3" />
    </section>
  );
}
