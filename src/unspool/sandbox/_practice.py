"""What a zygote does before it forks, so that its forks need not: the motions of a REPL, gone through ahead.

Contract: after :func:`practise` codecs are loaded, caches are filled, and the interpreter has laid out anew
what runs often; what a REPL puts in its own place (streams, builtins, ``__main__``, the handler of an
interrupt) is back as it was. :func:`fill_up` comes last. A page that a fork need not write to is one that it
does not copy: a third of those of a worker that waits. No model code runs here. Standard library only;
importable as a sibling module too.

>>> before = sys.stdout, input
>>> practise(1)
>>> (sys.stdout, input) == before
True
"""

from __future__ import annotations

import builtins
import functools
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING or __package__:
    from . import _repl
else:
    import _repl

REHEARSALS = 12  # code is laid out anew once it has run eight times
_POOL, _STEP = 16 << 10, 16  # bytes: of what the interpreter cuts into blocks of one size; sizes of blocks
_MOST = 512
_BLOCKS: Mapping[int, Callable[[], object]] = {16: object, 32: complex}  # what is so large; bytes are larger
_POOLS = 60  # of one size that are looked through
_STREAMS = "stdout", "stderr", "stdin", "__stdout__", "__stderr__", "__stdin__"


def practise(rehearsals: int = REHEARSALS) -> None:
    """See the module docstring."""
    streams = {name: getattr(sys, name) for name in _STREAMS}
    given, main = dict(vars(builtins)), sys.modules["__main__"]
    hook, handler = threading.excepthook, signal.getsignal(signal.SIGINT)
    try:
        for _ in range(rehearsals):
            _repl.rehearse()
    finally:
        vars(sys).update(streams)
        for name in vars(builtins).keys() - given.keys():
            del vars(builtins)[name]
        vars(builtins).update(given)
        sys.modules["__main__"], threading.excepthook = main, hook
        signal.signal(signal.SIGINT, handler)


def fill_up() -> list[object]:
    """Blocks for what is free between the objects that are there: keep them, and what is made from here on
    lies together, in pages that are its own. Else each new object may lie in another page that has to be
    copied. Takes less than a megabyte."""
    held: list[object] = []
    for size in range(_STEP, _MOST + 1, _STEP):
        make = _BLOCKS.get(size, functools.partial(bytes, size - bytes.__basicsize__))
        whole, run, last = (_POOL - 3 * _STEP) // size, 0, -1
        for _ in range(_POOLS * whole):
            held.append(block := make())
            pool = id(block) // _POOL
            run, last = run + 1 if pool == last else 1, pool
            if run >= whole:  # one that was empty: so there is no room in others
                break
    return held
