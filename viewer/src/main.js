// The page: what the address says is shown.

import "./viewer.css";
import { besidePage } from "./beside.js";
import { el, fill } from "./el.js";
import { listenToKeys } from "./keys.js";
import { listPage } from "./list.js";
import { read, toList, toRun } from "./route.js";
import { runPage } from "./runpage.js";
import { isExport, onlyRun, takeToken } from "./source.js";

/** @typedef {{ box: HTMLElement, close: () => void, show?: (place: import("./route.js").Place) => void }} Page */

takeToken();
const holder = el("div", { id: "page" });
const showKeys = listenToKeys();
document.body.prepend(
  el("a", { class: "skip", href: "#detail", on: { click: skip } }, "To the content"),
  el(
    "div",
    { class: "bar", role: "banner" },
    isExport ? el("b", null, "unspool") : el("a", { href: toList(), class: "home" }, "unspool"),
    el(
      "button",
      { type: "button", class: "quiet", on: { click: showKeys } },
      "Keys",
      el("kbd", { "aria-hidden": "true" }, "?"),
    ),
  ),
  holder,
);

/** @type {Page | null} */
let page = null;
let shown = "";

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  const heading = /** @type {HTMLElement | null} */ (document.querySelector("#detail h1, #detail h2"));
  heading?.focus();
}

function show() {
  if (/^#token=/.test(location.hash)) takeToken();
  let place = read(location.hash);
  if (isExport && onlyRun && place.run !== onlyRun) place = read(toRun(onlyRun));
  const key = place.page === "list" ? "list" : place.page === "beside" ? `${place.run} ${place.other}` : `run ${place.run}`;
  if (key !== shown) {
    page?.close();
    shown = key;
    document.title = "unspool";
    page = place.page === "list" ? listPage() : place.page === "beside" ? besidePage(place.run ?? "", place.other ?? "") : runPage(place.run ?? "");
    fill(holder, page.box);
  }
  page?.show?.(place);
}

addEventListener("hashchange", show);
setTimeout(show); // a task of its own: to read this script is one already
