"""The folder of a measurement: its settings, one line a sample, the runs, and later the report.

::

    OUT/eval.json       how it was asked, and the commands that did
    OUT/samples.jsonl   one line a sample (record.py)
    OUT/runs/           the journal of every run (unspool runs show ID --runs OUT/runs)
    OUT/report.md, OUT/plots/

Contract: one process writes at a time. A line that was being written when the process was killed is taken
away when the next goes on. A folder holds what was asked in one way: other settings are refused, since their
figures would be mixed.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as name, Kept.open(Path(name), {"seconds": 60.0}, "eval") as kept:
...     kept.done
frozenset()
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from io import FileIO
from pathlib import Path

from ..durable import replace_whole
from ..errors import ConfigError
from ..folders import try_out
from .record import Key, Record, line, read, wrong_with

SETTINGS, SAMPLES, RUNS = "eval.json", "samples.jsonl", "runs"
Setting = str | int | float | None
Settings = Mapping[str, Setting]


class Kept:
    """The folder, open for writing."""

    def __init__(self, folder: Path, file: FileIO, records: Iterable[Record]) -> None:
        self.folder = folder
        self._file = file
        self.done: frozenset[Key] = frozenset(record.key for record in records if record.paid)

    @classmethod
    def open(cls, folder: Path, settings: Settings, command: str) -> Kept:
        """Makes it, or goes on in it. Raises :class:`ConfigError`."""
        with ExitStack() as unless_kept:
            try:
                (folder / RUNS).mkdir(parents=True, exist_ok=True)
                file = unless_kept.enter_context((folder / SAMPLES).open("ab+", buffering=0))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _mend(file)
                _agree(folder, settings, command)
            except BlockingIOError:
                raise ConfigError(
                    f"{folder}: another unspool eval writes there now: wait, or name another --out"
                ) from None
            except OSError as error:
                raise _unwritable(folder, error) from None
            kept = cls(folder, file, read_samples(folder))
            unless_kept.pop_all()
            return kept

    @staticmethod
    def check(folder: Path, settings: Settings) -> None:
        """Whether :meth:`open` would do, before anything is fetched for it. Raises :class:`ConfigError`."""
        try:
            _commands(folder, settings)
            try_out(folder / RUNS)
        except OSError as error:
            raise _unwritable(folder, error) from None

    def add(self, record: Record) -> None:
        """One line, on its way to the disk before this returns. Raises :class:`ConfigError`."""
        rest, before = memoryview(line(record).encode() + b"\n"), os.fstat(self._file.fileno()).st_size
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._file.truncate(before)  # half a line would spoil the next
            raise _unwritable(self.folder, error) from None

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_samples(folder: Path) -> list[Record]:
    """All that was measured there, the last line of each sample alone. Raises :class:`ConfigError`."""
    path = folder / SAMPLES
    try:
        rows = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}): give the folder that unspool eval --out wrote"
        ) from None
    records: dict[Key, Record] = {}
    for number, row in enumerate(rows[:-1], 1):  # after the last newline there is nothing, or half a line
        try:
            record = read(row.decode())
        except ValueError as error:
            reason = wrong_with(error)
            raise ConfigError(
                f"{path}, line {number}: no sample of unspool eval ({reason}): take the line away, "
                "and what it stood for is asked again"
            ) from None
        records.pop(record.key, None)
        records[record.key] = record
    return list(records.values())


def read_settings(folder: Path) -> tuple[Settings, list[str]]:
    """How it was asked, and the commands that did. Raises :class:`ConfigError`."""
    path = folder / SETTINGS
    try:
        found = json.loads(path.read_text("utf-8"))
        return dict(found["settings"]), [str(each) for each in found["commands"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(
            f"{path} cannot be read ({error}): give the folder that unspool eval --out wrote"
        ) from None


def _agree(folder: Path, settings: Settings, command: str) -> None:
    """Writes the settings, or refuses others than those that are there."""
    commands = _commands(folder, settings)
    if command not in commands:
        whole = json.dumps({"settings": dict(settings), "commands": [*commands, command]}, indent=1)
        replace_whole(folder / SETTINGS, f"{whole}\n".encode())


def _commands(folder: Path, settings: Settings) -> list[str]:
    """Those that asked in this way before."""
    commands: list[str] = []
    if (folder / SETTINGS).exists():
        before, commands = read_settings(folder)
        other = [name for name in {**before, **settings} if before.get(name) != settings.get(name)]
        if other:
            told = "; ".join(f"{name} is {before.get(name)}, not {settings.get(name)}" for name in other)
            raise ConfigError(
                f"{folder} holds samples that were asked in another way ({told}): ask in that way, or "
                "name another --out"
            )
    return commands


def _mend(file: FileIO) -> None:
    """Takes away a last line that has no end."""
    file.seek(0)
    whole = file.read()
    end = whole.rfind(b"\n") + 1
    if end < len(whole):
        file.truncate(end)
    file.seek(0, os.SEEK_END)


def _unwritable(folder: Path, error: OSError) -> ConfigError:
    return ConfigError(f"{folder} cannot be written ({error.strerror}): name another folder with --out")
