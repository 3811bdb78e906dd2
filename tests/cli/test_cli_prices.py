"""A limit in dollars for a model of which nobody knows the price: refused at the start, or the price is said."""

from __future__ import annotations

import sys

import pytest

from .conftest import MakeCli, submits
from .test_cli_serve import served

MODEL = f"command:{sys.executable} -c \"print('yes')\""


@pytest.mark.parametrize(
    "command", [("llm", "q"), ("map", "q", "--lines"), ("serve", "--port", "0"), ("mcp",), ("ask", "q")]
)
def test_what_cannot_be_kept_is_refused_at_the_start(make_cli: MakeCli, command: tuple[str, ...]) -> None:
    here = make_cli(["unused"])
    done = here.run(here.command(*command, "--model", MODEL, "--usd", "1"), stdin=b"x\n")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"the price of command:" in done.stderr
    assert b"--set price=READ/WRITTEN" in done.stderr


@pytest.mark.parametrize("command", [("llm", "q", "--no-cache"), ("map", "q", "--lines", "--no-cache")])
def test_the_price_that_is_said_is_enough(make_cli: MakeCli, command: tuple[str, ...]) -> None:
    here = make_cli(["unused"])
    arguments = (*command, "--model", MODEL, "--usd", "1", "--set", "price=1/2")
    done = here.run(here.command(*arguments), stdin=b"x\n")
    assert done.returncode == 0, done.stderr
    assert b"yes" in done.stdout


@pytest.mark.parametrize("given", ["temperature=1", "root.price=1", "price=a", "cost=1"])
def test_one_model_has_one_setting(make_cli: MakeCli, given: str) -> None:
    here = make_cli(["unused"])
    done = here.run(here.command("llm", "q", "--model", MODEL, "--set", given), stdin=b"x\n")
    assert done.returncode == 2
    assert f"--set {given}".encode() in done.stderr


async def test_serve_lists_its_limits(make_cli: MakeCli) -> None:
    here = make_cli([submits("1")])
    async with served(here, "--usd", "1", "--set", "price=1/2", "--max-turns", "7", "--tokens", "9000") as (
        _,
        _,
        said,
    ):
        assert "  limits    16 runs at once, each 600 s, 7 turns, $1, 9,000 tokens" in said
