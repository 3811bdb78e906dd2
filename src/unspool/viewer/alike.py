"""How far the prompts of a batch begin alike, so that a list of them can show in what they differ.

Contract: kept up event by event; :meth:`Alike.add` says of which other calls the prompt shows otherwise from
then on. What they share is left out only where it is long enough to be in the way, and never all of a prompt.

>>> from unspool.events import CallStarted
>>> alike = Alike()
>>> def ask(number, part):
...     return alike.add(CallStarted(
...         node="0", turn=1, cell=1, call=number, batch=1, index=number, role="sub", model="m",
...         prompt=f"What is in this part? {part}", key="",
...     ))
>>> ask(1, "one"), ask(2, "two"), ask(3, "three")
([], [1], [])
>>> alike.shown("0", 1, 1, "What is in this part? two")
'… two'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from .. import events as ev

_LEAST = 16  # characters that are worth leaving out
_MOST = 20_000  # that are compared
_TIMES = 20  # that less is alike; then nothing is left out

_Key = tuple[str, int, int | None]


@dataclass(slots=True)
class _Batch:
    """``shared``: how all begin."""

    shared: str
    calls: list[int]
    times: int = 0


class Alike:
    """See the module docstring."""

    def __init__(self) -> None:
        self._batches: dict[_Key, _Batch] = {}

    def add(self, event: ev.CallStarted) -> Sequence[int]:
        batch = self._batches.setdefault(
            (event.node, event.cell, event.batch), _Batch(event.prompt[:_MOST], [])
        )
        if event.prompt.startswith(batch.shared):
            others = batch.calls[:] if len(batch.calls) == 1 else []  # alone, it was shown whole
            batch.calls.append(event.call)
            return others
        others = batch.calls[:]
        batch.calls.append(event.call)
        pairs = zip(batch.shared, event.prompt, strict=False)
        size = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        batch.times += 1
        batch.shared = batch.shared[:size] if batch.times < _TIMES else ""
        return others

    def shown(self, node: str, cell: int, batch: int | None, prompt: str) -> str:
        """The prompt of one of them without the words that all begin with."""
        known = self._batches.get((node, cell, batch))
        if known is None or len(known.calls) == 1 or len(known.shared) == len(prompt):
            return prompt
        words = max(known.shared.rfind(" "), known.shared.rfind("\n")) + 1
        return f"… {prompt[words:]}" if words >= _LEAST else prompt
