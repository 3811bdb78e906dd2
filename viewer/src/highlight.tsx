// Python in colours: a reader of tokens that never fails, on any text.

import type { ComponentChild } from "preact";

const WORDS = new Set(
  ("False None True and as assert async await break class continue def del elif else except finally for from " +
    "global if import in is lambda match nonlocal not or pass raise return try while with yield case").split(" "),
);
const OURS = new Set(
  ("context llm_query llm_query_batched llm_map classify rlm_query rlm_query_batched grep chunks cite budget " +
    "SHOW_VARS submit FINAL FINAL_VAR SUBMIT answer").split(" "),
);
const TOKEN = new RegExp(
  [
    /(?<comment>#[^\n]*)/,
    /(?<string>\b[rbfuRBFU]{0,3}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?))/,
    /(?<quoted>"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?)/,
    /(?<number>\b\d[\w.]*)/,
    /(?<name>[\p{L}_][\p{L}\p{N}_]*)/u,
  ]
    .map((part) => part.source)
    .join("|"),
  "gu",
);
const MOST = 60_000; // characters that are coloured; what comes after is plain

/** The code as what is to be shown. */
export function highlighted(code: string): ComponentChild[] {
  const made: ComponentChild[] = [];
  let at = 0;
  for (const match of code.slice(0, MOST).matchAll(TOKEN)) {
    const kind = kindOf(match, code);
    if (!kind) continue;
    if (match.index > at) made.push(code.slice(at, match.index));
    made.push(<span class={kind}>{match[0]}</span>);
    at = match.index + match[0].length;
  }
  made.push(code.slice(at));
  return made;
}

function kindOf(match: RegExpMatchArray, code: string): string | null {
  const { comment, string, quoted, number, name } = match.groups ?? {};
  if (comment !== undefined) return "tok-note";
  if (string !== undefined || quoted !== undefined) return "tok-text";
  if (number !== undefined) return "tok-number";
  if (name === undefined) return null;
  if (WORDS.has(name)) return "tok-word";
  const before = code[(match.index ?? 0) - 1];
  if (OURS.has(name) && before !== ".") return "tok-ours";
  return code[(match.index ?? 0) + name.length] === "(" ? "tok-call" : null;
}
