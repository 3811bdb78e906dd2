"""``llm_map``: one instruction over many items, many of them in each sub-call.

Contract: :func:`settle` gives one value an item, in order: what the model replied to that item, as it has
to be, or a ``FailedCall`` that says why there is none. Every pack is one sub-call. What is missing in a
reply, or does not fit, is asked for again, and nothing else is: in packs of the same size, then of a quarter,
then alone. So no item is in more than four sub-calls, and one that cannot be answered takes no other with it.
A model that does not obey is not asked for all of it again: where almost nothing has come of the packs, a few
of the next round say whether it is worth it; alone, items are asked for in waves, and a wave of which almost
nothing fits is the last. What was not asked for then is a ``FailedCall`` that says so.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from .errors import HostCallError
from .fitting import fit
from .models.protocol import Message
from .packs import Size, packed, prompt, replies, schema_for
from .ranges import UNKNOWN, Shown, together
from .schema import Schema
from .sub_prompts import Prompt, Result, choice_of
from .types import FailedCall, FailureKind

Ask = Callable[[Sequence[Prompt]], Awaitable[list[Result]]]
"""Sends prompts at once, each one sub-call."""

T = TypeVar("T")
SHARES = (1, 1, 4)  # of a pack's size, round by round; the last round asks for each item alone
PROBED = 3  # packs that are asked for again where almost nothing has come of all
WAVE = 8  # items that are first asked for alone; the next wave has twice as many
GOLDEN = (5**0.5 - 1) / 2
FEW = 1 / 8  # of what was asked: less is almost nothing
TOKENS = 24  # of a reply to one item: a label, a number, a short name
FREE_TOKENS = 120  # where it may be any text
_AGAIN: frozenset[FailureKind] = frozenset(("schema", "empty", "too_long", "timeout", "bad_request"))


@dataclass(frozen=True, slots=True)
class Work:
    """What is done to each item."""

    instruction: str
    schema: Schema  # of one reply
    kind: str  # what one reply is, in words
    labels: tuple[str, ...] = ()  # where it is one of these
    examples: tuple[tuple[str, str], ...] = ()  # items with their replies, told as a chat turn
    tokens: int = TOKENS
    free: bool = False  # any text will do

    @classmethod
    def of(cls, instruction: str, schema: Schema | None) -> Work:
        if schema is None:
            text = Schema({"type": "string"})
            return cls(instruction, text, "the reply as a text", tokens=FREE_TOKENS, free=True)
        told = json.dumps(schema.json, ensure_ascii=False)
        return cls(instruction, schema, f"a value that fits this JSON schema: {told}", tokens=FREE_TOKENS)

    @classmethod
    def labelling(cls, meanings: Mapping[str, str], examples: Sequence[tuple[str, str]]) -> Work:
        named = "".join(
            f"\n- {name}: {means}" if means else f"\n- {name}" for name, means in meanings.items()
        )
        instruction = f"Label each item with exactly one of:{named}"
        schema = Schema({"enum": list(meanings)})
        return cls(instruction, schema, "its label", tuple(meanings), tuple(examples))

    def prompt(self, items: Sequence[str], attempt: int) -> Prompt:
        messages = [Message("user", prompt(self.instruction, items, self.kind))]
        if self.examples:
            shown = prompt(self.instruction, [item for item, _ in self.examples], self.kind)
            told = {str(number): reply for number, (_, reply) in enumerate(self.examples, 1)}
            worked = Message("assistant", json.dumps(told, ensure_ascii=False))
            messages = [Message("user", shown), worked, *messages]
        schema = Schema(schema_for(len(items), self.schema.json))
        room = self.tokens * len(items)
        return Prompt(tuple(messages), schema, occurrence=attempt, raw=True, room=room)

    def read(self, value: object) -> object:
        """One reply as it has to be. Raises ``ValueError``."""
        if self.labels:
            label = choice_of(str(value), self.labels)
            if label is None:
                raise ValueError(f"{str(value)[:60]!r} is none of the labels")
            return label
        if self.free and isinstance(value, dict | list):  # structure that nobody asked for is text, too
            return json.dumps(value, ensure_ascii=False)
        value = fit(self.schema, value)
        if isinstance(value, str) and not self.schema.fits(self.schema.json, value):
            return self.schema.parse(value)
        return self.schema.check(value)

    def read_alone(self, text: str) -> object:
        """The reply to a single item that is not in the form that was asked for."""
        if "{" in text and not self.schema.json.get("type") == "object":
            raise ValueError("the reply is not of the form that was asked for")
        return self.read(text.strip()) if self.labels else self.schema.parse(text)


async def settle(
    work: Work, items: Sequence[str], size: Size, ask: Ask, shown: Sequence[Shown] = ()
) -> list[object]:
    """One value an item, in order. ``shown``: what each has of the context."""
    good: dict[int, object] = {}
    failed: dict[int, FailedCall] = {}

    async def try_each(places: Sequence[int], part: Size, attempt: int) -> list[int]:
        """Asks for these, and gives back those that should be asked for again."""
        packs = packed(items, places, part)
        asked = [
            replace(
                work.prompt([items[place] for place in pack], attempt),
                shown=together(shown[place] for place in pack) if shown else UNKNOWN,
            )
            for pack in packs
        ]
        for pack, result in zip(packs, await ask(asked), strict=True):
            _take(work, pack, result.value, good, failed)
        return [place for place in places if place not in good and failed[place].kind in _AGAIN]

    def worth(places: Sequence[int]) -> bool:
        """Whether enough has come of these."""
        return sum(place in good for place in places) >= FEW * len(places)

    left = list(range(len(items)))
    for attempt, share in enumerate(SHARES):
        if not left:
            break
        part = Size(min(size.items, len(left)), size.characters).part(share)
        few: Sequence[int] = left
        if attempt and not worth(range(len(items))):
            few = [place for pack in _spread(packed(items, left, part), PROBED) for place in pack]
        again, rest = await try_each(few, part, attempt), _without(left, few)
        left = sorted([*again, *(await try_each(rest, part, attempt) if rest and worth(few) else rest)])
    wave = WAVE if good else PROBED
    while left:
        now = _spread(left, wave)
        await try_each(now, Size(1, size.characters), len(SHARES))
        left = _without(left, now)
        if not worth(now):
            failed.update((place, _given_up(failed[place], len(now))) for place in left)
            break
        wave *= 2
    return [good[place] if place in good else failed[place] for place in range(len(items))]


def _spread(all_of_them: Sequence[T], most: int) -> Sequence[T]:
    """Some from all over, in no even steps: neighbours, or what comes every so often, may be bad alike."""
    size = len(all_of_them)
    if size <= most:
        return all_of_them
    return [all_of_them[place] for place in sorted({int(n * GOLDEN % 1 * size) for n in range(most)})]


def _without(places: Sequence[int], gone: Sequence[int]) -> list[int]:
    return sorted(set(places).difference(gone))


def _given_up(failed: FailedCall, asked: int) -> FailedCall:
    why = f"it was not asked for alone, as almost nothing came of {asked} that were"
    return FailedCall(failed.kind, f"{failed.message}; {why}")


def _take(
    work: Work, pack: Sequence[int], value: object, good: dict[int, object], failed: dict[int, FailedCall]
) -> None:
    """Sorts one reply, or its failure, by item."""
    if isinstance(value, FailedCall):
        failed.update(dict.fromkeys(pack, value))
        return
    text = str(value)
    found = replies(text, len(pack))
    for number, place in enumerate(pack, 1):
        try:
            if number in found:
                good[place] = work.read(found[number])
            elif len(pack) == 1:
                good[place] = work.read_alone(text)
            else:
                failed[place] = FailedCall("schema", "the reply has nothing for this item")
        except ValueError as error:
            failed[place] = FailedCall("schema", f"the reply to this item does not fit: {error}")


def size_of(given: object, size: Size) -> Size:
    """The size of a pack where code says how many items it should have."""
    if given is None:
        return size
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise HostCallError(
            "ValueError", f"llm_map: pack={given!r}; it is the number of items of a pack, 1 or more"
        )
    return Size(given, size.characters)
