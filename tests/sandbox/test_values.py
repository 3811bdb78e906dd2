"""The value codec and the frames: round trips, and hostile bytes give one typed error."""

from __future__ import annotations

import datetime as dt
import json
import struct
import sys
import time
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unspool.sandbox._frames import MAX_HEADER, PREFIX, Frame, FrameReader, ProtocolError, pack, unpack
from unspool.sandbox._values import MAX_BODY, MAX_DEPTH, FailedCall

any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=400)
zones = st.one_of(
    st.none(),
    st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23)).map(
        lambda d: dt.timezone(dt.timedelta(seconds=d.total_seconds() // 1))
    ),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(0, 4_000).map(lambda n: -(10**n)), st.floats(allow_nan=False), any_text,
    st.binary(max_size=400), st.datetimes(timezones=zones), st.dates(), st.times(timezones=zones), st.timedeltas(),
    st.decimals(allow_nan=False, allow_infinity=True), st.complex_numbers(allow_nan=False),
    st.builds(FailedCall, st.sampled_from(["timeout", "server"]), any_text),
)  # fmt: skip
keys = st.recursive(
    scalars, lambda inner: st.one_of(st.tuples(inner, inner), st.frozensets(inner, max_size=3)), max_leaves=4
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.tuples(inner, inner), st.dictionaries(keys, inner, max_size=4),
        st.sets(keys, max_size=4), st.frozensets(keys, max_size=4),
    ),
    max_leaves=20,
)  # fmt: skip


def read(data: bytes, step: int = 0) -> Frame:
    reader = FrameReader()
    for at in range(0, len(data), step or len(data)):
        reader.feed(data[at : at + (step or len(data))])
        frame = reader.next()
        if frame is not None:
            return frame
    raise AssertionError("no whole frame")


def same(a: object, b: object) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))  # type: ignore[arg-type]
    if isinstance(a, dict):
        return a == b and all(same(x, y) for x, y in zip(a.values(), b.values(), strict=True))  # type: ignore[union-attr]
    return (a == b and repr(a) == repr(b)) or isinstance(a, set | frozenset)


@given(st.lists(values, max_size=3), st.integers(1, 50))
@settings(max_examples=120, deadline=None)
def test_values_round_trip(items: list[object], step: int) -> None:
    frame = read(pack("x", items, id=5), step)
    assert frame.kind == "x"
    assert frame.fields == {"id": 5}
    assert same(frame.values, items)


def test_odd_floats_and_strings_round_trip() -> None:
    odd = [
        float("nan"),
        float("inf"),
        float("-inf"),
        -0.0,
        1e308,
        "\ud83d\ude00",
        "\ud800" * 300,
        "",
        "a\0",
        2**63,
        -(2**63),
        Decimal("NaN"),
        Decimal("-0"),
    ]
    assert repr(read(pack("x", odd)).values) == repr(odd)


@given(st.binary(max_size=300))
@settings(max_examples=500, deadline=None)
def test_any_bytes_are_a_frame_or_a_typed_error(data: bytes) -> None:
    reader = FrameReader(max_header=4096, max_body=4096)
    reader.feed(data)
    try:
        frame = reader.next()
        assert frame is None or isinstance(frame, Frame)
    except ProtocolError:
        pass


tags = st.sampled_from(
    ["s", "b", "t", "S", "F", "d", "f", "i", "D", "dt", "da", "ti", "td", "c", "x", "zz", ""]
)
nodes = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 10**20),
        st.floats(),
        st.text(max_size=9),
        st.just("inf"),
        st.just("1" * 4999),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(tags, inner, min_size=0, max_size=2)
    ),
    max_leaves=15,
)


@given(nodes, st.lists(st.one_of(st.integers(-2, 40), nodes), max_size=4), st.binary(max_size=60))
@settings(max_examples=300, deadline=None)
@example({"S": [[1]]}, [], b"")
@example({"d": [1]}, [], b"")
@example([{"s": 0}, {"s": 0}], [1], b"a")
@example({"td": [10**18, 0, 0]}, [], b"")
@example({"c": [10**400, 0]}, [], b"")
def test_malformed_headers_are_a_typed_error(node: object, lengths: object, body: bytes) -> None:
    header = json.dumps({"t": "x", "v": [node], "s": lengths}).encode()
    try:
        frame = unpack(header, memoryview(body))
        assert isinstance(frame, Frame)
    except ProtocolError:
        pass


