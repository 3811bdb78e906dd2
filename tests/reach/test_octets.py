"""Bytes that are unpacked as they are read: any place, in any order, the same bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspool.reach import octets as module
from unspool.reach.octets import Memory, Packed, Part, Raw, measure

DATA = random.Random(3).randbytes(40_000) + b"\0" * 300_000 + b"text " * 20_000


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


FORMS = {
    "gzip": gzip.compress(DATA[:50_000]) + gzip.compress(b"") + gzip.compress(DATA[50_000:]) + b"\0" * 512,
    "deflate": bare(DATA),
    "bz2": bz2.compress(DATA[:10]) + bz2.compress(DATA[10:]),
    "xz": lzma.compress(DATA),
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces and marks so small that a file has many."""
    for name, size in (("MARK_EVERY", 20_000), ("MOST_MARKS", 5), ("_INPUT", 700), ("_PIECE", 3_000)):
        monkeypatch.setattr(module, name, size)


@pytest.mark.parametrize("form", FORMS)
def test_any_place_in_any_order(form: str) -> None:
    packed = Packed(Memory(FORMS[form]), form, "x")
    draw = random.Random(5)
    for _ in range(40):
        at, size = draw.randrange(len(DATA) + 100), draw.choice((1, 100, 5_000, 100_000))
        assert packed.read(at, size) == DATA[at : at + size]
    assert measure(packed) == len(DATA) == packed.size
    assert packed.read(0, len(DATA) + 1) == DATA


@given(st.lists(st.tuples(st.integers(0, 500_000), st.integers(0, 50_000)), max_size=8))
@settings(max_examples=25)
def test_gzip_goes_back_by_its_marks(reads: list[tuple[int, int]]) -> None:
    packed = Packed(Memory(FORMS["gzip"]), "gzip", "x")
    for at, size in reads:
        assert packed.read(at, size) == DATA[at : at + size]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_cut_off_or_damaged_is_an_error_in_words(form: str) -> None:
    cut = Packed(Memory(FORMS[form][: len(FORMS[form]) // 2], "a.log"), form)
    with pytest.raises(OSError, match=r"a\.log cannot be unpacked"):
        measure(cut)
    wrong = bytearray(FORMS[form])
    for at in range(20, 60):
        wrong[at] ^= 0xFF
    with pytest.raises(OSError, match="cannot be unpacked"):
        measure_all(Packed(Memory(bytes(wrong), "a.log"), form, crc=zlib.crc32(DATA)))


def test_more_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="a trap"):
        measure_all(Packed(Memory(FORMS["deflate"]), "deflate", "x", 1_000))
    monkeypatch.setattr(module, "MOST_UNPACKED", 100_000)
    with pytest.raises(OSError, match="a trap"):
        measure_all(Packed(Memory(FORMS["xz"]), "xz", "x"))


def measure_all(packed: Packed) -> None:
    at = 0
    while data := packed.read(at, 900):
        at += len(data)


def test_a_part_and_a_file_object() -> None:
    part = Part(Memory(DATA), 100, 400)
    assert (part.size, part.read(0, 1_000), part.read(299, 5)) == (300, DATA[100:400], DATA[399:400])
    assert Part(Memory(DATA), 100, None).size == len(DATA) - 100
    file = io.BufferedReader(Raw(Packed(Memory(FORMS["gzip"]), "gzip", "x")), 4_096)
    file.seek(-5, io.SEEK_END)
    assert (file.read(), file.tell()) == (DATA[-5:], len(DATA))
    file.seek(10)
    assert file.read(7) == DATA[10:17]


class Interrupted(Memory):
    """Bytes whose reading is interrupted now and then."""

    calls = 0

    def read(self, at: int, size: int) -> bytes:
        self.calls += 1
        if self.calls % 7 == 0:
            raise KeyboardInterrupt
        return super().read(at, size)


@pytest.mark.parametrize("form", FORMS)
def test_an_interrupt_loses_nothing(form: str) -> None:
    packed = Packed(Interrupted(FORMS[form]), form, "x")
    interrupts = 0
    for at in (0, 30_000, 45_000, 20_000, 60_000):
        while True:
            try:
                assert packed.read(at, 3_000) == DATA[at : at + 3_000]
                break
            except KeyboardInterrupt:
                interrupts += 1
                if interrupts > 200:  # xz and bz2 start anew each time, and so may never get there
                    return
    assert interrupts
