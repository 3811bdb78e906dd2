"""``unspool eval``: from the shell, against a loopback server that plays the model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from unspool.testing import Ask, Behaviour

from .conftest import Cli, MakeCli

SIZE = ("--sizes", "2k")


def finds(ask: Ask) -> str:
    """A root that answers any question about one needle."""
    line = ask.prompt.strip().splitlines()[-1]
    return (
        f"```python\nimport re\nname = re.search('access code of the (.*)[?]', {line!r})[1]\nprint(name)\n"
        "submit(re.search(f'code of the {name} is (\\\\w+)', context)[1])\n```"
    )


def evaluate(cli: Cli, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return cli.run(cli.command("eval", *arguments))


def asked(cli: Cli, suite: str, *arguments: str) -> list[str]:
    return cli.command("eval", suite, "--model", "openai:test-model", *SIZE, "--out", "out", *arguments)


def samples(cli: Cli) -> list[dict[str, object]]:
    return [json.loads(line) for line in (cli.folder / "out" / "samples.jsonl").read_text().splitlines()]


def test_it_asks_keeps_and_reports(make_cli: MakeCli) -> None:
    cli = make_cli(finds)
    done = cli.run(asked(cli, "needle", "--seeds", "2"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == "needle         2k rlm               1.00 [0.54–1.00]  openai:test-model\n"
    told = done.stderr.decode().splitlines()
    assert told[-1] == "report: out/report.md"
    assert told[0].endswith("seed 1 rlm: 1.00 in " + told[0].rpartition(" in ")[2])
    assert len(told) == 7
    asks = len(cli.server.asks)

    again = cli.run(asked(cli, "needle", "--seeds", "2"))
    assert again.returncode == 0
    assert b"6 of 6 samples are there already" in again.stderr
    assert len(cli.server.asks) == asks

    shown = evaluate(cli, "report", "out")
    assert shown.returncode == 0
    page = shown.stdout.decode()
    assert page == (cli.folder / "out" / "report.md").read_text("utf-8")
    command = next(line for line in page.splitlines() if line.startswith("unspool eval needle"))
    assert command.split() == ["unspool", *asked(cli, "needle", "--seeds", "2")[3:]]
    kept = [str(each["run"]) for each in samples(cli)]
    listed = cli.run(cli.command("runs", "show", kept[0], "--runs", "out/runs"))
    assert listed.returncode == 0
    assert b"access code" in listed.stdout


def test_the_oracle_from_the_shell(make_cli: MakeCli) -> None:
    cli = make_cli(["unused"])
    done = evaluate(cli, "pairs,tracking", "--model", "oracle", *SIZE, "--seeds", "1", "--out", "out", "-q")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (
        done.stdout.decode().split("\n")[0] == "tracking       2k rlm               1.00 [0.16–1.00]  oracle"
    )
    assert len(samples(cli)) == 5


def test_ctrl_c_keeps_what_is_done(make_cli: MakeCli) -> None:
    def answers(ask: Ask) -> Behaviour | str:
        return finds(ask) if len(cli.server.asks) <= 3 else Behaviour(fault="hang")

    cli = make_cli(answers)
    process = subprocess.Popen(
        asked(cli, "needle", "--seeds", "2", "--jobs", "1"),
        cwd=cli.folder, env=dict(cli.environment), stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        for _ in range(3):
            assert b"needle/" in process.stderr.readline()
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, err
    assert b"stopped: 3 of 6 samples are kept; the same command goes on" in err
    assert b"Traceback" not in err
    assert b"needle " in out
    assert len(samples(cli)) == 3
    assert (cli.folder / "out" / "report.md").exists()


def test_suites_are_listed(make_cli: MakeCli) -> None:
    done = evaluate(make_cli(["unused"]), "list")
    assert done.returncode == 0
    assert done.stdout.decode().startswith("needle    one line hidden in prose")
    assert "tasks: trec-count" in done.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope", "--out", "out"], "there is no suite 'nope': there are needle, needles,"),
        (["needle", "--out", "out", "--sizes", "8q"], "size '8q': give tokens such as 8k, 131k or 1m"),
        (["code", "--out", "out", "--sizes", "1k"], "code cannot be made of 1k tokens: 8k at least"),
        (["needel", "--out", "out"], "Did you mean 'needle'?"),
        (["needle", "--out", "out", "--strategies", "rml"], "--strategies rml: there are rlm, no_subcalls"),
        (["needle", "--out", "out", "--model", "opnai:x"], "Did you mean 'openai:x'?"),
        (["needle", "--out", "out", "--tasks", "nope"], "there is no task 'nope'"),
        (["needle", "--out", "out", "--seeds", "0"], "seeds"),
        (["needle", "--out", "out", "--seconds", "-1"], "--seconds -1.0: give a time above zero"),
        (["needle", "--out", "out", "--model", "nope:x"], "there is no model 'nope:x'"),
        (["needle", "--out", "out", "--model", "orcale"], "there is no model 'orcale'. Did you mean 'oracle'?"),
        (["needle", "--out", "out", "--tasks", "wrd", "--model", "oracle"], "Did you mean 'word'?"),
        (["needle", "--out", "out", "--model", "oracle:7"], "P from 0 to 1"),
        (["needle", "--out", "out", "--model", "oracle", "--strategies", "rlm,direct"], "only rlm runs them"),
        (["needle", "--out", "file/below", "--model", "oracle"], "file/below cannot be written (Not a directory)"),
        (["oolong", "--out", "out", "--model", "oracle", "--data", "."], "trec_questions.label cannot be read in ."),
        (["needle", "--model", "oracle"], "unspool: --out DIR is missing: name the folder"),
        (["needel"], "there is no suite 'needel': there are needle, needles,"),
        (["needle,logz"], "Did you mean 'logs'?"),
        (["run", "needel"], "Did you mean 'needle'?"),
        (["needle", "--sizes", "8q"], "size '8q': give tokens such as 8k, 131k or 1m"),
        (["needle", "--strategies", "rml"], "--strategies rml: there are rlm, no_subcalls"),
        (["needle", "--tasks", "wrd"], "Did you mean 'word'?"),
        (["code", "--sizes", "1k"], "code cannot be made of 1k tokens: 8k at least"),
        (["report", "nowhere"], "nowhere/samples.jsonl cannot be read"),
        (["report"], "DIR"),
    ],
    ids=lambda each: "-".join(each)[:40] if isinstance(each, list) else "",
)  # fmt: skip
def test_one_clear_error(make_cli: MakeCli, arguments: list[str], words: str) -> None:
    cli = make_cli(["unused"])
    cli.file("file", "")
    done = evaluate(cli, *arguments)
    told = done.stderr.decode()
    assert done.returncode == 2, told
    assert words in told
    assert "Traceback" not in told
    assert not Path(cli.folder / "out" / "report.md").exists()


def test_what_cannot_be_made_leaves_no_folder(make_cli: MakeCli) -> None:
    cli = make_cli(["unused"])
    done = evaluate(cli, "logs", "--model", "oracle", "--out", "new", "--data", str(cli.folder / "nowhere"))
    assert done.returncode == 2
    assert b"name that folder with --data" in done.stderr
    assert not (cli.folder / "new").exists()


def test_a_number_of_seeds_without_end_is_refused(make_cli: MakeCli) -> None:
    cli = make_cli(["unused"])
    done = evaluate(cli, "logs", "--model", "oracle", "--out", "new", "--seeds", "99999999999")
    assert done.returncode == 2
    assert b"--seeds" in done.stderr
    assert b"10000" in done.stderr
    assert not (cli.folder / "new").exists()


SAMPLE = json.dumps(
    {
        "suite": "needle", "task": "number", "size": 8000, "seed": 1, "strategy": "rlm", "model": "m",
        "sub_model": "m", "question": "q", "characters": 9, "context": "c", "gold": "1", "answer": "1",
        "score": 1.0, "kind": "", "status": "answered", "reason": "submitted", "root_calls": 1,
        "root_input": 1, "root_output": 1, "sub_calls": 0, "sub_input": 0, "sub_output": 0, "turns": 1,
        "cost": None, "seconds": 2.0, "coverage": None, "run": "r", "ended": 3.0,
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"suite": 3}', "suite: expected text; task: is missing"),
        ("nonsense", "Invalid JSON"),
        (SAMPLE.replace('"score": 1.0', '"score": NaN'), "score: nan is no number from 0 to 1"),
        (SAMPLE.replace('"score": 1.0', '"score": 1.5'), "score: 1.5 is no number from 0 to 1"),
        (SAMPLE.replace('"seconds": 2.0', '"seconds": Infinity'), "seconds: inf is no number from 0"),
        (SAMPLE.replace('"turns": 1', '"turns": -1'), "turns: -1 is no number from 0"),
    ],
)
def test_a_line_that_is_no_sample_says_which_field(make_cli: MakeCli, line: str, words: str) -> None:
    cli = make_cli(["unused"])
    (cli.folder / "kept").mkdir()
    (cli.folder / "kept" / "samples.jsonl").write_text(line + "\n")
    done = evaluate(cli, "report", "kept")
    assert done.returncode == 2
    assert f"line 1: no sample of unspool eval ({words}".encode() in done.stderr
