"""``unspool runs``: what a person is told of a run to go on with, and of a folder that is not there."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from unspool import RLM
from unspool.cli.app import app
from unspool.errors import ModelError, WrongSetting
from unspool.testing import ScriptedModel

from .. import stories

LOOK = stories.py("print(len(context))")


def cli(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = app(list(arguments), standalone_mode=False)
    out, err = capsys.readouterr()
    return code or 0, out, err


def stopped(runs: Path, name: str) -> str:
    """A run that its limit of turns ended."""
    model = ScriptedModel([LOOK] * 9, name=name)
    return RLM(model, max_turns=2, runs=runs).run("How many?", "a text").id


def test_a_run_whose_model_is_in_python_goes_on_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = stopped(tmp_path, "mine:x")
    code, out, _ = cli(capsys, "runs", "show", run, "--runs", str(tmp_path))
    assert code == 0
    assert f"to go on with a higher limit: rlm.resume('{run}') in Python, where the model mine:x is" in out
    assert "unspool runs resume" not in out
    code, _, err = cli(capsys, "runs", "resume", run, "--max-turns", "5", "--runs", str(tmp_path))
    assert code == 2
    assert "the model mine:x of this run was made in Python" in err
    assert "Did you mean" not in err


@pytest.mark.parametrize("branches", [1, 2])
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (LOOK, "3 replies in a row were code of earlier turns"),
        ("It is long.", "3 replies in a row without code"),
    ],
    ids=["again", "silent"],
)
def test_a_run_that_would_end_the_same_has_no_word_of_going_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, said: str, reason: str, branches: int
) -> None:
    model = ScriptedModel([said] * 20, name="command:false")
    rlm = RLM(model, runs=tmp_path)
    run = rlm.run("How many?", "a text", branches=branches)
    assert reason in run.reason
    asked = len(model.requests)
    assert rlm.resume(run.id, "a text").reason == run.reason
    assert len(model.requests) == asked
    for command in ("runs show", "watch"):
        _, out, err = cli(capsys, *command.split(), run.id, "--runs", str(tmp_path))
        assert reason in out + err
        assert "to go on" not in out + err
        assert "runs resume" not in out + err


def test_a_run_of_branches_of_which_one_may_be_asked_again_goes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = itertools.count(1)

    def reply(_: object) -> str:
        if next(asked) > 5:  # too few for both to say the same four times
            raise ModelError("bad_request", "no more")
        return LOOK

    model = ScriptedModel(reply, name="command:false")
    run = RLM(model, runs=tmp_path).run("How many?", "a text", branches=2)
    assert run.status == "failed"
    _, out, _ = cli(capsys, "runs", "show", run.id, "--runs", str(tmp_path))
    assert f"to go on: unspool runs resume {run.id}" in out


@pytest.mark.parametrize(
    "given", [[], ["--max-turns", "2"], ["--seconds", "60"]], ids=["none", "same", "other"]
)
def test_a_run_that_a_limit_ended_is_not_resumed_under_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, given: list[str]
) -> None:
    run = stopped(tmp_path, "command:false")
    kept = (tmp_path / run / "events.jsonl").read_bytes()
    code, _, err = cli(capsys, "runs", "resume", run, *given, "--runs", str(tmp_path))
    assert code == 2
    assert "name a higher one, --max-turns N, more than 2" in err
    assert (tmp_path / run / "events.jsonl").read_bytes() == kept


@pytest.mark.parametrize(
    "command",
    [["runs", "list"], ["runs", "show", "last"], ["runs", "gc", "--keep", "1"], ["runs", "rm", "last"],
     ["runs", "diff", "a", "b"], ["runs", "export", "last", "--md", "-"], ["runs", "resume", "last"], ["watch", "last"], ["view"]],
    ids="-".join,
)  # fmt: skip
def test_a_folder_of_runs_that_is_not_there_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]
) -> None:
    code, out, err = cli(capsys, *command, "--runs", str(tmp_path / "nope"))
    assert (code, out) == (2, "")
    assert err.endswith(f"--runs {tmp_path / 'nope'}: there is no such folder\n")
    (tmp_path / "file").touch()
    code, out, err = cli(capsys, *command, "--runs", str(tmp_path / "file"))
    assert (code, out) == (2, "")
    assert err.endswith(f"--runs {tmp_path / 'file'}: it is a file: name a folder\n")


def test_an_address_is_not_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = cli(capsys, "ask", "what?", "https://example.com/x?a=1&b=2", "--model", "command:false")
    assert (code, out) == (2, "")
    assert (
        "addresses are not fetched. Pipe in what is there: curl -sL 'https://example.com/x?a=1&b=2' |" in err
    )


def test_doctor_fails_where_no_model_can_be_used(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNSPOOL_MODEL", "nope:x")
    code, out, _ = cli(capsys, "doctor")
    assert code == 1
    told = " ".join(out.split())
    assert "model: none (UNSPOOL_MODEL: names nope:x: there is no model 'nope:x'" in told
    assert told.count("the providers are") == 1


def test_a_run_is_not_kept_in_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a text")
    file = str(tmp_path / "file")
    code, out, err = cli(capsys, "ask", "how many?", file, "--model", "command:false", "--runs", file)
    assert (code, out) == (2, "")
    assert err.endswith(f"--runs {file}: it is a file: name a folder\n")
    with pytest.raises(WrongSetting, match="it is a file: name a folder"):
        RLM("command:false", runs=file)
