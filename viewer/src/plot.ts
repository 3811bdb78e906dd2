// The bars of a run, drawn by hand on a canvas: what is in sight of them, in a scale that can be changed.

import { drawLane, firstThat } from "./bars";
import { duration, now } from "./format";
import { colours, whenColoursChange, type Colours } from "./ink";
import { lanes, type Bar, type Lane } from "./lanes";
import type { Run } from "./run";

const AXIS = 22;
const MOST_ZOOM = 400;

type Pen = CanvasRenderingContext2D;

interface Places {
  scroller: HTMLElement;
  space: HTMLElement;
  canvas: HTMLCanvasElement;
}

export class Plot {
  chosen: Bar | null = null;
  from = 0; // when the run began
  private lines: Lane[] = [];
  private tops: number[] = [];
  private order: Bar[] = []; // by their beginnings
  private to = 1;
  private scale = 1;
  private frame = 0;
  private shown = "";
  private readonly closing: (() => void)[];

  // What is asked of the layout is asked once for all bars: each time it may have to be made anew.
  private wide = 0;
  private high = 0;
  private gutter = 88;
  private width = 50;

  constructor(
    private readonly run: Run,
    private readonly at: Places,
  ) {
    const grows = new ResizeObserver(this.soon);
    grows.observe(at.scroller);
    this.closing = [whenColoursChange(this.soon), () => grows.disconnect(), () => cancelAnimationFrame(this.frame)];
  }

  close(): void {
    for (const each of this.closing) each();
  }

  readonly soon = (): void => {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  };

  /** Takes what the run is now. */
  update(): void {
    const { run } = this;
    const sign = JSON.stringify([run.version, run.told?.seq, run.told?.going && now()]);
    if (sign === this.shown) return;
    this.shown = sign;
    const until = run.told?.going ? now() : (run.told?.last ?? 1);
    this.lines = lanes(run, until);
    const all = this.lines.flatMap((lane) => lane.bars);
    this.from = run.told?.started ?? 0;
    this.to = Math.max(this.from + 1e-6, all.reduce((most, bar) => Math.max(most, bar.to), this.from));
    this.order = all.sort((a, b) => a.from - b.from);
    const name = this.chosen?.name;
    if (name) this.chosen = this.order.find((bar) => bar.name === name) ?? null;
    let top = AXIS;
    this.tops = this.lines.map((lane) => (top += lane.height) - lane.height);
    this.at.space.style.height = `${top + 12}px`;
    this.soon();
  }

  private measure(): void {
    const { scroller } = this.at;
    this.wide = scroller.clientWidth;
    this.high = scroller.clientHeight;
    this.gutter = this.wide < 600 ? 44 : 88;
    this.width = Math.max(50, (this.wide - this.gutter) * this.scale);
  }

  private x(at: number): number {
    return ((at - this.from) / (this.to - this.from)) * this.width;
  }

