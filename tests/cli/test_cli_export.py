"""``unspool runs export``: from the journals of real runs to files that hold together."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from unspool import RLM
from unspool.cli.app import app
from unspool.testing import ScriptedModel

from .. import stories
from .conftest import MakeCli, submits

BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
VOID = {"meta", "link", "br", "img", "input", "hr"}
Export = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    stories.with_children(folder / "one")
    stories.hostile(folder / "two")
    return folder


@pytest.fixture
def export(capsys: pytest.CaptureFixture[str]) -> Export:
    """Runs the command in this process; gives the exit code and what it wrote."""

    def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
        code = app(["runs", "export", "last", "--runs", str(folder), *arguments], standalone_mode=False)
        out, err = capsys.readouterr()
        return code or 0, out, err

    return run


class Page(HTMLParser):
    """A strict reader: every element that begins ends, in order; keeps ids, tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.styles: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        kinds = {"style": self.styles, "script": self.scripts}
        kinds.get(self.open[-1] if self.open else "", self.texts).append(data)

    @property
    def data(self) -> str:
        """What the page holds of the run, as JSON."""
        return "".join(self.scripts[:-1])

    @property
    def answers(self) -> dict[str, Any]:
        head, *groups = map(json.loads, self.scripts[:-1])
        found: dict[str, Any] = {}
        for place, group in enumerate(groups):
            assert {head["places"][question] for question in group} == {place}
            found |= group
        assert found.keys() == head["places"].keys()
        return found

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def values(self, name: str) -> list[str]:
        return [value for _, attribute, value in self.attributes if attribute == name]


def test_one_turn_is_one_turn(export: Export, tmp_path: Path) -> None:
    RLM(ScriptedModel([stories.py("print(1)\nsubmit(1)")]), runs=tmp_path).run("How many?", "a text")
    assert "\n- 1 turn, 0 sub-calls\n" in export(tmp_path, "--md", "-")[1]


