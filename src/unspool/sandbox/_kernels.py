"""A Jupyter kernel as a maker of one node: one that is started for it, or one that runs already.

Contract: :class:`Kernel` is what a zygote is to :class:`unspool.sandbox._processes.NodeProcesses`, for one
node alone. A thread of its own starts or finds the kernel, has it begin a REPL
(:mod:`unspool.sandbox._kernel`), hands the node's sockets over, and then is its keeper: it interrupts a cell,
ends a kernel of its own that does not react, and tells when the process is no more. A kernel of somebody is
interrupted only while a cell of ours runs in it, and never ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import select
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import SandboxUnavailable
from . import _sent
from ._launch import ENVIRONMENT
from ._request import Request
from ._screen import Screen
from ._watch import Watch

if TYPE_CHECKING:
    from jupyter_client.blocking.client import BlockingKernelClient
    from jupyter_client.manager import KernelManager

START_SECONDS = 60.0
_CREDENTIALS = struct.Struct("3i")
_KEPT = (*_sent.KEPT, "JUPYTER_PATH")


class _NoKernel(Exception):
    """Why there is none, in words."""


class Kernel:
    """See the module docstring. ``connection_file`` "": one of its own, by the name of its kernelspec."""

    seconds = START_SECONDS + 30.0

    def __init__(self, connection_file: str, kernel: str) -> None:
        self._file, self._name = connection_file, kernel
        self._manager: KernelManager | None = None
        self._failure = ""
        self._room = -1  # what cells print, and which one runs

    def open(self, request: Request, fds: Sequence[int]) -> None:
        """Returns at once."""
        held = [os.dup(fd) for fd in fds]
        self._room = held[3]
        threading.Thread(target=self._live, args=(request, held), name="unspool-kernel", daemon=True).start()

    async def why(self, reason: str) -> SandboxUnavailable:
        return SandboxUnavailable(self._failure or f"the kernel did not begin a REPL: {reason}")

    def gone(self) -> str:
        return self._failure or "the kernel is no more"

    def _live(self, request: Request, held: list[int]) -> None:
        orders = socket.socket(fileno=held[1])
        with contextlib.ExitStack() as stack:
            for fd in (held[0], *held[2:]):
                stack.callback(os.close, fd)
            stack.enter_context(orders)
            try:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="unspool-"))
                stack.callback(_close_loop)
                client = self._client(folder)
                stack.callback(self._end)
                if (process := self._process()) is not None:  # it leads a session
                    stack.enter_context(Watch(process.pid, folder))
                stack.callback(client.stop_channels)
                pid = self._begin(client, folder, request, [held[0], *held[2:]], orders)
                self._keep(pid, orders)
            except _NoKernel as error:
                self._failure = str(error)
            except (OSError, RuntimeError, ValueError) as error:
                self._failure = f"the kernel cannot be used: {type(error).__name__}: {error}"

    def _client(self, folder: str) -> BlockingKernelClient:
        from jupyter_client.blocking.client import BlockingKernelClient
        from jupyter_client.kernelspec import NoSuchKernel
        from jupyter_client.manager import KernelManager

        if self._file:
            client = BlockingKernelClient(connection_file=self._file)
            client.load_connection_file()
        else:
            kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
            manager = KernelManager(
                kernel_name=self._name, transport="ipc", connection_file=os.path.join(folder, "kernel.json")
            )
            try:
                manager.start_kernel(
                    env={**ENVIRONMENT, **kept, "IPYTHONDIR": folder},
                    cwd=folder,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            except NoSuchKernel:
                raise _NoKernel(
                    f"there is no kernel {self._name!r}: pip install ipykernel, "
                    "or see `jupyter kernelspec list`"
                ) from None
            self._manager = manager
            client = manager.blocking_client()
        client.start_channels()
        return client

    def _begin(
        self, client: BlockingKernelClient, folder: str, request: Request, fds: Sequence[int],
        orders: socket.socket,
    ) -> int:  # fmt: skip
        """Has the kernel connect to us; its pid."""
        token, path = secrets.token_hex(16), os.path.join(folder, "s")
        until = time.monotonic() + START_SECONDS
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(path)
            door.listen(1)
            code = _sent.for_kernel(path, token, own=not self._file)
            asked = client.execute(code, silent=True, store_history=False, allow_stdin=False)
            while not (ready := select.select([door.fileno(), orders.fileno()], [], [], 0.05)[0]):
                self._check(client, asked, time.monotonic() > until)
            if orders.fileno() in ready:
                raise _NoKernel("the REPL was closed")
            link, _ = door.accept()
        with link:
            link.settimeout(START_SECONDS)
            if link.recv(64) != token.encode():
                raise _NoKernel("something else than the kernel has connected")
            sender = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            socket.send_fds(link, [json.dumps(request).encode()], fds)
        return int(_CREDENTIALS.unpack(sender)[0])

    def _check(self, client: BlockingKernelClient, asked: str, late: bool) -> None:
        """Whether it is still to be hoped for."""
        if self._manager is not None and not self._manager.is_alive():
            raise _NoKernel("the kernel ended before it was ready")
        with contextlib.suppress(queue.Empty):
            reply = client.get_shell_msg(timeout=0)
            if reply["parent_header"].get("msg_id") == asked and reply["content"]["status"] != "ok":
                told = reply["content"]
                raise _NoKernel(
                    f"the kernel could not begin a REPL: {told.get('ename')}: {told.get('evalue')} "
                    "(it has to be an IPython kernel on this machine, of Python 3.11 or newer)"
                )
        if late:
            raise _NoKernel(
                f"the kernel did not answer within {START_SECONDS:.0f} s: it is busy, as the one is whose "
                "own cell asks, or it is no more"
            )

    def _keep(self, pid: int, orders: socket.socket) -> None:
        """Until the host hangs up, or the process is no more."""
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            while True:
                ready = select.select([orders.fileno(), handle], [], [])[0]
                if handle in ready:
                    self._failure = "the kernel is no more"
                    if self._manager is not None:
                        self._say(orders, self._status())
                        orders.recv(64)
                    return
                order = orders.recv(64).decode("ascii")
                if not order:
                    return
                self._obey(order, handle)
        except OSError:  # the host has gone
            return
        finally:
            os.close(handle)

    def _obey(self, order: str, handle: int) -> None:
        kind, _, number = order.partition(" ")
        with contextlib.suppress(ProcessLookupError):
            if kind == "I" and Screen.running(self._room) == int(number):
                signal.pidfd_send_signal(handle, signal.SIGINT)
            elif kind == "K" and not self._file:
                signal.pidfd_send_signal(handle, signal.SIGKILL)

    def _say(self, orders: socket.socket, status: int) -> None:
        said = {"why": "gone", "n": Screen.running(self._room), "status": status}
        orders.send(json.dumps(said).encode())

    def _status(self) -> int:
        """How a kernel of our own ended, as ``os.wait`` says it."""
        code = None if (process := self._process()) is None else process.wait(5.0)
        return 0 if code is None else -code if code < 0 else code << 8

    def _process(self) -> subprocess.Popen[bytes] | None:
        """Of a kernel of our own."""
        process = getattr(getattr(self._manager, "provisioner", None), "process", None)
        return process if isinstance(process, subprocess.Popen) else None

    def _end(self) -> None:
        if self._manager is not None:
            self._manager.shutdown_kernel(now=True)


def _close_loop() -> None:
    """The client makes one in each thread that has none."""
    from jupyter_core.utils import ensure_event_loop

    ensure_event_loop().close()
