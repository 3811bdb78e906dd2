"""Small pieces of text as few larger ones. It needs the standard library alone, and nothing of this package:
a REPL is given it as it stands, too.

>>> list(gathered(iter(["a", "bc", "d", "e"]), 3))
['abc', 'de']
"""

from collections.abc import Iterable, Iterator


def gathered(pieces: Iterable[str], size: int) -> Iterator[str]:
    """The same text in pieces of at least ``size`` characters, but for the last one."""
    held, length = list[str](), 0
    for piece in pieces:
        held.append(piece)
        length += len(piece)
        if length >= size:
            yield "".join(held)
            held, length = [], 0
    if held:
        yield "".join(held)
