"""What a file refuses once, it refuses again without another try: a trap takes long.

>>> refusals, tries = Refusals(), []
>>> def read():
...     tries.append(1)
...     raise Unreadable("a.pptx is a trap")
>>> for _ in range(2):
...     try:
...         refusals.once("page 1", read)
...     except Unreadable as error:
...         print(error)
a.pptx is a trap
a.pptx is a trap
>>> len(tries), refusals.once("page 2", lambda: "text")
(1, 'text')
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from .sniff import Unreadable

T = TypeVar("T")


class Refusals:
    """See the module docstring. :class:`Unreadable` alone is kept: a lack of memory passes."""

    def __init__(self) -> None:
        self._said: dict[Hashable, str] = {}

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` gives, unless ``what`` was refused before."""
        if what in self._said:
            raise Unreadable(self._said[what])
        try:
            return make()
        except Unreadable as error:
            self._said[what] = str(error)
            raise
