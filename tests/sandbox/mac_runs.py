"""Runs code in a process of its own, on what looks like a Mac."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MAC = Path(__file__).with_name("mac.py")


def on_a_mac(code: str, *arguments: object, seconds: float = 300.0) -> str:
    """What the code prints there; ``sys.argv[2:]`` are the arguments."""
    done = subprocess.run(
        [sys.executable, str(MAC), code, *map(str, arguments)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


def stand_in(folder: Path, does: str) -> Path:
    """A program in the place of ``sandbox-exec``."""
    path = folder / "sandbox-exec"
    start = f"#!{sys.executable} -SsP\nimport os, sys\nsys.path.insert(0, {str(MAC.parent)!r})\nimport mac\n"
    path.write_text(f"{start}del sys.path[0]\n{does}\n")
    path.chmod(0o755)
    return path
