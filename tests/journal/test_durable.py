"""What a run has written is put on the disk itself, and what a power cut leaves of it is told."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from unspool import RLM
from unspool.durable import Syncer, replace_whole
from unspool.errors import JournalError
from unspool.journal import VALUES, Journal
from unspool.testing import ScriptedModel

LONG = "```python\nprint(len(context), 'x' * 6000)\n```"
SUBMIT = "```python\nsubmit(1)\n```"


def write_twice(syncer: Syncer) -> None:
    for _ in range(2):
        syncer.wrote()
        syncer.wait()


def test_what_the_disk_refuses_is_raised_by_the_next_event(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")  # opening it fails
    with open(tmp_path / "events", "wb") as file:
        syncer = Syncer(file.fileno(), every=0.0)
        syncer.value(tmp_path / "loop")
        with pytest.raises(OSError, match="symbolic links"):
            write_twice(syncer)  # the first may be quicker than the disk
        syncer.close()
        syncer.wait()


def test_a_value_that_is_gone_with_its_run_is_no_error(tmp_path: Path) -> None:
    with open(tmp_path / "events", "wb") as file:
        syncer = Syncer(file.fileno(), every=0.0)
        syncer.value(tmp_path / "gone")
        syncer.wrote()
        syncer.close()
        syncer.wait()
    assert syncer.synced >= 1


def test_no_descriptor_is_left_of_runs_long_and_short(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for every in (0.0, 60.0):
        for _ in range(20):
            with open(tmp_path / "events", "wb") as file:
                syncer = Syncer(file.fileno(), every=every)
                syncer.wrote()
                syncer.close()
            syncer.wait()
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_a_run_of_seconds_is_put_on_the_disk(tmp_path: Path) -> None:
    with RLM(ScriptedModel([LONG, SUBMIT], latency=0.7), runs=tmp_path) as engine:
        assert engine.run("q", "c").answer == 1
    assert [t for t in threading.enumerate() if t.name.startswith("unspool-sync")]


@pytest.mark.parametrize("damage", [b"", b"\0" * 6000], ids=["empty", "zeros"])
def test_a_value_that_is_damaged_is_told(tmp_path: Path, damage: bytes) -> None:
    with RLM(ScriptedModel([LONG, SUBMIT]), runs=tmp_path) as engine:
        run = engine.run("q", "c")
    journal = Journal(tmp_path)
    (value,) = (journal.path(run.id) / VALUES).iterdir()
    value.write_bytes(damage)
    with pytest.raises(JournalError, match="is damaged"):
        journal.read(run.id)
    with (
        RLM(ScriptedModel([SUBMIT]), runs=tmp_path) as engine,
        pytest.raises(JournalError, match="is damaged"),
    ):
        engine.resume(run.id, "c")


def test_a_small_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    replace_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "settings.json.new").mkdir()  # nothing can be written there
    with pytest.raises(OSError, match="Is a directory"):
        replace_whole(path, b"newer")
    assert path.read_bytes() == b"new"
