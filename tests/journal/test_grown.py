"""A run over what has grown since goes on with what it was; over what is another by now, it says what changed."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from unspool import RLM, ContextError, Contexts, Run
from unspool.events import RunStarted
from unspool.testing import MemoryStore, ScriptedModel

from ..engine.helpers import py
from .test_resume import stored

LINES = "".join(f"{number} line\n" for number in range(2_000))
SEEN = py("print(str(context)[:20])")
SIZES = {
    "text": "len(context)",
    "path": "[len(context), context[-9:]]",
    "folder": "[sorted(context), [len(str(context[name])) for name in sorted(context)]]",
    "paths": "[len(str(part)) for part in context.values()]",
    "contexts": "[len(str(log)), len(str(other))]",
}


def begun(store: MemoryStore, context: object) -> Run:
    run = RLM(ScriptedModel([SEEN]), store=store, max_turns=1).run("?", context)
    assert run.status == "budget"
    return run


def gone_on(store: MemoryStore, run: Run, code: str, context: object = None) -> Run:
    model = ScriptedModel([py(f"submit({code})")])
    return RLM(model, store=store, max_turns=3).resume(run.id, context)


def append(path: Path, more: str = "one more\n") -> None:
    with path.open("a") as file:
        file.write(more)


def test_a_log_is_as_long_as_it_was(tmp_path: Path) -> None:
    path, store = tmp_path / "a.log", MemoryStore()
    path.write_text(LINES)
    run = begun(store, path)
    append(path)
    done = gone_on(store, run, SIZES["path"])
    assert (done.status, done.answer) == ("answered", [len(LINES), LINES[-9:]])
    now = len(LINES) + 9
    assert done.notes == (
        f"a.log has {now:,} bytes by now: the run goes on with the {len(LINES):,} that it had",
    )


def test_a_folder_is_what_it_was(tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", MemoryStore()
    logs.mkdir()
    for name in ("a.log", "b.log"):
        (logs / name).write_text(LINES)
    run = begun(store, logs)
    append(logs / "b.log")
    (logs / "a2.log").write_text("new\n")
    done = gone_on(store, run, SIZES["folder"])
    assert done.answer == [["a.log", "b.log"], [len(LINES)] * 2]
    assert [note.partition(" by now")[0] for note in done.notes] == [
        f"b.log has {len(LINES) + 9:,} bytes", f"{logs} has 1 file more",
    ]  # fmt: skip


def test_of_several_each_is_what_it_was(tmp_path: Path) -> None:
    paths, store = [tmp_path / "a.log", tmp_path / "b.log"], MemoryStore()
    for path in paths:
        path.write_text(LINES)
    by_path = begun(store, {str(path): path for path in paths})
    by_name = begun(store, Contexts(log=paths[0], other=LINES))
    append(paths[1])
    assert gone_on(store, by_path, SIZES["paths"]).answer == [len(LINES)] * 2
    again = Contexts(log=paths[0], other=LINES + "more")
    assert gone_on(store, by_name, SIZES["contexts"], again).answer == [len(LINES)] * 2


def test_a_text_that_is_given_again_is_as_long_as_it_was() -> None:
    store = MemoryStore()
    run = begun(store, LINES)
    done = gone_on(store, run, SIZES["text"], LINES + "more")
    assert done.answer == len(LINES)
    assert "the text has" in done.notes[0]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (lambda text: text[:-5], "has 18,885 bytes and had 18,890"),
        (lambda text: "#" + text[1:] + "more", "has 18,894 bytes by now, and does not begin as it did"),
        (lambda text: "#" + text[1:], "what is in it is not what it was"),
        (lambda text: "new log\n", "has 8 bytes and had 18,890"),
    ],
    ids=["shorter", "longer-and-another", "another", "rotated"],
)
def test_what_is_another_says_what_changed(tmp_path: Path, how: Callable[[str], str], said: str) -> None:
    path, store = tmp_path / "a.log", MemoryStore()
    path.write_text(LINES)
    run = begun(store, path)
    path.write_text(how(LINES))
    with pytest.raises(
        ContextError, match=f"not the one that the run {run.id} began with: .*{said}.*start a new"
    ):
        gone_on(store, run, "1")


def test_a_folder_says_which_of_its_files(tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", MemoryStore()
    logs.mkdir()
    for name in ("a.log", "b.log", "c.log"):
        (logs / name).write_text(LINES)
    run = begun(store, logs)
    (logs / "a.log").write_text("short")
    (logs / "c.log").unlink()
    with pytest.raises(
        ContextError, match=r"a\.log has 5 bytes and had 18,890; c\.log is not there any more\. "
    ):
        gone_on(store, run, "1")


def test_of_a_folder_the_file_that_was_changed_is_named_and_not_what_has_grown(tmp_path: Path) -> None:
    def begins() -> tuple[Path, MemoryStore, Run]:
        logs, store = Path(tempfile.mkdtemp(dir=tmp_path)), MemoryStore()
        for name in ("a.log", "b.log", "c.log"):
            (logs / name).write_text(LINES)
        return logs, store, begun(store, logs)

    for others, said in (
        (["b.log"], "what is in b.log is not what it was"),
        (["a.log"], "a.log has 18,899 bytes by now, and does not begin as it did"),
        (["b.log", "c.log"], "what is in b.log is not what it was; what is in c.log is not what it was"),
    ):
        logs, store, run = begins()
        append(logs / "a.log")
        for name in others:
            (logs / name).write_text("#" + (logs / name).read_text()[1:])
        with pytest.raises(ContextError, match=rf"began with: {re.escape(said)}\. What was found"):
            gone_on(store, run, "1")


def test_of_named_texts_the_one_that_is_another_is_named() -> None:
    store = MemoryStore()
    run = begun(store, {"log": LINES, "note": "one"})
    with pytest.raises(
        ContextError, match=r"began with: what is in note is not what it was\. What was found"
    ):
        gone_on(store, run, "1", {"log": LINES + "more", "note": "two"})


def test_where_a_run_kept_no_marks_nothing_is_blamed_that_may_only_have_grown(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(LINES)
    store = MemoryStore()
    run = begun(store, tmp_path)
    first, *events = store.read(run.id)
    assert isinstance(first, RunStarted)
    assert len(first.marks) == 2
    append(tmp_path / "a.log")
    (tmp_path / "b.log").write_text("#" + LINES[1:])
    with pytest.raises(ContextError, match=r"began with: what is in it is not what it was\. What was found"):
        gone_on(stored([replace(first, marks=()), *events], run.id), run, "1")


def test_a_file_with_a_long_name_may_grow(tmp_path: Path) -> None:
    path, store = tmp_path / f"{'n' * 210}.log", MemoryStore()
    path.write_text(LINES)
    run = begun(store, tmp_path)
    append(path)
    done = gone_on(store, run, "[len(str(part)) for part in context.values()]")
    assert (done.status, done.answer) == ("answered", [len(LINES)])
    assert "nnn.log has" in done.notes[0]
