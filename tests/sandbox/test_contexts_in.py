"""Contexts on their way into a REPL: they arrive as themselves, large texts without a copy."""

from __future__ import annotations

import datetime as dt
import fractions
import os
import time
from decimal import Decimal

import numpy
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.errors import ContextError
from unspool.sandbox._handover import hand_over
from unspool.sandbox._texts import map_text, self_test, write_text

from .conftest import Opener

TEXTS = {
    "line ends": "a\r\nb\rc\n\x0b\x0c\x1c\u2028",
    "a quote": 'ends in "',
    "a backslash": "ends in \\",
    "three quotes": "ends in '''",
    "empty": "",
    "one character": "x",
    "latin-1": "é" * 5000,
    "ucs-2": "Ω" * 5000 + "a",
    "ucs-4": "🙂" * 5000 + "a",
    "surrogates": "\ud83d\ude00" * 3000,
    "late wide": "a" * 2_000_000 + "🙂",
    "late lone": "é" * 1_500_000 + "\udc80",
    "NUL": "a\0b" * 3000,
    "BOM": "\ufeffbom",
}


@pytest.mark.parametrize("name", TEXTS)
async def test_a_text_stays_as_it_is(open_repl: Opener, name: str) -> None:
    text = TEXTS[name]
    repl = await open_repl(text)
    check = (
        "import hashlib\nlen(context), hashlib.sha256(context.encode('utf-8', 'surrogatepass')).hexdigest()"
    )
    import hashlib

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    assert await repl.show(check) == f"({len(text)}, '{digest}')"
    assert (
        await repl.show("type(context) is str and context == context[:] and isinstance(hash(context), int)")
        == "True"
    )


VALUES = {
    "keys and kinds": (
        {1: (2, 3), "s": {4}, (5,): frozenset([6])},
        "{1: (2, 3), 's': {4}, (5,): frozenset({6})}",
    ),
    "scalars": ([b"\0", None, True, 1.5, float("inf"), 10**40], None),
    "dates": ([dt.datetime(2020, 1, 2, tzinfo=dt.UTC), dt.date(2020, 1, 2), dt.timedelta(1)], None),
    "decimal": (Decimal("1.10"), "Decimal('1.10')"),
    "fraction": (fractions.Fraction(1, 3), "Fraction(1, 3)"),
    "list": (["a", "b"], "['a', 'b']"),
    "none": (None, ""),
}


@pytest.mark.parametrize("name", VALUES)
async def test_other_values_arrive_as_themselves(open_repl: Opener, name: str) -> None:
    value, shown = VALUES[name]
    repl = await open_repl(value)
    assert await repl.show("context") == (repr(value) if shown is None else shown)


async def test_a_nan_is_a_nan(open_repl: Opener) -> None:
    repl = await open_repl([float("nan")])
    assert await repl.show("context[0] != context[0]") == "True"


async def test_a_data_frame_keeps_everything_and_changes_stay(open_repl: Opener) -> None:
    frame = pandas.DataFrame(
        {
            "t": pandas.to_datetime(["2020-01-01", None]),
            "c": pandas.Categorical(["x", "y"]),
            "n": numpy.array([1, 2], "int8"),
        },
        index=pandas.Index(["r1", "r2"], name="row"),
    )
    repl = await open_repl(frame)
    shown = await repl.show(
        "[str(t) for t in context.dtypes], context.t.isna().tolist(), list(context.index), context.index.name"
    )
    assert shown == f"({[str(t) for t in frame.dtypes]}, [False, True], ['r1', 'r2'], 'row')"
    await repl.show("context['new'] = context.n * 2")
    assert await repl.show("context['new'].tolist()") == "[2, 4]"


async def test_a_mutation_stays(open_repl: Opener) -> None:
    repl = await open_repl([1])
    await repl.show("context.append(2)")
    assert await repl.show("context") == "[1, 2]"
    assert (await repl.run("context.append(3)\nimport os; os._exit(1)")).outcome == "rolled_back"
    assert await repl.show("context") == "[1, 2]"


@pytest.mark.parametrize(
    "value", [(x for x in "ab"), lambda: 1, open], ids=["generator", "lambda", "function"]
)
async def test_what_cannot_be_pickled_is_named(open_repl: Opener, value: object) -> None:
    if value is open:
        assert await (await open_repl(value)).show("context is open") == "True"
        return
    with pytest.raises(ContextError, match=type(value).__name__):
        await open_repl(value)


async def test_a_context_over_the_memory_limit_is_an_error(open_repl: Opener) -> None:
    with pytest.raises(ContextError, match="memory"):
        await open_repl([b"x" * 10**6 + bytes([i]) for i in range(150)], memory=64 << 20)


async def test_one_line_of_a_hundred_megabytes(open_repl: Opener) -> None:
    text = "x" * 100_000_000
    started = time.monotonic()
    repl = await open_repl(text, memory=64 << 20)
    opened = time.monotonic() - started
    assert opened < 10
    assert await repl.show("len(context), context[-1], context.find('y')") == "(100000000, 'x', -1)"
    assert await repl.show("len(context)") == "100000000"


async def test_a_part_of_a_text_is_the_same_memory(open_repl: Opener) -> None:
    text = "".join(f"line {i}\n" for i in range(200_000))
    handed = hand_over(text)
    parts = [handed]
    try:
        for start, length in ((0, len(text)), (12_345, 50_000), (len(text) - 9_000, 9_000), (5, 20)):
            part = handed.part(start, length)
            parts.append(part)
            repl = await open_repl(part)
            assert await repl.show("len(context), context[:5], context[-5:]") == repr(
                (length, text[start : start + length][:5], text[start : start + length][-5:])
            )
            assert (
                await repl.show(
                    "int(context[context.index('line ') + 5:].split()[0]) > -1, context.encode()[-1] == ord(context[-1])"
                )
                == "(True, True)"
            )
    finally:
        for part in parts:
            part.close()


def test_the_self_test_runs_here() -> None:
    assert self_test() in (True, False)


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=60), st.integers(0, 200))
@settings(max_examples=150, deadline=None)
def test_texts_round_trip_with_and_without_copy(text: str, times: int) -> None:
    text = text * times
    fd, layout, _ = write_text(text)
    try:
        assert map_text(fd, layout, 0, len(text), zero_copy=False) == text
        if self_test_passed():
            mapped = map_text(fd, layout, 0, len(text), zero_copy=True)
            assert (mapped, hash(mapped), mapped.upper()) == (text, hash(text), text.upper())
    finally:
        os.close(fd)


_passed: list[bool] = []


def self_test_passed() -> bool:
    if not _passed:
        _passed.append(self_test())
    return _passed[0]
