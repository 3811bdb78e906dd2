// What components share: news of a run, and answers that are asked for.

import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { Run } from "./run";

/** Draws the component again. */
export function useAgain(): () => void {
  const [, again] = useReducer((times: number) => times + 1, 0);
  return again as () => void;
}

/** Draws the component again after each change of a run. */
export function useNews(run: Run): void {
  const again = useAgain();
  useLayoutEffect(() => run.watch(again), [run]);
}

/** Draws the component again each second, while that is wanted. */
export function useClock(goes: boolean): void {
  const again = useAgain();
  useEffect(() => {
    if (!goes) return;
    const clock = setInterval(again, 1000);
    return () => clearInterval(clock);
  }, [goes]);
}

const narrow = matchMedia("(max-width: 899px)"); // as in viewer.css

/** Whether the page is narrow; draws the component again when that changes. */
export function useNarrow(): boolean {
  const again = useAgain();
  useEffect(() => {
    narrow.addEventListener("change", again);
    return () => narrow.removeEventListener("change", again);
  }, []);
  return narrow.matches;
}

export interface Answer<T> {
  told?: T;
  error?: unknown;
}

/**
 * What is answered, asked anew when the sign is another one. Until then the answer before stays, so that what is open
 * or scrolled in what is made of it stays so.
 */
export function useAnswer<T>(ask: () => Promise<T>, sign: string | number): Answer<T> {
  const [answer, put] = useState<Answer<T>>({});
  useLayoutEffect(() => {
    let wanted = true;
    ask().then(
      (told) => wanted && put({ told }),
      (error: unknown) => wanted && put({ error }),
    );
    return () => {
      wanted = false;
    };
  }, [sign]);
  return answer;
}

/**
 * Passes the focus on where what has it goes away: `leaving` says, before it does, that it may; `next` has it after.
 */
export function useLeave<From extends HTMLElement, To extends HTMLElement>(gone: boolean) {
  const from = useRef<From>(null);
  const next = useRef<To>(null);
  const had = useRef(false);
  const leaving = () => {
    had.current = from.current !== null && document.activeElement === from.current;
  };
  useLayoutEffect(() => {
    if (gone && had.current) next.current?.focus({ preventScroll: true });
    had.current = false;
  }, [gone]);
  return { from, next, leaving };
}
