// The map of the input: which ranges models were shown, how often and where, and which were never read.

import { el, fill } from "./el.js";
import { count, grouped, percent, shortName } from "./format.js";
import { quotes } from "./overview.js";
import { swap, toCall, toNode, toRange, toTurn } from "./route.js";
import { rows } from "./rows.js";
import { ask, isExport, path, trouble } from "./source.js";
import { isUnread, readersIn, readersOf, stretchesOf } from "./stretches.js";
import { strip } from "./strip.js";

/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("./run.js").Told} Told */
/** @typedef {import("./stretches.js").Stretch} Stretch */
/** @typedef {import("./route.js").Place} Place */

/** @param {Run} run */
export function mapPage(run) {
  const body = el("div", { class: "map" });
  const box = el("section", { "aria-label": "Map of the input" }, el("h2", { tabindex: "-1" }, "Map of the input"), body);
  /** @type {Place} */
  let place = { page: "map" };
  /** @type {((place: Place) => void) | null} */
  let pick = null;
  let step = "";
  const kept = { onlyUnread: false }; // what a person has chosen stays when a live run's map is made anew
  const show = async () => {
    if (!run.told || run.step === step) return;
    step = run.step;
    try {
      pick = mapBody(run, body, await run.ask("map"), kept);
      pick(place);
    } catch (error) {
      fill(body, trouble(error));
    }
  };
  show();
  run.watch(show, box);
  return {
    box,
    /** @param {Place} next */
    select(next) {
      place = next;
      pick?.(place);
    },
  };
}

/** @param {Run} run @param {Element} body @param {Told} map @param {{ onlyUnread: boolean }} kept */
function mapBody(run, body, map, kept) {
  const { coverage } = map;
  const known = map.parts.filter((/** @type {Told} */ part) => part.size);
  if (!known.length) {
    fill(
      body,
      el(
        "p",
        { class: "dim" },
        coverage.why || "The input is not made of text, or it is not known yet what was read of it.",
      ),
    );
    return () => {};
  }
  const unit = coverage.unit ?? "characters";
  const readers = readersOf(map.readers);
  const stretches = stretchesOf(known, readers, map.node);
  const detail = el(
    "div",
    { class: "map-detail" },
    el("p", { class: "dim" }, "Choose a range: it shows the text, and who was shown it."),
  );
  /** @type {Place} */
  let at = { page: "map" };

  const go = (/** @type {number} */ part, /** @type {number} */ start, /** @type {number} */ end) => swap(toRange(run.id, part, start, end));
  const drawn = strip(known, stretches, go);
  const ranges = rangeList(known, stretches, unit, go, kept);
  fill(
    body,
    summary(map, unit),
    drawn.box,
    el("div", { class: "map-columns" }, el("div", { class: "map-ranges" }, ranges.box), detail),
    quotes(run, map.citations),
  );

  return (/** @type {Place} */ place) => {
    if (place.start === undefined || (place.part === at.part && place.start === at.start && place.end === at.end)) return;
    at = place;
    const [part, start, end] = [place.part ?? 0, place.start, place.end ?? place.start];
    drawn.mark(part, start, end);
    ranges.mark(part, start);
    fill(
      detail,
      ...rangeDetail(
        run,
        map,
        known.find((/** @type {Told} */ each) => each.number === part),
        readersIn(readers, part, start, end),
        { part, start, end, unit },
      ),
    );
  };
}

/** @param {Told} map @param {string} unit */
function summary(map, unit) {
  const { coverage } = map;
  const over = coverage.share < 1 && (coverage.unplaced || coverage.unknown) ? "at least " : "";
  const lost = [
    map.unknown ? `of ${count(map.unknown, "print or sub-call", "prints and sub-calls")} it is not known what they showed` : "",
    map.left_out ? `${count(map.left_out, "reader")} had too many ranges to be shown` : "",
    map.parts.some((/** @type {Told} */ part) => part.size === null) ? "files whose size is not known are left out" : "",
    map.parts_in_all > 1000 ? `the first ${grouped(1000)} of ${grouped(map.parts_in_all)} parts are shown` : "",
  ].filter(Boolean);
  const key = (/** @type {string} */ kind, /** @type {string} */ word) => el(
    "span",
    { class: "key" },
    el("span", { class: `swatch ${kind}`, "aria-hidden": "true" }),
    word,
  );
  return el(
    "div",
    null,
    coverage.share === null ? el("p", null, coverage.why) : el(
      "p",
      null,
      el("b", null, `${over}${percent(coverage.share)}`),
      ` of ${grouped(coverage.size)} ${unit} was shown to models.`,
    ),
    lost.length ? el("p", { class: "dim" }, `${lost.join("; ")}.`) : null,
    el(
      "p",
      { class: "keys" },
      key("print", "printed (upper line)"),
      key("call", "given to sub-calls (middle)"),
      key("child", "read by children (lower)"),
      key("unread", "never read"),
    ),
    el("p", { class: "dim" }, "What code searched without showing it to a model is not traced."),
  );
}

/** @param {Stretch} stretch */
function readTold(stretch) {
  const told = [
    stretch.prints ? `printed ${stretch.prints === 1 ? "once" : `${stretch.prints} times`}` : "",
    stretch.calls ? count(stretch.calls, "sub-call") : "",
    stretch.children ? `${count(stretch.children, "time", "times")} by children` : "",
  ].filter(Boolean);
  return told.length ? told.join(", ") : "never read";
}

