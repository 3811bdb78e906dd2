// The map of the input: which ranges models were shown, how often and where, and which were never read.

import { useMemo, useState } from "preact/hooks";
import { count, grouped, share, shortName } from "./format";
import { useAnswer } from "./hooks";
import { Key, Trouble } from "./marks";
import { Quotes } from "./quotes";
import { RangeDetail, type Range } from "./range";
import { swap, toRange, type Place } from "./route";
import { Rows } from "./rows";
import type { Run } from "./run";
import { isUnread, readersIn, readersOf, stretchesOf, type Stretch } from "./stretches";
import { Strips } from "./strip";
import type { MapTold, Part } from "./told";

type Go = (part: number, start: number, end: number) => void;

export function MapPage({ run, place }: { run: Run; place: Place }) {
  return (
    <section aria-label="Map of the input">
      <h2 tabIndex={-1}>Map of the input</h2>
      <div class="map">{run.told && <AskedMap run={run} place={place} />}</div>
    </section>
  );
}

function AskedMap({ run, place }: { run: Run; place: Place }) {
  const { told, error } = useAnswer(() => run.ask<MapTold>("map"), run.step);
  if (error) return <Trouble error={error} />;
  return told ? <InputMap run={run} map={told} place={place} /> : null;
}

function InputMap({ run, map, place }: { run: Run; map: MapTold; place: Place }) {
  const { known, readers, stretches } = useMemo(() => {
    const known = map.parts.filter((part): part is Part => Boolean(part.size));
    const readers = readersOf(map.readers);
    return { known, readers, stretches: stretchesOf(known, readers, map.node) };
  }, [map]);
  if (!known.length) {
    const why = map.coverage.why || "The input is not made of text, or it is not known yet what was read of it.";
    return <p class="dim">{why}</p>;
  }
  const unit = map.coverage.unit ?? "characters";
  const { part = 0, start } = place;
  const size = known.find((each) => each.number === part)?.size ?? 0;
  const end = Math.min(place.end ?? 0, size);
  const range: Range | null = start !== undefined && start < end ? { part, start, end, unit } : null;
  const go: Go = (part, start, end) => swap(toRange(run.id, part, start, end));
  const named = known.find((each) => each.number === part)?.name ?? (map.parts.length > 1 ? `part ${part}` : "");
  return (
    <>
      <Summary map={map} unit={unit} />
      <Strips parts={known} stretches={stretches} marked={range} go={go} />
      <div class="map-columns">
        <div class="map-ranges">
          <RangeList parts={known} stretches={stretches} unit={unit} marked={range} go={go} />
        </div>
        <div class="map-detail">
          {range ? (
            <RangeDetail
              key={toRange(run.id, part, range.start, range.end)}
              run={run}
              name={named}
              range={range}
              readers={readersIn(readers, part, range.start, range.end)}
            />
          ) : (
            <>
              {start !== undefined && <p class="trouble" role="alert">{noSuchRange(place, named, size, unit)}</p>}
              <p class="dim">Choose a range: it shows the text, and who was shown it.</p>
            </>
          )}
        </div>
      </div>
      <Quotes run={run} citations={map.citations} />
    </>
  );
}

/** Of an address that was made up, or is of another input. */
function noSuchRange({ part = 0, start = 0, end = 0 }: Place, name: string, size: number, unit: string): string {
  if (!size) return `The input has no part ${grouped(part)}.`;
  const whole = name ? `${name} goes` : "the input goes";
  return `There is no range from ${grouped(start)} to ${grouped(end)}: ${whole} from 0 to ${grouped(size)} ${unit}.`;
}

function Summary({ map, unit }: { map: MapTold; unit: string }) {
  const { coverage } = map;
  const lost = [
    map.unknown > 0 && `of ${count(map.unknown, "print or sub-call", "prints and sub-calls")} it is not known what they showed`,
    map.left_out > 0 && `${count(map.left_out, "reader")} had too many ranges to be shown`,
    map.parts.some((part) => part.size === null) && "files whose size is not known are left out",
    (map.parts_in_all ?? 0) > 1000 && `the first ${grouped(1000)} of ${grouped(map.parts_in_all ?? 0)} parts are shown`,
  ].filter(Boolean);
  return (
    <div>
      {coverage.share === null ? (
        <p>{coverage.why}</p>
      ) : (
        <p>
          <b>{share(coverage.share, Boolean(coverage.unplaced || coverage.unknown))}</b>
          {` of ${grouped(coverage.size)} ${unit} was shown to models.`}
        </p>
      )}
      {lost.length > 0 && <p class="dim">{`${lost.join("; ")}.`}</p>}
      <p class="keys">
        <Key kind="print">printed (upper line)</Key>
        <Key kind="call">given to sub-calls (middle)</Key>
        <Key kind="child">read by children (lower)</Key>
        <Key kind="unread">never read</Key>
      </p>
      <p class="dim">What code searched without showing it to a model is not traced.</p>
    </div>
  );
}

function readTold(stretch: Stretch): string {
  const told = [
    stretch.prints && `printed ${stretch.prints === 1 ? "once" : `${stretch.prints} times`}`,
    stretch.calls && count(stretch.calls, "sub-call"),
    stretch.children && `read by ${count(stretch.children, "child", "children")}`,
  ].filter(Boolean);
  return told.length ? told.join(", ") : "never read";
}

interface List {
  parts: Part[];
  stretches: Stretch[][];
  unit: string;
  marked: Range | null;
  go: Go;
}

const keyOf = (stretch: Stretch) => `${stretch.part}-${stretch.start}`;

function RangeList({ parts, stretches, unit, marked, go }: List) {
  const [onlyUnread, setOnlyUnread] = useState(false);
  const all = useMemo(() => parts.flatMap((part) => stretches[part.number]), [stretches]);
  const unread = useMemo(() => all.filter(isUnread), [all]);
  const names = useMemo(
    () => new Map(parts.map((part) => [part.number, part.name ?? (parts.length > 1 ? String(part.number) : "")])),
    [parts],
  );
  const found =
    marked && all.find((each) => each.part === marked.part && each.start <= marked.start && each.end > marked.start);
  const current = found ? keyOf(found) : undefined;
  const row = (each: Stretch) => {
    const name = names.get(each.part);
    return (
      <button
        type="button"
        class={isUnread(each) ? "unread" : ""}
        aria-current={keyOf(each) === current ? "true" : undefined}
        onClick={() => go(each.part, each.start, each.end)}
      >
        {name && (
          <span class="name" title={name}>
            {shortName(name, 28)}
          </span>
        )}
        <span class="number">{`${grouped(each.start)}–${grouped(each.end)}`}</span>
        <span class="what" title={readTold(each)}>
          {readTold(each)}
        </span>
      </button>
    );
  };
  return (
    <div>
      <p class="tools">
        <input
          type="checkbox"
          id="only-unread"
          checked={onlyUnread}
          onChange={(event) => setOnlyUnread(event.currentTarget.checked)}
        />
        <label for="only-unread">only what was never read</label>
        <span class="dim">{`${grouped(unread.reduce((sum, each) => sum + each.end - each.start, 0))} ${unit}`}</span>
      </p>
      <Rows
        items={onlyUnread ? unread : all}
        height={28}
        label="Ranges of the input"
        none={all.length ? "everything was read" : "no ranges"}
        keyOf={keyOf}
        own={() => ({ class: "range" })}
        row={row}
        inSight={current}
      />
    </div>
  );
}
