// Addresses of places: each node, turn, sub-call and range has one, behind the # of the page's own.

/**
 * @typedef {{ page: string, run?: string, other?: string, node?: string, turn?: number, call?: number,
 *   part?: number, start?: number, end?: number }} Place
 */

/** @param {string} hash @returns {Place} */
export function read(hash) {
  const parts = hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decode);
  const number = (/** @type {string | undefined} */ text) => (/^\d{1,15}$/.test(text ?? "") ? Number(text) : undefined);
  if (parts[0] === "beside" && parts.length === 3) return { page: "beside", run: parts[1], other: parts[2] };
  if (parts[0] !== "run" || !parts[1]) return { page: "list" };
  const [, run, page, first, what, second] = parts;
  if (page === "node" && first) {
    const turn = what === "turn" ? number(second) : undefined;
    return { page: turn === undefined ? "node" : "turn", run, node: first, turn };
  }
  if (page === "call" && number(first) !== undefined) return { page, run, call: number(first) };
  if (page === "map") {
    const [part, start, end] = [first, what, second].map(number);
    return end === undefined ? { page, run, part } : { page, run, part, start, end };
  }
  return page === "calls" || page === "timeline" ? { page, run } : { page: "run", run };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {...(string | number)} parts */
function to(...parts) {
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
}

export const toList = () => to();
/** @param {string} run @param {...(string | number)} more */
export const toRun = (run, ...more) => to("run", run, ...more);
/** @param {string} run @param {string} node */
export const toNode = (run, node) => to("run", run, "node", node);
/** @param {string} run @param {string} node @param {number} turn */
export const toTurn = (run, node, turn) => to("run", run, "node", node, "turn", turn);
/** @param {string} run @param {number} call */
export const toCall = (run, call) => to("run", run, "call", call);
/** @param {string} run @param {number} part @param {number} start @param {number} end */
export const toRange = (run, part, start, end) => to("run", run, "map", part, start, end);
/** @param {string} one @param {string} two */
export const toBeside = (one, two) => to("beside", one, two);

/** Goes to a place without one more step in the browser's history. @param {string} hash */
export function swap(hash) {
  if (hash === location.hash) return;
  history.replaceState(null, "", hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
