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
  let calls = new Map();
  let since = 0;
  let dropped = 0;
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
    get calls() {
      return calls;
    },
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
      const [told, first] = [ask(`runs/${path(id)}`), ask(`runs/${path(id)}/calls?since=${since}`)];
      first.catch(() => {}); // told below, if the first question has an answer
      take(await told);
      tell();
      for (let next = first, more = true; more && !closed; ) {
        const page = await next;
        more = page.more;
        takeCalls(page);
        run.whole = !more;
        tell();
        if (more) next = ask(`runs/${path(id)}/calls?since=${since}`);
      }
      run.error = null;
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

  /** @param {Told} told */
  function take(told) {
    run.told = told;
    run.nodes = new Map(told.nodes.map((/** @type {Told} */ node) => [node.id, node]));
    run.below = new Map();
    for (const node of told.nodes) gathered(run.below, node.parent ?? "", node);
  }

  /** @param {Told} page */
  function takeCalls(page) {
    if (page.dropped !== dropped && since) {
      dropped = page.dropped; // some of those that are here do not count any more
      calls = new Map();
      since = 0;
      again = true;
      return;
    }
    dropped = page.dropped;
    const next = new Map(calls);
    for (const row of page.rows) {
      /** @type {Told} */
      const call = {};
      page.columns.forEach((/** @type {string} */ name, /** @type {number} */ at) => (call[name] = row[at]));
      next.set(call.id, call);
    }
    calls = next;
    since = page.seq;
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
  refresh();
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
