// Sub-calls as rows that open in place.

import { el, fill } from "./el.js";
import { duration, money, short } from "./format.js";
import { longText } from "./longtext.js";
import { dot, mark } from "./marks.js";
import { toCall, toTurn } from "./route.js";
import { rows } from "./rows.js";
import { trouble } from "./source.js";

/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("./run.js").Told} Told */

const WORDS = /^(failed|refused|no reply)/; // states of calls without a reply: each is told in its place

/**
 * @param {Run} run
 * @param {string} label
 * @param {{ places?: boolean }} [look] whether each says where it was made
 */
export function callRows(run, label, look = {}) {
  /** @type {ReturnType<typeof rows>} */
  const list = rows({
    height: 30,
    label,
    class: "calls",
    key: (/** @type {Told} */ call) => String(call.id),
    row: (call) => {
      const key = String(call.id);
      const open = list.isOpen(key);
      const press = {
        click: () => list.toggle(key),
      };
      return el(
        "div",
        { class: `call${open ? " open" : ""}` },
        el(
          "button",
          { type: "button", "aria-expanded": String(open), on: press },
          el("span", { class: "id" }, String(call.id)),
          dot(call.state),
          look.places ? el("span", { class: "place", title: `turn ${call.turn} of node ${call.node}` }, `${call.node} · turn ${call.turn}`) : null,
          el("span", { class: "prompt", title: call.prompt }, call.prompt),
          el(
            "span",
            { class: call.state.startsWith("failed") ? "reply bad" : "reply", title: call.reply },
            WORDS.test(call.state) ? call.state : call.reply,
          ),
          el(
            "span",
            { class: "number tokens" },
            call.read === null && call.written === null ? "" : short((call.read ?? 0) + (call.written ?? 0)),
          ),
          el("span", { class: "number cost" }, call.state === "cached" ? "cached" : call.cost === null ? "" : money(call.cost)),
          el("span", { class: "number time" }, duration(call.seconds || (call.ended ?? call.started) - call.started)),
        ),
      );
    },
    open: (call) => callDetail(run, call.id, { linked: true, heading: look.places ? "h3" : "h4" }),
  });
  return list;
}

/** @typedef {{ linked: boolean, heading: "h3" | "h4" }} How whether it links to its own page, and the level of its headings */

/** One sub-call in full. @param {Run} run @param {number} id @param {How} how */
export function callDetail(run, id, how) {
  const box = el("div", { class: "detail" }, el("p", { class: "dim" }, "…"));
  const show = () =>
    run.ask(`calls/${id}`).then(
      (call) => fill(box, ...detail(run, call, how)),
      (error) => fill(box, trouble(error)),
    );
  show();
  run.watch(() => {
    if (box.querySelector("[data-waiting]")) show();
  }, box);
  return box;
}

/** @param {Run} run @param {Told} call @param {How} how */
function detail(run, call, how) {
  const state = run.calls.get(call.id)?.state ?? call.state; // where none will come, the server does not say so
  const item = call.batch === null ? "" : `item ${call.index} of batch ${call.batch}`;
  const facts = [
    call.model,
    call.usage.calls ? `${call.read === null ? "?" : short(call.read)} tokens in, ${call.written === null ? "?" : short(call.written)} out` : "",
    call.usage.calls ? money(call.cost) : "",
    duration(call.seconds),
    call.retries ? `sent ${call.retries + 1} times` : "",
    call.cached || call.state === "cached" ? "from the cache, not paid again" : "",
    call.finish && !["stop", "tool"].includes(call.finish) ? `ended early: ${call.finish}` : "",
    item,
  ].filter(Boolean);
  return [
    el(
      "p",
      { class: "facts" },
      mark(state),
      facts.map((fact) => el("span", null, fact)),
      el("a", { href: toTurn(run.id, call.node, call.turn) }, `node ${call.node}, turn ${call.turn}`),
      how.linked ? el("a", { href: toCall(run.id, call.id) }, "link") : null,
    ),
    el(how.heading, null, "Prompt"),
    longText(run.id, call.prompt, { label: `Prompt of sub-call ${call.id}` }),
    call.images.length ? el("p", { class: "dim" }, `with images: ${call.images.join(", ")}`) : null,
    call.error
      ? [
        el(how.heading, { class: "bad" }, state === "refused" ? "Refused, and not sent" : `Failed: ${call.error.kind}`),
        el("pre", { class: "text error", tabindex: "0" }, call.error.message),
      ]
      : call.reply
        ? [el(how.heading, null, "Reply"), longText(run.id, call.reply, { kind: "reply", label: `Reply to sub-call ${call.id}` })]
        : el("p", { class: "dim", "data-waiting": true }, state === "going on" ? "no reply yet" : "no reply"),
  ].flat();
}
