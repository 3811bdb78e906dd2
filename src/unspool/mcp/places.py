"""What of this machine's files a client may open.

Contract: :meth:`Places.read` gives the context of the names, or raises
:class:`unspool.errors.ContextError`. Where folders were given, by the client (its roots) or at the start of
the server, a name that leads anywhere else is refused, a link that leads out of them, too. Relative names
begin at the first folder that was given, else in the folder that the server was started in.

>>> Places(((os.path.realpath("/usr"),),), "/usr").full("../etc/hostname")
Traceback (most recent call last):
...
unspool.errors.ContextError: ../etc/hostname is outside of what may be opened here: /usr
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from ..contexts.named import read_name
from ..errors import ContextError

_MAGIC = "*?["


@dataclass(frozen=True, slots=True)
class Places:
    """``allowed``: groups of folders; a name must lead into one of each. ``base``: where relative ones
    begin."""

    allowed: tuple[tuple[str, ...], ...] = ()
    base: str = ""

    def within(self, folders: Sequence[str]) -> Places:
        """These, of which only what is in one of the folders."""
        real = tuple(os.path.realpath(folder) for folder in folders)
        return Places((*self.allowed, real), real[0]) if real else self

    def full(self, name: str) -> str:
        """The path of a name, which may be a glob."""
        if "\0" in name or not name.strip():
            raise ContextError(f"path: {name!r} is no path")
        full = os.path.join(self.base or os.getcwd(), os.path.expanduser(name))
        fixed = full if os.path.lexists(full) else _before_glob(full)
        real = os.path.realpath(fixed)
        for folders in self.allowed:
            if not any(os.path.commonpath([real, folder]) == folder for folder in folders):
                raise ContextError(f"{name} is outside of what may be opened here: {', '.join(folders)}")
        return full

    def read(self, names: str | Sequence[str]) -> tuple[object, tuple[str, ...]]:
        """The context of one name, or a dict of several by name; and the paths to read it again from."""
        each = [names] if isinstance(names, str) else list(dict.fromkeys(names))
        paths = [self.full(name) for name in each]
        values = [read_name(path) for path in paths]
        whole: object = values[0] if len(values) == 1 else dict(zip(each, values, strict=True))
        if isinstance(whole, str) and not whole:
            raise ContextError(f"{each[0]} is empty: there is nothing to ask about.")
        return whole, tuple(paths)


def _before_glob(path: str) -> str:
    parts = path.split(os.sep)
    first = next((at for at, part in enumerate(parts) if any(sign in part for sign in _MAGIC)), len(parts))
    return os.sep.join(parts[:first]) or os.sep


def folders_of(uris: Iterable[str]) -> list[str]:
    """The folders that ``file:`` addresses name."""
    split = [urlsplit(uri) for uri in uris]
    return [unquote(each.path) for each in split if each.scheme == "file" and each.path]
