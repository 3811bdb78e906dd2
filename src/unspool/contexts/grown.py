"""A context that has only grown since its run began, cut back to what it was: a log that is written to, a
folder with new files.

Contract: :func:`as_it_was` knows what was there from the sizes in the journal; whether the rest is the same
is for who has the hash to say. What there is to tell of it is in words: ``notes`` where it was cut back,
``changes`` where what is left is not what was there.

>>> from unspool.events import ContextMeasured
>>> was = as_it_was("one\\ntwo\\n", ContextMeasured(node="0", size=4, parts=1, sizes=(4,)))
>>> was.context, was.notes
('one\\n', ('the text has 8 characters by now: the run goes on with the 4 that it had',))
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from ..errors import ContextError
from ..events import ContextMeasured
from .several import Contexts
from .sources import Source, is_text_name
from .text import decoded_start

_NAME = 200  # characters of a name in the journal, at most
_CHARACTER = 4  # bytes at most


@dataclass(frozen=True, slots=True)
class Was:
    """See the module docstring."""

    context: object
    notes: tuple[str, ...]
    changes: tuple[str, ...]


def as_it_was(context: object, measured: ContextMeasured | None, names: Sequence[str] = ()) -> Was:
    """``measured``: the first that the journal says of the root's context; ``names``: where it came from."""
    back = _Back(measured, names[0] if len(names) == 1 else "the text")
    return Was(back.of(context), tuple(back.notes), tuple(back.changes))


class _Back:
    """Goes back to the sizes that the journal has."""

    def __init__(self, measured: ContextMeasured | None, name: str) -> None:
        self._name = name  # of a text that is all of the context
        sizes, names = (measured.sizes, measured.names) if measured else ((), ())
        whole = measured is not None and len(sizes) == measured.parts
        self._alone = sizes[0] if whole and len(sizes) == 1 else None
        self._in_bytes = measured is not None and measured.in_bytes
        told = whole and len(set(names)) == len(sizes)
        self._sizes: Mapping[str, int | None] = dict(zip(names, sizes, strict=True)) if told else {}
        self.notes: list[str] = []
        self.changes: list[str] = []

    def of(self, context: object) -> object:
        if isinstance(context, Mapping):
            kept = {key: self._value(key, value) for key, value in context.items()}
            return Contexts(cast("Mapping[str, object]", kept)) if isinstance(context, Contexts) else kept
        if isinstance(context, Source) and context.kind == "folder":
            return self._folder(context, "")
        if isinstance(context, str) and not self._in_bytes:
            return self._text(self._name, context, self._alone)
        return self._file(context, self._alone) if isinstance(context, Source) else context

    def _value(self, key: object, value: object) -> object:
        if isinstance(value, Source) and value.kind == "folder":
            return self._folder(value, f"{key}/")
        then = self._sizes.get(str(key)[:_NAME])
        if isinstance(value, str):
            return self._text(str(key), value, then)
        return self._file(value, then) if isinstance(value, Source) else value

    def _text(self, name: str, text: str, then: int | None) -> str:
        return text[:then] if self._grown(name, len(text), then, "characters") else text

    def _file(self, source: Source, then: int | None) -> object:
        (entry,) = source.entries
        if then is None or not is_text_name(entry.path):
            return source
        if not self._in_bytes:  # it was small enough to be read as a text
            try:
                text = decoded_start(os.path.join(source.root, entry.path), _CHARACTER * (then + 1))[:then]
            except OSError as error:
                raise ContextError(f"{source.name} cannot be read: {error.strerror or error}.") from None
            self.notes.append(_goes_on(source.name, entry.size, "bytes", f"the {then:,} characters"))
            return text
        if not self._grown(source.name, entry.size, then, "bytes"):
            return source
        return replace(source, entries=(replace(entry, size=then),), id="")

    def _folder(self, source: Source, under: str) -> Source:
        known = {name for name in self._sizes if name.startswith(under)}
        if not known:
            return source
        kept, there = [], set[str]()
        for entry in source.entries:
            name = f"{under}{entry.path}"[:_NAME]
            if name not in known:
                continue
            there.add(name)
            then = self._sizes[name]
            grown = self._grown(entry.path, entry.size, then, "bytes")
            kept.append(replace(entry, size=then) if grown and then is not None else entry)
        self.changes += [
            f"{name.removeprefix(under)} is not there any more" for name in sorted(known - there)
        ]
        if more := len(source.entries) - len(kept):
            files = "1 file" if more == 1 else f"{more:,} files"
            self.notes.append(f"{source.name} has {files} more by now: the run goes on without")
        return replace(source, entries=tuple(kept), id="") if kept else source

    def _grown(self, name: str, now: int, then: int | None, unit: str) -> bool:
        """Whether it is longer than it was, which is noted; so is what is shorter."""
        if then is None or now == then:
            return False
        if now < then:
            self.changes.append(f"{name} has {now:,} {unit} and had {then:,}")
            return False
        self.notes.append(_goes_on(name, now, unit, f"the {then:,}"))
        return True


def _goes_on(name: str, now: int, unit: str, then: str) -> str:
    return f"{name} has {now:,} {unit} by now: the run goes on with {then} that it had"


def what_changed(was: Was, differing: Sequence[str], *, alone: bool) -> str:
    """Why a context is not the one that it was, in words: for one that could not be cut back to that.

    ``differing``: the parts that are known to be others; ``alone``: there is one part."""
    told = list(was.changes)
    for name in differing:
        said = [each for each in (*was.changes, *was.notes) if each.startswith(f"{name} has ")]
        if not said:
            told.append(f"what is in {name} is not what it was")
        elif said[0] in was.notes:
            told.append(_another(said[0]))
    if not told and alone:
        told = [_another(note) for note in was.notes]
    more = f", and {len(told) - 3:,} changes more" if len(told) > 3 else ""
    return "; ".join(told[:3]) + more if told else "what is in it is not what it was"


def _another(note: str) -> str:
    return f"{note.partition(':')[0]}, and does not begin as it did"
