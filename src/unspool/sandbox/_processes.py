"""The processes of one node as the host sees them: a keeper and a worker, over two sockets.

Contract: :meth:`NodeProcesses.open` asks the zygote for them and returns once the REPL is ready, or
raises ``ContextError`` or ``SandboxUnavailable``. What happens afterwards is told to ``listener``: a
frame of the worker's, a message of the keeper's, or that all is lost. ``close`` returns when no
process of the node is left but its keeper, which has removed all of it and has nothing to do but end.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Protocol

from ..errors import ContextError, SandboxUnavailable
from . import _packets
from ._channel import FrameChannel, PacketChannel
from ._frames import Frame, FrameReader, ProtocolError, pack
from ._handover import Handed
from ._request import Request
from ._screen import Screen
from ._texts import memory_file, seal
from .protocol import ReplSpec

Pair = tuple[socket.socket, socket.socket]
CLOSE_SECONDS = 5.0
KEEPER_SECONDS = 2.0
FORK_SECONDS = 15.0
_SMALL_FRAME = 4 << 20  # what a checkpoint may say
_OF_ONE_SIZE = 0x1 | 0x2 | 0x4  # no more seals, no shrinking, no growing


class Listener(Protocol):
    """Who runs a cell in the node."""

    def on_frame(self, frame: Frame) -> None: ...

    def on_keeper(self, message: dict[str, object]) -> None: ...

    def on_lost(self, reason: str) -> None: ...


class Maker(Protocol):
    """Who makes the processes: a zygote, or a command that leads to an interpreter."""

    @property
    def seconds(self) -> float:
        """In which they have to be ready."""

    def open(self, request: Request, fds: Sequence[int]) -> None:
        """Asks for them; ``fds``: the worker's socket, the keeper's, the context, room for the screen."""

    async def why(self, reason: str) -> SandboxUnavailable:
        """Why they are not ready, where ``reason`` is all that the node knows."""

    def gone(self) -> str:
        """Why they are no more, where the keeper could not say so."""


class NodeProcesses:
    """See the module docstring."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        self.listener: Listener | None = None
        self.lost: str | None = None
        self.gone = ""  # why its keeper is no more
        self._control: FrameChannel | None = None
        self._orders: PacketChannel | None = None
        self._shown = 0
        self._room: int | None = None  # a memfd with what cells print
        self._opened: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._ended = asyncio.Event()

    async def open(self, spec: ReplSpec, handed: Handed, request: Request) -> None:
        self._shown, self._room = spec.shown, _room(spec.shown)
        try:
            (control, theirs), (orders, keepers) = _pairs(socket.socketpair, _packets.pair)
        except OSError:
            self._close_control()
            raise
        try:
            self._maker.open(request, [theirs.fileno(), keepers.fileno(), handed.fd, self._room])
        except BaseException:  # whatever happened, nothing was opened
            control.close()
            orders.close()
            self._close_control()
            raise
        finally:
            theirs.close()
            keepers.close()
        self._attach(control, orders)
        values = [list(spec.tools), list(spec.imports), spec.seed]
        without = list(spec.without)
        self._send(pack("open", values, shown=spec.shown, tables=spec.tables, without=without))
        await self._ready(self._maker.seconds)

    async def fork(self, memory: int) -> NodeProcesses:
        """A REPL with all that is in this one, between two cells. ``memory``: bytes that all of them together
        may use more. Raises ``SandboxUnavailable`` with what is in the way."""
        twin = NodeProcesses(self._maker)
        twin._shown, twin._room = self._shown, _room(self._shown)
        try:
            (control, theirs), (orders, keepers), (desk, workers) = _pairs(
                socket.socketpair, _packets.pair, _packets.pair
            )
        except OSError:
            twin._close_control()
            raise
        twin._attach(control, orders)
        assert self._orders is not None
        with theirs, keepers, desk, workers:
            try:
                fds = _dups(theirs.fileno(), workers.fileno(), twin._room)
            except OSError:
                twin._hang_up()
                raise
            self._orders.send(f"F {memory}".encode(), (keepers.fileno(), desk.fileno()))
            self._send(pack("fork"), fds)
        await twin._ready(FORK_SECONDS)
        return twin

    def _attach(self, control: socket.socket, orders: socket.socket) -> None:
        reader = FrameReader(max_header=_SMALL_FRAME, max_body=_SMALL_FRAME)
        self._control = FrameChannel(control, reader, self._on_frame, self._on_control_lost)
        self._orders = PacketChannel(orders, self._on_packet)

    async def _ready(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                frame = await self._opened
        except asyncio.CancelledError:
            # A zygote that is not warm yet may take seconds for it.
            self._hang_up()
            raise
        except BaseException as error:
            await self.close()
            if isinstance(error, TimeoutError):
                late = await self._maker.why(f"it was not ready within {seconds:.0f} s")
                raise SandboxUnavailable(str(late)) from None
            if isinstance(error, _Lost):
                raise await self._maker.why(str(error)) from None
            raise
        if frame.kind != "ready":
            await self.close()
            message = str(frame.values[0]) if frame.values else "the REPL did not open"
            if frame.fields.get("context"):
                raise ContextError(message[:2_000])
            raise SandboxUnavailable(f"the REPL did not start: {message[:2_000]}")

    def start_cell(self, number: int, channel: socket.socket) -> None:
        self._send(pack("cell", n=number), (os.dup(channel.fileno()),))

    def _send(self, data: bytes, fds: tuple[int, ...] = ()) -> None:
        assert self._control is not None
        self._control.send(data, fds)

    def order(self, kind: str, number: int) -> None:
        """``I`` interrupts a cell, ``K`` kills it, ``S`` asks what there is of it."""
        assert self._orders is not None
        self._orders.send(f"{kind} {number}".encode())

    def hear_keeper(self) -> None:
        """Takes in what the keeper has said up to now."""
        if self._orders is not None:
            self._orders.read()

    def screen(self) -> Screen | None:
        """What the last cell has printed, and its last word, where its process cannot say so any more. A
        copy: a hostile process writes to the file, and may cut it off where there are no seals."""
        if self._room is None:
            return None
        screen = Screen(self._shown)
        screen.fill(os.pread(self._room, Screen.size(self._shown), 0))
        return screen

    def _hang_up(self) -> None:
        """Without the host's end of its socket, the keeper ends the node, whenever it comes to life."""
        self._close_control()
        if self._orders is not None:
            self._orders.close()

    def _close_control(self) -> None:
        if self._room is not None:
            os.close(self._room)
            self._room = None
        if self._control is not None:
            self._control.close()

    async def close(self) -> None:
        """Ends the node: see the module docstring. Twice is fine."""
        self._close_control()
        if self._orders is not None and self._orders.open:
            self._orders.finish()
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._ended.wait()
            except TimeoutError:  # the kernel is still busy with it; nothing more can be done from here
                pass
            finally:
                self._orders.close()

    def _on_frame(self, frame: Frame) -> None:
        if not self._opened.done():
            if frame.kind not in ("ready", "failed"):
                raise ProtocolError(f"{frame.kind!r} before the REPL is ready")
            self._opened.set_result(frame)
        elif self.listener is None:
            raise ProtocolError(f"{frame.kind!r} while no cell runs")
        else:
            self.listener.on_frame(frame)

    def _on_control_lost(self, reason: str) -> None:
        """The keeper knows better how the worker has ended, and will say so."""
        if reason or not self._opened.done():
            self._on_lost(reason)
        else:
            asyncio.get_running_loop().call_later(
                KEEPER_SECONDS, self._on_lost, "the worker closed its channel"
            )

    def _on_packet(self, data: bytes) -> None:
        if not data:
            self._ended.set()
            self.gone = self._maker.gone()
            self._on_lost(self.gone)
            return
        message = json.loads(data)
        if self.listener is not None:
            self.listener.on_keeper(message)
        if message.get("why") == "gone":
            self._on_lost("the REPL's process ended")

    def _on_lost(self, reason: str) -> None:
        if self.lost is not None:
            return
        self.lost = reason or "the worker closed its channel"
        if not self._opened.done():
            self._opened.set_exception(_Lost(self.lost))
        if self.listener is not None:
            self.listener.on_lost(self.lost)


def _room(shown: int) -> int:
    """A file for the screen, with a size that nobody can change."""
    fd = memory_file("screen")
    os.ftruncate(fd, Screen.size(shown))
    seal(fd, _OF_ONE_SIZE)
    return fd


def _pairs(*makers: Callable[[], Pair]) -> list[Pair]:
    """Sockets of all kinds, or none."""
    with ExitStack() as made:
        pairs: list[Pair] = []
        for make in makers:
            pairs.append(pair := make())
            for end in pair:
                made.enter_context(end)
        made.pop_all()
        return pairs


def _dups(*fds: int) -> tuple[int, ...]:
    """Descriptors of the same, all or none."""
    with ExitStack() as made:
        dups: list[int] = []
        for fd in fds:
            dups.append(dup := os.dup(fd))
            made.callback(os.close, dup)
        made.pop_all()
        return tuple(dups)


class _Lost(Exception):
    """The processes ended before the REPL was ready."""
