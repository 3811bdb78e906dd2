"""What there is on the host to go for: real, planted, and watched.

Servers that note every contact, files that everyone may read and write, a process to reach, memory
that is shared. :meth:`Targets.untouched` and :attr:`Targets.contacts` tell whether anything got there,
whatever an attack says of itself.

>>> with Targets() as targets:
...     targets.untouched(), targets.reach()
(True, ['abstract', 'tcp', 'udp', 'unix', 'unix datagram'])
"""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import socket
import stat
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import cast


class Targets:
    """Planted for the time of a ``with`` block."""

    def __init__(self) -> None:
        self.contacts: list[str] = []
        self.secret = f"planted-{secrets.token_hex(12)}"
        self._stack = contextlib.ExitStack()
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Targets:
        with contextlib.ExitStack() as stack:
            self._stack = stack
            self._plant_files()
            numbers = self._start_servers()
            cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            stack.callback(cat.wait)
            if cat.stdin is not None:
                stack.callback(cat.stdin.close)
            memory_file = os.memfd_create("planted")
            stack.callback(os.close, memory_file)
            os.write(memory_file, self.secret.encode())
            self.known: dict[str, object] = numbers | {
                "folder": str(self.folder), "secret": str(self.folder / "secret"),
                "writable": str(self.folder / "writable"), "shared_memory": str(self._shared),
                "host": os.getpid(), "host_group": os.getpgrp(), "victim": cat.pid,
                "memory_file": memory_file,
            }  # fmt: skip
            self._before = self._look()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def untouched(self) -> bool:
        """Whether the files are as they were, and no others beside them."""
        return self._look() == self._before

    def texts(self) -> set[str]:
        """What is in the files, as anyone on the host may read them."""
        return {Path(str(self.known[name])).read_text() for name in ("secret", "writable", "shared_memory")}

    def reach(self) -> list[str]:
        """Contact each server from here, as anyone on the host may; the contacts that it got noted."""
        known = self.known
        already = len(self.contacts)
        socket.create_connection(("127.0.0.1", cast(int, known["tcp"])), timeout=5).close()
        for address in (cast(str, known["unix"]), f"\0{known['abstract']}"):
            with socket.socket(socket.AF_UNIX) as stream:
                stream.connect(address)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
            datagram.sendto(b"in", ("127.0.0.1", cast(int, known["udp"])))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram:
            datagram.sendto(b"in", cast(str, known["unix_datagram"]))
        for _ in range(500):
            if len(self.contacts) - already >= 5:
                break
            threading.Event().wait(0.01)
        found, self.contacts[already:] = self.contacts[already:], []
        return sorted(found)

    def _plant_files(self) -> None:
        # Everybody may read and write here: only the sandbox keeps code out.
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="unspool-attack-"))
        self.folder = Path(folder)
        self.folder.chmod(0o777)
        (self.folder / "empty").mkdir()
        shared = "/dev/shm" if os.path.isdir("/dev/shm") else folder
        self._shared = Path(shared) / f"unspool-attack-{secrets.token_hex(8)}"
        for path in (self.folder / "secret", self.folder / "writable", self._shared):
            path.write_text(self.secret)
            path.chmod(0o666)
        if shared != folder:
            self._stack.callback(self._shared.unlink, missing_ok=True)

    def _look(self) -> dict[str, object]:
        paths = [self.folder, *sorted(self.folder.iterdir()), self._shared]
        found: dict[str, object] = {}
        for path in paths:
            status = path.lstat()
            text = path.read_text() if stat.S_ISREG(status.st_mode) else ""
            found[str(path)] = (status.st_mode, status.st_uid, status.st_mtime_ns, status.st_ino, text)
        return found

    def _start_servers(self) -> dict[str, object]:
        abstract = f"unspool-attack-{secrets.token_hex(8)}"
        unix, unix_datagram = str(self.folder / "stream"), str(self.folder / "datagram")
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        tcp = self._serve("tcp", socket.AF_INET, stream, ("127.0.0.1", 0))
        udp = self._serve("udp", socket.AF_INET, datagram, ("127.0.0.1", 0))
        self._serve("unix", socket.AF_UNIX, stream, unix)
        self._serve("unix datagram", socket.AF_UNIX, datagram, unix_datagram)
        self._serve("abstract", socket.AF_UNIX, stream, "\0" + abstract)
        for path in (unix, unix_datagram):
            os.chmod(path, 0o777)
        stop, end = os.pipe()
        self._selector.register(stop, selectors.EVENT_READ, None)
        thread = threading.Thread(target=self._listen)
        self._stack.callback(self._selector.close)
        self._stack.callback(os.close, stop)
        self._stack.callback(thread.join)
        self._stack.callback(os.close, end)
        thread.start()
        return {
            "tcp": tcp, "udp": udp, "unix": unix, "unix_datagram": unix_datagram, "abstract": abstract,
        }  # fmt: skip

    def _serve(self, name: str, family: int, kind: int, address: object) -> object:
        server = self._stack.enter_context(socket.socket(family, kind))
        server.bind(address)  # type: ignore[arg-type]
        if kind == socket.SOCK_STREAM:
            server.listen()
        self._selector.register(server, selectors.EVENT_READ, name)
        return server.getsockname()[1]

    def _listen(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                server = cast(socket.socket, key.fileobj)
                if server.type == socket.SOCK_DGRAM:
                    server.recv(100)
                else:
                    connection, _ = server.accept()
                    with connection, contextlib.suppress(OSError):
                        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nhello")
                self.contacts.append(cast(str, key.data))


def parents(pid: int) -> list[int]:
    """The process and its ancestors, as this process sees them, up to this process."""
    line = [pid]
    while line[-1] not in (0, 1, os.getpid()):
        line.append(_parent(line[-1]))
    return line


def family(root: int) -> list[int]:
    """All living descendants of a process."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                children.setdefault(_parent(int(name)), []).append(int(name))
    found, todo = list[int](), [root]
    while todo:
        born = children.get(todo.pop(), [])
        found += born
        todo += born
    return found


def named(name: str) -> list[int]:
    """The living descendants of this process that call themselves so."""
    found = []
    for pid in family(os.getpid()):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
            before, _, after = file.read().rpartition(b") ")
            if before.partition(b"(")[2] == name.encode() and after[:1] not in b"ZX":
                found.append(pid)
    return found


def command(pid: int) -> str:
    """Its command line; empty where it cannot be seen."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])
