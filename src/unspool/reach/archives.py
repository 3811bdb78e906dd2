"""The files in an archive (zip, or tar, packed or not), read where they lie: nothing is unpacked to a disk.

Contract: :func:`members` gives path → bytes of every regular file; names that point out of the archive are
names and nothing else, links are left out. A trap (a small archive that unpacks to a very large one) costs
time and no memory, and ends at what its own directory says.

>>> import io, zipfile
>>> buffer = io.BytesIO()
>>> with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
...     made.writestr("a/b.txt", "hello " * 10)
>>> from .octets import Memory
>>> found = members(Memory(buffer.getvalue(), "x.zip"))
>>> list(found), found["a/b.txt"].size, found["a/b.txt"].read(6, 5)
(['a/b.txt'], 60, b'hello')
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator

from .octets import Memory, Octets, Packed, Part, Raw, damaged, packing
from .sizes import sized
from .sniff import HEAD, Unreadable

MOST_MEMBERS = 200_000
MOST_HEADER = 1 << 20  # bytes of a header of a tar: names, and what else is told of a file
_FORMS = {8: "deflate", 12: "bz2"}


def members(octets: Octets) -> dict[str, Octets]:
    """Path → bytes of the files in an archive. Raises :class:`Unreadable` where it is none."""
    import tarfile
    import zipfile

    head = octets.read(0, HEAD)
    found: dict[str, Octets] = {}
    try:
        for path, member in _zip(octets) if head[:2] == b"PK" else _tar(octets, head):
            if len(found) >= MOST_MEMBERS:
                raise Unreadable(f"{octets.name} has more than {MOST_MEMBERS:,} files: unpack a part of it")
            found[path] = member
    except MemoryError:
        raise Unreadable(
            f"{octets.name} does not fit into the memory limit of the REPL (cell_memory): unpack it first"
        ) from None
    except (zipfile.BadZipFile, tarfile.TarError, struct.error, EOFError) as error:
        raise Unreadable(
            f"{octets.name} is no archive that can be read ({error}): is the file whole?"
        ) from None
    return found


def _zip(octets: Octets) -> Iterator[tuple[str, Octets]]:
    import zipfile

    with zipfile.ZipFile(io.BufferedReader(Raw(octets), 1 << 16)) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                yield info.filename, _Member(octets, info)


class _Member:
    """A file in a zip; where its bytes begin is looked up when it is read."""

    def __init__(self, octets: Octets, info: object) -> None:
        import zipfile

        assert isinstance(info, zipfile.ZipInfo)
        self.name = f"{octets.name}/{info.filename}"
        self._octets, self._info = octets, info
        self._inner: Octets | None = None

    @property
    def size(self) -> int:
        return self._info.file_size

    def read(self, at: int, size: int) -> bytes:
        if self._inner is None:
            self._inner = self._open()
        return self._inner.read(at, size)

    def _open(self) -> Octets:
        info = self._info
        if info.flag_bits & 1:
            raise Unreadable(f"{self.name} is encrypted: unpack it first")
        header = self._octets.read(info.header_offset, 30)
        if len(header) < 30 or not header.startswith(b"PK\x03\x04"):
            raise damaged(self.name, "its header is not there")
        name, extra = struct.unpack_from("<HH", header, 26)
        start = info.header_offset + 30 + name + extra
        packed = Part(self._octets, start, start + info.compress_size, self.name)
        if info.compress_type == 0:
            return packed
        form = _FORMS.get(info.compress_type)
        if form is None:
            raise Unreadable(f"{self.name} is packed in a way that is not read here: unpack it first")
        return Packed(packed, form, self.name, info.file_size, info.CRC)


class _Headers(io.BufferedReader):
    """A tar of which nothing but the headers is read."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MOST_HEADER:
            from tarfile import ReadError

            raise ReadError(f"a header of {sized(size)}")
        return super().read(size)


def _tar(octets: Octets, head: bytes) -> Iterator[tuple[str, Octets]]:
    import tarfile

    form = packing(head)
    inner = octets if form is None else Packed(octets, form)
    with tarfile.open(fileobj=_Headers(Raw(inner), 1 << 16), mode="r:") as archive:
        for info in archive:
            if info.isreg():
                name = f"{octets.name}/{info.name}"
                yield info.name.removeprefix("./"), _in_tar(inner, info, name)
            archive.members = []  # type: ignore[attr-defined]  # each is seen once: they need not be kept


def _in_tar(inner: Octets, info: object, name: str) -> Octets:
    import tarfile

    assert isinstance(info, tarfile.TarInfo)
    if info.issparse():
        return Memory(b"", name)
    return Part(inner, info.offset_data, info.offset_data + info.size, name)
