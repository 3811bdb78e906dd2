"""Runs attacks against a sandbox, through its public API alone: the code in cells of a REPL.

:func:`main` does it as a program of its own, so that it can run as another user, with a secret in its
environment from the start; it prints what it found as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator, Iterable, Sequence

from unspool.sandbox.process import ProcessRepl, ProcessSandbox
from unspool.sandbox.protocol import HostCall, HostReply, ReplSpec

from . import attacks as ways
from .attacks import Attack, cell, parse
from .raw_attacks import RAW
from .targets import Targets, family, parents

ATTACKS = [
    *ways.NETWORK, *ways.PROGRAMS, *ways.FILES, *ways.WRITING, *ways.PROCESSES, *ways.PRIVILEGES, *RAW,
]  # fmt: skip
VARIABLE = "UNSPOOL_TEST_SECRET"
MEMORY = 512 << 20
_WHO = "import os, sys; print(os.getpid(), os.uname().nodename == 'unspool', os.getcwd())"
_ENVIRONMENT = """
import ctypes, json, os
block = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
raw = []
while block[len(raw)] is not None:
    raw.append(block[len(raw)].decode())
print(json.dumps([dict(os.environ), raw]))
"""


async def no_calls(call: HostCall) -> HostReply:
    """A host that answers nothing."""
    return HostReply()


async def shown(repl: ProcessRepl, code: str) -> str:
    """What a cell that has to go well prints."""
    result = await repl.execute(code, seconds=30)
    assert result.outcome == "ok", (result.outcome, result.error, result.notes)
    return result.output.strip()


@contextlib.asynccontextmanager
async def opened(
    sandbox: ProcessSandbox, context: object = "", memory: int = MEMORY
) -> AsyncIterator[ProcessRepl]:
    repl = await sandbox.open(ReplSpec(context, memory=memory, shown=200_000), no_calls)
    try:
        yield repl
    finally:
        await repl.close()


class Arena:
    """A sandbox to get out of, two REPLs in it that stay open, and what to go for."""

    def __init__(
        self, sandbox: ProcessSandbox, targets: Targets, repl: ProcessRepl, sibling: ProcessRepl
    ) -> None:
        self.sandbox = sandbox
        self.targets = targets
        self.sibling = sibling
        self.tier_1 = False
        self._repl = repl
        self._known: dict[str, object] = {}
        self._numbers = itertools.count()

    async def look(self) -> None:
        """Learn what an attacker may know: the tier, the processes around it (by their real numbers where
        there are no namespaces), its own folder."""
        pid, tier_1, folder = (await shown(self._repl, _WHO)).split()
        self.tier_1 = tier_1 == "True"
        if self.tier_1:
            zygotes = [pid for pid in family(os.getpid()) if "zygote.py" in _command(pid)]
            around = {"keeper": 1, "zygote": zygotes[0], "sibling": zygotes[-1]}
        else:
            line = parents(int(pid))
            assert line[-1] == os.getpid(), "the worker does not descend from this process"
            sibling = int((await shown(self.sibling, _WHO)).split()[0])
            around = {"keeper": line[-3], "zygote": line[-2], "sibling": sibling}
        self._known = self.targets.known | around | {"scratch": folder}

    async def attack(self, attacks: Sequence[Attack]) -> list[list[str]]:
        """A verdict for each: ``refused`` and an errno, ``worked``, ``broken``, ``absent`` or ``died``."""
        await self.look()  # every cell runs in a process of its own
        code = cell(attacks, self._known | {"run": next(self._numbers)})
        result = await self._repl.execute(code, seconds=60)
        if result.outcome == "ok":
            return parse(result.output)
        if len(attacks) > 1:  # which one was it?
            return [verdict for attack in attacks for verdict in await self.attack([attack])]
        return [["died", f"{result.outcome} {result.error} {result.notes}"]]


@contextlib.asynccontextmanager
async def arena(sandbox: ProcessSandbox) -> AsyncIterator[Arena]:
    """Everything planted, and the sandbox closed afterwards."""
    with Targets() as targets:
        try:
            async with opened(sandbox) as repl, opened(sandbox) as sibling:
                place = Arena(sandbox, targets, repl, sibling)
                await place.look()
                yield place
        finally:
            await sandbox.close()


async def through(place: Arena, attacks: Sequence[Attack]) -> dict[str, list[str]]:
    """The attacks that were not refused as they have to be, with their verdicts."""
    found = {
        f"{attack.group}: {attack.name}": verdict
        for attack, verdict in zip(attacks, await place.attack(attacks), strict=True)
        if verdict[0] != "absent" and not attack.held(verdict, tier_1=place.tier_1)
    }
    if not place.targets.untouched():
        found["files"] = ["worked", "the planted files are not as they were"]
    if place.targets.contacts:
        found["servers"] = ["worked", f"contacts: {place.targets.contacts}"]
    return found


def where_it_is(secret: bytes) -> tuple[list[str], int]:
    """The processes below this one that hold the secret; how many could be looked at at all."""
    holders, seen = [], 0
    for pid in family(os.getpid()):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                text = file.read()
            if secret in text or any(secret in part for part in _memory(pid)):
                holders.append(_command(pid))
            seen += 1
    return holders, seen


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def _memory(pid: int) -> Iterable[bytes]:
    """The memory that a process can have written, piece by piece."""
    with (
        open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as lines,
        open(f"/proc/{pid}/mem", "rb", 0) as memory,
    ):
        for line in lines:
            place, rights, *_ = line.split()
            if "w" not in rights:
                continue
            at, end = (int(number, 16) for number in place.split("-"))
            while at < end:
                memory.seek(at)
                part = memory.read(min(end - at, 1 << 24))
                if not part:
                    break
                yield part
                at += len(part)


async def _tier(namespaces: bool, names: list[str]) -> dict[str, object]:
    secret = os.environ[VARIABLE]
    wanted = [attack for attack in ATTACKS if attack.name in names or not names]
    async with arena(ProcessSandbox(namespaces=namespaces)) as place:
        await shown(place.sibling, "x = 1")
        variables, raw = json.loads(await shown(place.sibling, _ENVIRONMENT))
        holders, seen = where_it_is(secret.encode())
        return {
            "tier_1": place.tier_1, "through": await through(place, wanted), "variables": variables,
            "in_environ": [text for text in raw if secret in text or VARIABLE in text],
            "holders": [text for text in holders if "zygote.py" in text], "seen": seen, "tried": len(wanted),
        }  # fmt: skip


def main() -> None:
    """Both tiers; the names of the attacks as arguments (none: all). The secret is in the environment."""
    found = {
        f"tier {2 - namespaces}": asyncio.run(_tier(namespaces, sys.argv[1:])) for namespaces in (True, False)
    }
    sys.stdout.write(json.dumps(found | {"uid": os.geteuid()}))
