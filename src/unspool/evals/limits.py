"""What a measurement says of when to answer how: rows for ``strategies/measured.json``, for ``auto``.

Contract: a pure function of the records of one pair of models. A size counts where both strategies were
asked the same samples there. ``direct`` is as good up to the largest size at which, and below which, ``rlm``
does not gain over it beyond the 95% interval; 0 where it gains at the smallest. ``beyond`` is ``map_reduce``
where that gains over ``rlm`` beyond the interval at the largest size, else ``rlm``. What was not measured has
no row.

>>> measured([], "small")
[]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..strategies.questions import QuestionKind, kind_of
from .intervals import Mean, gain_of
from .record import Record
from .sample import size_words

Fact = Mapping[str, str | int]
Row = Mapping[str, "str | Fact"]


def measured(records: Sequence[Record], profile: str) -> list[Row]:
    """A row for each kind of question that was asked by ``direct`` and ``rlm``."""
    kinds: dict[QuestionKind, list[Record]] = {}
    for record in records:
        kinds.setdefault(kind_of(record.question), []).append(record)
    found = ((kind, _gains(group, "rlm", "direct"), group) for kind, group in sorted(kinds.items()))
    return [
        {"profile": profile, "kind": kind, "direct": _up_to(gains, group), "beyond": _beyond(group)}
        for kind, gains, group in found
        if gains
    ]


def _gains(records: Sequence[Record], strategy: str, over: str) -> dict[int, Mean]:
    """By size, in order: what a strategy gains over another one on the same samples."""
    base = {record.sample: record.score for record in records if record.strategy == over}
    sizes: dict[int, dict[int, list[float]]] = {}
    for record in records:
        if record.strategy == strategy and record.sample in base:
            gain = record.score - base[record.sample]
            sizes.setdefault(record.size, {}).setdefault(record.seed, []).append(gain)
    return {size: gain_of(list(sizes[size].values())) for size in sorted(sizes)}


def _up_to(gains: Mapping[int, Mean], records: Sequence[Record]) -> Fact:
    tokens = 0
    for size, gain in gains.items():
        if gain.low > 0:
            break
        tokens = size
    return {"tokens": tokens, "basis": "measured", "source": _source(gains, "rlm over direct", records)}


def _beyond(records: Sequence[Record]) -> Fact:
    gains = _gains(records, "map_reduce", "rlm")
    if not gains:
        return {"strategy": "rlm", "basis": "assumed"}
    strategy = "map_reduce" if gains[max(gains)].low > 0 else "rlm"
    source = _source(gains, "map_reduce over rlm", records)
    return {"strategy": strategy, "basis": "measured", "source": source}


def _source(gains: Mapping[int, Mean], what: str, records: Sequence[Record]) -> str:
    """In words: the model, and the gain at each size with its interval and the number of samples."""
    told = ", ".join(f"{size_words(size)} {gain.signed} of {gain.count}" for size, gain in gains.items())
    models = ", ".join(sorted({record.asked.models for record in records}))
    return f"unspool eval, {models}: {what} at {told}"
