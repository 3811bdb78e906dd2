"""Which kind of document a file is, told by what is in it.

>>> from .octets import Memory
>>> document("a.pptx", Memory(b"%PDF-1.7")).what
'a PDF'
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TypeVar

from .documents import Document
from .extracted import Form, no_room
from .octets import Octets
from .office import Package
from .pdf import Pdf
from .refusals import Refusals
from .slides import Slides
from .sniff import Unreadable
from .word import Word

T = TypeVar("T")


def document(
    name: str, octets: Octets, *, number: int | None = None, entry: tuple[str, int] | None = None
) -> Document:
    """The document in a file, of which nothing is read before it is asked for something; ``number``,
    ``entry``: as of a :class:`Document`."""
    return Document(_Looked(name, octets), name, number=number, entry=entry)


class _Looked:
    """The form that the file has, looked at when it is first needed."""

    def __init__(self, name: str, octets: Octets) -> None:
        self._name, self._octets = name, octets
        self._refusals = Refusals()

    def _once(self, what: str, make: Callable[[], T]) -> T:
        try:
            return self._refusals.once(what, make)
        except MemoryError:
            raise Unreadable(no_room(self._name)) from None

    @functools.cached_property
    def _looked(self) -> Form:
        if self._octets.read(0, 2) != b"PK":
            return Pdf(self._name, self._octets)
        package = Package(self._name, self._octets)
        return Slides(package) if package.main().startswith("ppt/") else Word(package)

    @property
    def _form(self) -> Form:
        return self._once("form", lambda: self._looked)

    @property
    def what(self) -> str:
        return self._form.what

    @property
    def unit(self) -> str:
        return self._form.unit

    def count(self) -> int:
        return self._once("count", self._form.count)

    def pieces(self, start: int) -> Iterator[str]:
        return self._form.pieces(start)

    def info(self) -> dict[str, str]:
        return self._once("info", self._form.info)

    def outline(self) -> list[tuple[int, str, int]]:
        return self._once("outline", self._form.outline)
