"""The REPL in a Jupyter kernel: what runs there, in the kernel's own process.

Contract: :func:`begin` is called by a request of the host's in the kernel's main thread. It connects to the
host's socket, shows the token, and makes a REPL with a namespace of its own. A thread listens for cells;
each runs on the kernel's loop, in its main thread, where an interrupt reaches it. Between cells, what
the REPL has put in the place of others (streams, builtins, ``__main__``, the handler of SIGINT, the loop) is
back as it was: in a notebook of somebody, nobody sees that we were there. Standard library only.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import cast

from . import _parcel, _texts, worker
from ._calls import Calls
from ._frames import Frame, FrameReader, pack
from ._reach import reach
from ._repl import Repl, Reserve, not_opened
from ._screen import Screen

reach("desk")  # loaded before a REPL looks for it
_NAMES = ("input", "exit", "quit", "help")


class Aside:
    """What a REPL puts in the place of others, swapped at each step between it and the kernel."""

    def __init__(self) -> None:
        self._kept: list[object] | None = None
        self._theirs: tuple[object, ...] = ()

    def __enter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._policy = asyncio.get_event_loop_policy()
        asyncio._set_running_loop(None)
        self._signal = signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # until a cell of ours wants it
        theirs = _seen()
        if self._kept is not None:
            _put(self._kept)
        self._kept = theirs

    def __exit__(self, *_: object) -> None:
        ours = _seen()
        assert self._kept is not None
        _put(self._kept)
        self._kept = ours
        signal.signal(signal.SIGINT, self._signal or signal.default_int_handler)
        asyncio.set_event_loop_policy(self._policy)
        asyncio.set_event_loop(self._loop)
        asyncio._set_running_loop(self._loop)


def _seen() -> list[object]:
    streams = [getattr(sys, name) for name in _STREAMS]
    return [
        *streams, threading.excepthook, sys.modules["__main__"],
        *[getattr(builtins, name, None) for name in _NAMES],
    ]  # fmt: skip


_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")


def _put(values: list[object]) -> None:
    count = len(_STREAMS)
    for name, value in zip(_STREAMS, values[:count], strict=True):
        setattr(sys, name, value)
    threading.excepthook = cast("Callable[[threading.ExceptHookArgs], object]", values[count])
    sys.modules["__main__"] = values[count + 1]  # type: ignore[assignment]
    for name, value in zip(_NAMES, values[count + 2 :], strict=True):
        if value is not None:
            setattr(builtins, name, value)


class Room:
    """One REPL in this kernel."""

    def __init__(self, link: socket.socket, own: bool, names: dict[str, object]) -> None:
        data, fds, _, _ = socket.recv_fds(link, 1 << 16, 8)
        link.close()
        self._request = json.loads(data)
        control, self._context, self._screen = fds
        self._control = socket.socket(fileno=control)
        self._own = own
        self._names = names
        self._aside = Aside()
        self._loop = asyncio.get_running_loop()
        self._frames = FrameReader()

    def open(self) -> None:
        """In the main thread."""
        frame, _ = self._next() or sys.exit("the host has gone")
        shown = frame.number("shown", 1 << 24)
        seed = cast("int | None", frame.values[2])
        try:
            with self._aside:
                if self._own:
                    self._limit()
                    if seed is not None:
                        worker.reseed(seed)
                screen = Screen(shown, self._screen)
                os.close(self._screen)
                if self._own:
                    screen.attach()
                    # What the kernel tells of its own sockets is no output of a cell.
                    logging.getLogger("tornado").handlers[:] = [logging.NullHandler()]
                    logging.getLogger("tornado").propagate = False
                context = self._load()
                marks = reach("marks").Marks(context)
                self._repl = Repl.asked_for(frame, screen, context, Reserve(), marks)
        except Exception as error:  # whatever it is, the host is told
            self._control.sendall(not_opened(error))
            return
        self._control.sendall(pack("ready"))
        threading.Thread(target=self._listen, name="unspool", daemon=True).start()

    def _load(self) -> object:
        request = self._request
        if request["context"] == "pickle":
            _parcel.live = None if self._own else self._names
            return _parcel.open_parcel(self._context, zero_copy=False)
        text = _texts.map_text(
            self._context, request["context"], request["start"], request["length"], zero_copy=False
        )
        os.close(self._context)
        return text

    def _limit(self) -> None:
        import resource

        with open("/proc/self/statm", "rb") as file:
            now = int(file.read().split()[5]) * resource.getpagesize()
        most = now + self._request["memory"] + self._request["mapped"]
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))

    def _next(self) -> tuple[Frame, list[int]] | None:
        found: list[int] = []
        while (frame := self._frames.next()) is None:
            data, fds, _, _ = socket.recv_fds(self._control, 65_536, 8)
            if not data:
                return None
            self._frames.feed(data)
            found += fds
        return frame, found

    def _listen(self) -> None:
        """In a thread: cells come one after another, for the host waits for the end of each."""
        while (came := self._next()) is not None:
            frame, fds = came
            done = threading.Event()
            self._loop.call_soon_threadsafe(self._cell, frame.number("n"), socket.socket(fileno=fds[0]), done)
            done.wait()
        self._control.close()

    def _cell(self, number: int, channel: socket.socket, done: threading.Event) -> None:
        """In the main thread."""
        repl = self._repl
        try:
            with channel, self._aside:
                repl.interrupts.install()
                repl.screen.state = number
                calls = repl.calls = _Calls(channel, repl.interrupts)
                code = cast(str, calls.receive().values[0])
                if repl.marks is not None:
                    repl.marks.cell_began(code)
                ended = repl.run(number, code)
                repl.finish(ended)
                calls.drop()
                repl.screen.state = 0
                calls.send(repl.told(number, ended))
        except OSError:  # the host has gone, or the cell has closed our socket
            pass
        finally:
            repl.screen.state = 0
            done.set()


class _Calls(Calls):
    """Those of a cell that may have been given up before its turn came; the kernel is not ours to end."""

    def receive(self) -> Frame:
        while (frame := self._frames.next()) is None:
            self._read()
            if self._lost:
                raise ConnectionAbortedError("the cell was given up")
        return frame


def begin(path: str, token: str, own: bool, names: dict[str, object]) -> None:
    """See the module docstring. ``names``: those of the notebook."""
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    link.sendall(token.encode())
    Room(link, own, names).open()
