"""What a context that is not in memory becomes in the REPL: files read by descriptor.

Contract: this package is loaded in the sandbox (see :mod:`unspool.sandbox.zygote`), where it is called
``reach``, and imports nothing but the standard library. :func:`make` gives what stands for a source that the
host has described in plain data (:mod:`unspool.contexts.sources`); ``DESK.connect`` gives it the way to the
host.

>>> type(make("text", "s", "big.log", [("big.log", 10)])).__name__
'LazyText'
"""

from __future__ import annotations

from . import peek
from .desk import DESK
from .files import Files
from .sizes import sized
from .sniff import Unreadable
from .text import LazyText
from .views import look_all, make

__all__ = ["DESK", "Files", "LazyText", "Unreadable", "look_all", "make", "peek", "sized"]
