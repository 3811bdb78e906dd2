"""Workers that send whatever they like: the host neither fails, hangs, nor grows.

A double of the zygote gives the host a worker that plays a script over real sockets, beside a keeper that
is honest, as keepers are: they run no model code.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from unspool.errors import ContextError, HostCallError, SandboxUnavailable
from unspool.sandbox._cell import CellEnd, CellRun
from unspool.sandbox._frames import MAX_HEADER, PREFIX, FrameReader, pack
from unspool.sandbox._handover import hand_over
from unspool.sandbox._processes import NodeProcesses
from unspool.sandbox._values import MAX_DEPTH
from unspool.sandbox.protocol import HostCall, HostReply, ReplSpec

SECONDS = 8.0  # more than any example may take
GROWTH = 48 << 20
Place = Literal["cell", "node"]


@dataclass(frozen=True)
class Say:
    """Bytes over the cell's channel or over the node's."""

    place: Place
    data: bytes


@dataclass(frozen=True)
class Again:
    """What was said before, once more, perhaps on the other channel."""

    place: Place
    which: int


@dataclass(frozen=True)
class Shut:
    place: Place


Act = Say | Again | Shut


@dataclass(frozen=True)
class Script:
    """``opening``: instead of "ready". ``ending``: it dies, hangs, or ends the cell as it should."""

    acts: tuple[Act, ...] = ()
    opening: bytes = pack("ready")
    ending: Literal["die", "hang", "end"] = "die"


class HostileZygote:
    """Gives out one node, which plays a script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.threads: list[threading.Thread] = []
        self.dead = threading.Event()
        self.seconds = SECONDS

    def open(self, request: object, fds: Sequence[int]) -> None:
        control, orders = (socket.socket(fileno=os.dup(fd)) for fd in fds[:2])
        for play, sock in ((self._worker, control), (self._keeper, orders)):
            self.threads.append(threading.Thread(target=play, args=(sock,)))
            self.threads[-1].start()

    async def why(self, reason: str) -> SandboxUnavailable:
        return SandboxUnavailable(reason)

    def gone(self) -> str:
        return "the keeper is gone"

    def _worker(self, control: socket.socket) -> None:
        try:
            with control:
                self._play(control)
        except OSError:  # the host has hung up
            pass
        finally:
            self.dead.set()

    def _play(self, control: socket.socket) -> None:
        control.settimeout(SECONDS)
        reader = FrameReader()
        while reader.next() is None:
            reader.feed(control.recv(65_536))
        control.sendall(self.script.opening)
        data, fds, _, _ = socket.recv_fds(control, 65_536, 1)
        if not data:
            return
        with socket.socket(fileno=fds[0]) as channel:
            channel.settimeout(SECONDS)
            reader = FrameReader()
            while reader.next() is None:  # the code
                reader.feed(channel.recv(65_536))
            said: list[bytes] = [pack("ready")]
            for act in self.script.acts:
                sock = channel if act.place == "cell" else control
                if isinstance(act, Shut):
                    sock.close()
                    continue
                data = act.data if isinstance(act, Say) else said[act.which % len(said)]
                said.append(data)
                sock.sendall(data)
            if self.script.ending == "end":
                channel.sendall(GOOD_END)
            if self.script.ending != "die":
                while control.recv(65_536):
                    pass

    def _keeper(self, orders: socket.socket) -> None:
        with orders:
            orders.settimeout(0.01)
            while True:
                try:
                    order = orders.recv(64)
                except TimeoutError:
                    if not self.dead.is_set():
                        continue
                    order = b"K"
                if not order:
                    return
                if order.startswith(b"K"):
                    orders.send(json.dumps({"why": "gone", "n": 1, "status": 9}).encode())
                    orders.settimeout(SECONDS)


GOOD_END = pack("end", ["good", None, [], [], None], n=1, outcome="ok", printed=4, omitted=0)
PLAY = "play"


async def on_call(call: HostCall) -> HostReply:
    """A host that answers, refuses, takes its time, and ends."""
    await asyncio.sleep(0)
    if call.name == "slow":
        await asyncio.sleep(0.05)
    if call.name == "refuse":
        raise HostCallError("ValueError", "no")
    return HostReply(call.args, end=call.name == "submit")


