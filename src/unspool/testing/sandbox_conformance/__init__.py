"""Whether a sandbox keeps the protocol: checks that any maker of one can run, from pytest or without.

Contract: every behaviour that :mod:`unspool.sandbox.protocol` promises is one :class:`Check` with a name.
:func:`conform` runs them over the sandboxes that ``make`` gives, a fresh one for each check, and returns a
:class:`Report`; :func:`as_test` is the same as a test function for pytest, one test for each check. What a
sandbox cannot do by its nature (:data:`CAPABILITIES`) is told in ``lacks``, with the reason; the checks that
need it are then skipped, and the report says why. Nothing else may be left out.

In a file of tests, this is all::

    from unspool.testing.sandbox_conformance import as_test

    test_my_sandbox = as_test(lambda: MySandbox(), lacks={"rollback": "it cannot fork"})

>>> from unspool.sandbox.process import ProcessSandbox
>>> report = conform(lambda: ProcessSandbox("none"), only="values survive")
>>> print(report)
passed   values survive from cell to cell
1 passed, 0 failed, 0 skipped
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ...errors import ConfigError
from ...sandbox.protocol import Sandbox
from . import calls, cells, contexts, ends, forks
from .bench import CAPABILITIES, CHECKS, Bench, Capability, Check, Fails

__all__ = [
    "CAPABILITIES",
    "CHECKS",
    "Capability",
    "Check",
    "Fails",
    "Outcome",
    "Report",
    "as_test",
    "conform",
]

LIMIT = 120.0  # seconds for one check
_NOTHING: Mapping[Capability, str] = MappingProxyType({})
_ROOMS = (cells, contexts, calls, ends, forks)  # each joins its checks to the list


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one check. ``detail``: how it failed, or why it was skipped."""

    check: str
    outcome: Literal["passed", "failed", "skipped"]
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.outcome:8} {self.check}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True, slots=True)
class Report:
    """All outcomes, in the order of the checks."""

    outcomes: tuple[Outcome, ...]

    @property
    def ok(self) -> bool:
        return not self.count("failed")

    def count(self, outcome: str) -> int:
        return sum(each.outcome == outcome for each in self.outcomes)

    def __str__(self) -> str:
        counts = ", ".join(f"{self.count(each)} {each}" for each in ("passed", "failed", "skipped"))
        return "\n".join([*map(str, self.outcomes), counts])


def conform(
    make: Callable[[], Sandbox], *, lacks: Mapping[Capability, str] = _NOTHING, only: str = ""
) -> Report:
    """Runs the checks (those whose name contains ``only``) and never raises for what the sandbox does."""
    _known(lacks)
    return Report(tuple(_outcome(check, make, lacks) for check in CHECKS if only in check.name))


def as_test(
    make: Callable[[], Sandbox], *, lacks: Mapping[Capability, str] = _NOTHING
) -> Callable[[Check], None]:
    """A test function for pytest; assign it to a name that begins with ``test``."""
    import pytest

    _known(lacks)

    @pytest.mark.parametrize("check", CHECKS, ids=str)
    def test(check: Check) -> None:
        outcome = _outcome(check, make, lacks)
        if outcome.outcome == "skipped":
            pytest.skip(outcome.detail)
        if outcome.outcome == "failed":
            pytest.fail(outcome.detail, pytrace=False)

    return test


def _known(lacks: Mapping[Capability, str]) -> None:
    for name, why in lacks.items():
        if name not in CAPABILITIES:
            raise ConfigError(f"lacks={name!r}: there are {', '.join(CAPABILITIES)}")
        if not why:
            raise ConfigError(f"lacks={name!r} needs a reason")


def _outcome(check: Check, make: Callable[[], Sandbox], lacks: Mapping[Capability, str]) -> Outcome:
    missing = [f"{name} ({lacks[name]})" for name in check.needs if name in lacks]
    if missing:
        return Outcome(check.name, "skipped", f"it lacks {', '.join(missing)}")
    try:
        asyncio.run(_run(check, make))
    except Exception as error:  # whatever a sandbox of others does is an outcome
        told = str(error) if isinstance(error, Fails) else f"{type(error).__name__}: {error}"
        return Outcome(check.name, "failed", told)
    return Outcome(check.name, "passed")


async def _run(check: Check, make: Callable[[], Sandbox]) -> None:
    sandbox = make()
    try:
        async with asyncio.timeout(LIMIT):
            await check.test(Bench(sandbox))
    finally:
        await sandbox.close()
