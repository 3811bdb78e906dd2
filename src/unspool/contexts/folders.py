"""The files of a folder, of a Git checkout, of a glob: names, sizes, which file each is; none is opened.

Contract: links are not followed: one that is met below a folder is left out and counted, and so is what is no
regular file. What may not be opened is named, :data:`MOST_CLOSED` of it. In a Git checkout the files are
those that Git knows or would add (``git ls-files -co --exclude-standard``), so what it ignores (``.env``,
build outputs) is left out; without git, ``.git`` alone is. Paths are below :attr:`Found.root`, sorted, with
``/``.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = (Path(folder) / "a.txt").write_text("one")
...     found = find_files(folder, "x")
>>> [(path, size) for path, size, _, _ in found.files]
[('a.txt', 3)]
"""

from __future__ import annotations

import glob
import os
import re
import stat
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ContextError
from ..reach.files import on_one_line
from ..reach.passed import Closed
from ..reach.shown import cut

MOST_FILES = 200_000
LONGEST = (
    4_096  # characters of a glob, as of a path: the time to read one grows with the square of its length
)
MOST_CLOSED = 1_000
MOST_TOLD = 3  # of them in the description
DENIED = "Permission denied"
_GIT_SECONDS = 60.0
_GIT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": "1",  # no program that the checkout names is started
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
}
_UNOPENED = re.compile(rb"^warning: could not open directory '(.+)': (.+)$", re.MULTILINE)
"""What git says of a folder that it cannot list; the path is below the top of the checkout."""


@dataclass(slots=True)
class Found:
    """(path, size, device, inode) of each file, and what was left out."""

    root: str
    files: list[tuple[str, int, int, int]] = field(default_factory=list)
    links: int = 0
    odd: int = 0  # pipes, sockets, devices
    shut: dict[str, str] = field(default_factory=dict)  # what may not be opened, by its path: why
    ignored: bool = False  # what Git ignores

    def why(self) -> str:
        """What was left out, in words."""
        parts = [
            f"{count:,} {one if count == 1 else many}"
            for count, one, many in (
                (self.links, "link", "links"),
                (self.odd, "that is no regular file", "that are no regular files"),
                (len(self.shut), self._shut_told(), self._shut_told()),
            )
            if count
        ]
        if self.ignored:
            parts.append("what Git ignores")
        return f"left out: {', '.join(parts)}" if parts else ""

    def _shut_told(self) -> str:
        names = [cut(on_one_line(path), 60) for path in sorted(self.shut)[:MOST_TOLD]]
        return f"without permission ({', '.join(names)}{', …' if len(self.shut) > MOST_TOLD else ''})"

    @property
    def closed(self) -> Closed:
        """What may not be opened; folders with a ``/`` behind them."""
        return len(self.shut), tuple(sorted(self.shut.items())[:MOST_CLOSED])

    def nothing(self, name: str) -> ContextError:
        """What to say where no file is left."""
        if self.links or self.odd or self.shut:
            return ContextError(f"{name} has no files in it that could be read ({self.why()}).")
        if self.ignored and next(_walk(self.root, self), None) is not None:
            return ContextError(f"{name} has no files in it but what Git ignores: name them with a glob.")
        return ContextError(f"{name} is empty: there are no files in it.")

    def add(self, path: str, full: str) -> None:
        if len(self.files) >= MOST_FILES:
            raise ContextError(
                f"{self.root} has more than {MOST_FILES:,} files: name a folder in it, or a glob."
            )
        try:
            info = os.lstat(full)
        except FileNotFoundError:
            return
        except OSError as error:
            self.shut[path] = error.strerror or type(error).__name__
            return
        if stat.S_ISLNK(info.st_mode):
            self.links += 1
        elif not stat.S_ISREG(info.st_mode):
            self.odd += 1
        elif not os.access(full, os.R_OK):
            self.shut[path] = DENIED
        else:
            self.files.append((path, info.st_size, info.st_dev, info.st_ino))


def find_files(root: str, name: str) -> Found:
    """All of a folder."""
    _check_open(root, name)
    found = Found(root)
    if (known := _git_files(root, found)) is not None:
        found.ignored = True
        names: Iterable[str] = sorted(known)
    else:
        names = _walk(root, found)
    for path in names:
        if _inside(root, path, found):
            found.add(path, os.path.join(root, path))
    found.files.sort()
    return found


