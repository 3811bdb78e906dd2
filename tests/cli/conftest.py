"""Runs the real command in a process of its own, against a loopback server that plays the model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from unspool.testing import Ask, Behaviour, FaultyServer

COMMAND = (sys.executable, "-m", "unspool")
SECONDS = 60  # a hang is a failure, not a stuck suite

LOOK = "```python\nprint(len(context))\n```"


def submits(expression: str) -> str:
    """A reply whose code looks, then submits."""
    return f"```python\nprint(type(context))\nsubmit({expression})\n```"


def clean_environment(**more: str) -> dict[str, str]:
    """The caller's environment without keys, endpoints or terminal settings of its own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME", "PYTHONPATH", "TMPDIR", "VIRTUAL_ENV", "XDG_CACHE_HOME", "UNSPOOL_RUNS")
    }
    return {**kept, "LANG": "C.UTF-8", **more}


class Cli:
    """The command with a served model; ``run`` returns what came out of it."""

    def __init__(self, server: FaultyServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.environment = clean_environment(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="test")

    def command(self, *arguments: str) -> list[str]:
        return [*COMMAND, *arguments]

    def ask(self, *arguments: str) -> list[str]:
        return self.command("ask", *arguments, "--model", "openai:test-model")

    def run(
        self, command: list[str], *, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            cwd=self.folder,
            env={**self.environment, **(environment or {})},
            timeout=SECONDS,
            check=False,
        )

    def file(self, name: str, content: bytes | str) -> str:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return name


MakeCli = Callable[..., Cli]


@pytest.fixture
def make_cli(tmp_path: Path) -> Iterator[MakeCli]:
    """``make_cli(replies)``: a list of replies or a function of the request."""
    servers: list[FaultyServer] = []

    def make(script: list[Behaviour | str] | Callable[[Ask], Behaviour | str]) -> Cli:
        server = FaultyServer(script).start()
        servers.append(server)
        return Cli(server, tmp_path)

    yield make
    for server in servers:
        server.stop()
