// Where the page has its data from: the server that gave it, or what an exported page carries inside.

const KEY = "unspool-token";
const inside = document.getElementById("data");
/** Of an exported page: its run, and in which group the answer to each question is. */
interface Carried {
  run: string;
  redacted: boolean;
  places: Record<string, number>;
}

const carried: Carried | null = inside ? JSON.parse(inside.textContent ?? "{}") : null;

const groups = new Map<number, Record<string, unknown>>(); // of answers that were read, the last ones
const GROUPS = 12; // that are kept

/** An answer that the page carries. */
function held({ places }: Carried, question: string): unknown {
  const at = Object.hasOwn(places, question) ? places[question] : -1;
  const group: Record<string, unknown> = groups.get(at) ?? JSON.parse(document.getElementById(`data-${at}`)?.textContent ?? "{}");
  groups.delete(at);
  groups.set(at, group);
  if (groups.size > GROUPS) groups.delete(groups.keys().next().value ?? -1);
  return group[question];
}

/** Whether this page is a file that needs nothing else. */
export const isExport = carried !== null;

export const onlyRun = carried ? carried.run : null;
export const isRedacted = carried ? carried.redacted : false;

/** The token of the address, which is then taken out of it and kept for this server's pages. */
export function takeToken(): void {
  if (carried) return;
  const found = /^#token=([\w-]+)&?(.*)$/.exec(location.hash);
  if (!found) return;
  localStorage.setItem(KEY, found[1]);
  history.replaceState(null, "", `#${found[2] || "/"}`);
}

const headers = () => ({ Authorization: `Bearer ${localStorage.getItem(KEY) ?? ""}` });

export function path(...parts: (string | number)[]): string {
  return parts.map((part) => encodeURIComponent(part)).join("/");
}

/** What the server says to a question, such as "runs/ID/map". Rejects with its words where it has no answer. */
export async function ask<Answer>(question: string): Promise<Answer> {
  if (carried) {
    const known = held(carried, question);
    if (known === undefined) throw new Error("this page does not hold that; open the run with unspool view");
    return known as Answer;
  }
  let response: Response;
  try {
    response = await fetch(`api/${question}`, { headers: headers() });
  } catch {
    throw new Error("the viewer cannot be reached: is unspool view still running?");
  }
  const told = await response.json().catch(() => ({ error: `the viewer said ${response.status}` }));
  if (!response.ok) throw new Error(told.error);
  return told;
}

/** Calls `heard` whenever there is something new, until it is stopped. A connection that is lost is made again. */
export function listen(run: string | null, heard: () => void, connected: (up: boolean) => void): () => void {
  if (carried) return () => {};
  const stop = new AbortController();
  const follow = async () => {
    while (!stop.signal.aborted) {
      try {
        const query = run === null ? "" : `?run=${encodeURIComponent(run)}`;
        const response = await fetch(`api/live${query}`, { headers: headers(), signal: stop.signal });
        if (response.status === 401 || response.status === 404) return connected(false);
        const reader = response.body?.getReader();
        connected(response.ok);
        while (reader) {
          const { done, value } = await reader.read();
          if (done) break;
          if (value.includes(100)) heard(); // a "d" of "data": all else is a sign of life
        }
      } catch {
        if (stop.signal.aborted) return;
      }
      connected(false);
      await new Promise((go) => setTimeout(go, 1000));
    }
  };
  follow();
  return () => stop.abort();
}