def find_glob(pattern: str, name: str) -> Found:
    """What a glob matches; ``**`` is any folders below."""
    if len(pattern) > LONGEST:
        raise ContextError(f"{name:.60}…: a path has at most {LONGEST:,} characters. Check the path.")
    before, rest = _parted(pattern)
    base = os.path.realpath(before)
    if not os.path.isdir(base):
        _check_way(base, name)
        raise ContextError(f"{name}: there is no folder {base}. Check the path.")
    _check_open(base, name)
    found = Found(base)
    for path in sorted(set(glob.iglob(rest, root_dir=base, recursive=True))):
        path = os.path.normpath(path)
        if path.split(os.sep)[0] != ".." and _inside(base, path, found) and not _is_folder(base, path):
            found.add(path, os.path.join(base, path))
    _closed_folders(base, rest, found)
    if not found.files and not found.why():
        raise ContextError(f"{name}: no file matches. Check the path.")
    return found


def _check_open(folder: str, name: str) -> None:
    if not os.access(folder, os.R_OK | os.X_OK):
        raise ContextError(f"{name} cannot be read: {DENIED}. Check the folder's permissions.")


def _check_way(path: str, name: str) -> None:
    """Refuses what lies behind a folder that may not be entered: whether it is there, nobody can tell."""
    try:
        os.stat(path)
    except PermissionError:
        raise ContextError(f"{name} cannot be read: {DENIED}. Check the folder's permissions.") from None
    except OSError:
        return


def _closed_folders(base: str, rest: str, found: Found) -> None:
    """The folders that a glob would have gone into, and could not: it passes over them without a word."""
    parts = [part for part in rest.split("/") if part]
    ends = range(1, len(parts) + ("**" in parts[-1:]))
    for end in ends:
        if parts[end - 1 : end + 1] == ["**", "**"]:  # the next one finds the same
            continue
        folders = set(glob.iglob("/".join((*parts[:end], "")), root_dir=base, recursive=True))
        if not folders:
            return
        for path in map(os.path.normpath, folders):
            if not os.access(os.path.join(base, path), os.R_OK | os.X_OK) and not _is_linked(base, path):
                found.shut[f"{path}/"] = DENIED


def _is_linked(root: str, path: str) -> bool:
    """Whether it, or a folder on the way to it, is a link or above the root."""
    parts = path.split("/")
    ways = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    return parts[0] == ".." or any(os.path.islink(os.path.join(root, way)) for way in ways)


def _parted(pattern: str) -> tuple[str, str]:
    """The folder that a glob begins in, and the glob from there.

    >>> _parted("logs/old/*.gz"), _parted("*.gz"), _parted("/*.gz")
    (('logs/old', '*.gz'), ('.', '*.gz'), ('/', '*.gz'))
    """
    parts = pattern.split("/")
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    before = "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")
    return before, "/".join(parts[first:])


def _is_folder(root: str, path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(os.path.join(root, path)).st_mode)
    except OSError:
        return False


def _inside(root: str, path: str, found: Found) -> bool:
    """Whether no folder on the way to a file is a link."""
    at = root
    for part in path.split("/")[:-1]:
        at = os.path.join(at, part)
        if os.path.islink(at):
            found.links += 1
            return False
    return True


def _walk(root: str, found: Found) -> Iterator[str]:
    def failed(error: OSError) -> None:
        path = os.path.relpath(os.fsdecode(error.filename or root), root)
        found.shut[f"{path}/"] = error.strerror or type(error).__name__

    for folder, folders, files in os.walk(root, onerror=failed):
        for linked in [each for each in folders if os.path.islink(os.path.join(folder, each))]:
            folders.remove(linked)
            found.links += 1
        if ".git" in folders:
            folders.remove(".git")
        folders.sort()
        inside = os.path.relpath(folder, root)
        for file in files:
            yield file if inside == "." else f"{inside}/{file}"


def _git_files(root: str, found: Found) -> list[str] | None:
    """The files that Git knows or would add, below a folder of a checkout; ``None`` where there is no
    checkout or no git."""
    at = Path(root)
    top = next((each for each in (at, *at.parents) if os.path.exists(each / ".git")), None)
    if top is None:
        return None
    try:
        done = subprocess.run(
            ["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
            env={**os.environ, **_GIT}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_GIT_SECONDS,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        if "not a git repository" in said:
            return None
        # Not all but .git: that would hand out what Git ignores, such as .env.
        raise ContextError(
            f"{root}: git cannot list its files ({said}). Mend that, or name files with a glob."
        )
    for folder, why in _UNOPENED.findall(done.stderr):
        path = os.path.relpath(top / os.fsdecode(folder), root)
        if not path.startswith(".."):
            found.shut[f"{path}/"] = why.decode("utf-8", "replace")
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