HOSTILE = {
    "deep JSON": b"[" * 100_000,
    "deep lists": b'{"t":"x","s":[],"v":' + b"[" * 80 + b"]" * 80 + b"}",
    "deep tuples": b'{"t":"x","s":[],"v":[' + b'{"t":[' * 70 + b"]}" * 70 + b"]}",
    "many items": b'{"t":"x","s":[],"v":[' + b"[]," * 3_000_000 + b"[]]}",
    "a giant int": b'{"t":"x","s":[],"v":[' + b"9" * 100_000 + b"]}",
    "NaN": b'{"t":"x","s":[],"v":[NaN]}',
    "no object": b"[]",
    "not UTF-8": b"\xff\xfe{}",
    "UTF-16": '{"t":"x","v":[],"s":[]}'.encode("utf-16"),
    "a segment twice": b'{"t":"x","s":[0],"v":[{"b":0},{"b":0}]}',
    "no such segment": b'{"t":"x","s":[],"v":[{"b":0}]}',
    "negative segment": b'{"t":"x","s":[-1,1],"v":[]}',
    "bool as index": b'{"t":"x","s":[0,0],"v":[{"b":true}]}',
    "segments too long": b'{"t":"x","s":[1],"v":[]}',
    "bad surrogates": b'{"t":"x","s":[0],"v":[{"s":0}],"t":5}',
    "two tags": b'{"t":"x","s":[],"v":[{"t":[],"S":[]}]}',
    "unknown tag": b'{"t":"x","s":[],"v":[{"pickle":"gASVAAAA"}]}',
    "unhashable": b'{"t":"x","s":[],"v":[{"S":[[]]}]}',
    "bad date": b'{"t":"x","s":[],"v":[{"dt":"9999-99-99"}]}',
    "bad hex": b'{"t":"x","s":[],"v":[{"i":"zz"}]}',
    "giant hex": b'{"t":"x","s":[],"v":[{"i":"' + b"f" * 4_990 + b'"}]}',
    "giant decimal": b'{"t":"x","s":[],"v":[{"D":"1e999999"}]}',
    "bad decimal": b'{"t":"x","s":[],"v":[{"D":"one"}]}',
    "failed call of no text": b'{"t":"x","s":[],"v":[{"x":["timeout",{"t":[]}]}]}',
    "failed call of no kind": b'{"t":"x","s":[],"v":[{"x":[{"t":[]},""]}]}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers(name: str) -> None:
    started = time.process_time()
    with pytest.raises(ProtocolError):
        unpack(HOSTILE[name], memoryview(b""))
    assert time.process_time() - started < 5


def test_a_frame_that_is_announced_too_large_is_refused_at_once() -> None:
    for head, body in ((2**32 - 1, 0), (10, 2**63), (MAX_HEADER + 1, 0), (0, MAX_BODY + 1)):
        reader = FrameReader()
        reader.feed(PREFIX.pack(head, body))
        with pytest.raises(ProtocolError):
            reader.next()


def test_colliding_keys_do_not_take_quadratic_time() -> None:
    modulus = sys.hash_info.modulus
    for build in (
        lambda ks: {"S": ks},
        lambda ks: {"d": [x for k in ks for x in (k, 0)]},
        lambda ks: {"F": [{"t": [k]} for k in ks]},
    ):
        node = build([{"i": hex(modulus * i)} for i in range(1, 40_000)])
        started = time.process_time()
        with pytest.raises(ProtocolError, match="collide"):
            unpack(json.dumps({"t": "x", "s": [], "v": [node]}).encode(), memoryview(b""))
        assert time.process_time() - started < 5


def test_depth_is_the_same_on_both_sides() -> None:
    value: object = 1
    for _ in range(MAX_DEPTH):
        value = (value,)
    assert read(pack("x", [value])).values == [value]
    with pytest.raises(TypeError, match="64"):
        pack("x", [(value,)])


def test_a_dag_does_not_explode() -> None:
    value: object = "x"
    for _ in range(30):
        value = [value] * 100
    with pytest.raises(TypeError, match="items"):
        pack("x", [value])


def test_large_strings_travel_as_segments() -> None:
    data = pack("x", ["a" * 10**6, "b" * 256])
    head, body = PREFIX.unpack_from(data)
    assert body == 10**6
    assert head < 1_000


def test_several_frames_in_one_read() -> None:
    reader = FrameReader()
    reader.feed(pack("a", [1]) + pack("b", ["x" * 999]) + pack("c")[:5])
    kinds = [frame.kind for frame in iter(reader.next, None)]
    assert kinds == ["a", "b"]


def test_a_batch_of_prompts_is_quick() -> None:
    prompts = [f"{i}" + "p" * 300 for i in range(10_000)]
    started = time.process_time()
    assert read(pack("call", [prompts])).values == [prompts]
    assert time.process_time() - started < 2


def test_the_prefix_is_what_the_docs_say() -> None:
    assert PREFIX.size == struct.calcsize("<IQ") == 12
