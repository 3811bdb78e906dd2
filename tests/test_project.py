"""The project itself: what is packed, pinned and promised."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import unspool

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "unspool"

# The data is used byte for byte: tests count in it, and offsets lean on it.
DATA = {
    "apache_2k.log": "c7efa3eb686e3a96bd2f8f4457b2a7887e9cf2f3649327f1b4e87af841363ce8",
    "hdfs_2k.log": "7c967000980c086ed55fa6544ba4f05fe66d44622795e890c68caf8bbb635035",
    "openssh_2k.log": "1e4912727fa88245113d41b16a0cd25ceadba7f931e1c406542885b91254264f",
    "sms_spam.tsv": "fae7ea7d915ef73903e5c2f46ffa2f4a39909a574e20fda4f2b81f7cb1e15e1f",
    "trec_questions.label": "5fb11203af50c2d7b99d2ff1f892b571b4ee8d236cc8dde7a6aaff49f539aab2",
}


def test_the_version_is_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == unspool.__version__
    assert f"## {unspool.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("unspool/")}
    wanted = {
        f"unspool/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == wanted
    assert {"unspool/py.typed", "unspool/prompts/frontier.md", "unspool/viewer/built/page.js"} <= packed


def test_the_locks_fit_the_project() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "lock"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_core_stays_small() -> None:
    """At most 30 distributions without extras: what the core needs, all that they need included."""
    from importlib.metadata import requires

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed: set[str] = set()
    queue = [Requirement(line) for line in project["dependencies"]]
    while queue:
        requirement = queue.pop()
        name = canonicalize_name(requirement.name)
        if name in needed:
            continue
        needed.add(name)
        further = (Requirement(line) for line in requires(name) or ())
        queue += [r for r in further if r.marker is None or r.marker.evaluate({"extra": ""})]
    assert len(needed) + 1 <= 30


@pytest.mark.parametrize("name", sorted(DATA))
def test_the_data_is_as_it_was_distributed(name: str) -> None:
    content = (ROOT / "examples" / "data" / name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == DATA[name]
    assert name in (ROOT / "examples" / "data" / "README.md").read_text("utf-8")


def test_importing_the_package_loads_next_to_nothing() -> None:
    code = "import sys, unspool; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "unspool" in loaded
    assert (
        set(loaded) & {"asyncio", "pydantic", "lm15", "rich", "typer", "numpy", "pandas", "uvicorn"} == set()
    )


def test_the_scripted_example_of_the_readme_prints_what_it_says(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    (example,) = (
        block for block in re.findall(r"```python\n(.*?)\n```\n", readme, re.DOTALL) if "Scripted" in block
    )
    script = tmp_path / "example.py"  # as a user has it: a file of its own, without a __main__ guard
    script.write_text(example, "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
