"""The keeper: one process per node that watches and ends the node's processes. Runs no model code.

Contract: it is forked from the zygote, forks the worker, and lives until the host's end of
``orders`` closes; then it kills everything of the node and ends. It knows which process runs the
cell from messages over ``desk`` whose sender the kernel vouches for (SO_PASSCRED), so that a
process can speak for itself alone. From the host: ``I n`` interrupts cell n, ``K n`` kills it and
every stray process, but not the checkpoint, ``S n`` asks what there is of a cell that neither of
these has ended. To the host: one JSON object a message, with ``why``: ``memory``, ``scratch``,
``processes`` (a limit: cell n was killed for it), ``gone`` (nothing is left that could go on) or
``state``. Code in a cell can write to ``desk``, too: so nothing here waits for a reader of it, and
no more is read at once than a few messages. Standard library only; importable as a sibling module too.

A REPL may be forked (see :mod:`_branching`): ``F bytes``, with the sockets ``orders`` and ``desk`` of the
new one. Its process says over ``desk`` that it has been told so, too: by then all is heard and done that it
said before, and nothing that is still to be ended can be mistaken for the fork. Each REPL of a node has a
:class:`Ward`, with its own limits, and ends by itself; the node ends with the last of them. A process that
has lost its parent is counted to the REPL in which it was seen, or else to each that runs a cell, and it is
killed when no other one does.

>>> descendants(2**22)
[]
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._branching import Rooms
if TYPE_CHECKING or __package__:
    from ._descent import children, descendants, end_all, newest
    from ._wards import Limits, Node, Ward
else:
    from _descent import children, descendants, end_all, newest
    from _wards import Limits, Node, Ward

__all__ = ["Keeper", "Limits", "children", "descendants", "end_all", "newest", "run_keeper"]


class Keeper:
    """See the module docstring."""

    def __init__(
        self, orders: socket.socket, desk: socket.socket, worker: int, limits: Limits, rooms: Rooms
    ) -> None:
        self._node = Node(worker)
        self._node.wards.append(Ward(self._node, orders, desk, limits, repl=worker))
        self._rooms = rooms

    @property
    def links(self) -> list[socket.socket]:
        """To the host."""
        return [ward.orders for ward in self._node.wards]

    def serve(self, wakeup: int) -> None:
        """Until the host goes. ``wakeup`` is readable when a child has died."""
        wards = self._node.wards
        poll, polled = select.poll(), (0, 0)
        while True:
            if polled != (now := (len(wards), sum(ward.listening for ward in wards))):
                poll, polled = self._poll(wakeup), now
            soon = min(ward.next_sample for ward in wards)
            ready = {fd for fd, _ in poll.poll(max(1.0, 1000 * (soon - time.monotonic())))}
            if wakeup in ready:
                os.read(wakeup, 4096)
            for ward in wards:
                ward.read_desk()
            self._reap()
            for ward in [ward for ward in wards if ward.orders.fileno() in ready]:
                if not self._obey(ward):
                    if len(wards) == 1:
                        return
                    self._end(ward)
                    polled = (0, 0)
            for ward in [ward for ward in wards if ward.asked and ward.forks]:
                ward.asked -= 1
                self._fork(ward, *ward.forks.pop(0))
            for ward in wards:
                if time.monotonic() >= ward.next_sample:
                    ward.next_sample = time.monotonic() + ward.sample()
                    self._node.share()

    def _poll(self, wakeup: int) -> select.poll:
        poll = select.poll()
        poll.register(wakeup, select.POLLIN)
        for ward in self._node.wards:
            for link in (ward.orders, ward.desk) if ward.listening else (ward.orders,):
                poll.register(link, select.POLLIN)
        return poll

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            for ward in self._node.wards:
                ward.ended(pid, status)

    def _obey(self, ward: Ward) -> bool:
        try:
            order, fds, _, _ = socket.recv_fds(ward.orders, 64, 2)
        except OSError:
            return False
        if not order:
            return False
        kind, _, number = order.decode("ascii").partition(" ")
        if kind == "F":
            orders, desk = (socket.socket(fileno=fd) for fd in fds)
            ward.forks.append((int(number), orders, desk))
        else:
            ward.carry_out(kind, int(number))
        return True

    def _fork(self, ward: Ward, memory: int, orders: socket.socket, desk: socket.socket) -> None:
        """Makes room for a fork of a REPL, which waits for that at its end of ``desk``."""
        limits, room = ward.limits, None
        try:
            if ward.room is not None:
                raise OSError("it is a fork itself")
            room = self._rooms.make(ward.repl)
        except OSError as error:
            desk.send(json.dumps({"why": error.strerror or str(error)}).encode())
        else:
            desk.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            socket.send_fds(desk, [json.dumps({"path": room.path}).encode()], room.rulesets)
            for fd in room.rulesets:
                os.close(fd)
            limits = replace(limits, measure_scratch=room.measure)
            self._node.memory = memory + (self._node.memory or limits.memory)
        self._node.wards.append(Ward(self._node, orders, desk, limits, base=ward.base, room=room))

    def _end(self, ward: Ward) -> None:
        """One of several REPLs is closed."""
        ward.close()
        self._node.wards.remove(ward)
        ward.orders.close()  # the host waits for that


def run_keeper(
    orders: socket.socket, desk: socket.socket, worker: int, limits: Limits, rooms: Rooms
) -> list[socket.socket]:
    """The keeper's life; ends the node with it. What it returns tells the host, once it is closed."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    keeper = Keeper(orders, desk, worker, limits, rooms)
    try:
        keeper.serve(reader)
    finally:
        end_all(worker)
    return keeper.links
