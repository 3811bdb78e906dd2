// The parts of the input as strips: three lines each, of what was printed, given to sub-calls, read by children.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { firstThat } from "./bars";
import { grouped, percent, shortName } from "./format";
import { colours, whenColoursChange, type Colours } from "./ink";
import type { Range } from "./range";
import { Rows } from "./rows";
import { isUnread, type Stretch } from "./stretches";
import type { Part } from "./told";

const HEIGHT = 17;
const narrow = matchMedia("(max-width: 899px)");
const most = () => (narrow.matches ? 12 : 24); // rows: of a single text, and in sight of several

interface Line {
  part: Part;
  from: number;
  to: number;
  key: string;
}

type Marked = Pick<Range, "part" | "start" | "end"> | null;

interface Look {
  parts: Part[];
  stretches: Stretch[][];
  marked: Marked;
  go: (part: number, start: number, end: number) => void;
}

/** One text is folded into rows like lines of a page; of several, each is a row. */
export function Strips({ parts, stretches, marked, go }: Look) {
  const lines = useMemo(() => linesOf(parts), [parts]);
  const several = parts.length > 1;
  const chosen = marked && lines.findLast((each) => each.part.number === marked.part && each.from <= marked.start);
  const [look, setLook] = useState(colours);
  useEffect(() => whenColoursChange(() => setLook(colours())), []);
  return (
    <Rows
      items={lines}
      height={HEIGHT + 5}
      label="The input, from its beginning to its end"
      class={several ? "strips named" : "strips"}
      style={{ height: `${Math.min(lines.length, most()) * (HEIGHT + 5) + 4}px` }}
      keyOf={(line) => line.key}
      own={() => ({ class: "strip" })}
      row={(line) => (
        <>
          {several ? <PartLabel part={line.part} /> : <span class="label">{grouped(line.from)}</span>}
          <Strip line={line} stretches={stretches[line.part.number]} look={look} marked={marked} go={go} />
        </>
      )}
      inSight={chosen?.key}
    />
  );
}

function linesOf(parts: Part[]): Line[] {
  const lines = parts.length > 1 ? 1 : Math.max(1, Math.min(most(), Math.ceil(parts[0].size / 400)));
  return parts.flatMap((part) =>
    Array.from({ length: lines }, (_, at) => ({
      part,
      from: Math.floor((part.size * at) / lines),
      to: Math.floor((part.size * (at + 1)) / lines),
      key: `${part.number}-${at}`,
    })),
  );
}

function PartLabel({ part: { name, number } }: { part: Part }) {
  return (
    <span class="label" title={name ?? undefined}>
      {shortName(name ?? String(number), narrow.matches ? 12 : 24)}
    </span>
  );
}

interface OneStrip extends Omit<Look, "parts" | "stretches"> {
  line: Line;
  stretches: Stretch[];
  look: Colours;
}

function Strip({ line, stretches, look, marked, go }: OneStrip) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [wide, setWide] = useState(0);
  const told = useMemo(() => said(line, stretches), [line, stretches]);
  useLayoutEffect(() => {
    if (!canvas.current) return;
    const grows = new ResizeObserver(([entry]) => setWide(entry.contentRect.width));
    grows.observe(canvas.current);
    return () => grows.disconnect();
  }, []);
  const touches = marked && marked.part === line.part.number && marked.start < line.to && marked.end > line.from;
  const mark = touches ? marked : null;
  useLayoutEffect(() => {
    const pen = canvas.current && wide ? penOf(canvas.current, wide) : null;
    if (!pen) return;
    const x = (at: number) => ((at - line.from) / Math.max(1, line.to - line.from)) * wide;
    drawStretches(pen, look, line, stretches, x);
    if (mark) drawMark(pen, look, x(Math.max(mark.start, line.from)), x(Math.min(mark.end, line.to)));
  }, [wide, line, stretches, look, mark?.start, mark?.end]);
  const clicked = (event: MouseEvent) => {
    const area = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const at = line.from + Math.floor(((event.clientX - area.left) / area.width) * (line.to - line.from));
    const found = stretches.find((each) => each.start <= at && each.end > at);
    if (found) go(line.part.number, found.start, found.end);
  };
  return <canvas ref={canvas} role="img" aria-label={told} onClick={clicked} />;
}

/** A row in words. */
function said(line: Line, stretches: Stretch[]): string {
  let read = 0;
  for (let at = firstThat(stretches.length, (place) => stretches[place].end > line.from); at < stretches.length; at++) {
    const each = stretches[at];
    if (each.start >= line.to) break;
    if (!isUnread(each)) read += Math.max(0, Math.min(each.end, line.to) - Math.max(each.start, line.from));
  }
  return `${grouped(line.from)} to ${grouped(line.to)}: ${percent(read / Math.max(1, line.to - line.from))} was read`;
}

function penOf(canvas: HTMLCanvasElement, wide: number): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(wide * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const pen = canvas.getContext("2d");
  pen?.scale(ratio, ratio);
  return pen;
}

type Pen = CanvasRenderingContext2D;

function drawStretches(pen: Pen, look: Colours, line: Line, stretches: Stretch[], x: (at: number) => number): void {
  const bands = [look.print, look.call, look.child];
  pen.fillStyle = look.soft;
  pen.fillRect(0, 0, x(line.to), HEIGHT);
  let full = -1;
  let before = "";
  const first = firstThat(stretches.length, (at) => stretches[at].end > line.from);
  for (let each = first; each < stretches.length && stretches[each].start < line.to; each++) {
    const stretch = stretches[each];
    const [left, right] = [x(Math.max(stretch.start, line.from)), x(Math.min(stretch.end, line.to))];
    const size = Math.max(1, right - left);
    const alike = `${stretch.prints} ${stretch.calls} ${stretch.children}`;
    if (right <= full && alike === before) continue; // of thousands that fall on a pixel, one of each kind
    full = left + size;
    before = alike;
    if (isUnread(stretch)) {
      pen.fillStyle = look.unread;
      for (let at = Math.ceil(left / 5) * 5; at < left + size; at += 5) pen.fillRect(at, HEIGHT / 2 - 1, 2, 2);
      continue;
    }
    [stretch.prints, stretch.calls, stretch.children].forEach((times, band) => {
      if (!times) return;
      pen.globalAlpha = Math.min(1, 0.5 + 0.25 * (times - 1));
      pen.fillStyle = bands[band];
      pen.fillRect(left, 1 + band * 5, size, 5);
    });
    pen.globalAlpha = 1;
  }
}

function drawMark(pen: Pen, look: Colours, left: number, right: number): void {
  pen.strokeStyle = look.ink;
  pen.lineWidth = 1.5;
  pen.strokeRect(left + 0.75, 0.75, Math.max(3, right - left - 1.5), HEIGHT - 1.5);
}
