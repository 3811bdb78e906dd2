// Ranges of the input as stretches that were read equally often. Pure.

/** @typedef {{ part: number, start: number, end: number, prints: number, calls: number, children: number }} Stretch */
/** @typedef {{ kind: string, node: string, turn: number, cell: number, call: number | null, ranges: number[][] }} Reader */

/** The readers as the server tells them: rows. @param {any[][]} told @returns {Reader[]} */
export function readersOf(told) {
  return told.map(([kind, node, turn, cell, call, ranges]) => ({ kind, node, turn, cell, call, ranges }));
}

/** Prints, sub-calls of the node itself, or a child's. @param {Reader} reader @param {string} root */
function bandOf(reader, root) {
  if (reader.node !== root) return 2;
  return reader.kind === "sub-call" ? 1 : 0;
}

/**
 * All stretches of each part from its beginning to its end, those that nobody read included.
 * @param {{ number: number, size: number }[]} parts @param {Reader[]} readers @param {string} root
 * @returns {Stretch[][]} by the number of the part
 */
export function stretchesOf(parts, readers, root) {
  /** @type {[number, number, number][][]} by part: where, which band, one more or one less */
  const steps = [];
  for (const { number } of parts) steps[number] = [];
  for (const reader of readers) {
    const band = bandOf(reader, root);
    for (const [part, start, end] of reader.ranges) steps[part]?.push([start, band, 1], [end, band, -1]);
  }
  /** @type {Stretch[][]} */
  const found = [];
  for (const { number, size } of parts) found[number] = folded(number, size, steps[number]);
  return found;
}

/** @param {number} part @param {number} size @param {[number, number, number][]} steps @returns {Stretch[]} */
function folded(part, size, steps) {
  steps.sort((a, b) => a[0] - b[0]);
  /** @type {Stretch[]} */
  const found = [];
  const read = [0, 0, 0];
  let at = 0;
  const add = (/** @type {number} */ end) => {
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

/** @param {Stretch} stretch */
export const isUnread = (stretch) => !(stretch.prints || stretch.calls || stretch.children);

/** Who was shown something of a range. @param {Reader[]} readers @param {number} part @param {number} start @param {number} end */
export function readersIn(readers, part, start, end) {
  return readers.filter((reader) => reader.ranges.some(([of, from, to]) => of === part && from < end && to > start));
}
