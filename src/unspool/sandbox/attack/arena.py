"""A sandbox with all that there is to go for around it, and attacks that run in its cells.

Everything goes through the sandbox's public API: an attack is the code of a cell in a REPL, and nothing
of it runs anywhere else.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import AsyncIterator, Sequence

from ...errors import SandboxError
from ..process import ProcessRepl, ProcessSandbox
from ..protocol import HostCall, HostReply, ReplSpec
from .targets import Targets, command, family, parents
from .ways import Attack, cell, parse

MEMORY = 512 << 20
_WHO = "import os, sys; print(os.getpid(), os.uname().nodename == 'unspool', os.getcwd())"


async def no_calls(call: HostCall) -> HostReply:
    """A host that answers nothing."""
    return HostReply()


async def shown(repl: ProcessRepl, code: str) -> str:
    """What a cell that has to go well prints."""
    result = await repl.execute(code, seconds=30)
    if result.outcome != "ok":
        raise SandboxError(f"a cell that does no harm ended {result.outcome}: {result.error} {result.notes}")
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
            zygotes = [pid for pid in family(os.getpid()) if "zygote.py" in command(pid)]
            around = {"keeper": 1, "zygote": zygotes[0], "sibling": zygotes[-1]}
        else:
            line = parents(int(pid))
            if line[-1] != os.getpid():
                raise SandboxError("the worker does not descend from this process")
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


async def through(place: Arena, attacks: Sequence[Attack]) -> tuple[dict[str, list[str]], int]:
    """The attacks that were not refused as they have to be, with their verdicts; how many are absent here."""
    verdicts = await place.attack(attacks)
    found = {
        f"{attack.group}: {attack.name}": verdict
        for attack, verdict in zip(attacks, verdicts, strict=True)
        if verdict[0] != "absent" and not attack.held(verdict, tier_1=place.tier_1)
    }
    if not place.targets.untouched():
        found["files"] = ["worked", "the planted files are not as they were"]
    if place.targets.contacts:
        found["servers"] = ["worked", f"contacts: {place.targets.contacts}"]
    return found, sum(verdict[0] == "absent" for verdict in verdicts)
