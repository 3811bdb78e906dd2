"""A look at the sandbox of any name, where need be from inside: what code there could reach of this machine.

Contract: :func:`visit` opens the sandbox of that name, runs one cell that tries harmless things, and reports
what it saw; those that protect by themselves have a report of their own. It is no proof of safety: what the
code runs in protects, or does not. A sandbox that does not open is a report with the reason.

>>> visit("x").tier is None
Traceback (most recent call last):
    ...
unspool.errors.WrongSetting: sandbox='x': use auto, process, seatbelt, none, jupyter, command:… or a Sandbox
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping

from ..errors import ContextError, SandboxError
from . import doctor
from ._launch import ENVIRONMENT
from .protocol import HostCall, HostReply, Protection, ReplSpec, SandboxReport
from .shared import chosen, new_sandbox

SECONDS = 30.0
_CELL = """
import os, socket, sys
paths, pid, started, names = context
def stat(pid):
    try:
        return open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[19]
    except (OSError, IndexError):
        return ''
seen({
    'python': sys.version.split()[0], 'user': os.getuid(),
    'network': [name for _, name in socket.if_nameindex() if name != 'lo'],
    'files': [path for path in paths if os.path.exists(path)], 'process': stat(pid) == started,
    'variables': [name for name in names if name in os.environ],
})
"""
_HERE = os.path.abspath(__file__)
_HARMLESS = {
    *ENVIRONMENT, "HOME", "PWD", "SHLVL", "TERM", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL",
    "VIRTUAL_ENV", "_",
}  # fmt: skip
_ADVICE = (
    "It is as safe as where it leads. This was one look from inside, no attack: what is open is open, "
    "and what looks shut is for whoever set it up to answer for."
)


def visit(name: str) -> SandboxReport:
    """See the module docstring."""
    name = chosen(name)
    if name in ("process", "none"):
        return doctor.report(name)
    if name == "seatbelt":
        from .seatbelt import report

        return report()
    sandbox = new_sandbox(name)
    with tempfile.NamedTemporaryFile(prefix="unspool-doctor-") as file:

        async def look() -> Mapping[object, object]:
            found: dict[object, object] = {}

            async def on_call(call: HostCall) -> HostReply:
                if call.name == "seen" and isinstance(call.args[0], dict):
                    found.update(call.args[0])
                return HostReply()

            variables = [name for name in os.environ if name not in _HARMLESS]
            context = ([file.name, _HERE], os.getpid(), _started(), variables)
            try:
                repl = await sandbox.open(ReplSpec(context, tools=("seen",)), on_call)
                result = await repl.execute(_CELL, seconds=SECONDS)
            finally:
                await sandbox.close()
            if not found:
                raise SandboxError(result.error.message if result.error else result.outcome)
            return found

        try:
            return SandboxReport(name, "other", _protections(asyncio.run(look())), _ADVICE)
        except (SandboxError, ContextError) as error:
            return SandboxReport(name, None, (), str(error))


def _started() -> str:
    if sys.platform != "linux":
        return "unknown"
    with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[19]


def _protections(found: Mapping[object, object]) -> tuple[Protection, ...]:
    """What comes out of a sandbox is taken for what it looks like, and cut."""
    network, files, variables = (found.get(name) or [] for name in ("network", "files", "variables"))
    who = f"Python {str(found.get('python'))[:20]}, user {str(found.get('user'))[:20]}"
    return (
        Protection("interpreter", True, who, "Code runs there."),
        Protection(
            "network", not network, f"interfaces beside lo: {_listed(network)}",
            "Code cannot reach a network.",
        ),
        Protection(
            "files", not files, f"of two files of this machine, seen: {_listed(files)}",
            "Code does not see the files of this machine.",
        ),
        Protection(
            "processes", found.get("process") is False, "the process of this command was looked for",
            "Code does not see the processes of this machine.",
        ),
        Protection(
            "environment", not variables, f"variables of yours: {_listed(variables)}",
            "Keys and other variables of your environment are not there.",
        ),
    )  # fmt: skip


def _listed(names: object) -> str:
    return ", ".join(str(name)[:60] for name in names[:8]) or "none" if isinstance(names, list) else "unclear"
