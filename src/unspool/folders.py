"""Where things are kept that outlive a run: the user's folders, or those that are named.

Contract: a variable of the environment goes before the platform's folder; ``~`` in it is the home. Nothing
is left here that was not there: :func:`try_out` makes nothing.

>>> import os
>>> cache_folder("models", "/tmp/mine") == Path("/tmp/mine/models")
True
"""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

CACHE_VARIABLE = "UNSPOOL_CACHE"
RUNS_VARIABLE = "UNSPOOL_RUNS"


def cache_folder(name: str, cache: str | os.PathLike[str] | None = None) -> Path:
    """A folder in ``cache``, in ``UNSPOOL_CACHE``, or in the user's folder for caches."""
    return (_named(cache or os.environ.get(CACHE_VARIABLE, "")) or _platform("user_cache_path")) / name


def runs_folder() -> Path:
    """``UNSPOOL_RUNS``, or a folder in the user's folder for data of programs."""
    return _named(os.environ.get(RUNS_VARIABLE, "")) or _platform("user_data_path") / "runs"


def try_out(folder: Path) -> None:
    """Raises ``OSError`` where no file can be made in it, or the folder itself: before work is done whose
    outcome could not be kept. Only a trial tells: of rights, of a read-only disk, of a system's own. Nothing
    is made: another process may be about to use it."""
    _try_a_file(next(at for at in (folder, *folder.parents) if at.exists()))


def _try_a_file(folder: Path) -> None:
    """On Linux, one of no name: a folder that is there is not written to, and nobody sees it."""
    if nameless := getattr(os, "O_TMPFILE", 0):
        try:
            os.close(os.open(folder, os.O_WRONLY | os.O_CLOEXEC | nameless, 0o600))
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):  # some disks know no such
                raise
    with tempfile.TemporaryFile(dir=folder):
        pass


def _named(path: str | os.PathLike[str]) -> Path | None:
    text = os.fspath(path).strip()
    return Path(text).expanduser() if text else None


def _platform(which: str) -> Path:
    import platformdirs

    found: Path = getattr(platformdirs, which)("unspool")
    return found
