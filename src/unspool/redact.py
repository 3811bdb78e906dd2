"""Events without their content: texts and values become sizes and hashes, all else stays.

Contract: what is not known to be harmless is taken out, so a field that is added later is, too. Kept are
numbers, times, costs, ids, names of models, statuses and kinds of failures: the structure of a run and what
it took. Equal texts have equal hashes within one :class:`Redactor`; its key is random and never leaves it, so
a short text cannot be guessed from its hash. Sizes are told: they may say something, too.

>>> from unspool.events import CallStarted
>>> call = CallStarted(
...     node="0", turn=1, cell=1, call=7, batch=None, index=0, role="sub", model="openai:m", prompt="hi\\nyou"
... )
>>> told = Redactor(key=b"k").event(call)
>>> told.call, told.model, told.prompt
(7, 'openai:m', '[2 lines, 6 characters, #8c0d93da84]')
"""

from __future__ import annotations

import builtins
import hashlib
import hmac
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import TypeVar, cast

from .events import Event
from .types import CellError, FailedCall, LedgerLine, Usage

E = TypeVar("E", bound=Event)

_KEPT = frozenset(
    (
        "run",
        "model",
        "sub_model",
        "profile",
        "node",
        "parent",
        "role",
        "finish",
        "outcome",
        "status",
        "via",
        "agreeing",
        "stopped",
        "strategy",
    )
)  # fields of text that are no content
_KEPT_SETTINGS = frozenset(("sandbox", "strategy"))
_VALUES = frozenset(("value", "answer", "kept"))  # of any type
_DIGITS = 10  # of a hash


def known_error(kind: str) -> str:
    """The name of an exception, if it is one of Python's or ours; code can give its own any name."""
    known = isinstance(getattr(builtins, kind, None), type) or kind in _OWN_ERRORS
    return kind if known else "Exception"


def _more_lines(name: str, text: str) -> int:
    """Code keeps its number of lines: what is counted, and named by an error, stays right."""
    return text.strip().count("\n") if name == "code" else 0


class Redactor:
    """See the module docstring. One for all that has to be told apart or known again."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = os.urandom(32) if key is None else key

    def event(self, event: E) -> E:
        changed = {f.name: self._field(f.name, getattr(event, f.name)) for f in fields(event)}
        return cast(E, cast("Callable[..., object]", type(event))(**changed))

    def text(self, text: str) -> str:
        """How a text is told of; an empty one is nothing."""
        if not text:
            return ""
        lines = text.count("\n") + 1
        size = f"{lines:,} lines, " if lines > 1 else ""
        return f"[{size}{len(text):,} characters, #{self._hash(text)}]"

    def _field(self, name: str, value: object) -> object:
        if value is None or isinstance(value, Usage | LedgerLine):
            return value
        if isinstance(value, FailedCall):
            return FailedCall(value.kind, self.text(value.message))
        if isinstance(value, CellError):
            return CellError(
                known_error(value.type), self.text(value.message), self.text(value.traceback), value.line
            )
        if name in _VALUES:
            return self._value(value)
        if isinstance(value, str):
            return value if name in _KEPT else self.text(value) + "\n…" * _more_lines(name, value)
        if isinstance(value, tuple):
            return tuple(self._field(name, item) for item in cast("tuple[object, ...]", value))
        if isinstance(value, Mapping):
            return (
                {key: self._setting(key, item) for key, item in value.items()} if name == "settings" else None
            )
        if is_dataclass(value) and not isinstance(value, type):
            inner = {f.name: self._field(f.name, getattr(value, f.name)) for f in fields(value)}
            return cast("Callable[..., object]", type(value))(**inner)
        return value if isinstance(value, bool | int | float) else self._value(value)

    def _setting(self, name: str, value: object) -> object:
        return self.text(value) if isinstance(value, str) and name not in _KEPT_SETTINGS else value

    def _value(self, value: object) -> str:
        if isinstance(value, str):
            return self.text(value)
        kind = type(value).__name__ if type(value).__module__ == "builtins" else "value"
        size = f" of {len(value)}" if isinstance(value, list | tuple | dict | set | frozenset) else ""
        return f"[{kind}{size}, #{self._hash(repr(value))}]"

    def _hash(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        return hmac.new(self._key, data, hashlib.sha256).hexdigest()[:_DIGITS]


_OWN_ERRORS = frozenset(("AnswerRefused", "LLMError", "ToolError"))
