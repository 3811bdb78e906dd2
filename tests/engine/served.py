"""Runs against a real server on loopback, and its own account of what it did."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from unspool import RLM, Run, Usage
from unspool.models.protocol import Price
from unspool.models.providers import PROVIDERS
from unspool.models.remote import RemoteModel
from unspool.testing import FaultyServer, ScriptedModel

PRICE = Price(read=1e-6, written=4e-6)
"""Dollars for a token of every model that is served here."""


def at(server: FaultyServer, name: str, price: Price | None = PRICE) -> RemoteModel:
    return RemoteModel(PROVIDERS["openai"], name, key="test", base_url=server.base_url, price=price)


def engine_at(server: FaultyServer, *, price: Price | None = PRICE, **settings: object) -> RLM:
    """An engine whose models are ``openai:root`` and ``openai:sub`` of that server."""
    return RLM(at(server, "root", price), sub_model=at(server, "sub", price), **settings)  # type: ignore[arg-type]


def below(pid: int) -> list[str]:
    """The living processes below one, each in words."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        try:
            name, _, fields = (entry / "stat").read_text().rpartition(")")
        except OSError:
            continue  # no process, or one that has ended
        state, parent = fields.split()[:2]
        if int(parent) == pid and state not in "ZX":
            found += [f"{name})", *below(int(entry.name))]
    return found


def settled() -> list[str]:
    """The processes below this one, once the sandbox has all its spare nodes ready: no change for a while."""
    seen, since = below(os.getpid()), time.monotonic()
    while time.monotonic() - since < 0.5:
        time.sleep(0.05)
        if len(now := below(os.getpid())) != len(seen):
            seen, since = now, time.monotonic()
    return seen


@contextmanager
def no_worker_left() -> Iterator[None]:
    """What runs in here leaves no process of its own behind. The sandbox is warm before."""
    RLM(ScriptedModel(["```python\nprint(1)\nsubmit(1)\n```"])).run("warm", "c")
    before = settled()
    yield
    deadline = time.monotonic() + 10
    while len(after := below(os.getpid())) > len(before) and time.monotonic() < deadline:
        time.sleep(0.05)  # a REPL is closed behind its run
    assert len(after) <= len(before), (before, after)


def calm() -> bool:
    """Whether this machine has time for what has to be on time."""
    return os.getloadavg()[0] < 2 * (os.cpu_count() or 1)


def accounts_agree(run: Run, server: FaultyServer, *models: str) -> None:
    """The run's figures are the server's: per role and model, per node, and for the tree."""
    asked = {line.model.partition(":")[2]: line for line in run.ledger}
    assert set(asked) == set(server.served) == set(models or ("root", "sub"))
    for name, usage in server.served.items():
        line = asked[name]
        assert line.role == name
        assert (line.usage.calls, line.usage.input_tokens, line.usage.output_tokens) == (
            usage.calls,
            usage.input_tokens,
            usage.output_tokens,
        )
        assert line.cost is not None
        assert abs(line.cost - (PRICE.of(usage) or 0.0)) < 1e-9
    whole = sum(server.served.values(), Usage())
    assert run.usage == replace(run.usage, **_counts(whole))
    assert run.cost is not None
    assert abs(run.cost - (PRICE.of(whole) or 0.0)) < 1e-9
    assert run.trace.ledger == run.ledger


def _counts(usage: Usage) -> dict[str, int | None]:
    return {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }
