// How something stands: a sign and a word, so that colour says nothing alone.

import { el } from "./el.js";

const SIGNS = {
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

const WORDS = {
  interrupted: "stopped",
  rolled_back: "undone",
  restarted: "REPL began anew",
};

/** @param {string | null} state @returns {string[]} the sign and its kind */
function sign(state) {
  const name = state === null ? "going on" : state.startsWith("failed") ? "failed" : state;
  return SIGNS[/** @type {keyof typeof SIGNS} */ (name)] ?? ["·", "plain"];
}

/** A mark with its word. @param {string | null} state @param {string} [word] */
export function mark(state, word) {
  const [glyph, kind] = sign(state);
  return el(
    "span",
    { class: `mark ${kind}` },
    el("span", { class: "glyph", "aria-hidden": "true" }, glyph),
    word ?? state ?? "going on",
  );
}

/** The sign alone, its word for screen readers and as a tooltip. @param {string | null} state */
export function dot(state) {
  const [glyph, kind] = sign(state);
  const word = state ?? "going on";
  return el("span", { class: `dot ${kind}`, title: word, role: "img", "aria-label": word }, glyph);
}

/** What became of a cell. @param {string | null} outcome */
export function outcome(outcome) {
  return mark(outcome, outcome === null ? "runs" : WORDS[/** @type {keyof typeof WORDS} */ (outcome)] ?? outcome);
}
