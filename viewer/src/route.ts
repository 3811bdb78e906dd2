// Addresses of places: each node, turn, sub-call and range has one, behind the # of the page's own.

export interface Place {
  page: "list" | "beside" | "run" | "node" | "turn" | "call" | "calls" | "timeline" | "map";
  run?: string;
  other?: string;
  node?: string;
  turn?: number;
  call?: number;
  part?: number;
  start?: number;
  end?: number;
}

export function read(hash: string): Place {
  const parts = hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decode);
  const number = (text: string | undefined) => (/^\d{1,15}$/.test(text ?? "") ? Number(text) : undefined);
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

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function to(...parts: (string | number)[]): string {
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
}

export const toList = () => to();
export const toRun = (run: string, ...more: (string | number)[]) => to("run", run, ...more);
export const toNode = (run: string, node: string) => to("run", run, "node", node);
export const toTurn = (run: string, node: string, turn: number) => to("run", run, "node", node, "turn", turn);
export const toCall = (run: string, call: number) => to("run", run, "call", call);
export const toRange = (run: string, part: number, start: number, end: number) => to("run", run, "map", part, start, end);
export const toBeside = (one: string, two: string) => to("beside", one, two);

/** Goes to a place without one more step in the browser's history. */
export function swap(hash: string): void {
  if (hash === location.hash) return;
  history.replaceState(null, "", hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
