"""A sub-call before it is sent, and what became of it.

Contract: plain data, and the readers of what code in the REPL gave: a text, a list, pairs.
:meth:`Prompt.read` is the one place that says whether a reply fits.

>>> Prompt((Message("user", "?"),), choices=("yes", "no")).read(" Yes. ")
'yes'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .errors import HostCallError
from .images import Image
from .labels import Scores
from .models.protocol import Message
from .ranges import UNKNOWN, Shown
from .schema import Schema
from .types import FailedCall


@dataclass(frozen=True, slots=True)
class Prompt:
    """One sub-call before it is sent."""

    messages: tuple[Message, ...]
    schema: Schema | None = None
    choices: tuple[str, ...] = ()
    stable: int = 0
    occurrence: int = 0  # of equal prompts in one batch: each is a sample of its own
    raw: bool = False  # the reply is read by who asked: the schema is for the provider alone
    room: int = 0  # tokens that the reply may have beyond what a profile gives to each
    shown: Shown = UNKNOWN  # what it has of the context

    @property
    def text(self) -> str:
        return self.messages[-1].text

    def read(self, text: str) -> object:
        """The reply as what was asked for. Raises ``ValueError`` where it does not fit."""
        if self.choices:
            label = choice_of(text, self.choices)
            if label is None:
                raise ValueError(f"the reply {text[:80]!r} is none of {list(self.choices)}")
            return label
        return text if self.schema is None or self.raw else self.schema.parse(text)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a sub-call: its text or parsed value, or the typed failure."""

    value: object
    scores: Scores | None = None


def told_apart(prompts: Iterable[Prompt]) -> Iterator[Prompt]:
    """The prompts of a batch one by one, those that are equal told apart."""
    seen: dict[object, int] = {}
    for prompt in prompts:
        first = prompt.messages[0]
        plain = len(prompt.messages) == 1 and not first.images  # its text says it, and no prompt is kept
        content = (first.role, first.text) if plain else prompt.messages
        before = seen.get(content, 0)
        seen[content] = before + 1
        yield replace(prompt, occurrence=before) if before else prompt


def as_text(value: object) -> str:
    """Prompts and contexts as text: a str as it is, other values as JSON or their repr."""
    if isinstance(value, str):
        return value
    if isinstance(value, FailedCall):
        raise HostCallError(
            "LLMError", f"a failed item was used as text: {value.message}", failure=value.kind
        )
    return repr(value)


def as_images(value: object) -> tuple[Image, ...]:
    """What came as ``images=``."""
    try:
        return () if value is None else tuple(map(Image.of, as_items(value)))
    except ValueError as error:
        raise HostCallError("ValueError", f"images=: {error}") from None


def as_items(value: object) -> Sequence[object]:
    if isinstance(value, list | tuple):
        return value
    raise HostCallError("TypeError", f"a list is needed, not {type(value).__name__}")


def as_pairs(value: object) -> list[tuple[object, object]]:
    if value is None:
        return []
    pairs: list[tuple[object, object]] = []
    for pair in value.items() if isinstance(value, dict) else as_items(value):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise HostCallError("ValueError", 'examples=[("a text", "its label"), …]: pairs are needed')
        pairs.append((pair[0], pair[1]))
    return pairs


def choice_of(text: str, choices: Sequence[str]) -> str | None:
    """The choice that the reply is: exactly, or but for case, quotes and a final full stop."""
    bare = text.strip().strip("\"'`*").rstrip(".").strip().casefold()
    return next((c for c in choices if c.strip().casefold() == bare), None)
