"""Reads a provider's reply into ours: text apart from thinking, code of tool calls, usage counted once.

Contract: pure functions over plain values.

>>> split_thinking("<think>one, two</think>Three.")
('one, two', 'Three.')
>>> normalised(Counts(input=10, output=2, reasoning=5, total=17))
Usage(calls=1, input_tokens=10, output_tokens=7, cached_tokens=None, reasoning_tokens=5, calls_unmeasured=0)
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..types import Finish, Usage

FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool",
    "tool_calls": "tool",
    "content_filter": "filter",
}

_CODE_ARGUMENTS = ("code", "python", "source", "script", "cell", "input", "query")
_THINK = re.compile(r"\s*<(think|thinking|reasoning)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_THINK_END = re.compile(r"</(?:think|thinking|reasoning)>")
_CHANNEL = re.compile(
    r"<\|channel\|>(\w+)[^<]*<\|message\|>(.*?)(?=<\|(?:end|return|channel|start)\|>|\Z)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Counts:
    """Token counts as a provider reports them, before ours are made of them."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None  # read from the provider's cache
    written: int | None = None  # written to it
    reasoning: int | None = None
    total: int | None = None


def normalised(counts: Counts, *, cached_apart: bool = False, reasoning_apart: bool = False) -> Usage:
    """Usage in which input includes what was cached, and output what was thought.

    ``cached_apart``, ``reasoning_apart``: the provider counts them apart. Where it does not say,
    its own total shows it.
    """
    read, written = counts.input, counts.output
    if read is None and written is None:
        return Usage(calls=1, calls_unmeasured=1)
    thought = counts.reasoning or 0
    if thought and written is not None and read is not None and counts.total is not None:
        reasoning_apart = reasoning_apart or counts.total == read + written + thought
    if reasoning_apart and written is not None:
        written += thought
    if cached_apart and read is not None:
        read += (counts.cached or 0) + (counts.written or 0)
    return Usage(1, read, written, counts.cached, counts.reasoning)


def split_thinking(text: str) -> tuple[str, str]:
    """(thinking, answer) of a text in which a server left the model's reasoning."""
    if "<|channel|>" in text:
        parts = _CHANNEL.findall(text)
        answer = [said for channel, said in parts if channel == "final"]
        thinking = [said for channel, said in parts if channel != "final"]
        return "\n".join(thinking).strip(), "\n".join(answer).strip()
    if begun := _THINK.match(text):
        return begun[2].strip(), text[begun.end() :].lstrip("\n")
    # Some chat templates open the tag in the prompt, so that the reply has its end alone.
    ended = _THINK_END.search(text)
    if ended and "<think" not in text[: ended.start()] and "```" not in text[: ended.start()]:
        return text[: ended.start()].strip(), text[ended.end() :].lstrip("\n")
    return "", text


def code_of_call(arguments: object) -> str | None:
    """The code in a tool call's arguments: an object with a field for it, or code as it is."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments if isinstance(arguments, str) and arguments.strip() else None
    if isinstance(arguments, str):
        return arguments if arguments.strip() else None
    if not isinstance(arguments, Mapping):
        return None
    texts = {str(name): value for name, value in arguments.items() if isinstance(value, str)}
    for name in _CODE_ARGUMENTS:
        if texts.get(name, "").strip():
            return texts[name]
    return next(iter(texts.values())) if len(texts) == 1 else None
