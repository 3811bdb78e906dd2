"""What is in a file, told by how it begins; and the bytes of text, unpacked where they are packed.

Contract: :func:`content_kind` is the one judge of files, given alone or in a folder: the content says what a
file is, its name only which of several things that begin alike.

>>> from .octets import Memory
>>> kind_of(b"PAR1"), kind_of(b"plain text"), kind_of(b"a\\0b")
('parquet', 'text', 'binary')
>>> Plain(Memory(b"PK\\x03\\x04", "a.txt")).read(0, 1)
Traceback (most recent call last):
    ...
unspool.reach.sniff.NotText: a.txt is an archive, not text: give it as a file of its own, Path("….zip")
"""

from __future__ import annotations

import re
import threading

from .blocks import MARKS
from .octets import Octets, Packed, packing

HEAD = 4096
SQLITE, PARQUET, ZIP = b"SQLite format 3\0", b"PAR1", b"PK\x03\x04"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # of old Office documents, and of those with a password
_TAR_AT = 257
_BEFORE_PDF = 1024  # bytes of anything that may stand before a PDF

_NOT_TEXT = {
    "sqlite": 'is an SQLite database, not text: give it as a file of its own, Path("….sqlite")',
    "parquet": 'is a Parquet table, not text: give it as a file of its own, Path("….parquet")',
    "archive": 'is an archive, not text: give it as a file of its own, Path("….zip")',
    "xlsx": 'is a spreadsheet, not text: give it as a file of its own, Path("….xlsx")',
    "locked": "has a password, or is an old .xls: save it as .xlsx without a password",
    "old": "is an old spreadsheet: save it as .xlsx or .csv",
    "document": 'is a PDF, not text: give it as a file of its own, Path("….pdf")',
    "shut": "has a password, or is an old .doc or .ppt: save it as .docx, .pptx or .pdf without a password",
    "other": "is a document of a kind that is not read: save it as .docx, .pptx or .pdf, and pass that",
    "sheet": "is a spreadsheet of a kind that is not read: save it as .xlsx or .csv, and pass that",
    "binary": "is a binary file, not text: convert it to text first",
    "empty": "is empty: there is nothing in it",
}
_NO_USE = frozenset({"locked", "old", "shut", "other", "sheet", "empty"})  # no way here to what is in it


_OTLP = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"resourceSpans"\s*:\s*\[')

_BY_NAME = {
    ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx", ".xlsm": "xlsx",
    ".pdf": "document", ".docx": "document", ".docm": "document", ".pptx": "document", ".pptm": "document",
    ".otlp.jsonl": "traces",
    ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".db3": "sqlite",
}  # fmt: skip


def kind_by_name(path: str) -> str:
    """What a file with this name most likely is: parquet, xlsx, document, sqlite, traces, or else text."""
    name = path.lower().rsplit("/", 1)[-1]
    return next((kind for ending, kind in _BY_NAME.items() if name.endswith(ending)), "text")


def is_traces(head: bytes) -> bool:
    """Whether text that begins so is traces: OTLP JSON, one object a line.

    >>> is_traces(b'{"resourceSpans": [{"resource"'), is_traces(b'{"spans": []}')
    (True, False)
    """
    return _OTLP.match(head) is not None


class Unreadable(ValueError):
    """A file is not what it is taken for. The message names it and says what to do."""


class NotText(Unreadable):
    """A file is whole, as far as can be told, but no text: a table, an archive, a picture."""


def kind_of(head: bytes) -> str:
    """text, sqlite, parquet, archive, document (a PDF), other (documents that are not read) or binary; packed
    bytes are to be unpacked before."""
    if head.startswith(SQLITE):
        return "sqlite"
    if head.startswith(PARQUET):
        return "parquet"
    if head.startswith((ZIP, b"PK\x05\x06")) or head[_TAR_AT : _TAR_AT + 5] == b"ustar":
        return "archive"
    if head.startswith(b"%PDF-"):
        return "document"
    if head.startswith((b"{\\rtf", OLE)):
        return "other"
    if b"\0" in head and not any(head.startswith(mark) for mark, name in MARKS if "16" in name):
        return "binary"
    return "text"


def not_text(name: str, kind: str, hint: str = "") -> Unreadable:
    made = Unreadable if kind in _NO_USE else NotText
    return made(f"{name} {_NOT_TEXT[kind]}{hint}")


def content_kind(octets: Octets, kind: str) -> str:
    """The kind by content, ``kind`` being that by name. Raises :class:`Unreadable` for what cannot be read at
    all; text may be empty.

    >>> from .octets import Memory
    >>> content_kind(Memory(b"plain", "a.pdf"), "document"), content_kind(Memory(b"%PDF-1.7", "a"), "text")
    ('text', 'document')
    """
    return _judged(octets, kind)[0]


def _judged(octets: Octets, kind: str) -> tuple[str, Octets]:
    """The kind by content, and the bytes as they are unpacked."""
    head = octets.read(0, HEAD)
    name = octets.name.lower()
    if not head:
        if kind not in ("text", "traces"):
            raise not_text(octets.name, "empty")
        return "text", octets
    inner, form = octets, packing(head)
    if form is not None:
        inner = Packed(octets, form)
        head = inner.read(0, HEAD)
    found = kind_of(head)
    if found == "archive" and (kind == "xlsx" or name.endswith((".xlsx", ".xlsm"))):
        return "xlsx", inner
    if found == "archive" and name.endswith((".odt", ".odp", ".ods")):
        raise not_text(octets.name, "sheet" if name.endswith(".ods") else "other")
    if found == "other":
        raise not_text(octets.name, _what_other(head, name))
    if kind == "document" and (found == "archive" or b"%PDF-" in head[:_BEFORE_PDF]):
        found = "document"
    if found == "binary":
        raise not_text(octets.name, found)
    if form is not None and found in ("sqlite", "parquet", "document"):
        raise Unreadable(f"{octets.name} is a packed {found} file: unpack it first")
    return "traces" if found == "text" and is_traces(head) else found, inner


def _what_other(head: bytes, name: str) -> str:
    """Why a document is not read, by its name."""
    if name.endswith((".xlsx", ".xlsm")):
        return "locked"
    if name.endswith(".xls"):
        return "old"
    return "shut" if head.startswith(OLE) and kind_by_name(name) == "document" else "other"


class Plain:
    """The bytes of a text file: looked at on first use, unpacked where they are packed.

    Raises :class:`Unreadable` where they are no text; ``hint`` is said with it.
    """

    def __init__(self, octets: Octets, hint: str = "") -> None:
        self.name = octets.name
        self._octets, self._hint = octets, hint
        self._judged: tuple[str, Octets] | None = None
        self._lock = threading.RLock()

    def _judge(self) -> tuple[str, Octets]:
        with self._lock:
            if self._judged is None:
                try:
                    self._judged = _judged(self._octets, kind_by_name(self.name))
                except Unreadable as error:
                    raise type(error)(f"{error}{self._hint}") from None
            return self._judged

    @property
    def kind(self) -> str:
        """What is in the file, as :func:`content_kind` has it."""
        return self._judge()[0]

    @property
    def inner(self) -> Octets:
        kind, octets = self._judge()
        if kind not in ("text", "traces"):
            raise not_text(self.name, kind, self._hint)
        return octets

    @property
    def size(self) -> int | None:
        return self.inner.size

    def read(self, at: int, size: int) -> bytes:
        return self.inner.read(at, size)