/**
 * @param {Told[]} parts @param {Stretch[][]} stretches @param {string} unit
 * @param {(part: number, start: number, end: number) => void} go @param {{ onlyUnread: boolean }} kept
 */
function rangeList(parts, stretches, unit, go, kept) {
  const all = parts.flatMap((part) => stretches[part.number]);
  let marked = "";
  const keyOf = (/** @type {Stretch} */ each) => `${each.part}-${each.start}`;
  const names = new Map(parts.map((part) => [part.number, part.name ?? (parts.length > 1 ? String(part.number) : "")]));
  const nameOf = (/** @type {number} */ part) => {
    const name = names.get(part);
    return name ? el("span", { class: "name", title: name }, shortName(name, 28)) : null;
  };
  const list = rows({
    height: 28,
    label: "Ranges of the input",
    key: keyOf,
    row: (/** @type {Stretch} */ each) =>
      el(
        "div",
        { class: "range" },
        el(
          "button",
          {
            type: "button",
            class: isUnread(each) ? "unread" : "",
            "aria-current": keyOf(each) === marked ? "true" : null,
            on: { click: () => go(each.part, each.start, each.end) },
          },
          nameOf(each.part),
          el("span", { class: "number" }, `${grouped(each.start)}–${grouped(each.end)}`),
          el("span", { class: "what", title: readTold(each) }, readTold(each)),
        ),
      ),
  });
  const only = /** @type {HTMLInputElement} */ (
    el("input", { type: "checkbox", id: "only-unread", on: { change: () => show() } })
  );
  only.checked = kept.onlyUnread;
  const show = () => {
    kept.onlyUnread = only.checked;
    list.set(only.checked ? all.filter(isUnread) : all);
  };
  show();
  const box = el(
    "div",
    null,
    el(
      "p",
      { class: "tools" },
      only,
      el("label", { for: "only-unread" }, "only what was never read"),
      el(
        "span",
        { class: "dim" },
        `${grouped(all.filter(isUnread).reduce((sum, each) => sum + each.end - each.start, 0))} ${unit}`,
      ),
    ),
    list.box,
  );
  return {
    box,
    mark(/** @type {number} */ part, /** @type {number} */ start) {
      const found = all.find((each) => each.part === part && each.start <= start && each.end > start);
      marked = found ? keyOf(found) : "";
      list.again();
      if (found) list.show(marked);
    },
  };
}

/**
 * @param {Run} run @param {Told} map @param {Told | undefined} part @param {import("./stretches.js").Reader[]} readers
 * @param {{ part: number, start: number, end: number, unit: string }} range
 */
function rangeDetail(run, map, part, readers, range) {
  const text = el("div", null, el("p", { class: "dim" }, "…"));
  const name = part?.name ?? (map.parts.length > 1 ? `part ${range.part}` : "");
  if (isExport) fill(
    text,
    el(
      "p",
      { class: "dim" },
      "This page does not hold the input itself; unspool view shows the text where the run kept it or its files are the same.",
    ),
  );
  else
    ask(`runs/${path(run.id)}/input?part=${range.part}&start=${range.start}&end=${range.end}`).then(
      (piece) => fill(text, ...pieceKids(piece)),
      (error) => fill(text, trouble(error)),
    );
  const list = rows({
    height: 28,
    label: "Who was shown it",
    key: (/** @type {any} */ each) => `${each.kind}-${each.node}-${each.cell}-${each.call}`,
    row: (each) => el("div", { class: "range" }, readerLink(run, each)),
  });
  list.box.classList.add("brief-list");
  list.set(readers);
  return [
    el(
      "h3",
      null,
      name ? `${name}, ` : "",
      `${grouped(range.start)} to ${grouped(range.end)}`,
      el("small", null, `${grouped(range.end - range.start)} ${range.unit}`),
    ),
    text,
    el(
      "h4",
      null,
      readers.length ? `Shown to models ${readers.length === 1 ? "once" : `${grouped(readers.length)} times`}` : "No model was shown any of it",
    ),
    readers.length ? list.box : null,
  ];
}

/** @param {Told} piece */
function pieceKids(piece) {
  if (piece.why !== undefined) return [el("p", { class: "why" }, piece.why)];
  return [
    piece.line === null ? null : el(
      "p",
      { class: "dim" },
      `from line ${grouped(piece.line)}${piece.cut ? "; only its beginning is shown" : ""}`,
    ),
    el(
      "pre",
      { class: "text input", tabindex: "0", role: "group", "aria-label": "Text of the range" },
      el("span", { class: "around" }, piece.before),
      el("mark", null, piece.text),
      el("span", { class: "around" }, piece.after),
    ),
  ];
}

/** @param {Run} run @param {import("./stretches.js").Reader} reader */
function readerLink(run, reader) {
  const at = `turn ${reader.turn} of node ${reader.node}`;
  if (reader.call !== null) return el("a", { href: toCall(run.id, reader.call) }, `sub-call ${reader.call}, ${at}`);
  if (reader.kind === "description") return el("span", null, "the description of the input, which the model saw first");
  if (reader.kind === "question") return el(
    "a",
    { href: toNode(run.id, reader.node) },
    `the question of child ${reader.node}`,
  );
  return el("a", { href: toTurn(run.id, reader.node, reader.turn) }, `printed in cell ${reader.cell}, ${at}`);
}
