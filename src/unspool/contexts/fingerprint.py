"""What files are known by when a run is resumed: a hash of what is in them, or of samples of it.

Contract: files of together at most :data:`WHOLE` bytes by all of their content; larger ones by their sizes
and by evenly spaced samples, so that a 10 GB log is known in milliseconds. Paths, sizes and content count;
times, device and inode do not: a copy is the same.

>>> import tempfile
>>> from pathlib import Path
>>> from .sources import source_of
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "a.txt"
...     _ = path.write_text("one")
...     len(b"".join(parts_of(source_of(path)))) > 3
True
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from ..errors import ContextError
from .grants import open_entry
from .sources import Entry, Source

WHOLE = 256 << 20
SMALL = 1 << 20
SAMPLES, SAMPLE = 64, 64 << 10
MANY = 8  # samples of each file, where there are many files
_PIECE = 1 << 20

Through = Callable[[Entry, Iterator[bytes]], Iterator[bytes]]


def parts_of(source: Source, through: Through | None = None) -> Iterator[bytes]:
    """The bytes that its hash is made of; those of each file come ``through`` this."""
    yield repr((source.start, source.stop, [(e.path, e.size) for e in source.entries])).encode(
        "utf-8", "surrogateescape"
    )
    whole = source.size <= WHOLE
    samples = SAMPLES if len(source.entries) == 1 else MANY
    for entry in source.entries:
        try:
            parts = _parts(source, entry, whole or entry.size <= SMALL, samples)
            yield from parts if through is None else through(entry, parts)
        except OSError as error:
            raise ContextError(f"{entry.path} cannot be read: {error.strerror or error}.") from None


def _parts(source: Source, entry: Entry, whole: bool, samples: int) -> Iterator[bytes]:
    fd = open_entry(source.root, entry)
    try:
        if whole:
            at = 0
            while at < entry.size and (data := os.pread(fd, min(_PIECE, entry.size - at), at)):
                yield data
                at += len(data)
        else:
            last = entry.size - SAMPLE
            for number in range(samples):
                yield os.pread(fd, SAMPLE, last * number // (samples - 1))
    finally:
        os.close(fd)
