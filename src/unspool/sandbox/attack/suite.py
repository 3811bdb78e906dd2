"""All attacks against one sandbox, and what held, by protection.

Contract: :func:`run` opens REPLs in a sandbox of its own and reports a :class:`Line` for each
protection of :data:`PROTECTIONS`; it takes about half a minute. It has to run in a process with
:data:`.environment.VARIABLE` in its environment from its start: :func:`in_a_process` sees to that.
:func:`table` is the table of docs/security.md.

>>> PROTECTIONS["programs"].code
'starts no program and no shell, also none it wrote itself'
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ...errors import SandboxError
from .. import linux
from ..process import ProcessSandbox
from . import crashes, environment, leftovers
from .arena import Arena, arena, through
from .catalogue import ATTACKS
from .neighbours import seen_of_another
from .protections import PROTECTIONS
from .ways import Attack

__all__ = ["PROTECTIONS", "AttackReport", "Line", "in_a_process", "run", "table"]

SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Line:
    """One protection. ``through``: the attacks that were not refused, with what happened."""

    protection: str
    tried: int
    absent: int = 0  # of those: what this machine does not even have
    through: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def held(self) -> bool:
        return not self.through


@dataclass(frozen=True, slots=True)
class AttackReport:
    """What held. ``tier``: "namespaces" or "landlock"; ``user``: whose processes it was."""

    tier: str
    user: int
    lines: tuple[Line, ...]

    @property
    def held(self) -> bool:
        return all(line.held for line in self.lines)


async def run(*, namespaces: bool = True) -> AttackReport:
    """Every attack. Raises :class:`SandboxError` where the machine cannot harden."""
    if reason := linux.available():
        raise SandboxError(f"there is no sandbox to attack here: {reason}")
    sandbox = ProcessSandbox(namespaces=namespaces)
    async with arena(sandbox) as place:
        lines = [await _out(place, group) for group in dict.fromkeys(a.group for a in ATTACKS)]
        found: dict[str, Mapping[str, str]] = {
            "environment": await environment.leaks(place.sibling),
            **await crashes.fallen(sandbox),
            "neighbours": await seen_of_another(sandbox),
            "leftovers": await leftovers.left(sandbox),
        }
        tier = "namespaces" if place.tier_1 else "landlock"
    lines += [
        Line(name, len(tried), 0, {what: text for what, text in tried.items() if text})
        for name, tried in found.items()
    ]
    return AttackReport(tier, os.geteuid(), tuple(sorted(lines, key=lambda line: _place(line.protection))))


def _place(name: str) -> int:
    return list(PROTECTIONS).index(name)


async def _out(place: Arena, group: str) -> Line:
    attacks: Sequence[Attack] = [attack for attack in ATTACKS if attack.group == group]
    got, absent = await through(place, attacks)
    return Line(group, len(attacks), absent, {name: " ".join(verdict) for name, verdict in got.items()})


def in_a_process(
    *,
    namespaces: bool = True,
    python: str = sys.executable,
    user: int | None = None,
    package: Path = Path(__file__).parents[3],
) -> AttackReport:
    """The same in a process of its own, which has a secret in its environment from its start.

    ``user`` (with an interpreter and a ``package`` folder that it may read): whose process it is.
    """
    done = subprocess.run(
        [python, "-P", "-m", __package__, *(() if namespaces else ("--without-namespaces",))],
        env={
            "PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1",
            environment.VARIABLE: secrets.token_hex(16),
        },
        user=user, group=user, extra_groups=None if user is None else [], cwd="/",
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SandboxError(f"the attacks could not be run: {done.stderr.strip()[-2_000:]}")
    told = json.loads(done.stdout)
    return AttackReport(told["tier"], told["user"], tuple(Line(**line) for line in told["lines"]))


def main(arguments: Sequence[str]) -> int:
    """Prints a report as JSON, for :func:`in_a_process`; ``--table``: the table of both tiers instead."""
    try:
        if "--table" in arguments:
            sys.stdout.write(table([in_a_process(namespaces=both) for both in (True, False)]) + "\n")
            return 0
        report = asyncio.run(run(namespaces="--without-namespaces" not in arguments))
    except SandboxError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(asdict(report)))
    return 0


def table(reports: Sequence[AttackReport]) -> str:
    """Markdown: a row for each protection, with how many attacks were refused in each tier."""
    titles = [f"Held, tier {1 if report.tier == 'namespaces' else 2}" for report in reports]
    rows = [["Code in a REPL", "Enforced by", "Attacks", *titles]]
    for name, protection in PROTECTIONS.items():
        lines = [line for report in reports for line in report.lines if line.protection == name]
        rows.append([
            protection.code, protection.enforced, str(lines[0].tried),
            *("yes" if line.held else f"**no**: {', '.join(line.through)}" for line in lines),
        ])  # fmt: skip
    printed = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([printed[0], "|---" * len(rows[0]) + "|", *printed[1:]])
