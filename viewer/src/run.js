// One run as the page knows it: its nodes, its sub-calls, and news of both while it goes on.

import { ask, listen, path } from "./source.js";

/** @typedef {Record<string, any>} Told */

const STEP = 3; // seconds
const PAUSE = 250; // ms between two looks at a run that moves

/** @param {string} id */
export function openRun(id) {
  /** @type {Set<{ heard: () => void, element: Element | null }>} */
  const listeners = new Set();
  /** @type {Map<number, Told>} */
  const calls = new Map();
  /** @type {Set<number>} those that have no reply yet */
  const waiting = new Set();
  let since = 0;
  let dropped = 0;
  let wanted = false;
  /** @type {Promise<void> | null} */
  let pulling = null;
  let busy = false;
  let again = false;
  let closed = false;
  /** @type {Map<string, { seq: number, told: Promise<any> }>} */
  const answers = new Map();

  const run = {
    id,
    /** @type {Told | null} */
    told: null,
    /** @type {Map<string, Told>} */
    nodes: new Map(),
    /** @type {Map<string, Told[]>} children by their parent */
    below: new Map(),
    /** @type {unknown} */
    error: null,
    /** How far the run is, in steps that are worth making what takes long anew. */
    get step() {
      return run.told?.going ? `${Math.floor(run.told.last / STEP)}` : `end ${run.told?.seq}`;
    },
    connected: true,
    whole: false, // all sub-calls so far are here
    calls,
    /** From now on the sub-calls are asked for, too: not all that is shown of a run needs them. */
    want() {
      if (wanted) return;
      wanted = true;
      if (busy) pull();
      else refresh();
    },
    /** Another one once something of a sub-call is: who has made something long of them need not do so again. */
    version: 0,
    /** Is called after each change, for as long as the element is in the page. @param {() => void} heard @param {Element | null} element */
    watch(heard, element = null) {
      listeners.add({ heard, element });
    },
    /** An answer about this run, asked once for each state of it. @param {string} question @returns {Promise<any>} */
    ask(question) {
      const seq = run.told?.seq ?? 0;
      const known = answers.get(question);
      if (known && known.seq === seq) return known.told;
      const told = ask(`runs/${path(id)}/${question}`);
      answers.set(question, { seq, told });
      told.catch(() => answers.delete(question));
      return told;
    },
    close() {
      closed = true;
      listeners.clear();
      stop();
    },
    refresh,
  };

  async function refresh() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const told = ask(`runs/${path(id)}`);
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
  function pull() {
    pulling ??= takeAll(ask(callsAfter(since)))
      .catch((error) => {
        run.error = error;
        tell();
      })
      .finally(() => (pulling = null));
  }

  const callsAfter = (/** @type {number} */ seq) => `runs/${path(id)}/calls?since=${seq}`;

  /** Whether it says something new. @param {Told} told */
  function take(told) {
    const before = run.told;
    if (before && before.seq === told.seq && before.status === told.status) return false;
    run.told = told;
    run.nodes = new Map(told.nodes.map((/** @type {Told} */ node) => [node.id, node]));
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
  function settle() {
    for (const id of waiting) {
      const call = calls.get(id);
      const turn = run.nodes.get(call?.node)?.turns.find((/** @type {Told} */ each) => each.number === call?.turn);
      const cell = turn?.cells.find((/** @type {any[]} */ each) => each[0] === call?.cell);
      const ended = cell?.[2] ?? (run.told?.going ? null : run.told?.last);
      if (!call || !ended) continue;
      waiting.delete(id);
      calls.set(id, { ...call, state: "no reply", ended: Math.max(call.started, ended) });
      run.version++;
    }
  }

  /**
   * All that there is by now, page by page, the next one asked for before this one is looked at. What is made of
   * them is made anew when there are twice as many, and at the end: not for each page.
   * @param {Promise<Told>} first
   */
  async function takeAll(first) {
    /** @type {Promise<Told> | null} */
    let next = first;
    for (let shown = calls.size, news = !run.whole; next && !closed; ) {
      /** @type {Told} */
      const page = await next;
      next = page.more ? ask(callsAfter(page.seq)) : null;
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

  /** @param {Told} page */
  function put(page) {
    dropped = page.dropped;
    since = page.seq;
    if (page.rows.length) run.version++;
    for (const row of page.rows) {
      /** @type {Told} */
      const call = {};
      page.columns.forEach((/** @type {string} */ name, /** @type {number} */ at) => (call[name] = row[at]));
      calls.set(call.id, call);
      if (call.state === "going on") waiting.add(call.id);
      else waiting.delete(call.id);
    }
    settle();
  }

  function tell() {
    for (const each of [...listeners]) {
      if (each.element && !each.element.isConnected) listeners.delete(each);
      else each.heard();
    }
  }

  const stop = listen(id, refresh, (up) => {
    if (run.connected === up) return;
    run.connected = up;
    tell();
  });
  queueMicrotask(() => busy || refresh()); // by then what is shown has said what it wants
  return run;
}

/** @typedef {ReturnType<typeof openRun>} Run */

/**
 * Puts one more under a key.
 * @template K, V
 * @param {Map<K, V[]>} map @param {K} key @param {V} value
 */
export function gathered(map, key, value) {
  const known = map.get(key);
  if (known) known.push(value);
  else map.set(key, [value]);
}

/** The sub-calls of a cell, in the order of its code. @param {Run} run @param {string} node @param {number} cell */
export function callsOf(run, node, cell) {
  return [...run.calls.values()].filter((call) => call.node === node && call.cell === cell).sort((a, b) => a.id - b.id);
}
