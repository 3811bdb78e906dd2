"""The cache of replies: kept whole, bounded, shared between processes that may be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from unspool import Message, ModelInfo, ModelReply, ModelRequest, Usage
from unspool.cache import FILE, ReplyCache, cache_key, default_folder
from unspool.request_key import request_key

INFO = ModelInfo("scripted:model")
ASK = ModelRequest((Message("user", "hi"),))


def reply(text: str = "hello", **fields: object) -> ModelReply:
    given: dict[str, object] = {"finish": "stop", "usage": Usage(1, 3, 2), "model": "m", "cost": 0.25}
    return ModelReply(text, **{**given, **fields})  # type: ignore[arg-type]


def whole_key(info: ModelInfo, request: ModelRequest, occurrence: int) -> str:
    return cache_key(info, request_key(info.name, request), occurrence)


@pytest.mark.parametrize("text", ["", "hello", "é 世界 \U0001f600 \ud800 \0 \r\n", "x" * 1_000_000])
def test_a_reply_comes_back_as_it_was(tmp_path: Path, text: str) -> None:
    with ReplyCache(tmp_path) as cache:
        cache.put("k", reply(text))
    with ReplyCache(tmp_path) as cache:
        assert cache.get("k") == reply(text)
        assert cache.trouble is None


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        (ASK, "dee8ac2eb5a24a03e18421a5"),
        (
            ModelRequest(
                (Message("system", "é\ud800"), Message("user", 'a"b')), max_tokens=5, temperature=1.0, seed=0,
                stop=("x",), effort="low", choices=("yes", "no"),
            ),
            "4c771155e4fc7546ca9b451b",
        ),
        (replace(ASK, temperature=1, schema={"b": 1, "a": [None, True]}), "9afb5af0a7d3db7226afc1f7"),
    ],
)  # fmt: skip
def test_what_was_kept_under_a_key_is_found_under_it_later(sent: ModelRequest, key: str) -> None:
    assert request_key("a:m", sent) == key


def test_the_key_is_all_that_a_reply_depends_on() -> None:
    others = [
        (replace(INFO, name="scripted:other"), ASK, 0),
        (replace(INFO, endpoint="http://127.0.0.1:1/v1"), ASK, 0),
        (INFO, replace(ASK, messages=(Message("user", "ho"),)), 0),
        (INFO, replace(ASK, messages=(Message("system", "hi"),)), 0),
        (INFO, replace(ASK, messages=(*ASK.messages, *ASK.messages)), 0),
        (INFO, replace(ASK, max_tokens=5), 0),
        (INFO, replace(ASK, temperature=0.5), 0),
        (INFO, replace(ASK, seed=1), 0),
        (INFO, replace(ASK, stop=("x",)), 0),
        (INFO, replace(ASK, choices=("a", "b")), 0),
        (INFO, replace(ASK, schema={"type": "integer"}), 0),
        (INFO, ASK, 1),
    ]
    keys = {whole_key(*other) for other in others} | {whole_key(INFO, ASK, 0)}
    assert len(keys) == len(others) + 1
    assert whole_key(replace(INFO, window=5), replace(ASK, timeout=1.0), 0) == whole_key(INFO, ASK, 0)


def test_half_a_reply_is_not_kept(tmp_path: Path) -> None:
    with ReplyCache(tmp_path) as cache:
        cache.put("k", reply(finish="length"))
        assert cache.get("k") is None


def test_it_stays_within_its_bound_and_the_least_used_go(tmp_path: Path) -> None:
    now = 0.0
    with ReplyCache(tmp_path, most_bytes=200_000, clock=lambda: now) as cache:
        for number in range(100):
            now += 10_000
            cache.put(f"{number}", reply("x" * 10_000))
            assert cache.get("0") is not None  # used all the time
        assert cache.get("1") is None
        assert cache.get("99") is not None
        cache.put("huge", reply("x" * 100_000))
        assert cache.get("huge") is None
    assert (tmp_path / FILE).stat().st_size < 2 * 200_000


def test_a_file_that_is_no_database_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database at all " * 1_000)
    with ReplyCache(tmp_path) as cache:
        assert cache.get("k") is None
        cache.put("k", reply())
        assert cache.get("k") == reply()
        assert cache.trouble is None


def test_what_an_older_version_kept_is_not_read(tmp_path: Path) -> None:
    import sqlite3

    connection = sqlite3.connect(tmp_path / FILE)
    connection.executescript("CREATE TABLE replies (old TEXT); PRAGMA user_version=99;")
    connection.close()
    with ReplyCache(tmp_path) as cache:
        cache.put("k", reply())
        assert cache.get("k") == reply()


@pytest.mark.parametrize(
    "row", ["{}", "[]", '{"text": "x", "usage": {"odd": 1}}', "null", "[" * 100_000, "9" * 5000], ids=range(6)
)
def test_a_row_of_another_shape_is_trouble_and_no_error(tmp_path: Path, row: str) -> None:
    import sqlite3

    with ReplyCache(tmp_path) as cache:
        cache.put("k", reply())
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE replies SET reply = ?", (row.encode(),))
    connection.close()
    with ReplyCache(tmp_path) as cache:
        assert cache.get("k") is None
        assert cache.trouble


def test_a_folder_that_cannot_be_made_is_trouble_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with ReplyCache(tmp_path / "file" / "folder") as cache:
        cache.put("k", reply())
        assert cache.get("k") is None
        assert "Not a directory" in str(cache.trouble)


def test_a_disk_that_is_full_is_trouble_and_no_error(tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to("/dev/full")
    with ReplyCache(tmp_path) as cache:
        cache.put("k", reply())
        assert cache.get("k") is None
        assert cache.trouble


def test_it_is_for_its_owner_alone(tmp_path: Path) -> None:
    with ReplyCache(tmp_path / "new") as cache:
        cache.put("k", reply())
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new" / FILE).stat().st_mode & 0o777 == 0o600


def test_the_folder_is_where_the_models_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNSPOOL_CACHE", str(tmp_path))
    assert default_folder() == tmp_path / "replies"


WRITER = """
import sys
from unspool import ModelReply, Usage
from unspool.cache import ReplyCache
folder, name = sys.argv[1:]
with ReplyCache(folder, most_bytes=400_000) as cache:
    for number in range(10**9):
        text = f"{name} {number} " * 200
        cache.put(f"{name} {number}", ModelReply(text, "stop", Usage(1), "m"))
        found = cache.get(f"{name} {number}")
        assert found is None or found.text == text, found
        assert cache.trouble is None, cache.trouble
        if number == 300:
            print("going", flush=True)
"""


def test_processes_share_it_and_may_be_killed_while_they_write(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(n)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for n in range(3)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"going\n", writer.communicate()
    for writer in writers:
        os.kill(writer.pid, signal.SIGKILL)
        _, errors = writer.communicate(timeout=60)
        assert errors == b""
    with ReplyCache(tmp_path, most_bytes=400_000) as cache:
        kept = [
            (n, number, found)
            for n in range(3)
            for number in range(5_000)
            if (found := cache.get(f"{n} {number}")) is not None
        ]
        assert len(kept) > 20
        assert all(found.text == f"{n} {number} " * 200 for n, number, found in kept)
        cache.put("k", reply())
        assert cache.get("k") == reply()
        assert cache.trouble is None
