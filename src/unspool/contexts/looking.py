"""A look at what is in files, before a run begins: in a sandbox of its own, for the host never reads them.

Contract: :func:`looked` gives the context with its sources of the kind that their content has, and the
description of it. What cannot be read as what it is raises :class:`ContextError`, naming the file and what to
do, before a model is asked. A context without sources is described as it is, and a sandbox that cannot be had
is no matter of the look: the description then tells names and sizes, and the run will say what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ..errors import ContextError, HostCallError, SandboxError
from ..sandbox.protocol import HostCall, HostReply, ReplSpec, Sandbox
from . import describe
from .grants import OPEN, Grants
from .several import Contexts
from .sources import Source, with_kind

LOOKED = "_unspool_looked"
SECONDS = 60.0
MEMORY = 2 << 30
MOST_SHOWN = 3  # entries of a mapping that are described one by one
MOST_CHECKED = 1_000

_CELL = f"""
import reach
try:
    {LOOKED}(reach.look_all(context[0], *context[1:]), None)
except (ValueError, OSError, MemoryError, ImportError) as error:
    {LOOKED}(None, str(error) or type(error).__name__)
"""


async def looked(context: object, sandbox: Sandbox, *, head: int, tail: int) -> tuple[object, str]:
    """See the module docstring."""
    sources = _labelled(context)
    if not sources:
        return context, describe(context, head=head, tail=tail)
    whole = isinstance(context, Source)
    if not whole:
        head, tail = head // 2, tail // 2
    found = await _look(context, sources, sandbox, head, tail)
    if found is None:
        return context, describe(context, head=head, tail=tail)
    kinds = {label: kind for label, (kind, _) in zip(sources, found, strict=True)}
    if isinstance(context, Source):
        return with_kind(context, found[0][0]), found[0][1]
    assert isinstance(context, Mapping)
    named = isinstance(context, Contexts)
    kept: Mapping[object, object] = {
        key: with_kind(value, kinds[label]) if (label := _label(key, named)) in kinds else value
        for key, value in context.items()
    }
    if named:
        kept = cast("Mapping[object, object]", Contexts(cast("Mapping[str, object]", kept)))
    shown = [text for _, text in found[:MOST_SHOWN]]
    return kept, "\n\n".join([describe(kept, head=head, tail=tail), *shown])


def _label(key: object, named: bool) -> str:
    return str(key) if named else f"context[{key!r}]"


def _labelled(context: object) -> dict[str, Source]:
    if isinstance(context, Source):
        return {"context": context}
    if isinstance(context, Mapping):
        named = isinstance(context, Contexts)
        found = {_label(key, named): value for key, value in context.items() if isinstance(value, Source)}
        return dict(list(found.items())[:MOST_CHECKED])
    return {}


async def _look(
    context: object, sources: Mapping[str, Source], sandbox: Sandbox, head: int, tail: int
) -> list[tuple[str, str]] | None:
    grants = Grants(context)
    said: list[tuple[object, object]] = []

    async def on_call(call: HostCall) -> HostReply:
        if call.name == OPEN:
            return await grants.open(call)
        if call.name == LOOKED and len(call.args) == 2:
            said.append((call.args[0], call.args[1]))
            return HostReply()
        raise HostCallError("ValueError", f"there is no function {call.name!r}")

    plain = {label: source.plain() for label, source in sources.items()}
    spec = ReplSpec(context=(plain, head, tail), tools=(LOOKED,), memory=MEMORY, files=True)
    try:
        repl = await sandbox.open(spec, on_call)
        try:
            result = await repl.execute(_CELL, seconds=SECONDS)
        finally:
            await repl.close()
    except SandboxError:
        return None
    found, wrong = said[0] if said else (None, None)
    if wrong is not None:
        raise ContextError(str(wrong)[:2_000])
    if result.outcome != "ok" or not _are_pairs(found, len(sources)):
        name = next(iter(sources.values())).name
        why = result.error.message if result.error else "; ".join(result.notes) or result.outcome
        raise ContextError(f"{name} could not be looked at: {why}")
    return found  # type: ignore[return-value]


def _are_pairs(found: object, count: int) -> bool:
    """What comes out of a sandbox is checked: (kind, description) of each source."""
    return (
        isinstance(found, list)
        and len(found) == count
        and all(type(pair) is tuple and [type(part) for part in pair] == [str, str] for pair in found)
    )
