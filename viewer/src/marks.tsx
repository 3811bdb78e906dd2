// How something stands: a sign and a word, so that colour says nothing alone.

import type { ComponentChildren } from "preact";

const SIGNS: Record<string, [glyph: string, kind: string]> = {
  answered: ["✓", "good"],
  ok: ["✓", "good"],
  submitted: ["✓", "good"],
  cached: ["↺", "plain"],
  running: ["●", "live"],
  "going on": ["●", "live"],
  budget: ["◔", "warn"],
  partial: ["◐", "warn"],
  interrupted: ["‖", "warn"],
  rolled_back: ["↶", "warn"],
  restarted: ["↶", "warn"],
  cancelled: ["⊘", "bad"],
  failed: ["✕", "bad"],
  refused: ["⊘", "warn"],
  "no reply": ["‖", "warn"],
  error: ["✕", "bad"],
  unreadable: ["!", "bad"],
  "not all went well": ["!", "warn"],
};

const WORDS: Record<string, string> = {
  interrupted: "stopped",
  rolled_back: "undone",
  restarted: "REPL began anew",
};

/** A state, or null: it goes on. */
type State = string | null;

function sign(state: State): [glyph: string, kind: string] {
  const name = state === null ? "going on" : state.startsWith("failed") ? "failed" : state;
  return Object.hasOwn(SIGNS, name) ? SIGNS[name] : ["·", "plain"];
}

/** A mark with its word. */
export function Mark({ state, word }: { state: State; word?: string }) {
  const [glyph, kind] = sign(state);
  return (
    <span class={`mark ${kind}`}>
      <span class="glyph" aria-hidden="true">
        {glyph}
      </span>
      {word ?? state ?? "going on"}
    </span>
  );
}

/** The sign alone, its word for screen readers and as a tooltip. */
export function Dot({ state }: { state: State }) {
  const [glyph, kind] = sign(state);
  const word = state ?? "going on";
  return (
    <span class={`dot ${kind}`} title={word} role="img" aria-label={word}>
      {glyph}
    </span>
  );
}

/** What became of a cell. */
export function Outcome({ state }: { state: State }) {
  return <Mark state={state} word={state === null ? "runs" : Object.hasOwn(WORDS, state) ? WORDS[state] : state} />;
}

/** What is shown where something could not be had. */
export function Trouble({ error }: { error: unknown }) {
  return (
    <p class="trouble" role="alert">
      {error instanceof Error ? error.message : String(error)}
    </p>
  );
}

/** What is shown until something is there. */
export function Soon() {
  return <p class="dim">…</p>;
}

/** A part of a page under a title of its own. */
export function Titled({ title, children }: { title: ComponentChildren; children?: ComponentChildren }) {
  return (
    <div class="part">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/** Facts in a row, those that there are. */
export function Facts({ facts }: { facts: (string | false)[] }) {
  return (
    <>
      {facts.filter(Boolean).map((fact, at) => (
        <span key={at}>{fact}</span>
      ))}
    </>
  );
}

/** A colour and what it stands for. */
export function Key({ kind, children }: { kind: string; children: string }) {
  return (
    <span class="key">
      <span class={`swatch ${kind}`} aria-hidden="true" />
      {children}
    </span>
  );
}
