// Sub-calls as rows that open in place.

import { useRef, useState } from "preact/hooks";
import { duration, money, short } from "./format";
import { useAnswer } from "./hooks";
import { LongText } from "./longtext";
import { Dot, Facts, Mark, Soon, Trouble } from "./marks";
import { toCall, toTurn } from "./route";
import { Rows } from "./rows";
import type { Run } from "./run";
import type { Call, WholeCall } from "./told";

const WORDS = /^(failed|refused|no reply)/; // states of calls without a reply: each is told in its place
const keyOf = (call: Call) => String(call.id);

interface List {
  run: Run;
  calls: readonly Call[];
  label: string;
  none?: string;
  places?: boolean; // whether each says where it was made
}

export function CallRows({ run, calls, label, none, places = false }: List) {
  const [open, setOpen] = useState<string | null>(null);
  return (
    <Rows
      items={calls}
      height={30}
      label={label}
      none={none}
      class={places ? "calls tall" : "calls"}
      keyOf={keyOf}
      own={(call) => ({ class: keyOf(call) === open ? "call open" : "call" })}
      row={(call) => {
        const isOpen = keyOf(call) === open;
        return <CallButton call={call} places={places} isOpen={isOpen} press={() => setOpen(isOpen ? null : keyOf(call))} />;
      }}
      open={open}
      panel={(call) => <CallDetail run={run} id={call.id} linked heading={places ? "h3" : "h4"} />}
    />
  );
}

interface Pressed {
  call: Call;
  places: boolean;
  isOpen: boolean;
  press: () => void;
}

function CallButton({ call, places, isOpen, press }: Pressed) {
  const known = call.read !== null || call.written !== null;
  return (
    <button type="button" aria-expanded={isOpen} onClick={press}>
      <span class="id">{call.id}</span>
      <Dot state={call.state} />
      {places && (
        <span class="place" title={`turn ${call.turn} of node ${call.node}`}>
          {`${call.node} · turn ${call.turn}`}
        </span>
      )}
      <span class="prompt" title={call.prompt}>
        {call.prompt}
      </span>
      <span class={call.state.startsWith("failed") ? "reply bad" : "reply"} title={call.reply}>
        {WORDS.test(call.state) ? call.state : call.reply}
      </span>
      <span class="number tokens">{known && short((call.read ?? 0) + (call.written ?? 0))}</span>
      <span class="number cost">{call.state === "cached" ? "cached" : call.cost !== null && money(call.cost)}</span>
      <span class="number time">{duration(call.seconds || (call.ended ?? call.started) - call.started)}</span>
    </button>
  );
}

interface Detail {
  run: Run;
  id: number;
  linked: boolean; // whether it links to its own page
  heading: "h3" | "h4"; // the level of its headings
}

/** One sub-call in full. */
export function CallDetail({ run, id, linked, heading }: Detail) {
  const sign = useRef("");
  const settled = useRef(false); // what has a reply stays as it is; else each news may bring it
  if (!settled.current) sign.current = `${run.told?.seq} ${run.calls.get(id)?.state}`;
  const { told, error } = useAnswer(() => run.ask<WholeCall>(`calls/${id}`), sign.current);
  settled.current = Boolean(told?.reply || told?.error);
  return (
    <div class="detail">
      {error ? <Trouble error={error} /> : told ? <Whole run={run} call={told} linked={linked} heading={heading} /> : <Soon />}
    </div>
  );
}

interface WholeLook extends Omit<Detail, "id"> {
  call: WholeCall;
}

function Whole({ run, call, linked, heading: Heading }: WholeLook) {
  const state = run.calls.get(call.id)?.state ?? call.state; // where none will come, the server does not say so
  const paid = call.usage.calls > 0;
  const count = (tokens: number | null) => (tokens === null ? "?" : short(tokens));
  const facts = [
    call.model,
    paid && `${count(call.read)} tokens in, ${count(call.written)} out`,
    paid && money(call.cost),
    duration(call.seconds),
    call.retries > 0 && `sent ${call.retries + 1} times`,
    call.state === "cached" && "from the cache, not paid again",
    call.finish !== null && !["", "stop", "tool"].includes(call.finish) && `ended early: ${call.finish}`,
    call.batch !== null && `item ${call.index} of batch ${call.batch}`,
  ];
  return (
    <>
      <p class="facts">
        <Mark state={state} />
        <Facts facts={facts} />
        <a href={toTurn(run.id, call.node, call.turn)}>{`node ${call.node}, turn ${call.turn}`}</a>
        {linked && <a href={toCall(run.id, call.id)}>link</a>}
      </p>
      <Heading>Prompt</Heading>
      <LongText run={run.id} long={call.prompt} label={`Prompt of sub-call ${call.id}`} />
      {call.images.length > 0 && <p class="dim">{`with images: ${call.images.join(", ")}`}</p>}
      {call.error ? (
        <>
          <Heading class="bad">{state === "refused" ? "Refused, and not sent" : `Failed: ${call.error.kind}`}</Heading>
          <pre class="text error" tabIndex={0}>
            {call.error.message}
          </pre>
        </>
      ) : call.reply ? (
        <>
          <Heading>Reply</Heading>
          <LongText run={run.id} long={call.reply} kind="reply" label={`Reply to sub-call ${call.id}`} />
        </>
      ) : (
        <p class="dim" data-waiting="">
          {state === "going on" ? "no reply yet" : "no reply"}
        </p>
      )}
    </>
  );
}
