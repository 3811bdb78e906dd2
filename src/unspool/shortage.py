"""What the machine has no more of (open files, processes, memory), as an error of the sandbox.

Contract: :func:`shortage_told` turns the ``OSError`` of a shortage into :class:`SandboxUnavailable`, which
says what is short and what to do: a node that cannot begin or go on for it has failed, and nothing else has.

>>> with shortage_told():
...     raise OSError(errno.ENOMEM, "no room")
Traceback (most recent call last):
    ...
unspool.errors.SandboxUnavailable: the REPL could not begin or go on: there is no memory left (no room)
"""

from __future__ import annotations

import errno
import resource  # here: once nothing can be opened, nothing can be imported
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import SandboxUnavailable

_SHORT = {
    errno.EMFILE: "no more files can be opened",
    errno.ENFILE: "no more files can be opened",
    errno.ENOMEM: "there is no memory left",
    errno.ENOBUFS: "there is no memory left",
    errno.EAGAIN: "no more processes can be started",
    errno.ENOSPC: "there is no room left",
}


@contextmanager
def shortage_told() -> Iterator[None]:
    """See the module docstring. Other errors pass."""
    try:
        yield
    except OSError as error:
        if (told := shortage(error)) is None:
            raise
        raise SandboxUnavailable(f"the REPL could not begin or go on: {told}") from error


def shortage(error: OSError) -> str | None:
    """What is short and what to do; ``None`` where it is another error.

    >>> shortage(OSError(errno.ENOMEM, "Cannot allocate memory"))
    'there is no memory left (Cannot allocate memory)'
    """
    if error.errno not in _SHORT:
        return None
    return f"{_SHORT[error.errno]} ({error.strerror}){_limit(error.errno)}"


def _limit(number: int) -> str:
    """The limit of this process that it is about, and how it is raised."""
    if number != errno.EMFILE:
        return ""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return f"; this process may have {most:,} open: raise that with `ulimit -n`, or do less at once"
