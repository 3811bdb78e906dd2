"""Which files the code in a REPL may read: descriptors are handed out for the entries of its sources, only.

Contract: :meth:`Grants.open` answers a hostile worker: it opens entries by their numbers in a source that the
node's context holds, and nothing else. A file is opened below the source's root step by step without
following a link, has to be a regular file, and the one that was named: the same device and inode, and not
shorter. What cannot be opened is a reason in words in its place. :meth:`Grants.resolve` turns the references
in a value that a child is to be given into sources of its own.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Sequence

from ..errors import HostCallError
from ..reach.desk import AT_ONCE
from ..sandbox._values import Reference
from ..sandbox.protocol import HostCall, HostReply
from .sources import Entry, Source, sources_in

_STEP = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Grants:
    """What one node may read."""

    def __init__(self, context: object) -> None:
        self._sources = {source.id: source for source in sources_in(context)}

    async def open(self, call: HostCall) -> HostReply:
        """args: a source's id, numbers of entries → for each ``None`` or why not, and the descriptors."""
        source, numbers = self._asked(call)
        reasons, fds = await asyncio.to_thread(_open_all, source, numbers)
        return HostReply(reasons, fds=tuple(fds))

    def _asked(self, call: HostCall) -> tuple[Source, Sequence[int]]:
        if len(call.args) == 2:
            name, numbers = call.args
            source = self._sources.get(name) if type(name) is str else None
            if source is not None and isinstance(numbers, list) and len(numbers) <= AT_ONCE:
                known = range(len(source.entries))
                if all(type(number) is int and number in known for number in numbers):
                    return source, numbers
        raise HostCallError("ValueError", "no such file was given to this REPL")

    def resolve(self, value: object) -> object:
        """``value`` with its references turned into sources. Raises :class:`HostCallError` for one to a file
        that this node does not have."""
        return self._resolve(value, 0)

    def _resolve(self, value: object, depth: int) -> object:
        if isinstance(value, Reference):
            if depth > 1:
                raise HostCallError(
                    "ValueError", "what is in files can be given to a child as its context, or in a list or "
                    "dict that is its context, and no deeper"
                )  # fmt: skip
            return self._part(value)
        if type(value) is dict:
            return {key: self._resolve(each, depth + 1) for key, each in value.items()}
        if type(value) is list:
            return [self._resolve(each, depth + 1) for each in value]
        if type(value) is tuple:
            return tuple(self._resolve(each, depth + 1) for each in value)
        return value

    def _part(self, asked: Reference) -> Source:
        source = self._sources.get(asked.source)
        if source is None or not -1 <= asked.number < len(source.entries):
            raise HostCallError("ValueError", "no such file was given to this REPL")
        low, high = source.start, source.stop
        outside = asked.start < low or (high >= 0 and not low <= asked.stop <= high)
        if outside or (asked.stop >= 0 and asked.stop < asked.start):
            raise HostCallError("ValueError", "this part is not inside the text of this REPL")
        return source.part(asked.number, asked.start, asked.stop, max(1, asked.line))


def _open_all(source: Source, numbers: Sequence[int]) -> tuple[list[str | None], list[int]]:
    reasons: list[str | None] = []
    fds: list[int] = []
    try:
        for number in numbers:
            entry = source.entries[number]
            try:
                fds.append(open_entry(source.root, entry))
                reasons.append(None)
            except OSError as error:
                reasons.append(f"{entry.path} cannot be read: {error.strerror or error}")
    except BaseException:  # whatever happened, none is held open
        for fd in fds:
            os.close(fd)
        raise
    return reasons, fds


def open_entry(root: str, entry: Entry) -> int:
    """A read-only descriptor of the file that was named, and of no other. Raises :class:`OSError`."""
    at = os.open(root, _STEP)
    try:
        *folders, name = entry.path.split("/")
        if not name or any(part in ("", ".", "..") for part in (*folders, name)):
            raise OSError("it is no path below its folder")
        for folder in folders:
            below = os.open(folder, _STEP, dir_fd=at)
            os.close(at)
            at = below
        if not stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
            raise OSError("it is no regular file any more")  # opening a device may do something
        fd = os.open(name, _FILE, dir_fd=at)
    finally:
        os.close(at)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise OSError("it is no regular file any more")
        if (info.st_dev, info.st_ino) != (entry.device, entry.inode):
            raise OSError("it is another file now than when the run began")
        if info.st_size < entry.size:
            raise OSError("it is shorter now than when the run began")
    except BaseException:  # whatever happened, it is not held open
        os.close(fd)
        raise
    return fd
