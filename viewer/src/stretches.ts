// Ranges of the input as stretches that were read equally often. Pure.

import type { Part, Range, ReaderRow } from "./told";

export interface Stretch {
  part: number;
  start: number;
  end: number;
  prints: number;
  calls: number;
  children: number;
}

export interface Reader {
  kind: string;
  node: string;
  turn: number;
  cell: number;
  call: number | null;
  ranges: Range[];
}

type Step = [place: number, band: number, by: number];

/** The readers as the server tells them: rows. */
export function readersOf(told: ReaderRow[]): Reader[] {
  return told.map(([kind, node, turn, cell, call, ranges]) => ({ kind, node, turn, cell, call, ranges }));
}

/** Prints, sub-calls of the node itself, or a child's. */
function bandOf(reader: Reader, root: string): number {
  if (reader.node !== root) return 2;
  return reader.kind === "sub-call" ? 1 : 0;
}

/** By the number of each part all of its stretches, those that nobody read included. */
export function stretchesOf(parts: Part[], readers: Reader[], root: string): Stretch[][] {
  const steps: Step[][] = []; // by part: where, which band, one more or one less
  for (const { number } of parts) steps[number] = [];
  for (const reader of readers) {
    const band = bandOf(reader, root);
    for (const [part, start, end] of reader.ranges) steps[part]?.push([start, band, 1], [end, band, -1]);
  }
  const found: Stretch[][] = [];
  for (const { number, size } of parts) found[number] = folded(number, size, steps[number]);
  return found;
}

function folded(part: number, size: number, steps: Step[]): Stretch[] {
  steps.sort((a, b) => a[0] - b[0]);
  const found: Stretch[] = [];
  const read: [number, number, number] = [0, 0, 0];
  let at = 0;
  const add = (end: number) => {
    if (end <= at) return;
    const last = found.at(-1);
    if (last && last.prints === read[0] && last.calls === read[1] && last.children === read[2]) last.end = end;
    else found.push({ part, start: at, end, prints: read[0], calls: read[1], children: read[2] });
    at = end;
  };
  for (const [place, band, by] of steps) {
    add(Math.min(place, size));
    read[band] += by;
  }
  read.fill(0);
  add(size);
  return found;
}

export const isUnread = (stretch: Stretch): boolean => !(stretch.prints || stretch.calls || stretch.children);

/** Who was shown something of a range. */
export function readersIn(readers: Reader[], part: number, start: number, end: number): Reader[] {
  return readers.filter((reader) => reader.ranges.some(([of, from, to]) => of === part && from < end && to > start));
}