async def meet(script: Script) -> CellEnd | None:
    """One cell with that worker; ``None`` where it did not even open."""
    loop, strange = asyncio.get_running_loop(), list[dict[str, object]]()
    loop.set_exception_handler(lambda _, context: strange.append(context))
    zygote = HostileZygote(script)
    node, handed = NodeProcesses(zygote), hand_over("context")
    request = {"memory": 1, "mapped": 0, "context": "ascii", "start": 0, "length": 7}
    try:
        async with asyncio.timeout(SECONDS):
            await node.open(ReplSpec("context", shown=100), handed, request)  # type: ignore[arg-type]
            end = await CellRun(node, 1, on_call).run(PLAY, 0.02)
    except (ContextError, SandboxUnavailable):
        end = None
    finally:
        await node.close()
        handed.close()
    for thread in zygote.threads:
        await asyncio.to_thread(thread.join, SECONDS)
        assert not thread.is_alive()
    await asyncio.sleep(0)
    assert strange == []
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return end


# ----------------------------------------------------------------------------- what it may send

numbers = st.one_of(st.integers(-2, 3), st.sampled_from([2**31, 2**62, 2**63, -(2**70), 10**400]))
odd = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.floats(allow_nan=False), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
kinds = st.sampled_from(
    ["call", "end", "rolled_back", "ready", "failed", "cell", "open", "reply", "error", "", "x" * 300]
)
outcomes = st.sampled_from(["ok", "error", "submitted", "interrupted", "rolled_back", "great", ""])
plain = st.recursive(
    st.one_of(
        st.none(),
        st.integers(),
        st.text(max_size=20),
        st.binary(max_size=20),
        st.text(min_size=300, max_size=310),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def framed(draw: st.DrawFn) -> bytes:
    """A frame that is well-formed, with anything in it."""
    fields = draw(st.dictionaries(
        st.sampled_from(["id", "n", "name", "outcome", "printed", "omitted", "status", "word", "context", "shown"]),
        st.one_of(numbers.filter(lambda n: abs(n) < 2**80), odd, outcomes), max_size=6,
    ))  # fmt: skip
    return pack(draw(kinds), draw(st.lists(plain, max_size=5)), **fields)


@st.composite
def called(draw: st.DrawFn) -> bytes:
    """A call as it should be, or nearly: ids in use, names of anything."""
    name = draw(st.sampled_from(["llm_query", "submit", "slow", "refuse", "nothing"]))
    args = draw(st.lists(plain, max_size=2))
    return pack("call", [*args, draw(st.one_of(st.just({}), plain))], id=draw(st.integers(0, 3)), name=name)


@st.composite
def ended(draw: st.DrawFn) -> bytes:
    """The end of a cell as it should be, but for one thing or another."""
    values = [
        draw(st.one_of(st.just("output"), plain)),
        draw(st.one_of(st.none(), st.just(("E", "m", "t", 1)), plain, st.tuples(plain, plain, plain, plain))),
        draw(st.one_of(st.just(["a note"]), plain, st.lists(plain, max_size=3))),
        draw(st.one_of(st.just([]), plain, st.lists(plain, max_size=3))),
        draw(st.one_of(st.none(), st.binary(max_size=80), plain)),
    ]
    if draw(st.booleans()):
        fields = {"n": 1, "outcome": "ok", "printed": 6, "omitted": 0}
        return pack(
            "end", values, **fields | draw(st.dictionaries(st.sampled_from(list(fields)), odd, max_size=1))
        )
    fields = {"n": 1, "status": 9, "word": "", "printed": 6, "omitted": 0}
    changed = draw(st.dictionaries(st.sampled_from(list(fields)), odd, max_size=1))
    return pack("rolled_back", values[: draw(st.sampled_from([0, 1]))] + values[4:], **fields | changed)


@st.composite
def malformed(draw: st.DrawFn) -> bytes:
    """A header that is JSON and no frame, with any body and any lengths."""
    header = {
        "t": draw(st.one_of(kinds, odd)),
        "v": draw(odd),
        "s": draw(st.one_of(st.lists(numbers, max_size=3), odd)),
    }
    header |= draw(st.dictionaries(st.sampled_from(["id", "n", "t"]), odd, max_size=2))
    text, body = json.dumps(header).encode(), draw(st.binary(max_size=40))
    sizes = (
        (len(text), len(body))
        if draw(st.booleans())
        else (draw(st.integers(0, 99)), draw(st.integers(0, 99)))
    )
    return PREFIX.pack(*sizes) + text + body


announced = st.builds(
    lambda head, body, data: PREFIX.pack(head, body) + data,
    st.sampled_from([0, 1, MAX_HEADER, MAX_HEADER + 1, 2**32 - 1]),
    st.sampled_from([0, 1, 1 << 28, (1 << 28) + 1, 2**64 - 1]),
    st.binary(max_size=60),
)
nested = st.builds(
    lambda opener, closer, depth: _raw(f'{{"t":"call","v":[{opener * depth}{closer * depth}],"s":[],"id":1,"name":"x"}}'),
    st.just('{"t":['), st.just("]}"), st.sampled_from([MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 2_000, 100_000]),
)  # fmt: skip


def _raw(header: str) -> bytes:
    return PREFIX.pack(len(header.encode()), 0) + header.encode()


@st.composite
def cut(draw: st.DrawFn) -> bytes:
    whole = draw(st.one_of(framed(), called(), ended(), st.just(GOOD_END)))
    return whole[: draw(st.integers(0, len(whole)))]


data = st.one_of(
    framed(),
    called(),
    ended(),
    malformed(),
    announced,
    nested,
    cut(),
    st.binary(max_size=80),
    st.just(GOOD_END),
)
places: st.SearchStrategy[Place] = st.sampled_from(["cell", "cell", "cell", "node"])
acts: st.SearchStrategy[Act] = st.one_of(
    st.builds(Say, places, data), st.builds(Say, places, data), st.builds(Say, places, data),
    st.builds(Again, places, st.integers(0, 5)), st.builds(Shut, places),
)  # fmt: skip
openings = st.integers(0, 9).flatmap(
    lambda n: st.just(pack("ready")) if n else data.filter(lambda said: len(said) > 12)
)
scripts = st.builds(
    Script,
    st.lists(acts, max_size=6).map(tuple),
    openings,
    st.sampled_from(["die", "die", "end", "end", "end", "hang"]),
)


def opens(script: Script) -> Script:
    """An opening that is not even a whole frame would be waited for: such a worker dies instead."""
    reader = FrameReader()
    reader.feed(script.opening)
    try:
        whole = reader.next() is not None
    except Exception:  # it is broken, which the host sees, too
        whole = True
    return script if whole else Script(script.acts, pack("failed", ["no"]), script.ending)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts.map(opens))
@example(Script((Say("cell", GOOD_END), Again("cell", 1)), ending="end"))
@example(
    Script((Say("node", pack("rolled_back", ["x", None], n=1, status=0, word="", printed=1, omitted=0)),))
)
@example(Script((Say("cell", pack("call", [{}], id=1, name="slow")),) * 2, ending="end"))
@example(Script((Shut("cell"), Shut("node")), ending="hang"))
@example(Script(opening=pack("failed", ["why"], context=True)))
def test_whatever_a_worker_sends_the_host_goes_on(script: Script) -> None:
    started, files = time.monotonic(), len(os.listdir("/proc/self/fd"))
    tracemalloc.start()
    try:
        end = asyncio.run(meet(script))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert end is None or end.how in ("end", "rolled_back", "lost")
    assert end is None or (type(end.output) is str and all(type(note) is str for note in end.notes))
    assert time.monotonic() - started < SECONDS
    assert peak < GROWTH
    assert len(os.listdir("/proc/self/fd")) <= files + 1  # the garbage collector may lag by one


async def test_a_worker_that_behaves_is_understood() -> None:
    end = await meet(Script((Say("cell", pack("call", ["a", {}], id=1, name="llm_query")),), ending="end"))
    assert end is not None
    assert (end.how, end.outcome, end.output) == ("end", "ok", "good")


async def test_frames_of_a_cell_that_is_over_are_dropped() -> None:
    late = pack("end", ["late", None, [], [], None], n=1, outcome="error", printed=4, omitted=0)
    end = await meet(Script((Say("cell", GOOD_END + late), Again("cell", 1)), ending="hang"))
    assert end is not None
    assert (end.how, end.output) == ("end", "good")


async def test_a_flood_is_read_no_faster_than_it_is_answered() -> None:
    """Ten thousand calls that nobody answers: at most a few hundred are ever taken."""
    flood = b"".join(pack("call", ["x" * 200, {}], id=n, name="never") for n in range(10_000))
    open_at_once = most = 0

    async def never(call: HostCall) -> HostReply:
        nonlocal open_at_once, most
        open_at_once += 1
        most = max(most, open_at_once)
        try:
            await asyncio.sleep(3_600)
        finally:
            open_at_once -= 1
        return HostReply()

    zygote = HostileZygote(Script((Say("cell", flood),), ending="hang"))
    node, handed = NodeProcesses(zygote), hand_over("")
    request = {"memory": 1, "mapped": 0, "context": "ascii", "start": 0, "length": 0}
    await node.open(ReplSpec("", shown=100), handed, request)  # type: ignore[arg-type]
    running = asyncio.create_task(CellRun(node, 1, never).run(PLAY, 1.0))
    await asyncio.sleep(0.5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await node.close()
    handed.close()
    assert 0 < most <= 512
    assert open_at_once == 0
    for thread in zygote.threads:
        await asyncio.to_thread(thread.join, SECONDS)
