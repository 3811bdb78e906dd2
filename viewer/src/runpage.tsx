// A run: its head, its tree, and beside it what was chosen.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { CallPage, CallsPage } from "./callspage";
import { count, duration, lasted, modelName, money, tokens } from "./format";
import { useClock, useNews } from "./hooks";
import { MapPage } from "./map";
import { Facts, Mark, Trouble } from "./marks";
import { NodePage } from "./node";
import { Overview } from "./overview";
import { swap, toList, toNode, toRun, toTurn, type Place } from "./route";
import { openRun, type Run } from "./run";
import { isExport, isRedacted } from "./source";
import { TimelinePage } from "./timeline";
import { Tree } from "./tree";
import { TurnPage } from "./turn";

const LATER = 500; // ms after which the sub-calls are there for who goes to them next
const narrow = matchMedia("(max-width: 899px)");

/** What makes a place another one: all ranges of the map are shown on one page. */
const nameOf = (place: Place): string => (place.page === "map" ? "map" : JSON.stringify(place));

export function RunPage({ id, place }: { id: string; place: Place }) {
  const run = useMemo(() => openRun(id), []);
  const detail = useRef<HTMLElement>(null);
  const [follows, setFollows] = useState(false);
  const { told } = run;
  useNews(run);
  useClock(told?.going ?? false);
  useEffect(() => () => run.close(), []);
  useEffect(() => {
    if (!told) return;
    const later = setTimeout(() => run.want(), LATER);
    return () => clearTimeout(later);
  }, [told !== null]);
  useLayoutEffect(() => {
    document.title = told ? `${told.query?.text.slice(0, 80) ?? id} · unspool` : "unspool";
  }, [told?.query?.text, told !== null]);

  const name = nameOf(place);
  const first = useRef(name);
  useLayoutEffect(() => {
    if (first.current === name) return; // nothing is scrolled, and to ask would lay out what is not whole yet
    first.current = "";
    if (detail.current) detail.current.scrollTop = 0;
    if (narrow.matches) scrollTo(0, 0);
  }, [name]);

  useLayoutEffect(() => {
    if (!follows || !told) return;
    if (!told.going) setFollows(false);
    swap(whereItIs(run));
  }, [told, follows]);

  if (!told && run.error !== null) return <NoRun run={run} />;
  const inTree = place.page === "node" || place.page === "turn";
  return (
    <div class="run-page">
      <Head run={run} />
      <Tabs run={run} place={place} inTree={inTree} follows={follows} follow={() => setFollows(!follows)} />
      <nav class={inTree ? "side asked" : "side"} aria-label="Nodes and turns">
        <div class="heads" aria-hidden="true">
          {["tokens", "cost", "time"].map((each) => (
            <span key={each} class={each}>
              {each}
            </span>
          ))}
        </div>
        <Tree run={run} place={place} />
      </nav>
      <main id="detail" tabIndex={-1} ref={detail}>
        <Detail key={name} run={run} place={place} />
      </main>
      <p class="unseen" role="status">
        {told && `the run: ${told.status}, ${count(told.turns, "turn")}`}
      </p>
    </div>
  );
}

/** There is no such run, or its journal cannot be read: what its parts would show is not there. */
function NoRun({ run }: { run: Run }) {
  return (
    <main id="detail" class="page" tabIndex={-1}>
      <h1>{run.id}</h1>
      <Trouble error={run.error} />
      {!isExport && (
        <p>
          <a href={toList()}>All runs</a>
        </p>
      )}
    </main>
  );
}

/** The turn that a run is in, if it is in one; of one that has ended the overview. */
function whereItIs({ id, told }: Run): string {
  if (!told?.going) return toRun(id);
  const busy = told.nodes.findLast((node) => node.status === null && node.turns.length > 0);
  const turn = busy?.turns.at(-1);
  return busy && turn ? toTurn(id, busy.id, turn.number) : location.hash;
}

function Detail({ run, place }: { run: Run; place: Place }) {
  switch (place.page) {
    case "calls":
      return <CallsPage run={run} />;
    case "timeline":
      return <TimelinePage run={run} />;
    case "map":
      return <MapPage run={run} place={place} />;
    case "node":
      return <NodePage run={run} id={place.node ?? "0"} />;
    case "turn":
      return <TurnPage run={run} node={place.node ?? "0"} number={place.turn ?? 1} />;
    case "call":
      return <CallPage run={run} id={place.call ?? 1} />;
    default:
      return <Overview run={run} />;
  }
}

function Head({ run }: { run: Run }) {
  const { told } = run;
  const facts = told && [
    duration(lasted(told)),
    money(told.cost),
    tokens(told.usage),
    count(told.turns, "turn"),
    count(told.sub_calls, "sub-call"),
    told.failed_calls > 0 && `${told.failed_calls} failed`,
  ];
  const question = told?.query?.text ?? run.id;
  return (
    <section class="run-head" aria-label="Question and figures of the run">
      <h1 title={told ? question : undefined}>{question}</h1>
      {told && facts ? (
        <p class="facts">
          <Mark state={told.status} />
          <Facts facts={facts} />
          <span class="dim" title={told.model}>
            {modelName(told.model ?? "")}
          </span>
          {isRedacted && <span class="why">redacted: texts stand here as sizes and hashes</span>}
          {!run.connected && <span class="why">not connected: what is shown may be old</span>}
          {run.error !== null && <Trouble error={run.error} />}
        </p>
      ) : run.error !== null ? (
        <Trouble error={run.error} />
      ) : (
        <p class="dim">reading its journal…</p>
      )}
    </section>
  );
}

interface Bar {
  run: Run;
  place: Place;
  inTree: boolean;
  follows: boolean;
  follow: () => void;
}

function Tabs({ run, place: { page }, inTree, follows, follow }: Bar) {
  const { id, told } = run;
  const root = told?.nodes.at(0);
  const turn = root?.turns.at(0);
  const tab = (name: string, href: string, on: boolean) => (
    <a href={href} aria-current={on ? "page" : undefined}>
      {name}
    </a>
  );
  return (
    <nav class="tabs" aria-label="Parts of the run">
      {tab("Overview", toRun(id), page === "run")}
      {tab("Turns", root && turn ? toTurn(id, root.id, turn.number) : toNode(id, "0"), inTree)}
      {tab("Sub-calls", toRun(id, "calls"), page === "calls" || page === "call")}
      {tab("Timeline", toRun(id, "timeline"), page === "timeline")}
      {tab("Input", toRun(id, "map"), page === "map")}
      {told?.going && (
        <button type="button" class="follow" aria-pressed={follows} onClick={follow}>
          Follow
        </button>
      )}
    </nav>
  );
}
