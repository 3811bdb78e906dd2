"""What a profile is made of.

>>> Sampling().temperature is None
True
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..models.protocol import Message, ModelReply
from .feedback import LAST_TURN, Feedback, turn_message

if TYPE_CHECKING:
    from ..cells import Found


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the root is sampled. ``retry_temperature`` is used after one that failed.

    That is a reply that repeated itself, or whose answer was refused.
    """

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
    depth: int | None = None  # levels of children that may still be made


FirstMessage = Callable[[First], str]
Examples = Callable[[str, str, int], tuple[Message, ...]]
LabelMessages = Callable[[Mapping[str, str], Sequence[tuple[str, str]]], tuple[Message, ...]]
Look = Callable[[str], str]
Nudge = Callable[[str], str]
CheckAnswer = Callable[[str, object, int], str | None]
Read = Callable[[ModelReply], "Found"]


def first_message(first: First) -> str:
    """The default layout: description, extras, and the question last."""
    look = [first.look] if first.look else []
    parts = [f"The context:\n{first.description}", *extras(first, "Extra functions in the REPL"), *look]
    if first.depth is not None:
        parts.append(depth_left(first.depth))
    return "\n\n".join([*parts, f"The question:\n{first.query}"])


def depth_left(depth: int) -> str:
    """What ``rlm_query`` can do here.

    >>> depth_left(1)
    'Depth left: 1: rlm_query makes children, who can make none.'
    """
    match depth:
        case 0:
            what = "rlm_query is one sub-call here, without a REPL."
        case 1:
            what = "rlm_query makes children, who can make none."
        case _:
            what = f"rlm_query makes children, who have {depth - 1} left."
    return f"Depth left: {depth}: {what}"


def extras(first: First, functions: str) -> list[str]:
    """What a user has added, each where there is any; ``functions``: what the tools are called."""
    return [
        part
        for given, part in (
            (first.tools, f"{functions}:\n{first.tools}"),
            (first.instructions, first.instructions),
            (first.answer, f"The answer must be: {first.answer}"),
        )
        if given
    ]


def label_messages(labels: Mapping[str, str], examples: Sequence[tuple[str, str]]) -> tuple[Message, ...]:
    """The default chat before an item of ``classify``: labels with their meanings, examples as turns."""
    if any(labels.values()):
        named = "".join(f"\n- {name}: {means}" if means else f"\n- {name}" for name, means in labels.items())
        system = f"Label each text with exactly one of:{named}\nReply with the label alone."
    else:
        system = f"Label each text with exactly one of: {', '.join(labels)}. Reply with the label alone."
    messages = [Message("system", system)]
    for text, label in examples:
        messages += [Message("user", text), Message("assistant", label)]
    return tuple(messages)


def no_examples(query: str, look: str, depth_left: int) -> tuple[Message, ...]:
    """The default worked turns: none."""
    return ()


def no_nudge(query: str) -> str:
    """The default end of a message after a turn: nothing."""
    return ""


def accept_any(query: str, value: object, sub_calls: int) -> str | None:
    """The default check of an answer beyond the engine's own: none."""
    return None


def read_cells(reply: ModelReply) -> Found:
    """The default reading of a reply: the code in it."""
    from ..cells import find_cells  # only with the first reply

    return find_cells(reply.text, code=reply.code, thinking=reply.thinking)


@dataclass(frozen=True, slots=True)
class Profile:
    """How one family of models is spoken to. Sizes in characters."""

    name: str
    system: str
    examples: Examples = no_examples  # (query, look, depth left) -> worked turns
    head: int = 600
    tail: int = 300
    ways: bool = True  # whether a description says how to reach what is in files; else ``lines`` has it
    shown: int = 8_000  # of a cell's output
    imports: tuple[str, ...] = ()
    sampling: Sampling = Sampling()
    first: FirstMessage = first_message
    label: LabelMessages = label_messages  # (labels with meanings, examples) -> what stands before an item
    own_examples: int = 0  # for classify without examples: how many to take from the items, in two passes
    most_items: int | None = None  # that one call of classify may have: weak models pass the whole input
    pack_items: int = 50  # of one sub-call of llm_map: more, and replies are left out or mixed up
    pack_characters: int = 60_000  # the same, of all its items; see packs.comfortable
    packs_labels: bool = True  # whether classify asks for many items at once, where it has more than a few
    look: Look | None = None  # (query) -> code for a first look, run before the first reply
    keep_repeats: bool = True  # whether a reply that repeats the last one joins the history
    nudge: Nudge = no_nudge  # (query) -> what ends every message after a turn
    check_answer: CheckAnswer = accept_any  # (query, value, sub_calls) -> reason to refuse once
    tells_unread: bool = False  # whether an answer about all is refused once where a part was passed by
    read: Read = read_cells  # (reply) -> the cells that it is
    feedback: Feedback = turn_message  # (cells, hints, nudge) -> what a turn has come to
    last_turn: str = LAST_TURN  # what is said before the last turn
    most_turns: int | None = None  # that it takes, whatever the limit is
    schema: Mapping[str, object] | None = None  # JSON schema of every reply, for the provider
    asking: tuple[str, ...] = ()  # what of its imports makes sub-calls
    alone: tuple[Message, ...] = ()  # worked turns without sub-calls, for where all that fit make some
    without: tuple[str, ...] = ()  # functions of the REPL that this one has not
    window: int | None = None  # what the first look may print; then the REPL of the turns has no context

    @property
    def described(self) -> tuple[int, int, bool]:
        """How a context is described to it: head, tail, ways."""
        return self.head, self.tail, self.ways


@cache
def names_in(imports: tuple[str, ...]) -> frozenset[str]:
    """The names that a profile's imports put into the REPL.

    >>> sorted(names_in(("import re, os.path", "from math import pi as p", "def f(): x = 1", "y, z = 2, 3")))
    ['f', 'os', 'p', 're', 'y', 'z']
    """
    names: set[str] = set()
    for node in (node for text in imports for node in ast.parse(text).body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(each.asname or each.name).partition(".")[0] for each in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {
                name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
            }
    return frozenset(names)


def read_text(name: str) -> str:
    """A text file that lies beside the profiles."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()
