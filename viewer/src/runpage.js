// A run: its head, its tree, and beside it what was chosen.

import { callPage, callsPage } from "./callspage.js";
import { el, fill, say } from "./el.js";
import { count, duration, lasted, modelName, money, tokens, turnName } from "./format.js";
import { mapPage } from "./map.js";
import { mark } from "./marks.js";
import { nodePage } from "./node.js";
import { overview } from "./overview.js";
import { swap, toNode, toRun, toTurn } from "./route.js";
import { openRun } from "./run.js";
import { isRedacted, trouble } from "./source.js";
import { timelinePage } from "./timeline.js";
import { treeBox } from "./tree.js";
import { turnBox } from "./turn.js";

/** @typedef {import("./route.js").Place} Place */
/** @typedef {import("./run.js").Run} Run */

const LATER = 500; // ms after which the sub-calls are there for who goes to them next

/** @param {string} id */
export function runPage(id) {
  const run = openRun(id);
  const tree = treeBox(run);
  const head = el("section", { class: "run-head", "aria-label": "Question and figures of the run" }, el("h1", null, id), el("p", { class: "dim" }, "reading its journal…"));
  const tabs = el("nav", { class: "tabs", "aria-label": "Parts of the run" });
  const said = el("p", { class: "unseen", role: "status" });
  const detail = el("main", { id: "detail", tabindex: "-1" });
  const side = el(
    "nav",
    { class: "side", "aria-label": "Nodes and turns" },
    el(
      "div",
      { class: "heads", "aria-hidden": "true" },
      ["tokens", "cost", "time"].map((name) => el("span", { class: name }, name)),
    ),
    tree.box,
  );
  const box = el("div", { class: "run-page" }, head, tabs, side, detail, said);
  /** @type {Place} */
  let place = { page: "" };
  /** @type {((place: Place) => void) | null} */
  let select = null;
  let follows = false;
  let was = "";
  let waits = 0;

  const pages = {
    run: () => overview(run),
    calls: () => callsPage(run),
    timeline: () => timelinePage(run),
    node: () => nodePage(run, place.node ?? "0"),
    turn: () => turnPage(run, place.node ?? "0", place.turn ?? 1),
    call: () => callPage(run, place.call ?? 1),
  };

  /** @param {Place} next */
  function show(next) {
    const key = (/** @type {Place} */ each) => (each.page === "map" ? "map" : JSON.stringify(each));
    const same = key(next) === key(place);
    const first = place.page === "";
    place = next;
    tree.select(place);
    drawTabs();
    if (!same) {
      select = null;
      if (place.page === "map") {
        const map = mapPage(run);
        select = map.select;
        fill(detail, map.box);
      } else fill(detail, pages[/** @type {keyof typeof pages} */ (place.page)]());
      if (first) return select?.(place); // nothing is scrolled, and to ask would lay out what is not whole yet
      detail.scrollTop = 0;
      if (narrow.matches) scrollTo(0, 0);
    }
    select?.(place);
  }

  function drawHead() {
    const { told } = run;
    if (!told) return run.error ? fill(head, el("h1", null, id), trouble(run.error)) : undefined;
    const facts = [
      duration(lasted(told)),
      money(told.cost),
      tokens(told.usage),
      count(told.turns, "turn"),
      count(told.sub_calls, "sub-call"),
      told.failed_calls ? `${told.failed_calls} failed` : "",
    ].filter(Boolean);
    fill(
      head,
      el("h1", { title: told.query?.text ?? id }, told.query?.text ?? id),
      el(
        "p",
        { class: "facts" },
        mark(told.status),
        facts.map((fact) => el("span", null, fact)),
        el("span", { class: "dim", title: told.model }, modelName(told.model ?? "")),
        isRedacted ? el("span", { class: "why" }, "redacted: texts stand here as sizes and hashes") : null,
        run.connected ? null : el("span", { class: "why" }, "not connected: what is shown may be old"),
        run.error ? trouble(run.error) : null,
      ),
    );
    say(said, `the run: ${told.status}, ${count(told.turns, "turn")}`);
    document.title = `${told.query?.text.slice(0, 80) ?? id} · unspool`;
  }

  function drawTabs() {
    const tab = (/** @type {string} */ name, /** @type {string} */ href, /** @type {boolean} */ on) => el(
      "a",
      { href, "aria-current": on ? "page" : null },
      name,
    );
    const inTree = place.page === "node" || place.page === "turn";
    const last = run.told?.nodes[0]?.turns.at(-1);
    fill(
      tabs,
      tab("Overview", toRun(id), place.page === "run"),
      tab("Turns", last ? toTurn(id, run.told?.nodes[0].id, run.told?.nodes[0].turns[0].number) : toNode(id, "0"), inTree),
      tab("Sub-calls", toRun(id, "calls"), place.page === "calls" || place.page === "call"),
      tab("Timeline", toRun(id, "timeline"), place.page === "timeline"),
      tab("Input", toRun(id, "map"), place.page === "map"),
      run.told?.going
        ? el(
          "button",
          {
            type: "button",
            class: "follow",
            "aria-pressed": String(follows),
            on: { click: () => ((follows = !follows), drawTabs(), follow()) },
          },
          "Follow",
        )
        : null,
    );
    side.classList.toggle("asked", inTree);
  }

  /** Goes where the run is. */
  function follow() {
    const { told } = run;
    if (!follows || !told) return;
    if (!told.going) {
      follows = false;
      return swap(toRun(id));
    }
    const busy = told.nodes.findLast((/** @type {any} */ node) => node.status === null && node.turns.length);
    if (busy) swap(toTurn(id, busy.id, busy.turns.at(-1).number));
  }

  run.watch(() => {
    drawHead();
    const sign = `${run.told?.going} ${run.told?.nodes.length}`;
    if (sign !== was) drawTabs();
    was = sign;
    follow();
    if (run.told) tree.select(place);
    if (run.told && !waits) waits = setTimeout(run.want, LATER);
  });
  const clock = setInterval(() => {
    if (!run.told?.going) return;
    drawHead();
    tree.tick();
  }, 1000);
  return {
    box,
    show,
    run,
    close() {
      clearInterval(clock);
      clearTimeout(waits);
      run.close();
    },
  };
}

const narrow = matchMedia("(max-width: 899px)");

/** @param {Run} run @param {string} node @param {number} number */
function turnPage(run, node, number) {
  const ways = el("p", { class: "tools" });
  const box = el(
    "div",
    null,
    el(
      "h2",
      { tabindex: "-1" },
      `${turnName(number)[0].toUpperCase()}${turnName(number).slice(1)}`,
      el("small", null, el("a", { href: toNode(run.id, node) }, `node ${node}`)),
    ),
    ways,
    turnBox(run, node, number),
  );
  const show = () => {
    const turns = run.nodes.get(node)?.turns ?? [];
    const at = turns.findIndex((/** @type {any} */ turn) => turn.number === number);
    const way = (/** @type {string} */ word, /** @type {number} */ to) => (
      turns[to] && at >= 0 ? el(
        "a",
        { href: toTurn(run.id, node, turns[to].number), "data-step": word },
        word,
      ) : el("span", { class: "dim" }, word)
    );
    fill(ways, way("previous turn", at - 1), way("next turn", at + 1));
  };
  show();
  run.watch(show, box);
  return box;
}
