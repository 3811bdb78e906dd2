"""What needs an extra that is not installed: one exit code, and the command that adds it, whatever asked for it."""

from __future__ import annotations

import sys

import pytest

from .conftest import MakeCli

ASK = ("ask", "?", "a.txt", "--model", "command:cat")


@pytest.mark.parametrize(
    ("extra", "module", "given"),
    [
        ("jupyter", "ipykernel", (*ASK, "--sandbox", "jupyter")),
        ("retrieval", "bm25s", (*ASK, "--strategy", "retrieval")),
        ("data", "pandas", (*ASK, "--answer", "DataFrame")),
        ("mcp", "mcp", ("mcp", "--model", "command:cat")),
        ("local", "xllamacpp", ("ask", "?", "a.txt", "--model", "local:qwen2.5-coder-0.5b")),
    ],
)
def test_a_missing_extra_is_wrong_usage_and_says_how_it_is_added(
    make_cli: MakeCli, extra: str, module: str, given: tuple[str, ...]
) -> None:
    cli = make_cli(["unused"])
    cli.file("a.txt", "hello")
    start = f"import sys\nsys.modules[{module!r}] = None\nfrom unspool.cli import main\nsys.exit(main())"
    done = cli.run([sys.executable, "-c", start, *given])
    said = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b""), said
    assert f"pip install 'unspool[{extra}]' (in a checkout: pip install '.[{extra}]')" in said
    assert "Traceback" not in said
