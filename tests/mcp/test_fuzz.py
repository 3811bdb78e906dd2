"""Arguments made from the tools' schemas and against them: a result or one sentence, never a fault of ours."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("mcp", reason="needs the extra mcp")

from unspool.mcp.asked import TOOLS, schema_of
from unspool.mcp.bounds import ERROR

from .helpers import desks
from .made import spoiled, values

TEXT = "first line\nsecond, with an é and \x1b[31mcolour\x1b[0m\n" * 40


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data(), tool=st.sampled_from(sorted(TOOLS)), known=st.booleans(), spoil=st.booleans())
def test_arguments_of_any_kind_are_done_or_refused(
    data: st.DataObject, tool: str, known: bool, spoil: bool
) -> None:
    arguments: dict[str, Any] = data.draw(values(schema_of(TOOLS[tool]), {}))
    if spoil:
        arguments = spoiled(data, arguments)
    elif tool == "run_code" or (tool == "ask" and known):
        arguments["code" if tool == "run_code" else "question"] = data.draw(
            st.sampled_from(["1", "print(context)"])
        )

    try:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:  # no client can send it
        assume(False)

    async def call() -> None:
        async with desks() as make, (await make()).agent() as agent:
            if known and "handle" in TOOLS[tool].model_fields:
                arguments["handle"] = await agent.open(text=TEXT)
            got = await agent.call(tool, **arguments)  # asserts the bound
            assert "unspool itself failed" not in got.text
            assert "\x1b" not in "".join(got.texts)
            if got.error:
                assert 0 < len(got.text) <= ERROR
                assert "\n" not in got.text

    asyncio.run(call())
