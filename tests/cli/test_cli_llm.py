"""``unspool llm`` and ``unspool map``: the shell loop is the recursion."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from unspool.testing import Ask, Behaviour

from .conftest import SECONDS, Cli, MakeCli


@pytest.fixture
def echo(make_cli: MakeCli, tmp_path: Path) -> Cli:
    """A model that says what it was asked, in capitals; with a cache of its own."""
    cli = make_cli(lambda ask: ask.prompt.upper())
    cli.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    return cli


def llm(cli: Cli, *arguments: str) -> list[str]:
    return cli.command("llm", *arguments, "--model", "openai:test-model")


def mapped(cli: Cli, *arguments: str) -> list[str]:
    return cli.command("map", *arguments, "--model", "openai:test-model")


def items(out: bytes) -> list[Any]:
    return [json.loads(line) for line in out.decode().splitlines()]


# llm


def test_the_reply_to_prompt_and_slice_and_nothing_else_is_printed(echo: Cli) -> None:
    done = echo.run(llm(echo, "shout"), stdin="hällo\n".encode())
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, "SHOUT\n\nHÄLLO\n", b"")
    assert echo.server.asks[0].prompt == "shout\n\nhällo\n"
    assert echo.run(llm(echo, "alone")).stdout == b"ALONE\n"


def test_an_equal_call_is_paid_once_unless_that_is_asked_for(echo: Cli) -> None:
    first = json.loads(echo.run(llm(echo, "shout", "--json"), stdin=b"x").stdout)
    second = json.loads(echo.run(llm(echo, "shout", "--json"), stdin=b"x").stdout)
    assert (first["reply"], first["cached"], first["usage"]["calls"]) == ("SHOUT\n\nX", False, 1)
    assert (second["reply"], second["cached"], second["usage"]["calls"]) == ("SHOUT\n\nX", True, 0)
    assert len(echo.server.asks) == 1
    echo.run(llm(echo, "shout", "--no-cache"), stdin=b"x")
    assert len(echo.server.asks) == 2


def test_a_call_of_a_run_is_the_same_call(make_cli: MakeCli, tmp_path: Path) -> None:
    def script(ask: Ask) -> str:
        messages = ask.body["messages"]
        assert isinstance(messages, list)
        return "X!" if len(messages) == 1 else "```python\nsubmit(llm_query('shout\\n\\nx'))\n```"

    cli = make_cli(script)
    cli.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    name = cli.file("in.txt", "text")
    run = cli.run(cli.command("ask", "Shout.", name, "--model", "openai:test-model", "--cache"))
    assert run.stdout == b"X!\n"
    before = len(cli.server.asks)
    assert cli.run(llm(cli, "shout"), stdin=b"x").stdout == b"X!\n"
    assert len(cli.server.asks) == before


def test_processes_at_once_spend_from_one_budget(echo: Cli) -> None:
    def one(number: int) -> int:
        command = llm(echo, f"number {number}", "--budget", "b.json", "--calls", "3")
        return echo.run(command).returncode

    with ThreadPoolExecutor(6) as pool:
        codes = sorted(pool.map(one, range(6)))
    assert codes == [0, 0, 0, 4, 4, 4]
    assert len(echo.server.asks) == 3
    told = json.loads((echo.folder / "b.json").read_text())
    assert told["spent"]["calls"] == 3
    over = echo.run(llm(echo, "one more", "--budget", "b.json"))
    assert over.returncode == 4
    assert b"over budget: the limit of 3 sub-calls of b.json" in over.stderr


def test_a_shell_loop_is_the_recursion(echo: Cli) -> None:
    echo.file("big.txt", "one\ntwo\nthree\nfour\n")
    script = """
    split -l 2 big.txt part_
    for part in part_*; do "$@" 'List' --budget b.json --calls 3 < $part; done | "$@" 'Merge' --budget b.json
    """
    done = echo.run(["sh", "-ec", script, "sh", *llm(echo)])
    assert done.stdout.decode().split() == ["MERGE", "LIST", "ONE", "TWO", "LIST", "THREE", "FOUR"]
    assert json.loads((echo.folder / "b.json").read_text())["spent"]["calls"] == 3


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "words"),
    [
        ([""], b"", 2, "PROMPT is empty"),
        (["x"], b"\xff\xfe\xfd", 2, "standard input is"),
        (["x", "--budget", "b.json"], b"", 2, "has no limit yet: give --usd, --tokens or --calls"),
        (["x", "--usd", "1"], b"", 2, "price of openai:test-model is not known"),
        (["x", "--tokens", "-1"], b"", 2, "--tokens -1: give"),
        (["x", "--calls", "0"], b"", 4, "the limit of 0 sub-calls"),
    ],
)
def test_what_is_wrong_is_one_message(
    echo: Cli, arguments: list[str], stdin: bytes, code: int, words: str
) -> None:
    done = echo.run(llm(echo, *arguments), stdin=stdin)
    assert (done.returncode, done.stdout) == (code, b"")
    assert words in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert echo.server.asks == []


@pytest.mark.parametrize("command", ["llm", "map"])
def test_what_is_refused_before_anything_is_sent_leaves_no_budget_and_changes_none(
    echo: Cli, command: str
) -> None:
    def refused(*arguments: str) -> str:
        given = echo.command(command, "x", "--model", "openai:test-model", "--budget", "b.json", *arguments)
        done = echo.run(given, stdin=b"1\n")
        assert (done.returncode, done.stdout) == (2, b"")
        return done.stderr.decode()

    file = echo.folder / "b.json"
    assert "b.json has no limit yet" in refused()
    told = refused("--usd", "1")
    assert not file.exists()
    assert told == (
        "unspool: --usd: the price of openai:test-model is not known, so a limit in dollars cannot be kept: "
        "say it, in dollars for a million tokens (--set price=READ/WRITTEN), or limit --tokens or --calls\n"
    )
    price = ("--set", "price=1/1")
    good = echo.command(command, "x", "--model", "openai:test-model", "--budget", "b.json", "--calls", "2")
    assert echo.run(good, stdin=b"1\n").returncode == 0  # what the message says works
    kept = file.read_bytes()
    assert "unspool: b.json: calls of a price that is not known" in refused("--usd", "1", *price)
    assert file.read_bytes() == kept


def test_a_limit_in_dollars_that_the_file_has_is_told_with_the_file(echo: Cli) -> None:
    budget = ("--budget", "b.json")
    priced = echo.run(llm(echo, "x", *budget, "--usd", "1", "--set", "price=1/1"), stdin=b"x")
    assert priced.returncode == 0
    kept = (echo.folder / "b.json").read_bytes()
    done = echo.run(llm(echo, "x", *budget, "--calls", "5"), stdin=b"y")
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "unspool: b.json has a limit in dollars, which cannot be kept, for the price of openai:test-model is "
        "not known: say it, in dollars for a million tokens (--set price=READ/WRITTEN), or name another file "
        "and limit --tokens or --calls\n"
    )
    assert (echo.folder / "b.json").read_bytes() == kept
    other = echo.run(llm(echo, "x", "--budget", "other.json", "--calls", "5"), stdin=b"y")
    assert other.returncode == 0


def test_a_limit_in_dollars_is_refused_with_the_options_that_the_command_has(make_cli: MakeCli) -> None:
    cli = make_cli(["unused"])
    name = cli.file("in.txt", "text")
    done = cli.run(cli.ask("How many?", name, "--usd", "1"))
    assert done.returncode == 2
    assert "--set price=READ/WRITTEN), or limit --tokens, --calls or --seconds\n" in done.stderr.decode()
    done = cli.run(cli.command("serve", "--model", "openai:test-model", "--usd", "1", "--port", "0"))
    assert done.returncode == 2
    assert "--set price=READ/WRITTEN), or limit --tokens or --seconds\n" in done.stderr.decode()


def test_a_failure_is_its_message_and_exit_code_1(make_cli: MakeCli) -> None:
    cli = make_cli([Behaviour(status=401, message="Incorrect API key")])
    done = cli.run(llm(cli, "x", "--no-cache"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"OPENAI_API_KEY" in done.stderr


# map


def test_each_item_has_its_line_in_order(make_cli: MakeCli) -> None:
    def later_ones_first(ask: Ask) -> Behaviour:
        number = int(ask.prompt.split()[-1])
        return Behaviour(f"got {number}", delay=0.3 - number * 0.02)

    cli = make_cli(later_ones_first)
    name = cli.file("items.jsonl", "".join(f'"item {n}"\n' for n in range(10)))
    done = cli.run(mapped(cli, "What is it?", name, "--no-cache"))
    assert items(done.stdout) == [{"line": n + 1, "reply": f"got {n}"} for n in range(10)]
    assert done.returncode == 0
    assert done.stderr.decode().startswith("10 items: 10 answered, ")
    assert cli.server.peak > 5


def test_values_are_sent_as_json_and_text_as_text(echo: Cli) -> None:
    echo.file("items.jsonl", '\ufeff{"b": [1, "x"]}\n\n"plain"\r\n3')
    done = echo.run(mapped(echo, "say", "items.jsonl"))
    replies = [(each["line"], each["reply"]) for each in items(done.stdout)]
    assert replies == [(1, 'SAY\n\n{"B": [1, "X"]}'), (3, "SAY\n\nPLAIN"), (4, "SAY\n\n3")]
    lines = echo.run(mapped(echo, "say", "--lines"), stdin=b"one\n\xc3\xa9 {\n")
    assert [each["reply"] for each in items(lines.stdout)] == ["SAY\n\nONE", "SAY\n\nÉ {"]


def test_failed_items_are_typed_and_the_exit_code_says_so(make_cli: MakeCli) -> None:
    def some(ask: Ask) -> Behaviour:
        return Behaviour(status=400, message="I refuse") if "bad" in ask.prompt else Behaviour("fine")

    cli = make_cli(some)
    done = cli.run(mapped(cli, "x", "--no-cache"), stdin=b'"good"\n"bad"\nno json\n"good"\n')
    told = items(done.stdout)
    assert done.returncode == 3
    assert [each["line"] for each in told] == [1, 2, 3, 4]
    assert told[1]["error"]["kind"] == "bad_request"
    assert "I refuse" in told[1]["error"]["message"]
    assert "line 3 is no JSON (plain text: --lines)" in told[2]["error"]["message"]
    assert b"4 items: 2 answered, 2 failed (bad_request 2)" in done.stderr
    assert cli.run(mapped(cli, "x", "--no-cache"), stdin=b'"bad"\n').returncode == 1


def test_what_was_answered_is_not_paid_again(echo: Cli) -> None:
    cut = echo.run(mapped(echo, "x", "--calls", "3"), stdin=b'"a"\n"b"\n"c"\n"d"\n"a"\n')
    told = items(cut.stdout)
    assert cut.returncode == 4
    assert [each.get("error", {}).get("kind", "ok") for each in told] == [
        "ok",
        "ok",
        "ok",
        "budget",
        "budget",
    ]
    again = echo.run(mapped(echo, "x"), stdin=b'"a"\n"b"\n"c"\n"d"\n"a"\n')
    assert again.returncode == 0
    assert b"5 answered (3 from the cache)" in again.stderr
    assert len(echo.server.asks) == 5


def test_a_map_that_is_stopped_goes_on_with_the_same_command(make_cli: MakeCli, tmp_path: Path) -> None:
    cli = make_cli(lambda ask: Behaviour("yes", delay=0.0 if int(ask.prompt.split()[-1]) < 20 else 0.2))
    cli.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    name = cli.file("items.jsonl", "".join(f"{n}\n" for n in range(60)))
    command = mapped(cli, "x", name, "--concurrency", "4")
    process = subprocess.Popen(
        command, cwd=cli.folder, env=cli.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + SECONDS
    while len(cli.server.asks) < 26 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert "cancelled" in err.decode()
    assert "Traceback" not in err.decode()
    assert len(items(out)) >= 20
    before = len(cli.server.asks)
    again = cli.run(command)
    assert again.returncode == 0
    assert [each["line"] for each in items(again.stdout)] == list(range(1, 61))
    assert len(cli.server.asks) - before <= 60 - 20


def test_nothing_more_is_sent_when_nobody_reads(make_cli: MakeCli) -> None:
    cli = make_cli(lambda ask: Behaviour("yes", delay=0.02))
    name = cli.file("items.jsonl", "".join(f"{n}\n" for n in range(2_000)))
    done = cli.run(
        ["sh", "-c", '"$@" | head -1', "sh", *mapped(cli, "x", name, "--no-cache", "--concurrency", "4")]
    )
    assert items(done.stdout) == [{"line": 1, "reply": "yes"}]
    assert len(cli.server.asks) < 200
    assert b"Traceback" not in done.stderr


def test_a_slow_pipe_is_answered_line_by_line(echo: Cli) -> None:
    process = subprocess.Popen(
        mapped(echo, "x"), cwd=echo.folder, env=echo.environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    for n in range(3):
        process.stdin.write(f"{n}\n".encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"line": n + 1, "reply": f"X\n\n{n}"}
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 143
    assert b"Fatal" not in err


def test_a_named_pipe_without_a_writer_is_told_once(echo: Cli) -> None:
    os.mkfifo(echo.folder / "items")
    process = subprocess.Popen(
        echo.command("map", "x", "items", "--lines", "--model", "openai:test-model"),
        cwd=echo.folder, env=echo.environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    said = process.stderr.readline().decode()
    assert said == "unspool: items is a pipe that nobody writes to yet: waiting for it\n"
    with open(echo.folder / "items", "wb") as pipe:
        pipe.write(b"one\n")
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert json.loads(out) == {"line": 1, "reply": "X\n\nONE"}
    assert b"waiting" not in err


def test_a_wrong_key_is_asked_once(make_cli: MakeCli) -> None:
    cli = make_cli([Behaviour(status=401, message="Incorrect API key")])
    stdin = b"".join(b"%d\n" % n for n in range(50))
    done = cli.run(mapped(cli, "x", "--no-cache", "--concurrency", "1"), stdin=stdin)
    assert done.returncode == 1
    assert {each["error"]["kind"] for each in items(done.stdout)} == {"auth"}
    assert len(cli.server.asks) == 1


@pytest.mark.parametrize("said", ["The model `test-model` does not exist", "Not Found"])
def test_what_is_not_there_is_asked_so_often_and_no_more(make_cli: MakeCli, said: str) -> None:
    cli = make_cli([Behaviour(status=404, message=said)])
    stdin = b"".join(b"%d\n" % n for n in range(50))
    done = cli.run(mapped(cli, "x", "--no-cache", "--concurrency", "2"), stdin=stdin)
    assert done.returncode == 1
    assert len(items(done.stdout)) == 50
    assert "(not sent: 8 calls in a row have failed alike)" in items(done.stdout)[-1]["error"]["message"]
    assert 8 <= len(cli.server.asks) < 10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["", "-"], "INSTRUCTION is empty"),
        (["x", "no-such-file"], "no-such-file cannot be read: No such file or directory"),
        (["x", "."], "cannot be read: Is a directory"),
        (["x", "-", "--concurrency", "0"], "concurrency"),
    ],
)
def test_what_is_wrong_with_a_map_is_one_message(echo: Cli, arguments: list[str], words: str) -> None:
    done = echo.run(mapped(echo, *arguments))
    assert (done.returncode, done.stdout) == (2, b"")
    assert words in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_without_a_pipe_there_are_no_items(echo: Cli) -> None:
    master, terminal = pty.openpty()
    try:
        done = subprocess.run(
            mapped(echo, "x"), stdin=terminal, capture_output=True, env=echo.environment,
            cwd=echo.folder, timeout=SECONDS, check=False,
        )  # fmt: skip
    finally:
        os.close(terminal)
        os.close(master)
    assert done.returncode == 2
    assert b"there are no items: name a file, or pipe lines of JSON in" in done.stderr


@pytest.mark.parametrize("byte", [b"x", b"\0", b" "])
def test_a_line_that_may_have_no_end_is_the_last(echo: Cli, byte: bytes) -> None:
    done = echo.run(mapped(echo, "Say", "--lines"), stdin=b"one\n" + byte * ((64 << 20) + 1) + b"\ntwo\n")
    first, second = items(done.stdout)
    assert first["reply"]
    assert (second["line"], second["error"]["kind"]) == (2, "bad_request")
    assert (
        "line 2 is longer than 67.1 MB: it and what comes after it was not read" in second["error"]["message"]
    )
    assert done.returncode == 3


def test_an_empty_input_is_no_items(echo: Cli) -> None:
    done = echo.run(mapped(echo, "x"))
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"0 items: 0 answered" in done.stderr
