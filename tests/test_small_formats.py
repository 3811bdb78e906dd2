"""Known formats become records, and what is of none stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.prompts import small_look
from unspool.prompts.small_formats import formatted
from unspool.prompts.small_look import groups_for
from unspool.prompts.small_numbers import numbers
from unspool.prompts.small_prose import sentences_of
from unspool.prompts.small_records import Row, records
from unspool.prompts.small_tools import find

ACCESS = [
    f'10.0.0.{n} - {"ann" if n == 2 else "-"} [02/May/2031:09:0{n}:55 +0000] "GET /page/{n} HTTP/1.1" {200 + n} {n}0'
    ' "-" "Mozilla/5.0 (a \\"b\\")"'
    for n in range(9)
]
COMMITS = """\
commit 1a2b3c4d5e6f
Merge: 12 34
Author: Ann Lee <ann@example.org>
Date:   Mon Jun 29 23:04:46 2026 +0200

    Plug a leak

    It was in the scheduler.

commit 2a2b3c4d5e6f (HEAD -> main)
Author: Bo <bo@example.org>
Date:   Sun Jun 28 18:48:08 2026 +0200

    Add a page
"""
INI = """\
; made by hand
name = all
[web]
port = 80
host: web.example
[mail]
# switched off
port = 25
motto = "a = b"
"""


@contextmanager
def fields(names: list[str]) -> Iterator[None]:
    """The names of fields, as they are in the REPL of a node."""
    small_look.columns[:] = names
    try:
        yield
    finally:
        small_look.columns.clear()


def test_access_logs_have_their_fields() -> None:
    rows, names = records(ACCESS)
    assert names == ["address", "user", "time", "method", "path", "status", "bytes", "referer", "agent"]
    assert rows[2].startswith(
        "address=10.0.0.2, user=ann, time=02/May/2031 09:02:55 +0000, method=GET, path=/page/2,"
    )
    broken = [*ACCESS, "Segmentation fault"]
    assert records(broken)[0][-1] == "Segmentation fault"
    assert records([re.sub(r' "-" .*', "", line) for line in ACCESS])[0][3].endswith(
        "bytes=30, referer=, agent="
    )
    assert records(['10.0.0.1 - - [x] "\\x16\\x03" 400 0', *ACCESS])[0][0].startswith(
        "address=10.0.0.1, user=-, time=x,"
    )


def test_a_status_that_is_named_is_read_by_its_field_and_a_range_of_it_is_not() -> None:
    _, names = records(ACCESS)

    assert names[5] == "status"
    with fields(names):
        assert small_look._paired("requests with status 204?") == {6: {"204"}}
        assert small_look._paired('requests where "status": "204"?') == {6: {"204"}}
        assert small_look._paired("requests whose status is 204?") == {6: {"204"}}
        assert small_look._paired("requests with status 200 to 204?") == {}


def test_the_log_of_git_is_a_record_a_commit() -> None:
    rows, names = records(COMMITS.splitlines())
    assert names == ["commit", "author", "date", "message"]
    assert rows[0] == (
        "commit=1a2b3c4d5e6f, author=Ann Lee <ann@example.org>, date=Mon Jun 29 23:04:46 2026 +0200, "
        "message=Plug a leak It was in the scheduler."
    )
    assert len(rows) == 2
    assert groups_for("Which commit plugged a leak?", rows)[0] == [rows[0]]


def test_the_sections_of_a_file_of_settings_are_records() -> None:
    rows, names = records(INI.splitlines())
    assert names == ["section", "name", "port", "host", "motto", "comments"]
    assert list(rows) == [
        "section=, name=all, port=, host=, motto=, comments=made by hand",
        "section=web, name=, port=80, host=web.example, motto=, comments=",
        "section=mail, name=, port=25, host=, motto=a = b, comments=switched off",
    ]
    unit = [
        "[Unit]",
        "After = a",
        "After = b",
        "[Service]",
        "Type = simple",
        "Exec = x",
        "User = y",
        "Nice = 1",
    ]
    assert records(unit)[0][0].startswith("section=Unit, After=a, b, ")
    toml = ["[[door]]", "width = 2", "", "[[door]]", "width = 3"]
    assert records(toml)[0] == ["section=door, width=2", "section=door, width=3"]


def test_long_texts_are_taken_apart_in_a_moment() -> None:
    """Of texts like these the time was quadratic: seconds, and then minutes."""
    long = [*COMMITS.splitlines(), *["    a line of a message"] * 150_000]
    assert len(records(long)[0]) == 2
    chat = [*(f"10:0{n % 10} {'ab'[n % 2]}nn: hi" for n in range(200)), *["a line that was pasted"] * 150_000]
    assert len(records(chat)[0]) == 200
    assert records(["[a]", "b = 1", "[c]", "d" + " " * 1_000_000 + "x"])[1] == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234", 1234),
        ("1,234,567.5", 1234567.5),
        ("$1,200", 1200),
        ("-3", -3),
        ("12,5", 12),
        ("4%", 4),
        ("7s", 7),
    ],
)
def test_a_number_is_read_as_it_is_written(text: str, number: float) -> None:
    with fields(["total"]):
        assert numbers([Row.of(["total"], [text])], "total") == [number]


def test_a_field_of_endless_digits_is_looked_at() -> None:
    rows = records([json.dumps({"id": "9" * n, "shop": "ab"[n % 2]}) for n in range(4_990, 5_050)])[0]
    with fields(["id", "shop"]):
        small_look.look("Which shop is most frequent?", list(rows))


def test_a_small_table_is_no_prose(capsys: pytest.CaptureFixture[str]) -> None:
    table = "name,port,host,state\n" + "".join(
        f"web-{n},{8000 + 7 * n % 5},host-{n}.example.com,on\n" for n in range(12)
    )
    rows, names = records(table.splitlines())
    with fields(names):
        small_look.look("Which port has web-3?", list(rows))
    assert "Prose" not in capsys.readouterr().out


def test_of_many_fields_those_that_the_question_names_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"part {n}" for n in range(8)]
    rows = records(
        [",".join(names), *(",".join(f"v{row % (2 + n)}" for n in range(8)) for row in range(400))]
    )[0]
    with fields(names):
        small_look.look("How often is part 7 with another one?", list(rows))
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("field(")]
    assert [line[len("field(lines, ")] for line in shown] == list("1238")


def test_a_field_is_found_as_it_stands_in_the_text_as_well() -> None:
    rows, names = records(INI.splitlines())
    with fields(names):
        assert find("port = 25", among=rows) == find("port: 25", among=rows) == [rows[2]]
        assert find("a = b", among=rows) == [rows[2]]


def test_a_chat_has_names_and_texts() -> None:
    whatsapp = [
        "12/05/2031, 10:02 - Ann Lee: hello",
        "12/05/2031, 10:03 - Bo: hi",
        "12/05/2031, 10:04 - Bo: you",
    ]
    rows, names = records(whatsapp)
    assert names == ["time", "name", "text"]
    assert rows[0] == "time=12/05/2031, 10:02, name=Ann Lee, text=hello"
    told = [*whatsapp * 4, "and more", "12/05/2031, 10:05 - Bo added Cy"]
    assert list(records(told)[0][-2:]) == ["time=12/05/2031, 10:04, name=Bo, text=you and more", told[-1]]
    assert records(["10:02 <ann> hello"] * 5)[1] == []
    assert records([f"10:0{n} ann: hello" for n in range(5)])[1] == names


def test_what_is_of_no_known_format_stays_as_it_is() -> None:
    for text in (
        "10:00 gate 1 opened for ann\n10:05 gate 2 refused bob",
        "[note] an aside\nand prose\nthat goes on",
        "[]\n[1, 2]",
        "commit to it\nAuthor: me",
        "[boot]\nERROR: disk full\nERROR: net down\n[end]\nERROR: none",
        "[todo]\nCall: Ann\nCall: Bo\n[done]\nCall: Cy",
        "\n".join(f"10:0{n} nginx: start\n10:0{n} kernel[12]: oom" for n in range(5)),
        COMMITS.replace(
            "    Add a page", "    Add a page\n\ndiff --git a/b b/b\n+++ b/b\n@@ -1 +1 @@\n-a\n+b"
        ),
        "# Title\n\nSome words = more words.\nOthers.",
        "\n\n",
    ):
        assert records(text.splitlines()) == (text.splitlines(), []), text


@given(
    st.lists(
        st.text() | st.sampled_from([*ACCESS[:2], *COMMITS.splitlines(), *INI.splitlines()]), max_size=30
    )
)
def test_any_lines_are_taken(lines: list[str]) -> None:
    found = formatted(lines)
    assert found is None or all(isinstance(one, str) or len(one) == len(found[0]) for one in found[1])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner)
    )
)
def test_objects_in_objects_are_fields_with_dots(value: object) -> None:
    rows, names = records([json.dumps({"outer": {"inner": value}, "last": 1})] * 2)
    assert names[0].startswith("outer.inner")
    assert len(rows) == 2


def test_below_a_heading_each_sentence_says_of_what_it_is() -> None:
    text = [
        "# Guide",
        "## The cellar",
        "On Sundays it opens at 11:00. A ticket for a day costs 3 euros.",
        "## The attic",
        "It is shut.",
    ]
    assert sentences_of(text)[2:4] == [
        "The cellar: On Sundays it opens at 11:00.",
        "The cellar: A ticket for a day costs 3 euros.",
    ]
    assert sentences_of(text)[-1] == "The attic: It is shut."
