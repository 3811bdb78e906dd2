"""What a zygote imports so that its nodes need not, and what a node does where that has not happened.

Contract: :func:`warm_up` imports what models use. It never computes anything, since threads must not start.
:class:`Late` is for the nodes of a zygote that has not imported it: there a library is imported when code
asks for it, and the random numbers that code draws afterwards are those that it would have drawn had the
library been there before. Standard library only; importable as a sibling module too.

>>> import sys
>>> warm_up(["colorsys", "there_is_none"]), "colorsys" in sys.modules
(['colorsys'], True)
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import importlib.abc
    import random
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_STANDARD = """
__future__ abc argparse array ast asyncio base64 binascii bisect builtins calendar cmath collections
collections.abc colorsys concurrent.futures contextlib copy csv ctypes dataclasses datetime decimal
difflib email email.utils enum fractions functools gc getpass glob graphlib gzip hashlib heapq html
html.parser inspect io itertools json linecache locale logging math mmap multiprocessing numbers
operator os pathlib pickle pprint queue re reprlib secrets select shlex shutil signal sqlite3 stat
statistics string struct sys tempfile textwrap threading time timeit token tokenize traceback types
typing unicodedata urllib.parse uuid warnings weakref xml.etree.ElementTree zipfile zlib zoneinfo
"""
STANDARD = _STANDARD.split()
LIBRARIES = ["numpy", "pandas", "pyarrow"]  # they take long
WARM = [*STANDARD, *LIBRARIES]
Began = Callable[[], contextlib.AbstractContextManager[None]]


def import_random() -> None:
    """It would reseed itself in every fork, and so forget a cell's ``random.seed(…)`` by the next one."""
    register, os.register_at_fork = os.register_at_fork, lambda **_: None
    try:
        import random  # noqa: F401
    finally:
        os.register_at_fork = register


def warm_up(names: Sequence[str]) -> list[str]:
    """Imports them; returns those that are there."""
    import warnings

    import_random()
    done = []
    collected = gc.isenabled()
    gc.disable()  # of what modules are made of, nothing goes away
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            with contextlib.suppress(Exception):  # whatever a package does at import is not our concern
                __import__(name)
                done.append(name)
    if collected:
        gc.enable()
    return done


class Late:
    """A finder. Modules of these names, imported by code of a node, leave its random numbers alone, and are
    imported within ``began``: a fork does without the threads that they begin, as those of a warm zygote do.
    """

    def __init__(
        self, names: Collection[str], seed_numpy: Callable[[], object], began: Began = contextlib.nullcontext
    ) -> None:
        self._names = {name for name in names if name not in sys.modules}
        self._seed_numpy = seed_numpy
        self._began = began

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._names:
            return None
        import importlib.util

        self._names.discard(fullname)  # the others are asked now
        try:
            found = importlib.util.find_spec(fullname)
        except BaseException:
            self._names.add(fullname)
            raise
        if found is not None and found.loader is not None:
            then = self._seed_numpy if fullname == "numpy" else None
            again = functools.partial(self._names.add, fullname)
            found.loader = cast("importlib.abc.Loader", _Aside(found.loader, then, again, self._began))
        return found


class _Aside:
    """Another loader, beside the random numbers."""

    def __init__(
        self,
        loader: importlib.abc.Loader,
        then: Callable[[], object] | None,
        again: Callable[[], object],
        began: Began,
    ) -> None:
        self._loader = loader
        self._then = then
        self._again = again  # where it was interrupted, it will be imported once more
        self._began = began

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        try:
            with self._began(), _undrawn():
                self._loader.exec_module(module)
                if self._then is not None:
                    self._then()
        except BaseException:
            self._again()
            raise


@contextlib.contextmanager
def _undrawn() -> Iterator[None]:
    """Random numbers that are drawn in here are drawn again afterwards."""
    import random

    own = random.getstate()
    system = cast("random.Random | None", _system())
    drawn = None if system is None else system.getstate()
    try:
        yield
    finally:
        random.setstate(own)
        if system is not None and drawn is not None:
            system.setstate(drawn)


def _system() -> object:
    """What stands for the system's random numbers in a node that has a seed."""
    import random

    made = getattr(os.urandom, "__self__", None)
    return made if isinstance(made, random.Random) else None
