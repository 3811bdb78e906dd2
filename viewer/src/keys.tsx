// What the keyboard does beside what browsers do, and the page that says it.

import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

const KEYS = [
  ["/", "search"],
  ["↑ ↓", "in the tree: the node or turn above or below, which is shown"],
  ["← →", "in the tree: shut and open; in the timeline: the bar before or after"],
  ["Enter", "in the tree: go to what is shown; in the timeline: open the bar"],
  ["p n", "previous and next turn"],
  ["t", "to the tree"],
  ["1 … 5", "overview, turns, sub-calls, timeline, input"],
  ["?", "this list"],
];

export function Keys({ dialog }: { dialog: RefObject<HTMLDialogElement | null> }) {
  useEffect(() => {
    const heard = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (!dialog.current || event.ctrlKey || event.metaKey || event.altKey || dialog.current.open) return;
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) {
        if (event.key === "Escape") target.blur();
        return;
      }
      if (press(event.key, dialog.current)) event.preventDefault();
    };
    addEventListener("keydown", heard);
    return () => removeEventListener("keydown", heard);
  }, []);
  const close = (event: Event) => {
    event.preventDefault();
    dialog.current?.close();
  };
  return (
    <dialog ref={dialog} aria-label="Keys">
      <h2>Keys</h2>
      <dl class="pairs">
        {KEYS.flatMap(([key, what]) => [
          <dt key={`dt ${key}`}>
            <kbd>{key}</kbd>
          </dt>,
          <dd key={`dd ${key}`}>{what}</dd>,
        ])}
      </dl>
      <form method="dialog" onSubmit={close}>
        <button>Close</button>
      </form>
    </dialog>
  );
}

function press(key: string, dialog: HTMLDialogElement): boolean {
  const find = (selector: string) => document.querySelector<HTMLElement>(selector);
  if (key === "?") dialog.showModal();
  else if (key === "/") find("[data-search]")?.focus();
  else if (key === "t") find(".tree")?.focus();
  else if (key === "n") find('[data-step="next turn"]')?.click();
  else if (key === "p") find('[data-step="previous turn"]')?.click();
  else if (/^[1-5]$/.test(key)) find(`.tabs a:nth-of-type(${key})`)?.click();
  else return false;
  return true;
}
