"""``unspool mcp --check``: whether all that the server needs is there, in plain lines.

Contract: :func:`checked` starts nothing and sends no prompt; each line says yes or no, and where it is no,
what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from ..errors import ConfigError, UnspoolError
from ..models.discover import discover, resolve_pair
from ..models.named import Spec
from ..sandbox._visit import visit
from ..sandbox.shared import chosen, look_up, new_sandbox
from .sdk import INSTALL

WANTED = 2  # the SDK's major version


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is needed."""

    name: str
    there: bool
    told: str


def checked(model: Spec | None, sub_model: Spec | None, sandbox: str = "auto") -> Iterator[Check]:
    """See the module docstring."""
    yield _sdk()
    yield _sandbox(sandbox)
    yield _model(model, sub_model)


def _sdk() -> Check:
    try:
        found = version("mcp")
    except PackageNotFoundError:
        return Check("MCP SDK", False, INSTALL)
    fits = found.partition(".")[0] == str(WANTED)
    return Check("MCP SDK", fits, f"mcp {found}" + ("" if fits else f": {INSTALL}"))


def _sandbox(name: str) -> Check:
    if chosen(name) not in ("process", "seatbelt"):  # nothing of it can be tried without starting it
        try:
            new_sandbox(name)
            look_up(name)
        except UnspoolError as error:
            return Check("sandbox", False, str(error))
        return Check("sandbox", True, name)
    found = visit(name)
    missing = [p.name for p in found.protections if not p.holds]
    there = found.tier in ("namespaces", "landlock", "seatbelt")
    told = f"{found.name}, {found.tier}" if there else found.advice or "it cannot run here"
    if there and missing:
        told += f"; without {', '.join(missing)} (unspool doctor says more)"
    return Check("sandbox", there, told)


def _model(model: Spec | None, sub_model: Spec | None) -> Check:
    try:
        if model is None:
            found = discover()
            if found.model is None:
                raise ConfigError(f"{found.reason}: set a key such as OPENAI_API_KEY, or give --model")
            told = f"{found.model} ({found.reason})"
            other = sub_model or found.sub_model
            if found.model.startswith("local:") and "pulled" in found.reason:
                told += ": run unspool models pull first, or the first call waits for it"
            return Check("model", True, told if other == found.model else f"{told}, sub-calls: {other}")
        root, sub = resolve_pair(model, sub_model)
    except UnspoolError as error:
        return Check("model", False, str(error).partition("\n")[0])
    other = "" if sub is root else f", sub-calls: {sub.info.name}"
    return Check("model", True, f"{root.info.name}{other}")
