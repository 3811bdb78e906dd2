// What was paid for, by role and model, and what is left of each limit.

import { el } from "./el.js";
import { count, duration, grouped, lasted, modelName, money, short, tokens } from "./format.js";

/** @typedef {Record<string, any>} Told */

const NUMBERS = new Set(["calls", "tokens", "cost", "from the cache"]);

/** @param {string[]} heads @param {HTMLElement[]} body */
export function table(heads, body) {
  return el(
    "div",
    { class: "scrolls", tabindex: "0", role: "group", "aria-label": heads.join(", ") },
    el(
      "table",
      null,
      el(
        "thead",
        null,
        el(
          "tr",
          null,
          heads.map((head) => el("th", { scope: "col", class: NUMBERS.has(head) ? "number" : null }, head)),
        ),
      ),
      el("tbody", null, body),
    ),
  );
}

/** @param {Told} told */
export function spent(told) {
  const known = told.ledger.some((/** @type {Told} */ line) => line.reused);
  const row = (/** @type {Told} */ line) =>
    el(
      "tr",
      null,
      el("td", null, line.role),
      el("td", { class: "model", title: line.model }, modelName(line.model)),
      el("td", { class: "number" }, grouped(line.usage.calls)),
      el("td", { class: "number" }, tokens(line.usage)),
      el("td", { class: "number" }, money(line.cost)),
      known && el(
        "td",
        { class: "number" },
        line.reused ? `${count(line.reused, "reply", "replies")}, ${money(line.reused_cost)}` : "–",
      ),
    );
  const total = (told.usage.read ?? 0) + (told.usage.written ?? 0);
  const set = told.settings ?? {};
  const limits = [
    limit("dollars", told.cost, set.usd, money),
    limit("tokens", told.usage.read === null ? null : total, set.tokens, short),
    limit("sub-calls", told.sub_calls, set.calls, grouped),
    limit("seconds", lasted(told), set.seconds, duration),
    limit("turns", told.turns, set.max_turns, grouped),
  ].filter(Boolean);
  return el(
    "div",
    { class: "part" },
    el("h3", null, "Spent, and left"),
    told.ledger.length ? table(
      ["role", "model", "calls", "tokens", "cost", ...(known ? ["from the cache"] : [])],
      told.ledger.map(row),
    ) : el("p", { class: "dim" }, told.going ? "Nothing has been paid for yet." : "Nothing was paid for."),
    limits.length ? el("dl", { class: "limits" }, limits) : null,
  );
}

/** @param {string} name @param {number | null} used @param {number | undefined} most @param {(n: number) => string} show */
function limit(name, used, most, show) {
  if (most === undefined || most === null) return null;
  const meter = used === null ? null : el(
    "meter",
    {
      min: "0",
      max: String(most),
      value: String(Math.min(used, most)),
      high: String(most * 0.8),
      optimum: "0",
      "aria-label": `${name} spent`,
    },
  );
  const left = used === null ? "what is left is not known" : `${show(Math.max(0, most - used))} left`;
  return [
    el("dt", null, name),
    el("dd", null, meter, el("span", null, `${used === null ? "?" : show(used)} of ${show(most)}, ${left}`)),
  ];
}
