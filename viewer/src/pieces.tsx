// What is long, in pieces: as much at once as keeps the page answering.

import { Fragment, type ComponentChild, type VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { grouped } from "./format";
import { useAgain, useLeave } from "./hooks";

const AT_ONCE = 100; // items of a list
const FRAME = 12; // ms of work in one go

/** A list of which the first are there, and more when they are asked for. */
export function FirstOf<T>({ items, item }: { items: readonly T[]; item: (each: T, at: number) => VNode }) {
  const [shown, show] = useState(AT_ONCE);
  const left = items.length - shown;
  const { from, next, leaving } = useLeave<HTMLButtonElement, HTMLUListElement>(left <= 0);
  const more = () => {
    leaving();
    show(shown + AT_ONCE);
  };
  return (
    <div>
      <ul class="steps" tabIndex={-1} ref={next}>
        {items.slice(0, shown).map(item)}
      </ul>
      {left > 0 && (
        <button type="button" ref={from} onClick={more}>
          {`Show more: ${grouped(left)} are left`}
        </button>
      )}
    </div>
  );
}

/** What is made of each item, over several tasks where it takes long: each time about as much as takes a frame. */
export function Pieces<T>({ items, item }: { items: readonly T[]; item: (each: T) => ComponentChild }) {
  const made = useRef<VNode[]>([]); // what was made is not looked at again
  const step = useRef(1);
  const begun = performance.now();
  for (const end = Math.min(items.length, made.current.length + step.current); made.current.length < end; ) {
    const at = made.current.length;
    made.current.push(<Fragment key={at}>{item(items[at])}</Fragment>);
  }
  const again = useAgain();
  useLayoutEffect(() => {
    if (made.current.length >= items.length) return;
    const took = performance.now() - begun;
    step.current = Math.max(1, took < FRAME / 2 ? step.current * 2 : took > FRAME ? step.current >> 1 : step.current);
    const next = setTimeout(again);
    return () => clearTimeout(next);
  });
  return <>{made.current.slice()}</>;
}
