"""Every sandbox of ours keeps the protocol, and the suite sees one that does not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from unspool.errors import ConfigError
from unspool.sandbox import _launch
from unspool.sandbox.command import CommandSandbox
from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import CellResult, HostCall, HostReply, OnCall, Repl, ReplSpec
from unspool.testing.sandbox_conformance import CHECKS, as_test, conform

from .test_command import LACKS

KINDS = (
    _launch.Kind(hardened=True), _launch.Kind(hardened=False), _launch.Kind(hardened=True, libraries="never"),
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def warm() -> Iterator[None]:
    """The zygotes live from one check to the next."""
    for kind in KINDS:
        _launch.use(kind)
    yield
    for kind in KINDS:
        _launch.release(kind)


test_process = as_test(lambda: ProcessSandbox("process"))
test_process_without_libraries = as_test(lambda: ProcessSandbox("process", libraries="never"))
test_none = as_test(lambda: ProcessSandbox("none"))
test_command = as_test(lambda: CommandSandbox([sys.executable, "-"]), lacks=LACKS)


class Wrong:
    """The sandbox ``none`` with one mistake."""

    def __init__(self, mistake: str) -> None:
        self.mistake = mistake
        self.inner = ProcessSandbox("none")
        self.repls: list[WrongRepl] = []
        self.turn = asyncio.Lock()

    async def open(self, spec: ReplSpec, on_call: OnCall) -> Repl:
        async with self.turn:
            return await self._open(spec, on_call)

    async def _open(self, spec: ReplSpec, on_call: OnCall) -> Repl:
        if self.mistake == "shares" and self.repls:
            return self.repls[0]

        async def one_by_one(call: HostCall) -> HostReply:
            async with self.turn:
                return await on_call(call)

        if self.mistake == "truncates" and isinstance(spec.context, str):
            spec = replace(spec, context=spec.context[:1_000_000])
        host = one_by_one if self.mistake == "one by one" else on_call
        self.repls.append(WrongRepl(self, await self.inner.open(spec, host), spec, host))
        return self.repls[-1]

    async def close(self) -> None:
        await self.inner.close()


class WrongRepl:
    def __init__(self, home: Wrong, inner: Repl, spec: ReplSpec, host: OnCall) -> None:
        self.home, self.inner, self.spec, self.host = home, inner, spec, host

    async def execute(self, code: str, *, seconds: float, number: int = 0) -> CellResult:
        if self.home.mistake == "forgets":
            self.inner = await self.home.inner.open(self.spec, self.host)
        number = 0 if self.home.mistake == "counts by itself" else number
        result = await self.inner.execute(code, seconds=seconds, number=number)
        match self.home.mistake:
            case "says it kept all":
                return replace(
                    result, outcome="interrupted" if result.outcome == "rolled_back" else result.outcome
                )
            case "tells nothing":
                return replace(result, notes=())
            case "shows all":
                return replace(result, output=result.output + "x" * result.omitted)
        return result

    async def close(self) -> None:
        if self.home.mistake != "lives on":
            await self.inner.close()


@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        ("forgets", "values survive"),
        ("shares", "two REPLs do not see"),
        ("one by one", "several threads"),
        ("truncates", "10 MB arrives"),
        ("says it kept all", "a crash is undone"),
        ("tells nothing", "a cell that hangs"),
        ("counts by itself", "tracebacks say the number"),
        ("shows all", "long output"),
        ("lives on", "closing twice"),
    ],
)
def test_the_suite_sees_a_mistake(mistake: str, check: str) -> None:
    assert conform(lambda: Wrong("nothing"), only=check).ok
    report = conform(lambda: Wrong(mistake), only=check)
    assert not report.ok, str(report)
    assert f"failed   {report.outcomes[0].check}: " in str(report)


def test_what_a_sandbox_lacks_is_skipped_with_its_reason() -> None:
    report = conform(lambda: Wrong("nothing"), lacks={"rollback": "it cannot fork"}, only="undone")
    assert report.count("skipped") == len(report.outcomes) == 2
    assert "skipped  a crash is undone: it lacks rollback (it cannot fork)" in str(report)
    for lacks in ({"rollbacks": "typed wrong"}, {"rollback": ""}):
        with pytest.raises(ConfigError, match="rollback"):
            conform(lambda: Wrong("nothing"), lacks=lacks)  # type: ignore[arg-type]


def test_a_sandbox_that_does_not_open_fails_and_raises_nothing() -> None:
    def make() -> CommandSandbox:
        return CommandSandbox("no-such-program-here -")

    report = conform(make, only="last expression")
    assert report.count("failed") == 1
    assert "there is no such program" in report.outcomes[0].detail


def test_checks_have_names_of_their_own() -> None:
    names = [check.name for check in CHECKS]
    assert len(names) == len(set(names)) > 50
