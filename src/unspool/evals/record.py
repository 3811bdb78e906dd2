"""One line of the log: what was asked, what came of it, and what it took.

Contract: a line is written once a sample has ended, and never changed. What is not known is ``None``, never
0: tokens where a provider did not report them for every call, a cost where a price is not known, coverage
where the input is not made of text. :func:`of_run` and :func:`failed` make one, :func:`line` and :func:`read`
are each other's inverse.

>>> from .suites import SUITES
>>> sample = SUITES["logs"].make(2_000, seed=1)[0]
>>> made = failed(sample, Asked("rlm", "openai:gpt-5", "openai:gpt-5-mini"), "the server is gone")
>>> read(line(made)) == made, made.status, made.paid
(True, 'failed', False)
"""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ..misfits import plainly
from ..safe_text import one_line
from ..types import LedgerLine, Run, Status
from .readings import plain_text
from .sample import Sample
from .scores import Kind, Score, score

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NOTES, NOTE = 8, 400  # notes of a run that are kept, and characters of each
SHARES = ("score", "coverage")
LONGEST = 20_000  # characters of a gold or given answer in a line; the run's journal has the whole


@dataclass(frozen=True, slots=True)
class Asked:
    """How it was asked."""

    strategy: str
    model: str
    sub_model: str

    @property
    def models(self) -> str:
        """The model, and the one for sub-calls where that is another."""
        return self.model if self.sub_model == self.model else f"{self.model} + {self.sub_model}"


Key = tuple[str, str, int, int, Asked]
"""Suite, task, size, seed, and how it was asked: what a sample that is done is known by."""


@dataclass(frozen=True, slots=True)
class Record:
    """One sample, asked once."""

    suite: str
    task: str
    size: int  # tokens, of four characters each
    seed: int
    strategy: str
    model: str
    sub_model: str
    question: str
    characters: int  # of the context
    context: str  # its digest
    gold: str  # as JSON, as the next
    answer: str
    score: float
    kind: Kind
    status: Status
    reason: str
    root_calls: int
    root_input: int | None  # tokens
    root_output: int | None
    sub_calls: int
    sub_input: int | None
    sub_output: int | None
    turns: int
    cost: float | None  # US dollars
    seconds: float
    coverage: float | None  # share of the input that models read
    run: str
    ended: float  # Unix seconds
    answered_by: str = ""  # the strategy that answered, where another chose it
    notes: tuple[str, ...] = ()  # of the run, such as what the window had no room for

    @property
    def key(self) -> Key:
        return (*self.sample, self.asked)

    @property
    def sample(self) -> tuple[str, str, int, int]:
        """What is the same however it was asked."""
        return self.suite, self.task, self.size, self.seed

    @property
    def asked(self) -> Asked:
        return Asked(self.strategy, self.model, self.sub_model)

    @property
    def paid(self) -> bool:
        """Whether a model has replied at all: what was not even that is asked again."""
        return self.status == "answered" or self.root_calls + self.sub_calls > 0

    @property
    def failure(self) -> str:
        """What went wrong, alike for what went wrong alike; nothing where the answer is right."""
        if self.status != "answered":
            return f"{self.status}: {_alike(self.reason)}"
        return {"": "", "wrong": "wrong answer", "part": "partly right", "none": "empty answer"}.get(
            self.kind, "unreadable answer"
        )


def of_run(sample: Sample, asked: Asked, run: Run) -> Record:
    """The line of a run that has ended. A draft is scored as an answer is: it is what a user gets."""
    root, sub = (_tokens([line for line in run.ledger if line.role == role]) for role in ("root", "sub"))
    return _record(
        sample,
        asked,
        score(sample, run.answer),
        answer=_kept(run.answer),
        status=run.status,
        reason=run.reason,
        root_calls=root[0],
        root_input=root[1],
        root_output=root[2],
        sub_calls=run.sub_calls,
        sub_input=sub[1],
        sub_output=sub[2],
        turns=run.turns,
        cost=run.cost,
        seconds=round(run.seconds, 3),
        coverage=run.coverage.share,
        run=run.id,
        answered_by=run.strategy,
        notes=tuple(note[:NOTE] for note in run.notes[:NOTES]),
    )


def failed(sample: Sample, asked: Asked, reason: str) -> Record:
    """The line of a sample of which no run came."""
    return _record(
        sample, asked, Score(0.0, "none"), answer="null", status="failed", reason=reason, root_calls=0,
        root_input=None, root_output=None, sub_calls=0, sub_input=None, sub_output=None, turns=0, cost=None,
        seconds=0.0, coverage=None, run="",
    )  # fmt: skip


def _record(sample: Sample, asked: Asked, scored: Score, **rest: Any) -> Record:
    return Record(
        sample.suite, sample.task, sample.size, sample.seed, asked.strategy, asked.model, asked.sub_model,
        sample.question, sample.characters, sample.digest, _kept(sample.gold), score=round(scored.value, 6),
        kind=scored.kind, ended=round(time.time(), 3), **rest,
    )  # fmt: skip


def line(record: Record) -> str:
    """The record as a line of JSON, its end not included."""
    whole = json.dumps(asdict(record), ensure_ascii=False).encode(
        "utf-8", "replace"
    )  # half a pair is no text
    return json.dumps(json.loads(whole), ensure_ascii=True)


def read(text: str) -> Record:
    """The record of a line. Raises ``ValueError``."""
    record = _adapter().validate_json(text)
    for name, value in asdict(record).items():
        most = 1 if name in SHARES else sys.float_info.max
        if isinstance(value, int | float) and not 0 <= value <= most:
            raise ValueError(f"{name}: {value} is no number from 0" + (" to 1" if name in SHARES else ""))
    return record


def wrong_with(error: ValueError) -> str:
    """What :func:`read` has refused, and in which field."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error).partition("\n")[0]
    told = [
        (".".join(map(str, each["loc"])), plainly(each["msg"])) for each in error.errors(include_url=False)
    ]
    some = "; ".join(f"{field}: {what}" if field else what for field, what in told[:3])
    return some + (f"; and {len(told) - 3} more" if len(told) > 3 else "")


@cache
def _adapter() -> TypeAdapter[Record]:
    from pydantic import TypeAdapter

    return TypeAdapter(Record)


def _tokens(lines: list[LedgerLine]) -> tuple[int, int | None, int | None]:
    """Calls, tokens read and written. One call that reported nothing makes a sum unknown."""
    calls = sum(each.usage.calls for each in lines)
    if any(each.usage.calls_unmeasured for each in lines):
        return calls, None, None
    return (
        calls,
        sum(each.usage.input_tokens or 0 for each in lines),
        sum(each.usage.output_tokens or 0 for each in lines),
    )


def _kept(value: object) -> str:
    """A value as JSON, or as a text in JSON where there is none; long ones are cut, and say so."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(plain_text(value), ensure_ascii=True)
    if len(text) <= LONGEST:
        return text
    return json.dumps(f"{text[: LONGEST // 2]} … {len(text) - LONGEST // 2:,} more characters")


def _alike(reason: str) -> str:
    """A reason without its numbers, names and quotes, so that like reasons are counted together."""
    bare = re.sub(r"(['\"`]).*?\1", "…", " ".join(reason.split()))
    return one_line(re.sub(r"\$?\d[\d,.]*", "…", bare), 100)
