// A long list of which only what is in sight is made. Rows are of one height; below one of them a panel may be open.

import type { ComponentChildren, HTMLAttributes, VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

const SPARE = 8; // rows that are made above and below what is in sight

type Own = HTMLAttributes<HTMLDivElement> & { class: string };

interface Look<T> {
  items: readonly T[];
  height: number; // of a row, in pixels
  label: string;
  none?: string; // what is told in the place of a list in which nothing is; by default it is an empty box
  keyOf: (item: T) => string;
  own: (item: T) => Own; // what the element of a row has, beside its place
  row: (item: T) => ComponentChildren; // what is in it
  open?: string | null; // the row below which a panel is open
  panel?: (item: T) => ComponentChildren;
  inSight?: string; // a row that is brought in sight, when it is another one or comes to be there
  active?: string; // of a tree: the leaf that is chosen
  role?: "list" | "tree";
  class?: string;
  style?: { height: string };
  onKeyDown?: (event: KeyboardEvent) => void;
}

interface View {
  above: number;
  high: number;
  spare: number;
}

/** Calls, in the next frame and once in it, however often it was asked for; not any more when the component is gone. */
export function useFrame(draw: () => void): () => void {
  const frame = useRef(0);
  const latest = useRef(draw);
  latest.current = draw;
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  const soon = useRef(() => {
    frame.current ||= requestAnimationFrame(() => {
      frame.current = 0;
      latest.current();
    });
  });
  return soon.current;
}

export function Rows<T>(look: Look<T>) {
  if (look.items.length || look.none === undefined) return <Made {...look} />;
  return look.none ? <p class="dim">{look.none}</p> : null;
}

function Made<T>(look: Look<T>) {
  const { items, height, keyOf } = look;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View>({ above: -Infinity, high: 0, spare: 0 });
  const [panelHeight, setPanelHeight] = useState(0);
  const places = useMemo(() => new Map(items.map((item, place) => [keyOf(item), place])), [items]);
  const at = typeof look.open === "string" && look.panel ? places.get(look.open) : undefined;
  const extra = at === undefined ? 0 : panelHeight;
  const top = (place: number) => place * height + (at !== undefined && place > at ? extra : 0);
  const before = useRef(view);

  /** Sees which part of the list is in sight. */
  const measure = () => {
    if (!box.current) return;
    const [above, high] = [box.current.scrollTop, box.current.clientHeight];
    const jumps = Math.abs(above - before.current.above) > high; // then what is in sight comes first, the spare rows a frame later
    const next = { above, high, spare: jumps ? 0 : SPARE };
    const same = before.current.above === above && before.current.high === high && before.current.spare === next.spare;
    if (!same) setView((before.current = next));
    if (jumps) soon();
  };
  const soon = useFrame(measure);

  useLayoutEffect(() => {
    if (!box.current) return;
    const grows = new ResizeObserver(measure);
    grows.observe(box.current);
    return () => grows.disconnect();
  }, []);

  const wanted = look.inSight !== undefined && places.has(look.inSight) ? look.inSight : "";
  useLayoutEffect(() => {
    const place = places.get(wanted);
    if (!wanted || place === undefined || !box.current) return;
    const { scrollTop, clientHeight } = box.current;
    if (top(place) < scrollTop) box.current.scrollTop = top(place);
    else if (top(place) + height > scrollTop + clientHeight) box.current.scrollTop = top(place) + height - clientHeight;
    measure();
  }, [wanted]);

  const first = Math.max(0, Math.floor((view.above - extra) / height) - view.spare);
  const last = view.high ? Math.min(items.length, Math.ceil((view.above + view.high) / height) + view.spare) : 0;
  const made: VNode[] = [];
  let pointed: string | undefined;
  let waits = at !== undefined; // the panel stands behind its row: for who hears the page or goes by the keyboard, too
  const putPanel = () => {
    if (!waits || at === undefined) return;
    waits = false;
    made.push(
      <Panel key={`panel ${look.open}`} top={(at + 1) * height} sized={setPanelHeight}>
        {look.panel?.(items[at])}
      </Panel>,
    );
  };
  for (let place = first; place < last; place++) {
    if (at !== undefined && place > at) putPanel();
    const item = items[place];
    const key = keyOf(item);
    const own = look.own(item);
    if (key === look.active) pointed = String(own.id);
    made.push(
      <div
        role="listitem"
        {...own}
        key={`row ${key}`}
        class={`${own.class} row`}
        style={{ height: `${height}px`, transform: `translateY(${top(place)}px)` }}
        aria-setsize={items.length}
        aria-posinset={place + 1}
      >
        {look.row(item)}
      </div>,
    );
  }
  putPanel();
  return (
    <div
      ref={box}
      class={`rows ${look.class ?? ""}`}
      role={look.role ?? "list"}
      aria-label={look.label}
      aria-activedescendant={pointed}
      tabIndex={0}
      style={look.style}
      onScroll={soon}
      onKeyDown={look.onKeyDown}
    >
      <div class="space" role="presentation" style={{ height: `${items.length * height + extra}px` }}>
        {made}
      </div>
    </div>
  );
}

function Panel({ top, sized, children }: { top: number; sized: (height: number) => void; children?: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  const measure = () => sized(element.current?.offsetHeight ?? 0);
  const soon = useFrame(measure);
  useLayoutEffect(() => {
    if (!element.current) return;
    measure(); // before it is seen, so that it never covers a row
    const grows = new ResizeObserver(soon);
    grows.observe(element.current);
    return () => grows.disconnect();
  }, []);
  return (
    <div ref={element} class="opened" role="listitem" style={{ transform: `translateY(${top}px)` }}>
      {children}
    </div>
  );
}
