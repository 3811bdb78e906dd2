"""Where a large text lies in a larger one as a whole, so that it travels as its place and not as a copy.

>>> whole = "".join(f"line {n}\\n" for n in range(20_000))
>>> find_part(whole[70_000:140_000], whole), find_part("line 7", whole)
((70000, 70000), None)
"""

from __future__ import annotations

import itertools

LEAST = 64 << 10  # characters that are worth it


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
            at = whole.find(probes[0][1], at + 1, end)
            if at < 0:
                break
            if lies(at):
                return at, size
    return None
