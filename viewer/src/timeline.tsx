// What went on when: turns, cells and sub-calls as bars over time. They are drawn on a canvas; the arrow keys go
// through them, and each says what it is in words.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, duration } from "./format";
import { useAgain } from "./hooks";
import type { Bar } from "./lanes";
import { Key } from "./marks";
import { Plot } from "./plot";
import { toCall, toRun, toTurn } from "./route";
import type { Run } from "./run";

const LABEL = "Timeline: left and right go from bar to bar, Enter opens one, plus and minus change the scale";

export function TimelinePage({ run }: { run: Run }) {
  if (!run.told || run.told.nodes.some((node) => node.turns.length > 0)) return <Times run={run} />;
  return (
    <section aria-label="Timeline">
      <h2 tabIndex={-1}>Timeline</h2>
      <p class="dim">{run.told.going ? "no turns yet" : "no turns"}</p>
    </section>
  );
}

function Times({ run }: { run: Run }) {
  const scroller = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const plot = useRef<Plot | null>(null);
  const [hand, setHand] = useState(false);
  const again = useAgain();
  useLayoutEffect(() => {
    if (!scroller.current || !space.current || !canvas.current) return;
    const made = new Plot(run, { scroller: scroller.current, space: space.current, canvas: canvas.current });
    plot.current = made;
    run.want();
    return () => made.close();
  }, [run]);
  useLayoutEffect(() => plot.current?.update());

  const address = ({ place }: Bar) =>
    place.call === undefined ? toTurn(run.id, place.node ?? "0", place.turn ?? 0) : toCall(run.id, place.call);
  const pointed = (event: MouseEvent) => {
    const bar = plot.current?.under(event) ?? null;
    setHand(bar !== null);
    if (!bar || bar === plot.current?.chosen) return;
    plot.current?.choose(bar);
    again();
  };
  const clicked = (event: MouseEvent) => {
    const bar = plot.current?.under(event);
    if (bar) location.hash = address(bar);
  };
  const pressed = (event: KeyboardEvent) => {
    const shown = plot.current;
    if (!shown) return;
    if (event.key === "ArrowRight") shown.step(1);
    else if (event.key === "ArrowLeft") shown.step(-1);
    else if (event.key === "Enter" && shown.chosen) location.hash = address(shown.chosen);
    else if (event.key === "+" || event.key === "=") shown.zoom(2);
    else if (event.key === "-") shown.zoom(0.5);
    else return;
    event.preventDefault();
    again();
  };
  const zoom = (sign: string, by: number, label?: string) => (
    <button type="button" aria-label={label} onClick={() => plot.current?.zoom(by)}>
      {sign}
    </button>
  );
  return (
    <section class="fills" aria-label="Timeline">
      <h2 tabIndex={-1}>Timeline</h2>
      <div class="tools">
        {zoom("+", 2, "larger scale")}
        {zoom("−", 0.5, "smaller scale")}
        {zoom("all", 0)}
        <a href={toRun(run.id, "calls")}>the sub-calls as a list</a>
        <Legend />
      </div>
      <div
        ref={scroller}
        class="timeline"
        tabIndex={0}
        role="group"
        aria-label={LABEL}
        onScroll={() => plot.current?.soon()}
        onKeyDown={pressed}
      >
        <div ref={space} class="timeline-space">
          <canvas
            ref={canvas}
            class={hand ? "hand" : ""}
            role="img"
            aria-label={`Turns, cells and ${count(run.calls.size, "sub-call")} over time`}
            onMouseMove={pointed}
            onClick={clicked}
          />
        </div>
      </div>
      <p class="timeline-told" role="status">
        <Chosen plot={plot.current} address={address} />
      </p>
    </section>
  );
}

function Chosen({ plot, address }: { plot: Plot | null; address: (bar: Bar) => string }) {
  const bar = plot?.chosen;
  if (!plot || !bar) return <>Point at a bar, or use the arrow keys.</>;
  const state = bar.state === "ok" ? "" : `, ${bar.state}`;
  return (
    <>
      <a href={address(bar)}>{bar.name.slice(0, 140)}</a>
      <span class="dim">{`  ${duration(bar.to - bar.from)}, after ${duration(bar.from - plot.from)}${state}`}</span>
    </>
  );
}

function Legend() {
  return (
    <span class="keys">
      <Key kind="model">model</Key>
      <Key kind="cell">code</Key>
      <Key kind="call">sub-call</Key>
      <Key kind="hollow">cached</Key>
      <Key kind="notched">failed</Key>
    </span>
  );
}
