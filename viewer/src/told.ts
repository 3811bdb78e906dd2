// What the server tells: the shapes of its answers, as told.py, readers.py and beside.py make them.
// Times are in Unix seconds, durations in seconds, costs in dollars; null is what is not known.

/** A text, or its beginning and where the rest is to be had. */
export interface Long {
  text: string;
  size?: number;
  next?: number;
  name?: string;
}

export interface Usage {
  calls: number;
  read: number | null;
  written: number | null;
  unmeasured: number;
}

export type Gap = [from: number, to: number];
export type Cell = [number: number, started: number, ended: number | null, outcome: string | null, error: string | null];
export type Settings = Record<string, string | number | boolean>;

/** A turn in short, as it stands in the tree. */
export interface ShortTurn {
  number: number;
  started: number | null;
  ended: number | null;
  seconds: number | null;
  waited: number;
  paused: number;
  replied: boolean;
  cost: number | null;
  usage: Usage;
  lines: number;
  calls: number;
  failed: number;
  refused: number;
  waiting: number;
  cells: Cell[];
  children: number;
  over?: boolean; // what it waits for will not come: the page's own
}

export interface Node {
  id: string;
  parent: string | null;
  turn: number | null;
  query: string;
  status: string | null;
  reason: string;
  started: number | null;
  ended: number | null;
  paused: number;
  usage: Usage;
  cost: number | null;
  turns: ShortTurn[];
}

/** What a node was asked and what it answered. */
export interface NodeTexts {
  query: Long;
  answer: Long | null;
  draft: string | null;
}

interface Figures {
  id: string;
  going: boolean;
  status: string;
  reason: string;
  last: number;
  lasted: number;
  seconds: number | null;
  usage: Usage;
  cost: number | null;
  turns: number;
  sub_calls: number;
  failed_calls: number;
}

export interface Paid {
  role: string;
  model: string;
  usage: Usage;
  cost: number | null;
  reused: number;
  reused_cost: number | null;
}

export interface Branch {
  node: string;
  number: number;
  status: string;
  agrees: boolean | null; // null: it gave no answer, or nothing is decided yet
  draft: string | null;
  answer: Long | null;
  cost: number | null;
}

export interface Refused {
  node: string;
  turn: number;
  why: string;
  call?: number;
  count?: number;
}

export interface RunTold extends Figures {
  started: number | null;
  seq: number;
  gaps: Gap[];
  ledger: Paid[];
  nodes: Node[];
  branches: Branch[];
  refused: Refused[];
  refused_more: number;
  go_on: string;
  query?: Long;
  model?: string;
  sub_model?: string;
  profile?: string;
  context?: Long;
  sources?: string[];
  settings?: Settings;
  answer?: Long | null;
  draft?: string | null;
  notes?: string[];
}

/** A sub-call as it stands in lists. */
export interface Call {
  id: number;
  node: string;
  turn: number;
  cell: number;
  batch: number | null;
  index: number;
  state: string;
  model: string;
  started: number;
  ended: number | null;
  seconds: number | null;
  read: number | null;
  written: number | null;
  cost: number | null;
  retries: number;
  prompt: string;
  reply: string;
}

/** One in full. */
export interface WholeCall extends Omit<Call, "prompt" | "reply"> {
  prompt: Long;
  reply: Long | null;
  error: { kind: string; message: string } | null;
  finish: string | null;
  usage: Usage;
  images: string[];
}

export interface CallsPage {
  seq: number;
  more: boolean;
  dropped: number;
  columns: (keyof Call)[];
  rows: unknown[][];
}

export interface WholeCell {
  number: number;
  code: Long;
  outcome: string | null;
  output: Long | null;
  printed: number | null;
  omitted: number;
  error: { type: string; message: string; traceback: string } | null;
  notes: string[];
  seconds: number | null;
  calls: number;
  children: string[];
  tools: { name: string }[];
  refused: { value: Long; reason: string }[];
}

export interface Turn {
  node: string;
  number: number;
  words: Long | null;
  thinking: Long | null;
  finish: string | null;
  model: string;
  usage: Usage;
  cost: number | null;
  seconds: number | null;
  waited: number;
  retries: number;
  shared: boolean;
  hints: string[];
  cells: WholeCell[];
  accepted: { value: Long; via: string } | null;
}

export interface Citation {
  quote: string;
  source: string | null;
  line: number | null;
  found: boolean;
  verified: boolean | null;
  part: number | null;
  start: number | null;
  end: number | null;
}

export interface Part {
  number: number;
  size: number;
  name: string | null;
}

/** What models read of the input, as shares of 1. */
export type Coverage = { unit: string | null; why: string; unplaced: number; unknown: number } & (
  | { share: null }
  | { share: number; size: number; by_prints: number; by_sub_calls: number | null; by_children: number }
);

export type Range = [part: number, start: number, end: number];
export type ReaderRow = [kind: string, node: string, turn: number, cell: number, call: number | null, ranges: Range[]];

export interface MapTold {
  node: string;
  citations: Citation[];
  coverage: Coverage;
  parts: (Omit<Part, "size"> & { size: number | null })[];
  parts_in_all?: number;
  readers: ReaderRow[];
  unknown: number;
  left_out: number;
}

/** A range of the input with what is around it, or why there is none. */
export type Piece = { why: string } | { why?: undefined; before: string; text: string; after: string; line: number | null; cut: boolean };

/** A run in the list of them. */
export interface Listed {
  id: string;
  query: string;
  model: string;
  state: string;
  started: number;
  ended: number;
  seconds: number;
  turns: number;
  sub_calls: number;
  cost: number | null;
}

export interface BesideRun extends Figures {
  query: string;
  model: string | null;
  sub_model: string | null;
  children: number;
  answer: string;
  draft: string | null;
}

export interface BesideTurn {
  number: number;
  there: [boolean, boolean];
  code: [sign: " " | "-" | "+", line: string][];
  words: [string, string];
  output: [[state: string, text: string][], [state: string, text: string][]];
  calls: [number, number];
}

export interface Beside {
  runs: [BesideRun, BesideRun];
  same: string;
  parting: { turn: number; calls: [number | null, number | null] | null; told: string } | null;
  begun: boolean;
  turns: BesideTurn[];
}
