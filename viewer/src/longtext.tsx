// A text of any length: its beginning at once, the rest in pieces when it is asked for.

import type { ComponentChild } from "preact";
import { useRef, useState } from "preact/hooks";
import { grouped } from "./format";
import { highlighted } from "./highlight";
import { useLeave } from "./hooks";
import { Trouble } from "./marks";
import { ask, path } from "./source";
import type { Long } from "./told";

const FIRST = 16_000; // characters that are shown at first
const NEXT = 100_000; // and at most at once after that

interface Look {
  run: string;
  long: Long;
  kind?: string;
  label: string;
  code?: boolean;
}

/** Another text begins anew. */
export function LongText(look: Look) {
  return <Text key={look.long.text} {...look} />;
}

interface Shown {
  pieces: ComponentChild[];
  rest: string; // of what is here: an exported page holds texts whole
  at: number; // of what is not: as the server counts, which is not how JavaScript does
  error?: unknown;
}

function Text({ run, long, kind, label, code }: Look) {
  const size = long.size ?? 0;
  const [shown, show] = useState<Shown>(() => {
    const [text, rest] = parted(long.text, FIRST);
    return { pieces: code ? highlighted(text) : [text], rest, at: long.next ?? Infinity };
  });
  const waits = useRef(false); // a second press, while a piece is on its way, would show it twice
  const [whole] = useState(!shown.rest && shown.at >= size);
  const left = shown.rest.length + Math.max(0, size - shown.at);
  const { from, next, leaving } = useLeave<HTMLButtonElement, HTMLPreElement>(left <= 0);
  const more = async () => {
    if (waits.current) return;
    waits.current = true;
    try {
      let { rest, at } = shown;
      if (!rest) {
        const piece = await ask<Required<Long>>(`runs/${path(run)}/text/${long.name}?from=${at}`);
        rest = piece.text;
        at = piece.text ? piece.next : Infinity;
      }
      const [text, later] = parted(rest, NEXT);
      leaving();
      show({ pieces: [...shown.pieces, text], rest: later, at });
    } catch (error) {
      show({ ...shown, error });
    } finally {
      waits.current = false;
    }
  };
  const body = (
    <pre class={`text ${kind ?? ""}`} tabIndex={0} role="group" aria-label={label} ref={next}>
      {shown.pieces}
    </pre>
  );
  if (whole) return body;
  return (
    <div class="long">
      {body}
      {left > 0 && (
        <div class="more">
          {shown.error ? (
            <Trouble error={shown.error} />
          ) : (
            <button type="button" ref={from} onClick={more}>
              {`Show more: ${grouped(left)} characters are left`}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** The beginning of a text and the rest, no character cut in two. */
function parted(text: string, size: number): [string, string] {
  if (text.length <= size) return [text, ""];
  const at = size - Number(/[\ud800-\udbff]/.test(text[size - 1]));
  return [text.slice(0, at), text.slice(at)];
}
