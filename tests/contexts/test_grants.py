"""Descriptors go out for the files that were named, and for nothing else, whoever asks and however."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from unspool.contexts.grants import Grants, open_entry
from unspool.contexts.sources import Entry, Source, source_of, sources_in, with_sources
from unspool.errors import ContextError, HostCallError
from unspool.sandbox._calls import OPEN
from unspool.sandbox._frames import ProtocolError, unpack
from unspool.sandbox._values import Reference
from unspool.sandbox.protocol import HostCall


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "a.txt").write_text("one")
    (inside / "sub" / "b.txt").write_text("two")
    (tmp_path / "secret.txt").write_text("secret")
    return inside


async def opened(grants: Grants, source: str, *numbers: object) -> list[str]:
    """What the descriptors hold that are handed out; refusals as they are worded."""
    reply = await grants.open(HostCall(OPEN, (source, list(numbers))))
    fds = list(reply.fds)
    assert isinstance(reply.value, list)
    found = []
    for reason in reply.value:
        if reason is not None:
            found.append(reason)
            continue
        fd = fds.pop(0)
        found.append(os.read(fd, 1_000).decode())
        os.close(fd)
    assert fds == []
    return found


async def test_entries_of_a_source_are_opened_by_number(folder: Path) -> None:
    source = source_of(folder)
    assert [entry.path for entry in source.entries] == ["a.txt", "sub/b.txt"]
    assert await opened(Grants(source), source.id, 1, 0, 0) == ["two", "one", "one"]
    for inside in ({"x": source, "y": "text"}, [source], (1, source)):
        assert await opened(Grants(inside), source.id, 0) == ["one"]


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("id", [2]),
        ("id", [-1]),
        ("id", [True]),
        ("id", ["0"]),
        ("id", [0.0]),
        ("id", "0"),
        ("id", [0] * 65),
        ("id", [0], 1),
        ("other", [0]),
        (["id"], [0]),
        (None, [0]),
    ],
)
async def test_nothing_else_can_be_asked_for(folder: Path, args: tuple[object, ...]) -> None:
    source = source_of(folder)
    named = tuple(source.id if arg == "id" else arg for arg in args)
    with pytest.raises(HostCallError, match="no such file was given"):
        await Grants(source).open(HostCall(OPEN, named))


@pytest.mark.parametrize(
    "path", ["../secret.txt", "sub/../../secret.txt", "/etc/hostname", "", ".", "sub//b.txt", "sub/"]
)
def test_a_path_that_leaves_the_root_is_never_opened(folder: Path, path: str) -> None:
    """Not even from an entry that somebody has forged."""
    info = (folder.parent / "secret.txt").stat()
    with pytest.raises(OSError, match=r"no path|No such|Is a"):
        open_entry(str(folder), Entry(path, 1, info.st_dev, info.st_ino))


def _replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("XXX")  # the old one still exists, so the new one has another number
    other.replace(path)


def _linked(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent / "secret.txt")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _shorter(path: Path) -> None:
    path.write_text("o")


def _gone(path: Path) -> None:
    path.unlink()


def _folder_linked(path: Path) -> None:
    moved = path.parent.parent / "moved"
    path.parent.rename(moved)
    path.parent.symlink_to(moved)


@pytest.mark.parametrize("change", [_replaced, _linked, _pipe, _shorter, _gone, _folder_linked])
async def test_a_file_that_was_changed_meanwhile_is_refused(folder: Path, change: object) -> None:
    (folder / "sub" / "c.txt").write_text("three")
    source = source_of(folder)
    place = [entry.path for entry in source.entries].index("sub/c.txt")
    keep = os.open(folder / "sub" / "c.txt", os.O_RDONLY)  # so that its number is not used again
    try:
        change(folder / "sub" / "c.txt")  # type: ignore[operator]
        (told,) = await opened(Grants(source), source.id, place)
    finally:
        os.close(keep)
    assert told.startswith("sub/c.txt cannot be read: ")


async def test_a_file_that_grows_is_as_long_as_it_was(folder: Path) -> None:
    source = source_of(folder / "a.txt")
    with (folder / "a.txt").open("a") as file:
        file.write(" and more")
    assert source.size == 3
    assert await opened(Grants(source), source.id, 0) == ["one and more"]  # what is read of it: 3 bytes


def test_links_pipes_and_what_is_closed_are_left_out_and_counted(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "linked").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe")
    source = source_of(folder)
    assert [entry.path for entry in source.entries] == ["a.txt", "sub/b.txt"]
    assert source.note == "left out: 2 links, 1 that is no regular file"


def test_a_link_that_the_user_names_is_followed(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    source = source_of(folder / "link.txt")
    assert (source.name, source.entries[0].path, source.size) == ("link.txt", "secret.txt", 6)


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("*.txt", ["a.txt"]),
        ("**/*.txt", ["a.txt", "sub/b.txt"]),
        ("s?b/*", ["b.txt"]),
        ("sub/[ab].txt", ["b.txt"]),
    ],
)
def test_a_glob(folder: Path, glob: str, paths: list[str]) -> None:
    found = [entry.path for entry in source_of(folder / glob).entries]
    assert [path.removeprefix("sub/") for path in found] == [path.removeprefix("sub/") for path in paths]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("*.none", "no file matches"),
        ("none/*", "no folder"),
        ("none", "no such file"),
        ("[" * 100_000, "at most 4,096 characters"),  # nothing reads it: that alone would take a minute
    ],
    ids=["glob", "folder", "file", "long"],
)
def test_nothing_there(folder: Path, name: str, words: str) -> None:
    with pytest.raises(ContextError, match=words):
        source_of(folder / name)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContextError, match="no files"):
        source_of(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_without_permission(folder: Path) -> None:
    (folder / "sub").chmod(0)
    try:
        with pytest.raises(ContextError, match="permission"):
            source_of(folder / "sub")
        assert source_of(folder).note == "left out: 1 without permission (sub/)"
    finally:
        (folder / "sub").chmod(0o700)


def git(folder: Path, *args: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", "-C", str(folder), *who, *args], check=True, capture_output=True)


def test_what_git_ignores_is_not_there(folder: Path) -> None:
    git(folder, "init")
    (folder / ".gitignore").write_text(".env\nbuild/\n")
    (folder / ".env").write_text("KEY=secret")
    (folder / "build").mkdir()
    (folder / "build" / "out.txt").write_text("x")
    git(folder, "add", "a.txt")
    source = source_of(folder)
    assert [entry.path for entry in source.entries] == [".gitignore", "a.txt", "sub/b.txt"]
    assert "Git ignores" in source.note
    assert [entry.path for entry in source_of(folder / "sub").entries] == ["b.txt"]
    # A git that does not answer must not turn into all files.
    (folder / ".git" / "config").write_text("[broken")
    with pytest.raises(ContextError, match="git cannot list"):
        source_of(folder)


def test_references_are_checked(folder: Path) -> None:
    source = source_of(folder)
    grants = Grants(source)
    part = grants.resolve({"a": Reference(source.id, 1, 1, 2, 7), "b": ["text"]})
    assert isinstance(part, dict)
    (made,) = sources_in(part)
    with pytest.raises(HostCallError, match="no deeper"):
        grants.resolve([[Reference(source.id, 1, 1, 2, 7)]])
    assert (made.kind, made.name, made.start, made.stop, made.line) == ("text", "sub/b.txt", 1, 2, 7)
    assert grants.resolve(Reference(source.id, -1, 0, -1, 1)) == source
    inner = Grants(made)
    assert inner.resolve(Reference(made.id, 0, 1, 2, 7)) == made
    for wrong in (
        Reference("other", 0, 0, 1, 1),
        Reference(source.id, 2, 0, 1, 1),
        Reference(source.id, 0, 5, 2, 1),
    ):
        with pytest.raises(HostCallError):
            grants.resolve(wrong)
    for outside in (
        Reference(made.id, 0, 0, 2, 1),
        Reference(made.id, 0, 1, 3, 1),
        Reference(made.id, 0, 1, -1, 1),
    ):
        with pytest.raises(HostCallError, match="not inside"):
            inner.resolve(outside)


def test_the_sandbox_is_told_no_path_of_the_host(folder: Path) -> None:
    source = with_sources(folder / "a.txt")
    assert isinstance(source, Source)
    assert str(folder) not in repr(source.plain())


@pytest.mark.parametrize(
    "forged",
    [
        [],
        ["id", 0, 0, 1],
        ["id", 0, 0, 1, 1, 1],
        ["id", True, 0, 1, 1],
        ["id", 0, -2, 1, 1],
        ["id", 0, 0, 1 << 62, 1],
        ["id", 0.0, 0, 1, 1],
        ["x" * 65, 0, 0, 1, 1],
        [{"s": 0}, 0, 0, 1, 1],
        "id",
        None,
    ],
)
def test_a_reference_in_a_frame_is_hostile_until_checked(forged: object) -> None:
    header = json.dumps({"t": "call", "v": [{"r": forged}], "s": []}).encode()
    with pytest.raises(ProtocolError):
        unpack(header, memoryview(b""))


def test_a_reference_that_is_well_formed_arrives() -> None:
    header = json.dumps({"t": "call", "v": [{"r": ["id", -1, 0, -1, 1]}], "s": []}).encode()
    assert unpack(header, memoryview(b"")).values == [Reference("id", -1, 0, -1, 1)]