  private draw(): void {
    this.measure();
    const { scroller, space, canvas } = this.at;
    const { wide, high, gutter, width } = this;
    const [above, before] = [scroller.scrollTop, scroller.scrollLeft];
    space.style.width = `${gutter + width}px`;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(high * ratio);
    canvas.style.width = `${wide}px`;
    canvas.style.height = `${high}px`;
    const pen = canvas.getContext("2d");
    if (!pen) return;
    pen.scale(ratio, ratio);
    const look = colours();
    pen.font = `12px ${look.font}`;
    const left = gutter - before;
    pen.save();
    pen.beginPath();
    pen.rect(gutter, 0, wide, high);
    pen.clip();
    this.ticks(pen, look, left);
    const first = this.from + ((-left - 2) / width) * (this.to - this.from); // the time at the left edge
    const place = (time: number) => left + this.x(time);
    for (const at of this.linesFrom(above)) {
      drawLane(pen, look, this.lines[at], { first, place, wide, y: this.tops[at] - above, chosen: this.chosen });
    }
    pen.restore();
    this.labels(pen, look, above);
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, wide, AXIS - 2);
    this.axis(pen, look, left);
  }

  /** The lines in sight. */
  private *linesFrom(above: number): Generator<number> {
    const first = firstThat(this.lines.length, (at) => this.tops[at] + this.lines[at].height >= above);
    for (let at = first; at < this.lines.length && this.tops[at] - above < this.high; at++) yield at;
  }

  private labels(pen: Pen, look: Colours, above: number): void {
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, this.gutter - 4, this.high);
    pen.fillStyle = look.dim;
    for (const at of this.linesFrom(above)) {
      const { label, depth } = this.lines[at];
      if (label) pen.fillText(label.slice(-12), 4 + Math.min(4, depth) * 6, this.tops[at] - above + 15, this.gutter - 12);
    }
  }

  private steps(): number[] {
    const all = this.to - this.from;
    const about = (all * 110) / this.width;
    const power = 10 ** Math.floor(Math.log10(about));
    const step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= about) ?? about;
    const first = Math.max(0, Math.floor((this.at.scroller.scrollLeft / this.width) * (all / step)));
    const last = Math.min(Math.floor(all / step), first + Math.ceil(this.wide / 60));
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => (first + at) * step);
  }

  private ticks(pen: Pen, look: Colours, left: number): void {
    pen.fillStyle = look.line;
    for (const at of this.steps()) {
      const place = left + this.x(this.from + at);
      if (place < this.wide) pen.fillRect(Math.round(place), AXIS - 2, 1, this.high);
    }
  }

  private axis(pen: Pen, look: Colours, left: number): void {
    pen.fillStyle = look.dim;
    for (const at of this.steps()) {
      const place = left + this.x(this.from + at);
      const told = at ? duration(at) : "0";
      const fits = place >= this.gutter - 1 && place + 3 + pen.measureText(told).width < this.wide;
      if (fits) pen.fillText(told, place + 3, 13);
    }
  }

  /** Makes the scale so many times larger; 0: all of it is in sight. */
  zoom(by: number): void {
    const { scroller, space } = this.at;
    this.measure();
    const middle = (scroller.scrollLeft + this.wide / 2) / (this.gutter + this.width);
    this.scale = by ? Math.min(MOST_ZOOM, Math.max(1, this.scale * by)) : 1;
    this.measure();
    space.style.width = `${this.gutter + this.width}px`;
    scroller.scrollLeft = middle * (this.gutter + this.width) - this.wide / 2;
    this.soon();
  }

  choose(bar: Bar | null): void {
    this.chosen = bar;
    this.soon();
  }

  /** Goes so many bars on, and brings the one that is then chosen in sight. */
  step(by: number): void {
    const at = this.chosen ? this.order.indexOf(this.chosen) : -1;
    this.choose(this.order[Math.max(0, Math.min(this.order.length - 1, at + by))] ?? null);
    const bar = this.chosen;
    const lane = bar ? this.lines.findIndex((each) => each.bars.includes(bar)) : -1;
    if (!bar || lane < 0) return;
    const { scroller } = this.at;
    const top = this.tops[lane];
    if (top < scroller.scrollTop + AXIS) scroller.scrollTop = top - AXIS;
    else if (top + 30 > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + 30 - scroller.clientHeight;
    const left = this.x(bar.from);
    if (left < scroller.scrollLeft || left > scroller.scrollLeft + this.wide - this.gutter) scroller.scrollLeft = left - 40;
  }

  /** The bar that the mouse points at. */
  under(event: MouseEvent): Bar | null {
    const { canvas, scroller } = this.at;
    const area = canvas.getBoundingClientRect();
    const y = event.clientY - area.top + scroller.scrollTop;
    const at = event.clientX - area.left - this.gutter + scroller.scrollLeft;
    const lane = this.lines.find((each, place) => y >= this.tops[place] && y < this.tops[place] + each.height);
    const isAt = (bar: Bar) => at >= this.x(bar.from) - 1 && at <= Math.max(this.x(bar.to), this.x(bar.from) + 2) + 1;
    return lane?.bars.find(isAt) ?? null;
  }
}
