"""What a profile is made of.

>>> Sampling().temperature is None
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from ..models.protocol import Message


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the root is sampled. ``retry_temperature`` is used after a reply that repeated itself."""

    temperature: float | None = None
    retry_temperature: float | None = 1.0
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    sub_temperature: float | None = None
    sub_max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class First:
    """What the first user message is made from."""

    query: str
    description: str  # of the context, constant in size
    answer: str = ""  # the wanted type in words, or nothing
    instructions: str = ""  # the user's own
    tools: str = ""  # signatures and first lines of the user's tools
    look: str = ""  # what the profile's first look printed


FirstMessage = Callable[[First], str]
LabelMessages = Callable[[str, Sequence[str], Sequence[tuple[str, str]]], tuple[Message, ...]]
Look = Callable[[str], str]
Nudge = Callable[[str], str]
CheckAnswer = Callable[[str, object, int, int], str | None]


def first_message(first: First) -> str:
    """The default layout: description, extras, and the question last."""
    parts = [f"The context:\n{first.description}"]
    if first.tools:
        parts.append(f"Extra functions in the REPL:\n{first.tools}")
    if first.instructions:
        parts.append(first.instructions)
    if first.answer:
        parts.append(f"The answer must be: {first.answer}")
    if first.look:
        parts.append(first.look)
    parts.append(f"The question:\n{first.query}")
    return "\n\n".join(parts)


def label_messages(
    item: str, labels: Sequence[str], examples: Sequence[tuple[str, str]]
) -> tuple[Message, ...]:
    """The default chat for one item of ``classify``: examples as worked turns."""
    names = ", ".join(labels)
    system = f"Label each text with exactly one of: {names}. Reply with the label alone."
    messages = [Message("system", system)]
    for text, label in examples:
        messages += [Message("user", text), Message("assistant", label)]
    return (*messages, Message("user", item))


def no_nudge(query: str) -> str:
    """The default end of a message after a turn: nothing."""
    return ""


def accept_any(query: str, value: object, sub_calls: int, turn: int) -> str | None:
    """The default check of an answer beyond the engine's own: none."""
    return None


@dataclass(frozen=True, slots=True)
class Profile:
    """How one family of models is spoken to. Sizes in characters."""

    name: str
    system: str
    examples: tuple[Message, ...] = ()  # worked turns between the system prompt and the first message
    head: int = 600
    tail: int = 300
    shown: int = 8_000  # of a cell's output
    imports: tuple[str, ...] = ()
    sampling: Sampling = Sampling()
    first: FirstMessage = first_message
    label: LabelMessages = label_messages
    most_items: int | None = None  # that one call of classify may have: weak models pass the whole input
    look: Look | None = None  # (query) -> code for a first look, run before the first reply
    nudge: Nudge = no_nudge  # (query) -> what ends every message after a turn
    check_answer: CheckAnswer = accept_any  # (query, value, sub_calls, turn) -> reason to refuse once


def read_text(name: str) -> str:
    """A text file that lies beside the profiles."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip()
