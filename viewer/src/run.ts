// One run as the page knows it: its nodes, its sub-calls, and news of both while it goes on.

import { ask, listen, path } from "./source";
import type { Call, CallsPage, Node, RunTold } from "./told";

const STEP = 3; // seconds
const PAUSE = 250; // ms between two looks at a run that moves

export interface Run {
  readonly id: string;
  told: RunTold | null;
  nodes: Map<string, Node>;
  below: Map<string, Node[]>; // children by their parent
  error: unknown;
  connected: boolean;
  whole: boolean; // all sub-calls so far are here
  readonly calls: Map<number, Call>;
  /** Another one once something of a sub-call is: who has made something long of them need not do so again. */
  version: number;
  /** How far the run is, in steps that are worth making what takes long anew. */
  readonly step: string;
  /** From now on the sub-calls are asked for, too: not all that is shown of a run needs them. */
  want(): void;
  /** Is called after each change, until it is stopped. */
  watch(heard: () => void): () => void;
  /** An answer about this run, asked once for each state of it. */
  ask<Answer>(question: string): Promise<Answer>;
  close(): void;
}

export function openRun(id: string): Run {
  const listeners = new Set<() => void>();
  const calls = new Map<number, Call>();
  const waiting = new Set<number>(); // those that have no reply yet
  let since = 0;
  let dropped = 0;
  let wanted = false;
  let pulling: Promise<void> | null = null;
  let busy = false;
  let again = false;
  let closed = false;
  const answers = new Map<string, { seq: number; told: Promise<unknown> }>();

  const run: Run = {
    id,
    told: null,
    nodes: new Map(),
    below: new Map(),
    error: null,
    get step() {
      return run.told?.going ? `${Math.floor(run.told.last / STEP)}` : `end ${run.told?.seq}`;
    },
    connected: true,
    whole: false,
    calls,
    want() {
      if (wanted) return;
      wanted = true;
      if (busy) pull();
      else refresh();
    },
    version: 0,
    watch(heard) {
      listeners.add(heard);
      return () => listeners.delete(heard);
    },
    ask<Answer>(question: string) {
      const seq = run.told?.seq ?? 0;
      const known = answers.get(question);
      if (known && known.seq === seq) return known.told as Promise<Answer>;
      const told = ask<Answer>(`runs/${path(id)}/${question}`);
      answers.set(question, { seq, told });
      told.catch(() => answers.delete(question));
      return told;
    },
    close() {
      closed = true;
      listeners.clear();
      stop();
    },
  };

  async function refresh(): Promise<void> {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const told = ask<RunTold>(`runs/${path(id)}`);
      if (wanted) pull();
      const failed = run.error !== null;
      run.error = null;
      if (take(await told) || failed) tell();
      await pulling;
    } catch (error) {
      run.error = error;
      tell();
    }
    setTimeout(() => {
      busy = false;
      if (again && !closed) {
        again = false;
        refresh();
      }
    }, PAUSE);
  }

  /** Asks for the sub-calls that are new, where that is not being done. */
  function pull(): void {
    pulling ??= takeAll(callsAfter(since))
      .catch((error) => {
        run.error = error;
        tell();
      })
      .finally(() => (pulling = null));
  }

  const callsAfter = (seq: number) => ask<CallsPage>(`runs/${path(id)}/calls?since=${seq}`);

  /** Whether it says something new. */
  function take(told: RunTold): boolean {
    const before = run.told;
    if (before && before.seq === told.seq && before.status === told.status) return false;
    run.told = told;
    run.nodes = new Map(told.nodes.map((node) => [node.id, node]));
    run.below = new Map();
    for (const node of told.nodes) {
      gathered(run.below, node.parent ?? "", node);
      if (!told.going) node.status ??= "interrupted";
      for (const turn of node.turns) turn.over = node.status !== null; // what it waits for will not come
    }
    settle();
    return true;
  }

  /** Sub-calls of cells that are over, or of a run that nobody goes on with, get no reply any more. */
  function settle(): void {
    for (const id of waiting) {
      const call = calls.get(id);
      if (!call) continue;
      const turn = run.nodes.get(call.node)?.turns.find((each) => each.number === call.turn);
      const cell = turn?.cells.find(([number]) => number === call.cell);
      const ended = cell?.[2] ?? (run.told?.going ? null : run.told?.last);
      if (!ended) continue;
      waiting.delete(id);
      calls.set(id, { ...call, state: "no reply", ended: Math.max(call.started, ended) });
      run.version++;
    }
  }

  /**
   * All that there is by now, page by page, the next one asked for before this one is looked at. What is made of
   * them is made anew when there are twice as many, and at the end: not for each page.
   */
  async function takeAll(first: Promise<CallsPage>): Promise<void> {
    let next: Promise<CallsPage> | null = first;
    for (let shown = calls.size, news = !run.whole; next && !closed; ) {
      const page: CallsPage = await next;
      next = page.more ? callsAfter(page.seq) : null;
      next?.catch(() => {}); // told when it is waited for
      if (page.dropped !== dropped && since) {
        dropped = page.dropped; // some of those that are here do not count any more
        calls.clear();
        waiting.clear();
        run.version++;
        run.whole = false;
        since = 0;
        again = true;
        return;
      }
      put(page);
      news ||= page.rows.length > 0;
      run.whole = !page.more;
      if (!news || (page.more && calls.size < 2 * shown)) continue;
      shown = calls.size;
      tell();
    }
  }

  function put(page: CallsPage): void {
    dropped = page.dropped;
    since = page.seq;
    if (page.rows.length) run.version++;
    for (const row of page.rows) {
      const told: Partial<Record<keyof Call, unknown>> = {};
      page.columns.forEach((name, at) => (told[name] = row[at]));
      const call = told as unknown as Call;
      calls.set(call.id, call);
      if (call.state === "going on") waiting.add(call.id);
      else waiting.delete(call.id);
    }
    settle();
  }

  function tell(): void {
    for (const heard of [...listeners]) heard();
  }

  const stop = listen(id, refresh, (up) => {
    if (run.connected === up) return;
    run.connected = up;
    tell();
  });
  queueMicrotask(() => busy || refresh()); // by then what is shown has said what it wants
  return run;
}

/** Puts one more under a key. */
export function gathered<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const known = map.get(key);
  if (known) known.push(value);
  else map.set(key, [value]);
}

/** The sub-calls of a cell, in the order of its code. */
export function callsOf(run: Run, node: string, cell: number): Call[] {
  return [...run.calls.values()].filter((call) => call.node === node && call.cell === cell).sort((a, b) => a.id - b.id);
}
