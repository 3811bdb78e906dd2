// Amounts as people read them. What is not known is said so, and is never 0.

import type { Gap, Usage } from "./told";

export function money(cost: number | null | undefined): string {
  if (cost === null || cost === undefined) return "cost unknown";
  if (cost === 0) return "$0";
  if (cost >= 1) return `$${cost.toFixed(2)}`;
  return cost >= 0.0001 ? `$${cost.toFixed(4)}` : "under $0.0001";
}

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 0.95) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")} min`;
}

export function grouped(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ","); // toLocaleString takes 50 ms when it is first used
}

export function count(number: number, noun: string, many?: string): string {
  return `${grouped(number)} ${number === 1 ? noun : many ?? `${noun}s`}`;
}

export function short(number: number): string {
  if (number < 1000) return String(number);
  return number < 1e6 ? `${(number / 1e3).toFixed(1)}k` : `${(number / 1e6).toFixed(1)}M`;
}

/** The name of a file in so many characters: without its folders, then without its middle. */
export function shortName(name: string, most: number): string {
  if (name.length <= most) return name;
  const base = name.slice(name.lastIndexOf("/") + 1) || name;
  if (base.length + 2 <= most) return `…/${base}`;
  const end = Math.min(7, Math.floor(most / 3));
  return base.length <= most ? base : `${base.slice(0, most - end - 1)}…${base.slice(-end)}`;
}

export function tokens(usage: Usage): string {
  if (!usage.calls) return "";
  if (usage.read === null && usage.written === null) return "tokens unknown";
  const over = usage.unmeasured ? "at least " : "";
  return `${over}${short(usage.read ?? 0)} in, ${short(usage.written ?? 0)} out`;
}

/** A moment, of Unix time. */
export function moment(seconds: number | null | undefined): string {
  if (!seconds) return "";
  const at = new Date(seconds * 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

const LEAST = 0.001; // of a share that is told in figures

/** Rounded down: 100% is all of it. */
export function percent(share: number): string {
  if (share >= 1) return "100%";
  if (share > 0 && share < LEAST) return "under 0.1%";
  return share >= 0.01 || !share ? `${Math.floor(share * 100)}%` : `${Math.floor(share * 1000) / 10}%`;
}

/** How much was read; `more`: there may be more that is not known. */
export function share(read: number, more: boolean): string {
  if (!more || read >= 1) return percent(read);
  return read < LEAST ? "an unknown share" : `at least ${percent(read)}`;
}

/** The time between two moments; of what goes on, so far. */
export function took(from: number | null, to: number | null): string {
  return from === null || to === null ? "" : duration(Math.max(0, to - from));
}

const TOLD_WAIT = 0.1; // seconds

/** How long a turn waited for the sandbox, where that is worth a word. */
export function sandboxStart(turn: { waited: number }): string {
  return turn.waited >= TOLD_WAIT ? `${duration(turn.waited)} until the sandbox had started` : "";
}

/** A model's name in a list: of a command its program, and how its arguments begin. */
export function modelName(name: string): string {
  if (!name.startsWith("command:")) return name;
  const [program, ...more] = name.slice(8).trim().split(" ");
  const short = ["command:" + program.slice(program.lastIndexOf("/") + 1), ...more].join(" ");
  return short.length > 40 ? `${short.slice(0, 37)}…` : short;
}

/** How long a run has taken, in seconds, without the time in which nobody went on with it. */
export const lasted = (run: { seconds: number | null; lasted: number; going: boolean; last: number }): number =>
  run.seconds ?? run.lasted + (run.going ? Math.max(0, now() - run.last) : 0);

/** A moment on the clock of a run, which stands still while nobody goes on with it. */
export const lived = (gaps: Gap[], at: number): number =>
  gaps.reduce((left, [from, to]) => left - Math.max(0, Math.min(at, to) - from), at);

export const now = (): number => Date.now() / 1000;

export const turnName = (number: number): string => (number ? `turn ${number}` : "first look");
