"""The engines that ``scripts/bench peers`` measures, and the environment that each is installed into."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DRIVERS = Path(__file__).parent / "drivers"
PROBE = """
import importlib.metadata, importlib.util, json, pathlib, re, sys

def needs(name, found):
    key = re.sub("[-_.]+", "-", name).lower()
    try:
        made = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:  # for another system
        return
    if found.setdefault(key, made) is made:
        for line in made.requires or ():
            if "extra ==" not in line:
                needs(re.match("[A-Za-z0-9._-]+", line)[0], found)

found = {}
package, *names = sys.argv[1:]
for name in names:
    needs(name, found)
files = {pathlib.Path(made.locate_file(file)) for made in found.values() for file in made.files or ()}
folder = pathlib.Path(importlib.util.find_spec(package).origin).parent  # a checkout's own is among no files
files |= set(folder.rglob("*"))
size = sum(f.stat().st_size for f in files if f.is_file() and "__pycache__" not in f.parts)
print(json.dumps([importlib.metadata.version(names[0]), len(found), size // 10**6]))
"""


@dataclass(frozen=True)
class Peer:
    """``requirements`` are given to pip: exact versions, so that two measurements are of the same."""

    name: str
    requirements: tuple[str, ...]


PEERS = (
    Peer("rlms", ("rlms==0.1.3",)),
    Peer("dspy", ("dspy==3.4.1",)),
    Peer("minrlm", ("minrlm==0.1.5",)),
    Peer("recursive-llm", ("recursive-llm==0.5.0",)),
    Peer("droste", ("droste==0.26.0",)),
    Peer("recursive-flow", ("recursive-flow==0.4.2", "openai<4")),
    Peer("rlmness", ("rlmness==0.2.1",)),
)
WITHOUT = {  # no driver: why it is not measured
    "fast-rlm": "its engine is a program for Deno with packages that PyPI does not have",
    "predict-rlm": "its sandbox is a program for Deno with packages that PyPI does not have",
}


@dataclass(frozen=True)
class Environment:
    """Where one engine is installed. ``where``: what its driver says of the model's code.
    ``packages`` and ``megabytes``: with all that it needs, extras left out."""

    name: str
    python: Path
    driver: Path
    package: str
    where: str
    version: str
    packages: int
    megabytes: int


def all_of(only: Sequence[str]) -> Iterator[Environment | str]:
    """Ours, then the others; a line that says why where one cannot be had."""
    yield _probed("unspool", Path(sys.executable), ["unspool"])
    for peer in PEERS:
        if only and peer.name not in only:
            continue
        try:
            names = [re.split("[=<]", requirement)[0] for requirement in peer.requirements]
            yield _probed(peer.name, _installed(peer), names)
        except subprocess.CalledProcessError as error:
            told = (error.stderr or error.stdout or "").strip().splitlines()
            yield f"{peer.name}: {told[-1] if told else error}"
    yield from (f"{name}: {why}" for name, why in WITHOUT.items() if not only)


def _installed(peer: Peer) -> Path:
    from unspool.folders import cache_folder

    folder = cache_folder("bench-peers") / "-".join((peer.name, peer.requirements[0].partition("==")[2]))
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        print(f"installing {' '.join(peer.requirements)} into {folder}", file=sys.stderr, flush=True)
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        _run(
            [
                str(python),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                *peer.requirements,
            ]
        )
        done.touch()
    return python


def _probed(name: str, python: Path, names: Sequence[str]) -> Environment:
    driver = DRIVERS / f"with_{name.replace('-', '_')}.py"
    said = _constants(driver)
    version, packages, megabytes = json.loads(_run([str(python), "-c", PROBE, said["package"], *names]))
    return Environment(name, python, driver, said["package"], said["where"], version, packages, megabytes)


def _constants(driver: Path) -> dict[str, str]:
    """What the driver's class says of itself; it can be imported in its own environment alone."""
    return {
        node.targets[0].id: node.value.value
        for node in ast.walk(ast.parse(driver.read_text()))
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
