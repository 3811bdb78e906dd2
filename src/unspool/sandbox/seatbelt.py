"""The sandbox ``seatbelt``: a REPL in a process that macOS confines, by a profile for its ``sandbox-exec``.

Contract: :func:`profile` is the text of the profile, a pure function of paths. It allows and never forbids:
what it does not name is refused, so no order of rules matters. :class:`SeatbeltSandbox` is
:class:`unspool.sandbox.lone.LoneSandbox` with that around each process. **No Mac of ours has seen it**: so
the sandbox tries itself first, on the machine that it is to protect. Before a process opens its first REPL,
code in another one tries each of :data:`unspool.sandbox._trial.WAYS`; where one is open, no REPL opens, and
the error names it.

>>> text = profile(read=["/opt/py"], programs=["/opt/py/bin/python3"], folder='/private/tmp/a "b"')
>>> print(text.splitlines()[-1])
(allow file-read* file-write* (subpath "/private/tmp/a \\"b\\""))
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..errors import SandboxError, SandboxUnavailable
from . import _trial, shared
from ._launch import ADVICE, packages
from .lone import LACKS, LoneSandbox
from .process import ProcessRepl
from .protocol import OnCall, ReplSpec, SandboxReport

__all__ = ["LACKS", "SeatbeltSandbox", "profile"]

# Where the system's own libraries lie, and those that interpreters of Homebrew and MacPorts are linked with.
LIBRARIES = (
    "/usr/lib", "/usr/share", "/System/Library", "/System/Cryptexes", "/System/Volumes/Preboot/Cryptexes",
    "/Library/Apple/System/Library", "/Library/Apple/usr/lib", "/private/var/db/dyld",
    "/private/var/db/timezone", "/opt/homebrew/lib", "/opt/homebrew/opt", "/opt/homebrew/Cellar",
    "/usr/local/lib", "/usr/local/opt", "/usr/local/Cellar", "/opt/local/lib",
)  # fmt: skip
# What the system may be asked about itself. Not kern.procargs2: it has the variables of other processes.
FACTS = (
    "kern.argmax", "kern.hostname", "kern.maxfilesperproc", "kern.osproductversion", "kern.osrelease",
    "kern.ostype", "kern.osvariant_status", "kern.osversion", "kern.secure_kernel", "kern.usrstack64",
    "kern.version", "sysctl.proc_native", "sysctl.proc_translated", "vm.loadavg",
)  # fmt: skip
_FEW = (
    "These are a few attempts, and not the attacks that the sandbox 'process' on Linux is put to: "
    "what was not tried may be open."
)
_LEAKS = (
    "macOS does not confine code as it should, so no REPL opens: please report it, with the version of macOS"
)
_proven: set[tuple[str, ...]] = set()  # command lines, by this process


def quoted(path: str) -> str:
    """A path as a text of the profile's language."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def profile(*, read: Iterable[str], programs: Iterable[str], folder: str) -> str:
    """What a process may do that runs one of ``programs`` and writes to ``folder`` alone. All paths are
    absolute, and as the kernel knows them: with no link in them."""
    read, programs = sorted({*LIBRARIES, *read}), sorted({*programs})
    rules = (
        ("process-exec file-read* file-map-executable", [*map(_literal, programs)]),
        ("signal", ["(target self)"]),
        ("process-info*", ["(target self)"]),
        ("sysctl-read", [f"(sysctl-name {quoted(name)})" for name in FACTS]),
        ("sysctl-read", ['(sysctl-name-prefix "hw.")', '(sysctl-name-prefix "machdep.cpu.")']),
        ("system-socket", ["(socket-domain AF_UNIX)"]),  # pairs, as asyncio's: to bind and connect is refused
        ("file-read* file-map-executable", [*map(_subpath, read)]),
        ("file-read-data", [_literal("/")]),  # the names in it, which the loader needs
        ("file-read*", [*map(_literal, ("/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"))]),
        ("file-write-data", [_literal("/dev/null")]),
        ("file-read* file-write*", [_subpath(folder)]),
    )
    # Sizes and dates of whatever code guesses the path of: the descriptors of files that are handed in, and
    # each link on a way to Python, would else be refused.
    told = ["(version 1)", "(deny default)", "(allow file-read-metadata)"]
    # A rule without a place would be for every place.
    return "\n".join([*told, *(f"(allow {what} {' '.join(where)})" for what, where in rules if where)])


def _literal(path: str) -> str:
    return f"(literal {quoted(path)})"


def _subpath(path: str) -> str:
    return f"(subpath {quoted(path)})"


def readable() -> list[str]:
    """What this interpreter is made of. Raises ``SandboxUnavailable`` where the home folder is in that."""
    own = str(Path(__file__).resolve().parent.parent)
    paths = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, own, *packages())}
    home = os.path.realpath(Path.home())
    for path in paths:
        if os.path.commonpath((path, home)) == path:
            raise SandboxUnavailable(
                f"Python lies in {path}, and so does your home folder: code could read all of it. "
                "Use a virtual environment in a folder of its own"
            )
    return sorted(paths)


def programs() -> list[str]:
    """The interpreter, by all its names; a framework's starts another program in its place."""
    names = {sys.executable, getattr(sys, "_base_executable", "") or sys.executable}
    app = os.path.join(sys.base_prefix, "Resources", "Python.app", "Contents", "MacOS", "Python")
    return sorted({*names, *map(os.path.realpath, names), os.path.realpath(app)})


def _missing(program: str) -> str:
    """Why it cannot be here, in words."""
    system: str = sys.platform
    if system == "linux":
        return "is macOS's own; on Linux, sandbox='process' protects"
    there = system == "darwin" and os.access(program, os.X_OK)
    return "" if there else f"needs macOS and its {program}; {ADVICE}"


class SeatbeltSandbox(LoneSandbox):
    """A maker of REPLs that macOS confines.

    :param program: what does so, called as ``sandbox-exec`` is; that of macOS by default.
    """

    def __init__(self, program: str = "") -> None:
        self._program = program or shared.SANDBOX_EXEC
        if why := _missing(self._program):
            raise SandboxUnavailable(f"the sandbox 'seatbelt' {why}")
        super().__init__()
        self._read, self._programs = readable(), programs()
        self._turn = asyncio.Lock()

    def wrap(self, folder: str, program: Sequence[str]) -> Sequence[str]:
        text = profile(read=self._read, programs=self._programs, folder=folder)
        return [self._program, "-p", text, *program]

    async def open(self, spec: ReplSpec, on_call: OnCall) -> ProcessRepl:
        async with self._turn:
            if (key := tuple(self.wrap("/", [sys.executable]))) not in _proven:
                if found := _trial.through(await self.trial()):
                    raise SandboxUnavailable(f"got through: {found}. {_LEAKS}. Other ways: {ADVICE}")
                _proven.add(key)
        return await super().open(spec, on_call)

    async def trial(self) -> _trial.Tried:
        """Tries the ways out, in a REPL that is thrown away."""
        return await _trial.tried(super().open)


def report() -> SandboxReport:
    """What it gives on this machine, really tried. Not async: callers with a loop run it in a thread."""
    try:
        found = _trial.protections(asyncio.run(SeatbeltSandbox().trial()))
    except SandboxError as error:
        return SandboxReport("seatbelt", None, (), str(error))
    held = all(each.holds for each in found)
    return SandboxReport("seatbelt", "seatbelt", found, _FEW if held else _LEAKS)
