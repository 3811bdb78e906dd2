"""Inputs that are named in words, as a command line has them: files, folders, globs.

Contract: :func:`read_names` gives a small text file as the ``str`` that is in it, and a
:class:`~pathlib.Path` for all else (large files, tables, databases, archives, images, text in other
encodings, folders, globs), which becomes a source, or is refused as one; one name alone is that, several are
a dict by name. So a small file is a str here, as if it had been piped in, while a ``Path`` in Python is
reached by its source whatever its size.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .sources import is_text_name
from .text import decode, is_plain_text, read_bytes

SMALL_FILE = 4 << 20  # bytes
LONGEST_NAME = 255  # characters


def read_names(names: Sequence[str], folder: str = "") -> object:
    """See the module docstring."""
    found = {name: read_name(name, folder) for name in names}
    return next(iter(found.values())) if len(found) == 1 else found


def read_name(name: str, folder: str = "") -> str | Path:
    full = os.path.join(folder, name)
    lazy = os.path.isdir(full) or (os.path.isfile(full) and not _is_small_text(full))
    if lazy or (any(sign in name for sign in "*?[") and not os.path.lexists(full)):
        return Path(name)
    data = read_bytes(full if folder else name)
    return decode(data, name) if is_plain_text(data) else Path(name)


def named_twice(names: Sequence[str]) -> list[str]:
    """A note for each name that stands there more than once.

    >>> named_twice(["a.log", "b.log", "a.log"])
    ['a.log is named 2 times: it is read as one input']
    """
    times = Counter(names)
    return [f"{name} is named {n} times: it is read as one input" for name, n in times.items() if n > 1]


def only_named(context: object) -> list[str]:
    """A note where a text is the name of a file, as one who forgot ``Path`` would give it.

    >>> only_named("no such file"), only_named("."), only_named(3)
    ([], [], [])
    """
    if not isinstance(context, str) or not 0 < len(context) <= LONGEST_NAME or "\0" in context:
        return []
    if not os.path.isfile(context):
        return []
    return [
        f"the context is the text {context!r}, which is the name of a file here, too: for what is in it, "
        "give Path(…)"
    ]


def _is_small_text(path: str) -> bool:
    return os.path.getsize(path) <= SMALL_FILE and is_text_name(path)
