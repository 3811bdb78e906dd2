"""The package as a whole: its examples run, its rooms keep apart, importing it costs and does nothing."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import unspool

ROOT = Path(unspool.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py"))
# Their classes are made of those of a library; all other files can be imported without any extra.
OF_AN_EXTRA = {f"pydantic_ai/{name}.py": "pydantic_ai" for name in ("model", "streamed")}

PUBLIC = [
    "RLM",
    "Contexts",
    "Budget",
    "Run",
    "Usage",
    "FailedCall",
    "Event",
    "Image",
    "Model",
    "ModelInfo",
    "ModelRequest",
    "ModelReply",
    "Message",
    "ModelSettings",
    "Sandbox",
    "UnspoolError",
    "ConfigError",
    "ContextError",
    "ModelError",
    "NoModelFound",
    "SandboxError",
]

# None of these may be loaded by `import unspool`: it would cost a user's program, or a newcomer's
# first `--help`, more than the package itself.
HEAVY = [
    "asyncio", "genai_prices", "huggingface_hub", "lm15", "numpy", "pandas", "pyarrow", "pydantic", "rich", "ssl",
    "stamina", "starlette", "subprocess", "typer", "uvicorn", "xllamacpp",
]  # fmt: skip


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """The modules of this package that a file imports, at any depth of its code."""
    here = module_of(path).split(".")
    package = here if path.name == "__init__.py" else here[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield stem
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def fresh(code: str) -> subprocess.CompletedProcess[str]:
    """Runs code in an interpreter of its own that finds the same package."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT.parent), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_says_what_it_is_and_stays_short(path: Path) -> None:
    text = path.read_text("utf-8")
    if text.strip():  # an empty __init__.py only marks a folder
        assert ast.get_docstring(ast.parse(text)), "a module begins with what it is"
    assert len(text.splitlines()) <= 400


@pytest.mark.parametrize("path", [p for p in FILES if p.name != "__main__.py"], ids=name_of)
def test_the_examples_in_docstrings_run(path: Path) -> None:
    if name_of(path) in OF_AN_EXTRA:
        pytest.importorskip(OF_AN_EXTRA[name_of(path)])
    module = importlib.import_module(module_of(path))
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_most_modules_carry_an_example() -> None:
    finder = doctest.DocTestParser()
    shown = [
        path
        for path in FILES
        if finder.get_examples(ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")
    ]
    assert {"__init__.py", "cells.py", "types.py", "errors.py"} <= {name_of(path) for path in shown}


def test_the_public_names_are_these() -> None:
    assert unspool.__all__ == PUBLIC
    for name in PUBLIC:
        value = getattr(unspool, name)
        assert getattr(value, "__module__", "unspool").startswith(("unspool", "typing"))
        assert name in dir(unspool)
    with pytest.raises(AttributeError, match="no attribute 'NoSuchName'"):
        unspool.NoSuchName  # noqa: B018


def test_importing_it_loads_nothing_heavy_and_starts_nothing() -> None:
    done = fresh(
        "import sys, threading, os, json\n"
        "before = dict(os.environ)\n"
        "import unspool\n"
        "print(json.dumps({\n"
        f"    'heavy': [name for name in {HEAVY!r} if name in sys.modules],\n"
        "    'threads': threading.active_count(),\n"
        "    'environment': dict(os.environ) == before,\n"
        "}))\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout) == {"heavy": [], "threads": 1, "environment": True}


def test_the_engine_can_be_imported_without_models_and_screens() -> None:
    """`from unspool import RLM` is what a program does first: what one run may need is loaded by that run."""
    done = fresh(
        "import sys\nfrom unspool import RLM\n"
        "print([n for n in ('lm15', 'genai_prices', 'numpy', 'pandas', 'starlette', 'uvicorn', 'typer', 'rich',"
        " 'xllamacpp', 'huggingface_hub') if n in sys.modules])"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("room", "stranger"),
    [
        ("sandbox", "models"),
        ("models", "sandbox"),
        ("sandbox", "loop"),
        ("models", "loop"),
        ("loop.py", "cli"),
    ],
)
def test_the_rooms_do_not_know_each_other(room: str, stranger: str) -> None:
    """Data flows one way: each end can be replaced and tested alone."""
    for path in FILES:
        if name_of(path).startswith(room):
            assert not [name for name in imports(path) if f"{name}.".startswith(f"unspool.{stranger}.")]


VOCABULARY = ("unspool.types.", "unspool.reading.", "unspool.money.")


@pytest.mark.parametrize("name", ["types.py", "reading.py", "errors.py", "money.py"])
def test_the_vocabulary_stands_alone(name: str) -> None:
    own = [found for found in imports(ROOT / name) if found.startswith("unspool.")]
    assert not [found for found in own if not f"{found}.".startswith(VOCABULARY)]
