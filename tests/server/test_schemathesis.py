"""schemathesis on the served OpenAPI document: bodies that fit it and bodies that nearly do, and no 500.

It runs as users run it, in a process of its own, against a server in this loop. What it makes is the same each
time. Not asked of the server: that it takes whatever fits the schema (``positive_data_acceptance``), for a schema
cannot say that one of the messages is the user's and has a text; and that no run fails (``not_a_server_error``,
in whose place stands a check of ours).
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from unspool.testing import ScriptedModel

from .conftest import LOOK, Start, submits

pytest.importorskip("schemathesis", reason="needs schemathesis")

EXAMPLES = 10  # of each operation in each phase; the boundaries of each field come to them
COMMAND = "from schemathesis.cli import schemathesis; schemathesis()"


async def test_nothing_made_from_the_document_or_against_it_is_a_500(serve: Start, tmp_path: Path) -> None:
    model = ScriptedModel(lambda messages: submits("1") if len(messages) > 2 else LOOK)
    up = await serve(model, token="right")
    hooks = Path(__file__).with_name("schemathesis_hooks.py")
    (tmp_path / "schemathesis.toml").write_text(f'hooks = "{hooks}"\n')
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", COMMAND, "--config-file", "schemathesis.toml", "--no-color",
        "run", f"http://127.0.0.1:{up.port}/openapi.json", "--header", "Authorization: Bearer right",
        "--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES), "--generation-deterministic",
        "--exclude-checks", "positive_data_acceptance,not_a_server_error", "--continue-on-failure",
        cwd=tmp_path, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    said = out.decode("utf-8", "replace")
    assert process.returncode == 0, said[-20_000:]
    made = re.search(r"(\d+) generated", said)
    assert made is not None, said[-20_000:]
    assert int(made[1]) > 100
    text = up.service.metrics.text(running=0)
    for route in ("/v1/chat/completions", "/v1/responses"):
        assert f'route="{route}",status="200"' in text  # some of them are questions, and are answered
        assert f'route="{route}",status="400"' in text
        assert f'route="{route}",status="401"' in text
    assert 'status="500"' not in text
