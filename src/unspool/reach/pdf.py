"""A PDF as text, page by page, by PDFium (``pypdfium2``, the extra ``docs``).

Contract: a :class:`Pdf` opens the file when it is asked for something, and reads of it what that needs. A
word that was divided at the end of a line is joined; what is filled into a form stands in its place. A page
without text, or one that is damaged, is said to be so in its heading. No library, a password, what is no PDF,
far too many pages: one :class:`Unreadable` that says what to do. Text in pictures is not read.

>>> cleaned("a man\\ufffeagement, the X\\ufffe7 \\r\\nnext\\x00")
'a management, the X-7\\nnext'
"""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import re
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from .extracted import headed
from .extras import how_to_add
from .octets import File, Memory, Octets, Raw, measure
from .sizes import sized
from .sniff import Unreadable

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

MOST_PAGES = 50_000
MOST_PACKED = 256 << 20  # bytes of a PDF in an archive: it is read here and there, so it is unpacked first
MOST_HEADINGS = 1_000  # of a table of contents
_LOCKED = (4, 5)  # PDFium's numbers for a password, and for a lock that it does not know
_INFO = {"Title": "title", "Author": "author", "Subject": "subject", "Keywords": "keywords",
         "CreationDate": "created", "ModDate": "modified"}  # fmt: skip
_DIVIDED = re.compile("\ufffe(?=(.?))")  # the hyphen at the end of a line that goes on in the next one
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")


class Pdf:
    """See the module docstring."""

    what, unit = "a PDF", "page"

    def __init__(self, name: str, octets: Octets) -> None:
        self._name, self._octets = name, octets
        self._count: int | None = None

    def count(self) -> int:
        if self._count is None:
            with self._opened():
                pass  # sets it
        return self._count or 0

    def pieces(self, start: int) -> Iterator[str]:
        with self._opened() as (pdf, file):
            for number in range(start, len(pdf)):
                piece = self._piece(pdf, number)
                file.check()
                yield piece

    def _piece(self, pdf: PdfDocument, number: int) -> str:
        from pypdfium2 import PdfiumError

        try:
            page = pdf[number]
            if pdf.formenv is not None:
                page.flatten()  # what is filled in becomes a part of the page, when that is opened anew
                page.close()
                page = pdf[number]
            text = page.get_textpage().get_text_range()
            page.close()
        except PdfiumError:
            return headed(self.unit, number + 1, "", note="cannot be read")
        return headed(self.unit, number + 1, cleaned(text))

    def info(self) -> dict[str, str]:
        with self._opened() as (pdf, _):
            found = pdf.get_metadata_dict(skip_empty=True)
        return {name: cleaned(found[key]) for key, name in _INFO.items() if found.get(key)}

    def outline(self) -> list[tuple[int, str, int]]:
        with self._opened() as (pdf, _):
            told = []
            for mark in itertools.islice(pdf.get_toc(), MOST_HEADINGS):
                to = mark.get_dest()
                page = None if to is None else to.get_index()
                told.append((mark.level + 1, cleaned(mark.get_title()), 0 if page is None else page + 1))
        return told

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[PdfDocument, _Source]]:
        try:
            import pypdfium2
        except ImportError:
            raise Unreadable(
                f"{self._name}: a PDF needs pypdfium2, which is not installed: {how_to_add('docs')}"
            ) from None
        logging.getLogger("pypdfium2").setLevel(logging.ERROR)  # its warnings are of what is not read here
        file = _Source(self._octets)
        _forget(pypdfium2)
        try:
            pdf = pypdfium2.PdfDocument(file)
        except pypdfium2.PdfiumError as error:
            file.check()
            raise self._refused(getattr(error, "err_code", None)) from None
        try:
            file.check()
            if pdf.get_formtype():
                with contextlib.suppress(pypdfium2.PdfiumError):  # without it, what is filled in is not read
                    pdf.init_forms()
            self._count = len(pdf)
            if self._count > MOST_PAGES:
                raise Unreadable(
                    f"{self._name} says that it has {self._count:,} pages, and {MOST_PAGES:,} are read at "
                    "most: split it first"
                )
            yield pdf, file
        finally:
            pdf.close()

    def _refused(self, code: int | None) -> Unreadable:
        if code in _LOCKED:
            return Unreadable(
                f"{self._name} has a password: save it without one (qpdf --decrypt --password=… in.pdf "
                "out.pdf)"
            )
        return Unreadable(f"{self._name} is no PDF that can be read, or has no pages: is the file whole?")


def _forget(pypdfium2: ModuleType) -> None:
    """Makes PDFium forget what was wrong with another file: one without pages leaves that as it is."""
    with contextlib.suppress(pypdfium2.PdfiumError):
        pypdfium2.PdfDocument(b"no PDF").close()


class _Source(io.RawIOBase):
    """The bytes as a file object for PDFium, which takes no error from one: it is kept, and raised behind."""

    def __init__(self, octets: Octets) -> None:
        if not isinstance(octets, File):
            size = measure(octets)
            if size > MOST_PACKED:
                raise Unreadable(
                    f"{octets.name} has {sized(size)}, too much for a PDF in an archive: unpack it first"
                )
            octets = Memory(octets.read(0, size), octets.name)
        self._file = io.BufferedReader(Raw(octets), 1 << 16)
        self._error: BaseException | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            return self._file.readinto(buffer)
        except BaseException as error:  # whatever happened, an interrupt included, is raised by check()
            self._error = self._error or error
            return 0

    def check(self) -> None:
        if self._error is not None:
            raise self._error


def cleaned(text: str) -> str:
    """Text as PDFium gives it, without what only it needs: marks of divided words, ends of lines."""

    def joined(match: re.Match[str]) -> str:
        before, after = text[match.start() - 1 : match.start()], match[1]
        return "" if before.isalpha() and after.islower() else "-"

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _UNSEEN.sub("", _DIVIDED.sub(joined, text))
    return "\n".join(line.rstrip() for line in text.split("\n"))
