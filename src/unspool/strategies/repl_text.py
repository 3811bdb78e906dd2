"""Runs in the REPL: an input as text, piece by piece, and in parts of a size. The standard library alone.

A text is itself. Of a mapping and of a folder each entry stands under its name (``=== name ===``), short
values behind it (``name: value``). A list has an item a line; where items are long, each stands under its
number. Tables are CSV, databases their tables one by one, traces the file as it is; all else is JSON, or its
repr. What holds itself, or lies deeper than ``MOST_DEEP`` values in one another, is on one line, too. What no
text can stand for (images, bytes) is refused by name. Nothing is held but the piece at hand.

>>> print("".join(texts({"a": 1, "b": ["x", {"y": 2}]})))
a: 1
=== b ===
x
{"y": 2}
<BLANKLINE>
>>> list(parts("one\\ntwo\\nthree\\n", 8))
['one\\ntwo\\n', 'three\\n']
"""

import json
from collections.abc import Iterable, Iterator, Mapping

from ..reach.pieces import gathered

PIECE = 100_000  # characters
MOST_DEEP = 40
LONG = 400  # of an item that does not stand on a line with others
OWN = ("__unspool_text__", "to_csv", "write_csv", "to_pandas", "tolist")  # what has a text of its own


class NoText(ValueError):
    """An input that no text stands for."""


def texts(value: object) -> Iterator[str]:
    """The pieces of text that a value is, in their order; none of them much smaller than it has to be."""
    return gathered(_texts(value), PIECE)


def _texts(value: object, *around: int) -> Iterator[str]:
    """``around``: the values that it is in, by their identity."""
    inside = (*around, id(value))
    if isinstance(value, str):
        yield value
    elif id(value) in around or len(around) > MOST_DEEP:
        yield _short(value)
    elif hasattr(type(value), "__unspool_text__") and hasattr(type(value), "chunks"):  # of a file
        yield from value.chunks(PIECE)  # type: ignore[attr-defined]
    elif hasattr(value, "texts") and hasattr(value, "tree"):  # a folder, an archive
        yield from _files(value)
    elif (table := _table(value)) is not None:
        yield from table
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _entry(str(key), item, *inside)
    elif isinstance(value, list | tuple | set | frozenset):
        for number, item in enumerate(value):
            if _is_short(item, *inside):
                yield f"{_short(item)}\n"
            else:
                yield f"=== {number} ===\n"
                yield from _ended(_texts(item, *inside))
    else:
        yield _short(value)


def _entry(name: str, item: object, *around: int) -> Iterator[str]:
    several = isinstance(item, list | tuple | set | frozenset | Mapping) and id(item) not in around
    if not several and _is_short(item, *around):
        yield f"{name}: {_short(item)}\n"
    else:
        yield f"=== {name} ===\n"
        yield from _ended(_texts(item, *around))


def _files(files: object) -> Iterator[str]:
    named = 0
    for path, text in files.texts():  # type: ignore[attr-defined]
        named += 1
        yield f"=== {path} ===\n"
        yield from _ended(_texts(text))
    if (others := len(files) - named) > 0:  # type: ignore[arg-type]
        yield f"({others:,} files that are no text are left out)\n"


def _table(value: object) -> Iterator[str] | None:
    """The rows of a table of any library, of a file or a database."""
    if hasattr(value, "tables") and hasattr(value, "execute"):
        return _database(value)
    if callable(getattr(value, "overview", None)) and hasattr(value, "text"):  # traces
        return _texts(value.text)
    if callable(getattr(value, "table", None)) and hasattr(value, "shape_and_types"):  # not in memory
        value = value.table()  # type: ignore[attr-defined]
    if hasattr(value, "to_pandas") and not hasattr(value, "write_csv"):
        value = value.to_pandas()
    if hasattr(value, "write_csv"):
        return iter([value.write_csv()])
    if hasattr(value, "to_csv"):
        index = type(getattr(value, "index", None)).__name__ != "RangeIndex"
        return iter([value.to_csv(index=index)])
    if hasattr(value, "tolist"):
        return _texts(value.tolist())
    return None


def _database(database: object) -> Iterator[str]:
    for name, columns in database.tables().items():  # type: ignore[attr-defined]
        yield f"=== {name} ===\n{','.join(columns)}\n"
        quoted = name.replace('"', '""')
        for row in database.execute(f'SELECT * FROM "{quoted}"'):  # type: ignore[attr-defined]
            yield json.dumps(list(row), ensure_ascii=False, default=str)[1:-1] + "\n"


def _ended(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces, and the end of a line behind them."""
    last = "\n"
    for piece in pieces:
        last = piece or last
        yield piece
    if not last.endswith("\n"):
        yield "\n"


def _is_short(item: object, *around: int) -> bool:
    """Whether it stands on a line with others."""
    if item is None or isinstance(item, bool | int | float):
        return True
    if isinstance(item, str):
        return len(item) <= LONG and "\n" not in item
    if id(item) in around or len(around) > MOST_DEEP:
        return True
    inside = (*around, id(item))
    if isinstance(item, Mapping):
        return not hasattr(item, "tree") and all(_is_short(each, *inside) for each in item.values())
    if isinstance(item, list | tuple | set | frozenset):
        return all(_is_short(each, *inside) for each in item)
    return not any(hasattr(item, name) for name in OWN)


def _short(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value if _is_plain(value) else _plain(value), ensure_ascii=False, default=_plain)
    except NoText:
        raise
    except (TypeError, ValueError):
        return _as_python(value)
    except RecursionError:
        raise _too_deep() from None


def _as_python(value: object) -> str:
    try:
        return repr(value)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise NoText('a number in it has too many digits for a text: strategy="rlm" takes it') from None


def _too_deep() -> NoText:
    return NoText('it has values too deep in one another for a text: strategy="rlm" takes it')


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, dict | list | tuple | int | float)


def _plain(value: object) -> object:
    """What JSON has no word for."""
    if (
        isinstance(value, bytes | bytearray)
        or hasattr(value, "__unspool_image__")
        or hasattr(value, "getpixel")
    ):
        raise NoText(f'a value of the type {type(value).__name__} is no text: strategy="rlm" takes it')
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    return vars(value) if hasattr(value, "__dict__") and vars(value) else str(value)


def parts(value: object, size: int) -> Iterator[str]:
    """The text of a value in parts of at most ``size`` characters that end, where they can, with a line."""
    rest = ""
    for text in texts(value):
        rest, at = rest + text, 0
        while len(rest) - at > size:
            half, end = at + size // 2, at + size
            cut = rest.rfind("\n", half, end) + 1 or rest.rfind(" ", half, end) + 1 or end
            yield rest[at:cut]
            at = cut
        rest = rest[at:]
    if rest.strip():
        yield rest
