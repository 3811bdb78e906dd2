"""A new user's first minute: a new virtual environment, the package, six lines, on every Python that we name.

The Pythons are the ones found here; where none of a version is, or no package can be had (no network, nothing
in a cache), the test of that version is skipped and says so. A fault of the package itself never is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# No `__main__` guard: what a user types.
SCRIPT = """\
from unspool import RLM
from unspool.testing import ScriptedModel

replies = ["```python\\nprint(len(context))\\n```", "```python\\nsubmit(context.count('a'))\\n```"]
run = RLM(ScriptedModel(replies), runs=False).run("How many a?", "banana" * 100_000)
print(run.status, run.answer)
"""
OUT_OF_REACH = re.compile(
    r"No matching distribution|resolv|NewConnectionError|not found in the (package registry|cache)"
    r"|network connectivity|no version|dns error|offline",
    re.IGNORECASE,
)


def interpreter(version: str) -> str | None:
    """A Python of this version that runs: a pyenv shim of one that is not chosen does not."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *sorted(map(str, versions.glob(f"{version}.*/bin/python")))]
    for path in filter(None, found):
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60)
        if told.returncode == 0 and told.stdout.startswith(f"Python {version}."):
            return path
    return None


def install(python: Path) -> None:
    """Install the checkout as users do; from uv's cache first, which needs no network."""
    ways = [[str(python), "-m", "pip", "install", "-q", "--no-input", str(ROOT)]]
    if uv := shutil.which("uv"):
        ways.insert(0, [uv, "pip", "install", "-q", "--offline", "--python", str(python), str(ROOT)])
    # In the environment, so that the pip which pip starts for hatchling knows it: where there is no network it
    # waits 8 seconds for each package otherwise.
    env = {**os.environ, "PIP_RETRIES": "1"}
    said = []
    for way in ways:
        done = subprocess.run(
            way, env=env, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL
        )
        if done.returncode == 0:
            return
        said.append(done.stdout + done.stderr)
    assert all(OUT_OF_REACH.search(text) for text in said), "\n".join(said)
    pytest.skip(f"the packages cannot be had here: {said[-1].strip().splitlines()[-1]}")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_six_lines_work_in_a_new_environment(version: str, tmp_path: Path) -> None:
    base = interpreter(version)
    if base is None:
        pytest.skip(f"no Python {version} here")
    subprocess.run([base, "-m", "venv", tmp_path / "venv"], check=True, timeout=300)
    python = tmp_path / "venv" / "bin" / "python"
    install(python)
    (tmp_path / "six.py").write_text(SCRIPT)
    done = subprocess.run([python, "six.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("answered 300000\n", "", 0)
