// Amounts as people read them. What is not known is said so, and is never 0.

/** @param {number | null | undefined} cost */
export function money(cost) {
  if (cost === null || cost === undefined) return "cost unknown";
  if (cost === 0) return "$0";
  if (cost >= 1) return `$${cost.toFixed(2)}`;
  return cost >= 0.0001 ? `$${cost.toFixed(4)}` : "under $0.0001";
}

/** @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 0.95) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")} min`;
}

/** @param {number} number */
export function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ","); // toLocaleString takes 50 ms when it is first used
}

/** @param {number} number @param {string} noun @param {string} [many] */
export function count(number, noun, many) {
  return `${grouped(number)} ${number === 1 ? noun : many ?? `${noun}s`}`;
}

/** @param {number} number */
export function short(number) {
  if (number < 1000) return String(number);
  return number < 1e6 ? `${(number / 1e3).toFixed(1)}k` : `${(number / 1e6).toFixed(1)}M`;
}

/** The name of a file in so many characters: without its folders, then without its middle. @param {string} name @param {number} most */
export function shortName(name, most) {
  if (name.length <= most) return name;
  const base = name.slice(name.lastIndexOf("/") + 1) || name;
  if (base.length + 2 <= most) return `…/${base}`;
  const end = Math.min(7, Math.floor(most / 3));
  return base.length <= most ? base : `${base.slice(0, most - end - 1)}…${base.slice(-end)}`;
}

/** @param {{ calls: number, read: number | null, written: number | null, unmeasured: number }} usage */
export function tokens(usage) {
  if (!usage.calls) return "";
  if (usage.read === null && usage.written === null) return "tokens unknown";
  const over = usage.unmeasured ? "at least " : "";
  return `${over}${short(usage.read ?? 0)} in, ${short(usage.written ?? 0)} out`;
}

/** @param {number | null | undefined} seconds Unix time */
export function moment(seconds) {
  if (!seconds) return "";
  const at = new Date(seconds * 1000);
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Rounded down: 100% is all of it. @param {number} share */
export function percent(share) {
  if (share >= 1) return "100%";
  return share >= 0.01 || share < 0.001 ? `${Math.floor(share * 100)}%` : `${Math.floor(share * 1000) / 10}%`;
}

/** The time between two moments; of what goes on, so far. @param {number | null} from @param {number | null} to */
export function took(from, to) {
  return from === null || to === null ? "" : duration(Math.max(0, to - from));
}

const TOLD_WAIT = 0.1; // seconds

/** How long a turn waited for the sandbox, where that is worth a word. @param {Record<string, any>} turn */
export function sandboxStart(turn) {
  return turn.waited >= TOLD_WAIT ? `${duration(turn.waited)} until the sandbox had started` : "";
}

/** A model's name in a list: of a command its program, and how its arguments begin. @param {string} name */
export function modelName(name) {
  if (!name.startsWith("command:")) return name;
  const [program, ...more] = name.slice(8).trim().split(" ");
  const short = ["command:" + program.slice(program.lastIndexOf("/") + 1), ...more].join(" ");
  return short.length > 40 ? `${short.slice(0, 37)}…` : short;
}

/**
 * How long a run has taken, in seconds, without the time in which nobody went on with it.
 * @param {Record<string, any>} run what the server tells of it
 */
export const lasted = (run) => run.seconds ?? run.lasted + (run.going ? Math.max(0, now() - run.last) : 0);

/**
 * A moment on the clock of a run, which stands still while nobody goes on with it.
 * @param {[number, number][]} gaps @param {number} at
 */
export const lived = (gaps, at) => gaps.reduce((left, [from, to]) => left - Math.max(0, Math.min(at, to) - from), at);

export const now = () => Date.now() / 1000;

/** @param {number} number */
export const turnName = (number) => (number ? `turn ${number}` : "first look");
