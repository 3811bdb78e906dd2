"""Values in a sealed memfd, the sandbox's side: how they lie there, and how they are made again.

Contract: a parcel is a pickle, then the texts that are large, then the buffers of arrays and tables, then an
index of both and a tail of fixed size. :func:`open_parcel` maps texts and buffers in place of reading them:
the buffers copy-on-write, so that a table can be changed and nobody else sees it. Classes that cannot be
imported here come as what :func:`make_dataclass`, :func:`make_model`, :func:`make_enum` and
:func:`make_record` are told of them: the same name, the same fields, no methods. What cannot be made raises
:class:`ContextLost`. Standard library only; importable as a sibling module too.

>>> point = make_dataclass("Point", [("x", "int"), ("y", "int")], {"frozen": True})
>>> set_fields(bare(point), {"x": 1, "y": 2})
Point(x=1, y=2)
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import io
import json
import mmap
import os
import pickle
import struct
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING or __package__:
    from . import _texts
    from ._reach import REACH
    from ._shown import cut, short
    from ._values import ContextLost, Named
else:  # beside the zygote, which is executed as a file
    import _texts
    from _reach import REACH
    from _shown import cut, short
    from _values import ContextLost, Named

HOME = "unspool.sandbox._parcel"  # what the host calls this module
TAIL = struct.Struct("<5Q")  # bytes of the pickle, where texts, buffers and index begin, bytes of the index

_HINTS = {"bool": bool, "int": int, "float": float, "str": str, "bytes": bytes, "list": list, "dict": dict}
_REASON = "it does not fit into the memory limit of the REPL (cell_memory)"


def open_parcel(fd: int, *, zero_copy: bool) -> object:
    """The value that the host has put into ``fd``, which is closed."""
    with open(fd, "rb") as file:
        try:
            return _Loader(file, zero_copy).load()
        except ContextLost:
            raise
        except MemoryError:
            raise ContextLost(_REASON) from None
        except Exception as error:
            raise ContextLost(f"it cannot be read in the sandbox: {type(error).__name__}: {error}") from None


def loads(data: bytes) -> object:
    """The value that the host has pickled into a reply."""
    return _Classes(io.BytesIO(data)).load()


class _Classes(pickle.Unpickler):
    """Reads what the host has pickled; names the class that is not to be had here."""

    def find_class(self, module: str, name: str) -> object:
        if module == HOME:
            return globals()[name]
        if module.startswith("unspool.reach"):  # it may be loaded here under another name
            module = REACH + module.removeprefix("unspool.reach")
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError) as error:
            raise ContextLost(
                f"it holds a {module}.{name}, which cannot be imported in the sandbox ({error}): "
                "pass plain data, e.g. dataclasses.asdict(x), x.model_dump() or vars(x)"
            ) from None


class _Loader(_Classes):
    """The same, from a parcel."""

    def __init__(self, file: object, zero_copy: bool) -> None:
        self._fd = fd = cast("mmap.mmap", file).fileno()  # type: ignore[attr-defined]
        end = os.fstat(fd).st_size - TAIL.size
        _, self._texts_at, buffers_at, index_at, size = TAIL.unpack(os.pread(fd, TAIL.size, end))
        index = json.loads(os.pread(fd, size, index_at))
        self._texts: list[tuple[str, int, int]] = index["texts"]
        self._address = 0
        if zero_copy and self._texts:
            self._address = _texts.map_whole(fd, self._texts_at, buffers_at - self._texts_at)
        buffers: list[memoryview] = []
        if index["buffers"]:
            whole = memoryview(
                mmap.mmap(fd, index_at - buffers_at, access=mmap.ACCESS_COPY, offset=buffers_at)
            )
            buffers += [whole[start : start + length] for start, length in index["buffers"]]
        os.lseek(fd, 0, os.SEEK_SET)
        super().__init__(file, buffers=buffers)  # type: ignore[arg-type]

    def persistent_load(self, number: int) -> str:
        """A large text."""
        layout, start, length = self._texts[number]
        if self._address:
            return _texts.view(self._address + start, length, layout)
        place = (self._texts_at + start) // _texts.WIDTH[layout]
        return _texts.map_text(self._fd, layout, place, length, zero_copy=False)


# Objects whose class is not to be had here: made bare, then given their fields


def bare(kind: type[object], *args: object) -> object:
    """An instance that nobody has initialised."""
    return kind.__new__(kind, *args)


def set_fields(value: object, fields: Mapping[str, object]) -> object:
    """Sets attributes of ``value``, frozen or not."""
    for name, item in fields.items():
        object.__setattr__(value, name, item)
    return value


class Record:
    """What stands in for an object whose class cannot be imported here: its attributes."""

    def __new__(cls, *_: object) -> Record:
        return object.__new__(cls)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={short(item, 200)}" for name, item in vars(self).items())
        return f"{type(self).__name__}({cut(shown, 1_000)})"


def _named(kind: type[object], name: str) -> type[object]:
    kind.__module__, kind.__qualname__ = "__main__", name
    return kind


def make_record(name: str, base: type[object] | None) -> type[object]:
    """A plain class; ``base`` is the nearest class above it that can be imported."""
    return _named(type(name, (base or Record,), {}), name)


def make_tuple(name: str, fields: Sequence[str]) -> type[object]:
    return _named(collections.namedtuple(name, fields, rename=True), name)


def make_dataclass(
    name: str, fields: Iterable[tuple[str, str]], flags: Mapping[str, bool], hashable: bool = False
) -> type[object]:
    """``hashable``: by a ``__hash__`` that is not here, so by its identity."""
    hinted = [(field, _HINTS.get(hint, object)) for field, hint in fields]
    kind = dataclasses.make_dataclass(name, hinted, **flags)  # type: ignore[arg-type]
    if hashable and vars(kind).get("__hash__") is None:
        setattr(kind, "__hash__", object.__hash__)  # noqa: B010 (to mypy, every class has one)
    return _named(kind, name)


def make_model(name: str, fields: Sequence[str], private: Sequence[str], frozen: bool) -> type[object]:
    """A pydantic model without types, where pydantic is to be had; else a record."""
    try:
        import pydantic
    except ImportError:
        return make_record(name, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a field named like a method of the base
        config = pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True, frozen=frozen)
        hinted = dict.fromkeys(fields, (object, None))
        hinted |= {field: (object, pydantic.PrivateAttr()) for field in private}
        kind = pydantic.create_model(name, __config__=config, **hinted)  # type: ignore[call-overload]
    return _named(kind, name)


def set_model(value: object, state: tuple[Mapping[str, object], Iterable[str], object, object]) -> object:
    fields, given, extra, private = state
    if isinstance(value, Record):
        return set_fields(value, {**fields, **cast("Mapping[str, object]", extra or {})})
    object.__setattr__(value, "__dict__", dict(fields))
    object.__setattr__(value, "__pydantic_fields_set__", set(given))
    object.__setattr__(value, "__pydantic_extra__", extra)
    object.__setattr__(value, "__pydantic_private__", private)
    return value


def make_enum(
    name: str, base: str, mixed: type[object] | None, members: Mapping[str, object]
) -> type[object]:
    make = cast("Callable[..., type[object]]", getattr(enum, base))
    kind = make(name, members) if mixed is None else make(name, members, type=mixed)
    return _named(kind, name)


# What has a form of its own in a REPL

live: dict[str, object] | None = None  # the names of the notebook that this interpreter runs


def of_notebook(expression: str) -> object:
    """A value that is here already."""
    if live is None:
        raise ContextLost(
            f"{expression!r} is a value of a notebook, and this REPL is not in one: "
            "use sandbox=JupyterSandbox(connection_file)"
        )
    try:
        return eval(expression, live)
    except Exception as error:  # it may do anything
        raise ContextLost(
            f"{expression!r} has no value in the notebook: {type(error).__name__}: {error}"
        ) from None


def named(contexts: dict[str, object]) -> object:
    """Several contexts, each with a name."""
    return Named(contexts)


def open_polars(name: str, table: object) -> object:
    """A polars frame or series from the Arrow table that holds its columns."""
    import polars

    frame = polars.from_arrow(table, rechunk=False)
    return frame if name == "DataFrame" else cast("polars.DataFrame", frame).to_series()
