"""Journals that are damaged, of another version, or written by somebody else: told, never obeyed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from unspool.errors import JournalError
from unspool.journal import EVENTS_FILE, Journal
from unspool.run_index import RunIndex

from .. import stories

ODD: tuple[object, ...] = (
    None, True, 10**30, -(10**400), 1.5, float("nan"), float("inf"), 1e300, "x", "\ud800", [], [1], [[0, 0]], {},
    {"$": "../../x"}, {"v": 1},
)  # fmt: skip


def places(value: object) -> Iterator[tuple[dict[str, object] | list[object], object]]:
    """Everything in an event that can be another thing, each with what holds it."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from places(item)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """One line of each kind of event."""
    folder = tmp_path_factory.mktemp("stories")
    told = stories.with_children(folder), stories.with_branches(folder)
    kinds = {
        json.loads(line)["kind"]: line
        for run in told
        for line in (folder / run.id / EVENTS_FILE).read_text("utf-8", "surrogatepass").splitlines()
    }
    return list(kinds.values())


def test_a_field_of_another_type_is_told(lines: list[str], tmp_path: Path) -> None:
    """Whatever stands in a field, the event is what its type says, or the line is named."""
    journal, path = Journal(tmp_path), tmp_path / "odd" / EVENTS_FILE
    path.parent.mkdir()
    refused: list[str] = []
    for line in lines:
        for place in range(len(list(places(json.loads(line))))):
            for odd in ODD:
                event = json.loads(line)
                holder, key = list(places(event))[place]
                if key == "kind":
                    continue
                holder[key] = odd  # type: ignore[index, call-overload]
                path.write_bytes(json.dumps(event).encode() + b"\n")
                try:
                    (read,) = journal.read("odd")
                except JournalError as error:
                    refused.append(str(error))
                    continue
                assert type(read.seq) is int
                assert type(read.time) in (int, float)
                for name, value in vars_of(read):
                    assert not isinstance(value, list), name
                    assert not isinstance(value, int) or abs(value) <= 1 << 63, name
    assert len(refused) > 1_000
    assert all(EVENTS_FILE in each or "value" in each or "hash" in each for each in refused)


def vars_of(event: object) -> list[tuple[str, object]]:
    free = ("kept", "value", "answer", "settings", "scores")  # values of any type
    return [(n, getattr(event, n)) for n in getattr(event, "__slots__", ()) if n not in free]


@pytest.mark.parametrize("word", ["\x1b[2J", "<b>", "a\nb", "# head", "`|", "x" * 41, "\ud800"])
def test_a_word_of_a_closed_set_is_a_word(lines: list[str], tmp_path: Path, word: str) -> None:
    """It is shown as it stands, and another version may have other ones."""
    journal, path, tried = Journal(tmp_path), tmp_path / "odd" / EVENTS_FILE, 0
    path.parent.mkdir()
    for line in lines:
        for name in {"status", "outcome", "role", "finish", "limit"} & json.loads(line).keys():
            path.write_text(json.dumps({**json.loads(line), name: "of-2031"}) + "\n")
            assert getattr(journal.read("odd")[0], name) == "of-2031"
            path.write_text(json.dumps({**json.loads(line), name: word}) + "\n")
            with pytest.raises(JournalError, match="is no word"):
                journal.read("odd")
            tried += 1
    assert tried > 4


def test_a_newer_version_says_more(lines: list[str], tmp_path: Path) -> None:
    journal, path = Journal(tmp_path), tmp_path / "new" / EVENTS_FILE
    path.parent.mkdir()
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", "surrogatepass")
    before = journal.read("new")
    newer = [{**json.loads(line), "mood": {"of": ["the", "model"]}} for line in lines]
    newer.insert(1, {"kind": "moon.rose", "seq": 1, "time": 2.0, "node": ["?"]})
    path.write_text("".join(json.dumps(each) + "\n" for each in newer), "utf-8")
    assert journal.read("new") == before


def test_nesting_without_end_is_told(tmp_path: Path) -> None:
    path = tmp_path / "deep" / EVENTS_FILE
    path.parent.mkdir()
    path.write_text("[" * 200_000 + "\n")
    with pytest.raises(JournalError, match=r"line 1: .*too deep"):
        Journal(tmp_path).read("deep")
    (row,) = RunIndex(Journal(tmp_path)).rows()
    assert row.state == "unreadable"


def test_what_is_no_journal_is_not_read(tmp_path: Path) -> None:
    """To read a pipe, or a device, would have no end."""
    for name in ("pipe", "device", "folder", "empty", "line\nbreak"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "pipe" / EVENTS_FILE)
    (tmp_path / "device" / EVENTS_FILE).symlink_to("/dev/zero")
    (tmp_path / "folder" / EVENTS_FILE).mkdir()
    (tmp_path / "empty" / EVENTS_FILE).touch()
    (tmp_path / "line\nbreak" / EVENTS_FILE).touch()
    strange = os.path.join(os.fsencode(tmp_path), b"\xff")
    os.mkdir(strange)
    with open(os.path.join(strange, os.fsencode(EVENTS_FILE)), "wb"):
        pass
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    journal = Journal(tmp_path)
    assert {row.id: row.state for row in RunIndex(journal).rows()} == {
        "device": "unreadable", "folder": "unreadable", "pipe": "unreadable", "empty": "unreadable"
    }  # fmt: skip
    for name in ("pipe", "device", "folder", "loop"):
        with pytest.raises(JournalError, match="there is no run"):
            journal.read(name)
