"""Whether a sandbox keeps code in: harmless ways out of it, each really tried by a cell.

Contract: :func:`tried` plants what there is to go for, opens a REPL, and has a cell go for it; what it
returns says of each of :data:`WAYS` how it ended. A way counts as shut only with the error of a refusal
(``PermissionError``): one that failed otherwise was not tried. Nothing that a way does is of harm where it is
open: it reads and changes what was planted, or asks for signal 0.

>>> through({"fork": SHUT, "list a folder": "open"})
'list a folder (open)'
"""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

from ..errors import SandboxError
from .doctor import MEANING
from .protocol import HostCall, HostReply, OnCall, Protection, Repl, ReplSpec

SECONDS = 30.0
SHUT = "shut"
_GROUPS: Mapping[str, Mapping[str, str]] = {
    "network": {
        "connect to a server": "socket.socket().connect(('127.0.0.1', port))",
        "send a packet": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', port))",
        "be a server": "socket.socket().bind(('127.0.0.1', 0))",
        "connect to a local socket": "socket.socket(socket.AF_UNIX).connect(planted + '/s')",
    },
    "files": {
        "read a file": "open(planted + '/file').read()",
        "list a folder": "os.listdir(planted)",
        "list the home folder": "os.listdir(home)",
        "link to a file": "os.link(planted + '/file', 'linked')",
    },
    "writing": {
        "write a file": "open(planted + '/mine', 'w').write('x')",
        "change a file": "open(planted + '/file', 'a').write('x')",
        "remove a file": "os.unlink(planted + '/unwanted')",
        "make a folder": "os.mkdir(planted + '/folder')",
        "change a mode": "os.chmod(planted + '/file', 0o600)",
    },
    "processes": {"signal a process": "os.kill(host, 0)"},
    "programs": {
        "fork": "os.fork() or os._exit(0)",
        "start a program": "os.posix_spawn('/bin/ls', ['ls'], {})",
        "become a program": "os.execve('/bin/ls', ['ls'], {})",  # the last: it is the end of the cell
    },
}
WAYS: Mapping[str, str] = {name: code for ways in _GROUPS.values() for name, code in ways.items()}
_CELL = """
import os, socket
planted, home, port, host, ways = context
def way(code):
    try:
        eval(code)
    except PermissionError:
        return 'shut'
    except BaseException as error:
        return f'not tried: {type(error).__name__}: {error}'
    return 'open'
for name, code in ways.items():
    seen(name, 'open: the process is no more')
    seen(name, way(code))
"""

Tried = Mapping[str, str]
Open = Callable[[ReplSpec, OnCall], Awaitable[Repl]]


async def tried(open_repl: Open) -> Tried:
    """How each way ended: :data:`SHUT`, or in other words. Raises ``SandboxError`` where no REPL opens."""
    found = dict.fromkeys(WAYS, "not tried")

    async def on_call(call: HostCall) -> HostReply:
        if call.name == "seen" and len(call.args) == 2 and call.args[0] in found:
            found[str(call.args[0])] = str(call.args[1])[:200]
        return HostReply()

    with _planted() as context:
        repl = await open_repl(ReplSpec((*context, os.getpid(), dict(WAYS)), tools=("seen",)), on_call)
        try:
            result = await repl.execute(_CELL, seconds=SECONDS)
        finally:
            await repl.close()
    if set(found.values()) == {"not tried"}:
        raise SandboxError(result.error.message if result.error else "; ".join(result.notes))
    return found


LONGEST_FOLDER = 70  # bytes: the path of a socket may have 104 on macOS, and what is made below has its own


def _short_folder() -> str | None:
    """Where the folder is made: for temporary files, unless a socket below has too long a path there."""
    usual = os.path.realpath(tempfile.gettempdir())
    return None if len(os.fsencode(usual)) <= LONGEST_FOLDER else "/tmp"


@contextlib.contextmanager
def _planted() -> Iterator[tuple[str, str, int]]:
    """A folder with files and a socket, the home folder, and the port of a server."""
    with (
        tempfile.TemporaryDirectory(prefix="unspool-trial-", dir=_short_folder()) as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
    ):
        place = os.path.realpath(folder)
        for name in ("file", "unwanted"):
            Path(place, name).write_text("a file of the host", encoding="ascii")
        local.bind(os.path.join(place, "s"))
        local.listen()
        yield place, str(Path.home()), server.getsockname()[1]


def through(found: Tried) -> str:
    """What is not shut, in words; nothing where all is."""
    return "; ".join(f"{name} ({how})" for name, how in found.items() if how != SHUT)


def protections(found: Tried) -> tuple[Protection, ...]:
    """The same for ``unspool doctor``."""
    told = []
    for group, ways in _GROUPS.items():
        got = through({name: found[name] for name in ways})
        told.append(Protection(group, not got, got or f"attempts refused: {len(ways)}", MEANING[group]))
    return tuple(told)
