"""Where a large text lies in a larger one as a whole, so that it travels as its place and not as a copy.

>>> whole = "".join(f"line {n}\\n" for n in range(20_000))
>>> find_part(whole[70_000:140_000], whole), find_part("line 7", whole)
((70000, 70000), None)
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable

LEAST = 64 << 10  # characters that are worth it

_Search = Callable[[int, int, bytes, int], "int | None"]


def find_part(text: object, whole: object, last: tuple[int, int] = (0, 0)) -> tuple[int, int] | None:
    """Start and length of ``text`` in ``whole``, where it is large enough to be worth it, and not hard to
    find: a search may take as long as a copy. ``last``: the last part that was found."""
    if type(text) is not str or type(whole) is not str or not text:
        return None
    size = len(text)
    if text is whole:
        return 0, size
    if not LEAST <= size <= len(whole):
        return None
    probes = [(at, text[at : at + 64]) for at in range(0, size - 63, size // 8)]

    def lies(at: int) -> bool:
        return all(whole.startswith(probe, at + far) for far, probe in probes) and whole.startswith(text, at)

    # As the last one, behind it, at the end, one of many equal pieces; else wherever it may be.
    likely = itertools.chain((last[0], sum(last), len(whole) - size), range(0, len(whole) - size + 1, size))
    for at in likely:
        if lies(at):
            return at, size
    reach = 16 * size
    for start, end in ((sum(last), sum(last) + reach), (0, min(sum(last) + size, reach))):
        at = start - 1
        for _ in range(100):
            at = find_text(whole, probes[0][1], at + 1, end)
            if at < 0:
                break
            if lies(at):
                return at, size
    return None


def find_text(whole: str, wanted: str, start: int, end: int) -> int:
    """``whole.find(wanted, start, end)``; in ASCII by the C library, which takes a third of the time.

    >>> find_text("one two one", "one", 1, 99), find_text("one two one", "one", 1, 10)
    (8, -1)
    """
    end = min(end, len(whole))
    if start >= end or not whole.isascii() or not wanted.isascii() or (search := _search()) is None:
        return whole.find(wanted, start, end)
    address, memmem = search
    base = address(whole, None)  # of its own characters: nothing is copied
    found = memmem(base + start, end - start, wanted.encode(), len(wanted))
    return -1 if found is None else found - base


@functools.cache
def _search() -> tuple[Callable[[str, None], int], _Search] | None:
    """Where a text's UTF-8 lies, and the search; ``None`` where there is no such thing."""
    if sys.implementation.name != "cpython":
        return None
    try:
        import ctypes

        address, memmem = ctypes.pythonapi["PyUnicode_AsUTF8AndSize"], ctypes.CDLL(None)["memmem"]
    except (ImportError, AttributeError, OSError, TypeError):
        return None
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_void_p]
    memmem.restype = ctypes.c_void_p
    memmem.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return address, memmem
