"""The rule by which a request becomes a question over named contexts.

Contract: :func:`question_of` is pure, and each thing of a request goes to exactly one place:

- *query*: the last user message; of one with several text parts, those of up to ``LONG`` characters.
- *a long message* (over ``LONG`` characters) is a context; where nothing short stands beside it, the query
  is its two ends, and says where the whole of it is.
- *files*, of every turn, are the context ``files``, a dict by name; *images* the list ``images``.
- *earlier turns* are the context ``conversation``, a list of ``{"role", "text"}``.
- *system and developer messages* are instructions; over ``LONG`` characters, a context.

One context alone is handed over as it is (one file alone as its text), several each under its name.
``unspool.query`` and ``unspool.context`` override it.

>>> turns = [Turn("system", ("Be brief.",)), Turn("user", ("word " * 2_000, "How many words?"))]
>>> asked = question_of(turns, None)
>>> asked.query, len(asked.context), asked.instructions
('How many words?', 10000, 'Be brief.')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..answers import AnswerType
from ..budget import Budget
from ..contexts.several import Contexts
from ..strategies import StrategyName
from .bodies import Options, Progress
from .messages import Turn
from .problems import Problem

if TYPE_CHECKING:
    from .calls import Calls

LONG = 4_000  # characters: what the model is shown whole, in every turn
END = 1_000  # of each end of a long message


@dataclass(frozen=True, slots=True)
class Question:
    """What a run is asked. ``schema``: what its answer has to fit; ``notes``: what was left alone.

    ``calls``: the tools of the client's that the answer calls.
    """

    query: str
    context: object
    instructions: str = ""
    budget: Budget = Budget()  # noqa: RUF009 (frozen)
    schema: Mapping[str, object] | None = None
    progress: Progress = "lines"
    notes: tuple[str, ...] = ()
    strategy: StrategyName | None = None  # None: the server's
    calls: Calls | None = None


def question_of(
    turns: Sequence[Turn],
    options: Options | None,
    *,
    schema: Mapping[str, object] | None = None,
    notes: Sequence[str] = (),
    field: str = "messages",
) -> Question:
    """The question of a request. Raises :class:`Problem` where there is none; ``field`` has the turns."""
    options = options or Options.model_validate({})
    said = [turn for turn in turns if turn.role != "system"]
    system = "\n\n".join(turn.text for turn in turns if turn.role == "system" and turn.texts)
    last = max((place for place, turn in enumerate(said) if turn.role == "user"), default=None)
    if last is None and options.query is None:
        raise Problem(400, f"{field}: there is no user message, so there is no question", param=field)
    asked = said[last] if last is not None else Turn("user")
    query, long = _split(asked) if options.query is None else (options.query, _all(asked))
    if options.context is None:
        contexts = _named(said, last, long, system)
        context = contexts.value
        if len(system) > LONG:
            place = contexts.place("instructions")
            system = f"The user's instructions are long: they are in {place}; read them first."
        if not query and long:
            query = _ends(long[0], contexts.place("message"))
    else:
        context = options.context
        _refuse_homeless(query, long, system, field)
    if not query.strip():
        there = "unspool.query" if options.query is not None else field
        raise Problem(400, f"{there}: there is no text in the last user message: ask something", param=there)
    return Question(
        query=query,
        context=context,
        instructions=system,
        budget=_budget(options),
        schema=schema if options.answer is None else checked(options.answer, "unspool.answer"),
        progress=options.progress,
        notes=tuple(notes),
        strategy=options.strategy,
    )


def _split(asked: Turn) -> tuple[str, Sequence[str]]:
    """The query in a message, and what is too long for one."""
    query = "\n\n".join(text for text in asked.texts if len(text) <= LONG).strip()
    if len(query) > LONG:  # many parts, each short
        return "", [asked.text]
    return query, [text for text in asked.texts if len(text) > LONG]


def _all(asked: Turn) -> Sequence[str]:
    return [asked.text] if asked.text.strip() else []


def _named(said: Sequence[Turn], last: int | None, long: Sequence[str], system: str) -> _Named:
    contexts = _Named()
    for text in long:
        contexts.add("message", text)
    files: dict[str, str] = {}
    for file in (file for turn in said for file in turn.files):
        name = file.name or "file"
        same = sum(taken == name or taken.startswith(f"{name} (") for taken in files)
        files[f"{name} ({same + 1})" if name in files else name] = file.text
    if files:
        contexts.add("files", files)
    if images := [image for turn in said for image in turn.images]:
        contexts.add("images", images)
    if earlier := [_told(turn) for place, turn in enumerate(said) if place != last]:
        contexts.add("conversation", earlier)
    if len(system) > LONG:
        contexts.add("instructions", system)
    return contexts


def _refuse_homeless(query: str, long: Sequence[str], system: str, field: str) -> None:
    """What would be a context has no place where ``unspool.context`` is all of it."""
    if long and not query:
        size = sum(map(len, long))
        raise Problem(
            400,
            f"unspool.query: the last user message has {size:,} characters, and unspool.context is given: "
            "give the question here, or leave unspool.context out",
            param="unspool.query",
        )
    if len(system) > LONG:
        raise Problem(
            400,
            f"{field}: system messages of {len(system):,} characters are a context, and unspool.context "
            f"takes the place of those: shorten them to {LONG:,}",
            param=field,
        )


def checked(schema: Mapping[str, object], field: str) -> Mapping[str, object]:
    """A JSON schema that answers can be checked with, or a :class:`Problem` that names the field."""
    try:
        AnswerType(schema)
    except ValueError as error:  # ConfigError is one
        said = str(error).partition(". For named fields")[0]  # is for who writes Python
        why = said.removeprefix("answer= ").removeprefix("this ")
        raise Problem(400, f"{field}: {why}", code="invalid_value", param=field) from None
    return schema


class _Named:
    """Contexts by name; a name that is taken gets a number."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}

    def add(self, name: str, value: object) -> None:
        taken, number = name, 1
        while taken in self._values:
            number += 1
            taken = f"{name}_{number}"
        self._values[taken] = value

    @property
    def value(self) -> object:
        if not self._values:
            return ""
        if len(self._values) > 1:
            return Contexts(self._values)
        ((name, value),) = self._values.items()
        if name == "files" and isinstance(value, dict) and len(value) == 1:
            return next(iter(value.values()))
        return value[0] if name == "images" and isinstance(value, list) and len(value) == 1 else value

    def place(self, name: str) -> str:
        return "`context`" if len(self._values) == 1 else f"`{name}`"


def _told(turn: Turn) -> dict[str, object]:
    told: dict[str, object] = {"role": turn.role, "text": turn.text}
    if turn.other is not None:
        told["other"] = turn.other
    return told


def _ends(text: str, place: str) -> str:
    left_out = len(text) - 2 * END
    return (
        f"Do what this message asks. It is long: the whole of it is {place}, these are its two ends.\n\n"
        f"{text[:END].strip()}\n\n[… {left_out:,} characters …]\n\n{text[-END:].strip()}"
    )


def _budget(options: Options) -> Budget:
    limits = options.budget
    return Budget(
        usd=limits.usd if limits else None,
        tokens=limits.tokens if limits else None,
        calls=limits.calls if limits else None,
        seconds=limits.seconds if limits else None,
        turns=options.max_turns,
        depth=options.max_depth,
    )