def test_the_page_is_whole_and_needs_nothing_else(export: Export, kept: Path, tmp_path: Path) -> None:
    assert export(kept / "one", "--html", str(tmp_path / "a.html")) == (0, "", "")
    page = Page((tmp_path / "a.html").read_text("utf-8"))
    assert {"img", "iframe", "object", "base", "form"} & set(page.tags) == set()
    (html,) = [value for tag, name, value in page.attributes if (tag, name) == ("html", "lang")]
    assert html == "en"
    assert page.values("href") == ["data:,"]
    assert [name for _, name, _ in page.attributes if name.startswith("on") or name in ("src", "style")] == []
    assert page.values("type") == ["application/json"] * (len(page.scripts) - 1)
    (policy,) = [value for value in page.values("content") if "default-src" in value]
    assert policy == (
        f"default-src 'none'; script-src '{digest(page.scripts[-1])}'; style-src '{digest(page.styles[0])}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert len(page.scripts) == 3
    for told in ("How much spam is in these mails?", '{"spam": 400}'):
        assert told in page.text  # for who runs no scripts
    answers = page.answers
    assert {f"runs/{kept_run(answers)}{rest}" for rest in ("", "/map", "/turns/0.2/1", "/calls/3")} <= set(
        answers
    )
    assert "the server said 400" in page.data
    assert "Let me look first." in page.data


def digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def kept_run(answers: dict[str, Any]) -> str:
    (run,) = {question.split("/")[1] for question in answers}
    return run


@pytest.mark.parametrize("how", ["--html", "--md", "--jsonl", "--otel"])
def test_hostile_text_stays_text(export: Export, kept: Path, tmp_path: Path, how: str) -> None:
    target = tmp_path / "out"
    assert export(kept / "two", how, str(target))[0] == 0
    text = target.read_text("utf-8")
    if how != "--otel":  # data, for programs: JSON as it is
        assert not BAD.search(text)
    if how == "--html":
        page = Page(text)
        assert page.tags.count("script") == len(page.scripts) == 3
        assert page.data.count("\\u003cscript>alert(1)\\u003c/script>") >= 6
        assert not BAD.search(json.dumps(page.answers, ensure_ascii=False))
        assert "\\x1b[31mRED\\x1b[0m \\x1b]0;owned\\x07" in page.text
    elif how == "--md":
        outside = re.sub(r"^(`{3,})\w+\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert "alert" not in outside
        assert "owned" not in outside
        assert "<script>alert(1)</script>" in text
        assert "\\x1b[31mRED\\x1b[0m \\x1b]0;owned\\x07" in text
    else:
        assert all(json.loads(line) for line in text.splitlines())


def test_what_is_inside_backticks_cannot_close_its_fence(export: Export, tmp_path: Path) -> None:
    from unspool import RLM
    from unspool.testing import ScriptedModel

    evil = "````\\n![x](http://example.invalid/x.png)\\n```\\n"
    code = f"```python\nprint('{evil}')\nsubmit('{evil}')\n```"
    RLM(ScriptedModel([code]), runs=tmp_path / "kept").run("?", "x")
    assert export(tmp_path / "kept", "--md", str(tmp_path / "a.md"))[0] == 0
    text = (tmp_path / "a.md").read_text("utf-8")
    outside = re.sub(r"^(`{3,})\w+\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert "example.invalid" in text
    assert "example.invalid" not in outside


def test_markdown_tells_what_was_read_and_when(export: Export, tmp_path: Path) -> None:
    stories.with_children(tmp_path)
    text = export(tmp_path, "--md", "-")[1]
    read = text.partition("## What models read of the input\n\n```text\n")[2].partition("```")[0].splitlines()
    assert read[0] == "models read 16% of the input"
    assert read[1].startswith("0 to ")
    assert any(line.endswith(": never read") for line in read)
    times = text.partition("## Timeline\n\n```text\n")[2].partition("```")[0].splitlines()
    assert [line.partition("  node ")[2] for line in times][:3] == [
        "0, turn 1: model",
        "0, turn 1: cell 1",
        "0, turn 1: 4 sub-calls of cell 1",
    ]
    assert all(re.search(r"  [.#]{40}  ", line) for line in times)


def test_the_lines_are_the_events(export: Export, kept: Path) -> None:
    code, out, _ = export(kept / "one", "--jsonl", "-")
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["kind"], events[-1]["kind"]) == ("run.started", "run.ended")
    assert events[-1]["answer"] == {"spam": 400}


@pytest.mark.parametrize("how", ["--jsonl", "--otel"])
def test_a_line_is_a_line_for_every_reader(export: Export, tmp_path: Path, how: str) -> None:
    """Many split at what Unicode calls the end of a line or a paragraph, too."""
    from unspool import RLM
    from unspool.testing import ScriptedModel

    text = "one\u2028two\u2029three\x85four\x0bfive\x1csix"
    reply = stories.py(f"print({text!r})\nsubmit({text!r})", text)
    RLM(ScriptedModel([reply]), runs=tmp_path / "kept").run(text, text)
    file = tmp_path / "lines"
    assert export(tmp_path / "kept", how, str(file))[0] == 0
    written = file.read_text("utf-8")
    assert "\\u2028two\\u2029three" in written
    assert [json.loads(line) for line in written.splitlines()] == [
        json.loads(line) for line in written.split("\n")[:-1]
    ]


@pytest.mark.parametrize("how", ["--html", "--md", "--jsonl", "--otel"])
def test_redacted_is_without_content_and_with_all_the_rest(export: Export, tmp_path: Path, how: str) -> None:
    stories.with_children(tmp_path / "kept", context="spam ZEBRA eggs\n" * 50)
    code, out, _ = export(tmp_path / "kept", how, "-", "--redact")
    assert code == 0
    if how == "--html":
        page = Page(out)
        out = page.data + page.text
    for content in (
        "ZEBRA",
        "spam",
        "eggs",
        "llm_query",
        "Let me look",
        "no such column",
        "said 400",
        "mails",
    ):
        assert content not in out, content
    for structure in ("scripted:sub" if how != "--otel" else '"sub"', "0.2", "bad_request", "ValueError"):
        assert structure in out, structure
    if how == "--jsonl":
        events = [json.loads(line) for line in out.splitlines()]
        assert events[-1]["sub_calls"] == 4
        assert events[-1]["cost"] == pytest.approx(0.0053)
        assert events[-1]["answer"].startswith("[dict of 1, #")
        asked = [event["query"] for event in events if event["kind"] == "node.started"]
        assert len(set(asked)) == 3
        assert all(re.fullmatch(r"\[\d+ characters, #[0-9a-f]{10}\]", each) for each in asked)
        assert events[0]["settings"]["max_turns"] == 20
        again = export(tmp_path / "kept", how, "-", "--redact")[1]
        assert json.loads(again.splitlines()[0])["query"] != events[0]["query"]  # another key each time


def test_nothing_secret_is_in_any_export(
    make_cli: MakeCli, export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = make_cli([submits(f"'the key is {stories.SECRET}'")])
    context = cli.file("a.txt", f"key={stories.SECRET}")
    done = cli.run(
        cli.ask(f"Is {stories.SECRET} there?", context, "--runs", "kept"),
        environment={"MY_API_KEY": stories.SECRET},
    )
    assert done.returncode == 0, done.stderr
    for how in ("--html", "--md", "--jsonl", "--otel"):
        code, out, _ = export(tmp_path / "kept", how, "-")
        assert code == 0
        assert stories.SECRET not in out
        assert "[secret]" in out
    # A run that was made where the variable was not set, exported where it is.
    stories.with_children(tmp_path / "other", context=f"spam {stories.SECRET} " * 9)
    assert stories.SECRET in export(tmp_path / "other", "--jsonl", "-")[1]
    monkeypatch.setenv("OTHER_TOKEN", stories.SECRET)
    for how in ("--html", "--md", "--jsonl", "--otel"):
        assert stories.SECRET not in export(tmp_path / "other", how, "-")[1]


def test_a_file_that_is_there_stays(export: Export, kept: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.md"
    target.write_text("mine")
    code, _, err = export(kept / "one", "--md", str(target))
    assert code == 2
    assert "--force" in err
    assert target.read_text() == "mine"
    assert export(kept / "one", "--md", str(target), "--force")[0] == 0
    assert target.read_text().startswith("# Run ")
    link = tmp_path / "link.md"
    link.symlink_to(target)
    assert export(kept / "one", "--md", str(link), "--force")[0] == 0
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md", "link.md"]


def test_what_cannot_be_written_is_told_and_nothing_is_left(
    export: Export, kept: Path, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for arguments, message in (
        ((), "say what to write"),
        (("--md", str(tmp_path)), "is no file"),
        (("--md", str(fifo), "--force"), "is no file"),
        (("--md", "/dev/null", "--force"), "is no file"),
        (("--md", str(tmp_path / "no" / "a.md")), "is no folder"),
        (("--md", "-", "--html", "-"), "a file of its own"),
        (("--md", str(tmp_path / ("x" * 300))), "cannot be written"),
    ):
        code, out, err = export(kept / "one", *arguments)
        assert (code, out) == (2, ""), arguments
        assert message in err
        assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]


def test_a_run_that_was_killed_can_be_exported(export: Export, tmp_path: Path) -> None:
    run = stories.with_children(tmp_path)
    events = tmp_path / run.id / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    for kept in range(0, len(lines), 3):
        events.write_bytes(b"".join(lines[:kept]))
        Page(export(tmp_path, "--html", "-")[1])
        assert export(tmp_path, "--md", "-", "--redact")[1].startswith(f"# Run {run.id}")
        spans = [json.loads(line) for line in export(tmp_path, "--otel", "-")[1].splitlines()]
        assert bool(spans) == (kept > 0)


def test_branches_are_all_there(export: Export, tmp_path: Path) -> None:
    stories.with_branches(tmp_path)
    answers = Page(export(tmp_path, "--html", "-", "--redact")[1]).answers
    run = kept_run(answers)
    assert {f"runs/{run}/nodes/{node}" for node in ("0", "0%402", "0%403.1")} <= set(answers)
    assert "## Node `0@3.1`" in export(tmp_path, "--md", "-")[1]


def test_the_spans_of_a_run_can_be_asked_about(export: Export, kept: Path, tmp_path: Path) -> None:
    from unspool import RLM
    from unspool.testing import ScriptedModel

    file = tmp_path / "run.otlp.jsonl"
    assert export(kept / "one", "--otel", str(file))[0] == 0
    code = (
        "print(context.overview())\n"
        "failed = context.search(status='error', name='chat')\n"
        "tree = context.trace(failed[0]['trace'])\n"
        "submit([len(context), len(failed), 'execute_tool python' in str(tree)])"
    )
    run = RLM(ScriptedModel([f"```python\n{code}\n```"] * 3), runs=False).run("What failed?", file)
    spans = json.loads(file.read_text())["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert run.answer == [len(spans), 1, True], run.trace.turns[-1]


def test_a_long_run_is_exported_whole(export: Export, tmp_path: Path) -> None:
    stories.long(tmp_path / "kept", 5000)
    code, out, _ = export(tmp_path / "kept", "--html", "-")
    assert code == 0
    answers = Page(out).answers
    since, rows, more = 0, list[Any](), True
    while more:  # as the page asks for them
        told = answers[f"runs/{kept_run(answers)}/calls?since={since}"]
        rows += told["rows"]
        since, more = told["seq"], told["more"]
    assert len({row[0] for row in rows}) == len(rows) == 5000
