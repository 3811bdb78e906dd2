"""`unspool ask` as a person or a script runs it: answers, exit codes, inputs, streams."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from unspool import RLM
from unspool.testing import Ask, Behaviour, ScriptedModel

from .conftest import LOOK, SECONDS, MakeCli, submits


def test_only_the_answer_is_on_stdout_and_the_work_is_told_on_stderr(make_cli: MakeCli) -> None:
    cli = make_cli([LOOK, submits("context.upper()")])
    done = cli.run(cli.ask("Shout it.", cli.file("a.txt", "hello")))
    assert (done.returncode, done.stdout) == (0, b"HELLO\n"), done.stderr
    told = done.stderr.decode()
    assert "model: openai:test-model" in told
    assert "turn 1: 1 line of code" in told
    assert "answered in" in told
    assert "cost unknown" in told
    assert "\x1b" not in told


def test_quiet_says_nothing_but_the_answer(make_cli: MakeCli) -> None:
    cli = make_cli([submits("len(context)")])
    done = cli.run(cli.ask("How long?", cli.file("a.txt", "hello"), "--quiet"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"5\n", b"")


def test_show_code_tells_the_code_and_what_it_printed(make_cli: MakeCli) -> None:
    cli = make_cli(["```python\nprint('seen', len(context))\n```", submits("1")])
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello"), "--show-code"))
    assert "    print('seen', len(context))\n" in done.stderr.decode()
    assert "    seen 5\n" in done.stderr.decode()


def test_json_is_one_object_with_the_figures(make_cli: MakeCli) -> None:
    code = "print(1)\na = llm_query_batched(['x', 'y'])\nsubmit({'n': (1, 2), 3: {4}})"
    cli = make_cli(lambda ask: f"```python\n{code}\n```" if "context" in str(ask.body) else "yes")
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello"), "--json"))
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert list(got) == [
        "answer", "status", "reason", "draft", "notes", "run_id", "model", "sub_model", "strategy", "turns", "sub_calls", "usage", "cost", "seconds",
        "coverage", "citations",
    ]  # fmt: skip
    assert got["answer"] == {"n": [1, 2], "3": [4]}
    assert (got["status"], got["turns"], got["sub_calls"]) == ("answered", 1, 2)
    assert got["model"] == "openai:test-model"
    assert got["usage"]["calls"] == 3
    assert got["usage"]["input_tokens"] > 0
    assert got["cost"] is None
    assert got["run_id"]
    assert 0 < got["seconds"] < SECONDS


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"a\r\nb\rc\n", "a\r\nb\rc\n"),
        (b"\xef\xbb\xbfwith a mark", "with a mark"),
        ("Ünïcode 世界 \U0001f600".encode(), "Ünïcode 世界 \U0001f600"),
        (b"'''\\", "'''\\"),
    ],
)
@pytest.mark.parametrize("way", ["file", "pipe", "dash"])
def test_the_context_is_exactly_the_text(make_cli: MakeCli, content: bytes, seen: str, way: str) -> None:
    cli = make_cli([submits("ascii(context)")])
    names = {"file": [cli.file("in.txt", content)], "pipe": [], "dash": ["-"]}[way]
    done = cli.run(cli.ask("?", *names), stdin=content)
    assert (done.returncode, done.stdout.decode()) == (0, ascii(seen) + "\n"), done.stderr


def test_several_files_are_a_dict_of_name_to_text(make_cli: MakeCli) -> None:
    cli = make_cli([submits("context")])
    names = [cli.file("a.txt", "A\r\n"), cli.file("b.txt", ""), "-"]
    done = cli.run(cli.ask("?", *names, "--json"), stdin=b"piped")
    assert json.loads(done.stdout)["answer"] == {"a.txt": "A\r\n", "b.txt": "", "stdin": "piped"}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.txt", None, ("missing.txt", "no such file")),
        ("a.odt", b"PK\x03\x04", ("a.odt", "is a document", "save it as .docx")),
        ("empty.txt", b"", ("empty.txt", "empty")),
        ("mark.txt", b"\xef\xbb\xbf", ("mark.txt", "empty")),
        ("packed.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", ("packed.gz", "cannot be unpacked")),
        ("binary.bin", b"\x7fELF\x00\x01\xff\xfe", ("binary.bin",)),
        ("none/*.txt", None, ("none/*.txt", "no folder")),
        ("no\x1b[2Jsuch.txt", None, ("no\\x1b[2Jsuch.txt",)),
    ],
)
def test_an_input_that_cannot_be_read_is_one_clear_error(
    make_cli: MakeCli, name: str, content: bytes | None, words: tuple[str, ...]
) -> None:
    cli = make_cli([submits("1")])
    if content is not None:
        cli.file(name, content)
    done = cli.run(cli.ask("?", name))
    assert (done.returncode, done.stdout) == (2, b"")
    told = done.stderr.decode()
    assert told.count("\n") == 1
    assert all(word in told for word in words), told
    assert "Traceback" not in told
    assert cli.server.asks == []


@pytest.mark.parametrize("question", ["how many?", "how many", "say 'when'"])
def test_a_question_behind_its_file_is_told_to_come_first(make_cli: MakeCli, question: str) -> None:
    cli = make_cli([submits("1")])
    name = cli.file("server.log", "one\n")
    done = cli.run(cli.ask(name, question))
    assert (done.returncode, done.stdout) == (2, b"")
    told = done.stderr.decode().strip()
    assert f"{question}: no such file, but server.log is one. The question comes first: " in told
    assert shlex.split(told.partition("first: ")[2]) == ["unspool", "ask", question, name]
    done = cli.run(cli.ask(name, name))  # a question may be called as a file is
    assert done.returncode == 0, done.stderr
    both = cli.run(cli.ask(name, "none.txt", name))
    assert b"none.txt: no such file. Check the path." in both.stderr


def test_a_file_that_is_named_twice_is_told(make_cli: MakeCli) -> None:
    cli = make_cli([submits("context")])
    names = [cli.file("a.log", "one\n"), cli.file("b.log", "two\n"), "a.log"]
    done = cli.run(cli.ask("?", *names, "--json"))
    said = json.loads(done.stdout)
    assert said["answer"] == {"a.log": "one\n", "b.log": "two\n"}
    assert said["notes"] == ["a.log is named 2 times: it is read as one input"]


def test_nothing_piped_is_an_error_that_says_what_to_do(make_cli: MakeCli) -> None:
    cli = make_cli([submits("1")])
    done = cli.run(cli.ask("?"))
    assert done.returncode == 2
    assert "standard input is empty" in done.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["ask"], "QUESTION"),
        (["ask", "?", "a.txt", "--nonsense"], "--nonsense"),
        (["ask", "?", "a.txt", "--max-turns", "0"], "--max-turns"),
        (["ask", "?", "a.txt", "--seconds", "-1"], "seconds"),
        (["ask", "?", "a.txt", "--usd", "-1"], "usd"),
        (["ask", "?", "a.txt", "--tokens", "-1"], "tokens"),
        (["ask", "?", "a.txt", "--calls", "-1"], "calls"),
        (["ask", "?", "a.txt", "--max-depth", "-1"], "--max-depth"),
        (["ask", "?", "a.txt", "--model", "openai:test-model", "--usd", "1"], "price of openai:test-model"),
        (["ask", "  ", "a.txt"], "QUESTION is empty"),
        (["ask", "?", "a.txt", "--model", "nonsense"], "nonsense"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_wrong_usage_is_exit_2(make_cli: MakeCli, arguments: list[str], word: str) -> None:
    cli = make_cli([submits("1")])
    cli.file("a.txt", "hello")
    done = cli.run(cli.command(*arguments))
    assert (done.returncode, done.stdout) == (2, b"")
    assert word in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_a_run_out_of_turns_is_exit_4_and_hands_over_its_draft(make_cli: MakeCli) -> None:
    cli = make_cli(["```python\nresult = 41 + 1\nprint(result)\n```"])
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello"), "--max-turns", "2"))
    assert (done.returncode, done.stdout) == (4, b"42\n"), done.stderr
    assert "budget: " in done.stderr.decode()
    assert "draft" in done.stderr.decode()


def test_a_time_limit_is_exit_4_with_nothing_on_stdout_where_there_is_no_draft(make_cli: MakeCli) -> None:
    cli = make_cli([Behaviour("late", fault="hang")])
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello"), "--seconds", "0.5", "--quiet"))
    assert (done.returncode, done.stdout) == (4, b"")
    assert done.stderr.decode().startswith("budget: ")


def test_limits_on_calls_depth_and_tokens_hold(make_cli: MakeCli) -> None:
    code = "r = llm_query_batched(['a', 'b', 'c'])\nprint(1)\nsubmit([sum(map(bool, r)), budget()['depth']])"
    cli = make_cli(lambda ask: f"```python\n{code}\n```" if "context" in str(ask.body) else "yes")
    limits = ("--calls", "2", "--max-depth", "4", "--tokens", "100000")
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello"), *limits, "--json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"] == [2, 4]
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello"), "--tokens", "50"))
    assert (done.returncode, done.stdout) == (4, b"")
    assert "budget: the limit of 50 tokens of the run has no room" in done.stderr.decode()
    assert ": 0 turns, 0 sub-calls, 0 tokens in, 0 out, $0" in done.stderr.decode()
    told = json.loads(cli.run(cli.ask("?", cli.file("a.txt", "hello"), "--tokens", "50", "--json")).stdout)
    assert told["turns"] == 0
    assert set(told["usage"].values()) == {0}


def test_the_cache_survives_the_process_and_its_cost_is_told_apart(make_cli: MakeCli) -> None:
    code = "r = llm_query_batched(['a', 'b'])\nprint(1)\nsubmit(r)"
    cli = make_cli(lambda ask: f"```python\n{code}\n```" if "context" in str(ask.body) else "yes")
    where = {"UNSPOOL_CACHE": str(cli.folder / "cache")}
    ask = cli.ask("?", cli.file("a.txt", "hello"), "--cache")
    first = json.loads(cli.run([*ask, "--json"], environment=where).stdout)
    assert (first["answer"], first["usage"]["calls"], first["reused"]["calls"]) == (["yes", "yes"], 3, 0)
    second = json.loads(cli.run([*ask, "--json"], environment=where).stdout)
    assert (second["answer"], second["usage"]["calls"], second["reused"]["calls"]) == (["yes", "yes"], 1, 2)
    assert (second["cost"], second["reused_cost"]) == (None, None)
    told = cli.run(ask, environment=where).stderr.decode()
    assert "2 sub-calls" in told
    assert "2 replies from the cache, not paid again (cost unknown)" in told
    assert len(cli.server.asks) == 1 + 2 + 1 + 1


def test_prose_for_ever_is_exit_1_with_the_reason(make_cli: MakeCli) -> None:
    cli = make_cli(["I think the answer is 7."])
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello")))
    assert (done.returncode, done.stdout) == (1, b"")
    assert "failed: " in done.stderr.decode()


def test_a_draft_of_a_run_that_broke_is_exit_3(make_cli: MakeCli) -> None:
    cli = make_cli(["```python\nresult = 5\nprint(result)\n```", "prose", "prose", "prose"])
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello")))
    assert (done.returncode, done.stdout) == (3, b"5\n"), done.stderr


def test_a_wrong_key_is_one_clear_error_without_a_retry(make_cli: MakeCli) -> None:
    cli = make_cli([Behaviour(status=401, message="Incorrect API key provided")])
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello")))
    assert (done.returncode, done.stdout) == (1, b"")
    assert "OPENAI_API_KEY" in done.stderr.decode()
    assert len(cli.server.asks) == 1


def test_a_reader_that_takes_one_line_gets_it_and_no_traceback(make_cli: MakeCli) -> None:
    cli = make_cli([submits("'line\\n' * 200_000")])
    command = cli.ask("?", cli.file("a.txt", "hello"))
    process = subprocess.Popen(
        command, cwd=cli.folder, env=cli.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"line\n"
    process.stdout.close()
    told = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(SECONDS) == 0
    assert "Traceback" not in told
    assert "BrokenPipe" not in told
    assert "Exception ignored" not in told


def test_nobody_reads_the_progress_and_the_answer_still_comes(make_cli: MakeCli) -> None:
    cli = make_cli([LOOK, LOOK + "\n", submits("7")])
    command = cli.ask("?", cli.file("a.txt", "hello"))
    process = subprocess.Popen(
        command, cwd=cli.folder, env=cli.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stderr.close()
    assert process.stdout.read() == b"7\n"
    process.stdout.close()
    assert process.wait(SECONDS) == 0


def test_a_full_disk_is_an_error(make_cli: MakeCli) -> None:
    cli = make_cli([submits("7")])
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            cli.ask("?", cli.file("a.txt", "hello")),
            cwd=cli.folder,
            env=cli.environment,
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 1
    assert "could not be written: No space left on device" in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_an_answer_that_nobody_can_get_is_no_success(make_cli: MakeCli) -> None:
    cli = make_cli([submits("'lost'")])
    cli.file("a.txt", "hello")
    done = cli.run(["sh", "-c", 'exec "$@" >&-', "sh", *cli.ask("?", "a.txt")])
    assert done.returncode == 1
    assert "could not be written: it is closed" in done.stderr.decode()


def test_a_call_that_is_sent_again_is_told(make_cli: MakeCli) -> None:
    cli = make_cli([Behaviour(status=503, message="the model is\x1b[2J being loaded"), submits("1")])
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello")))
    assert (done.returncode, done.stdout) == (0, b"1\n")
    told = done.stderr.decode()
    assert "turn 1: asking again: " in told
    assert "being loaded" in told
    assert "\x1b" not in told


@pytest.mark.parametrize("closed", ["<&-", "2>&-"])
def test_streams_that_are_closed_from_the_start(make_cli: MakeCli, closed: str) -> None:
    cli = make_cli([submits("7")])
    cli.file("a.txt", "hello")
    done = cli.run(["sh", "-c", f'exec "$@" {closed}', "sh", *cli.ask("?", "a.txt")])
    assert (done.returncode, done.stdout) == (0, b"7\n"), done.stderr
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize(
    "environment",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_a_locale_that_cannot_show_the_answer(make_cli: MakeCli, environment: dict[str, str]) -> None:
    cli = make_cli(["```python\nprint('世界 \\ud800')\nsubmit(context)\n```"])
    done = cli.run(
        cli.ask("Was ist größer? 世", cli.file("a.txt", "é 世界"), "--show-code"), environment=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout in ("é 世界\n".encode(), b"\xe9 \\u4e16\\u754c\n", b"\\xe9 \\u4e16\\u754c\n")
    assert b"Traceback" not in done.stderr


def test_two_megabytes_arrive_byte_for_byte(make_cli: MakeCli) -> None:
    cli = make_cli([submits("context")])
    content = ("0123456789 é\t'\"\\\r\n" * 120_000).encode()
    done = cli.run(cli.ask("?", "--quiet"), stdin=content)
    assert done.returncode == 0, done.stderr
    assert done.stdout == content


def test_the_key_is_nowhere_in_what_comes_out(make_cli: MakeCli) -> None:
    cli = make_cli([Behaviour(status=401, message="Incorrect API key provided: sk-very-secret")])
    done = cli.run(cli.ask("?", cli.file("a.txt", "x")), environment={"OPENAI_API_KEY": "sk-very-secret"})
    assert b"sk-very-secret" not in done.stdout + done.stderr


def test_branches_are_told_with_their_cost_and_how_they_agree(make_cli: MakeCli) -> None:
    def reply(ask: Ask) -> str:
        messages = ask.body["messages"]
        assert isinstance(messages, list)
        return LOOK if len(messages) == 2 else submits("len(context)")

    cli = make_cli(reply)
    done = cli.run(cli.ask("How long?", cli.file("a.txt", "hello"), "--branches", "3", "--json"))
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert (got["answer"], got["branches"]["count"]) == (5, 3)
    assert got["branches"]["agreeing"] + got["branches"]["stopped"] == 3
    assert got["usage"]["calls"] <= 4
    told = done.stderr.decode()
    answered = re.findall(r"branch [123]: answered \(submitted\), cost unknown", told)
    assert len(set(answered)) == got["branches"]["agreeing"] >= 2  # any two of them may be the first
    ended = (
        "2 of 2 branches that ended agree, 1 was stopped"
        if got["branches"]["stopped"]
        else "3 of 3 branches agree"
    )
    assert ended in told


def test_the_models_are_set_and_priced_and_a_resumed_run_takes_that_up(make_cli: MakeCli) -> None:
    cli = make_cli(["```python\nprint(llm_query('?'))\n```", "fine", submits("len(context)")])
    sets = ["temperature=0.25", "sub.max_tokens=50", "price=1000/1000"]
    options = [part for each in sets for part in ("--set", each)]
    done = cli.run(
        cli.ask("?", cli.file("a.txt", "abc"), "--json", "--usd", "5", "--max-turns", "1", *options)
    )
    assert done.returncode == 4, done.stderr
    told = json.loads(done.stdout)
    used = told["usage"]["input_tokens"] + told["usage"]["output_tokens"]
    assert told["cost"] == pytest.approx(used / 1_000)
    done = cli.run(cli.command("runs", "resume", told["run_id"], "--max-turns", "3", "--json", "-q"))
    assert json.loads(done.stdout)["answer"] == 3
    bodies = [ask.body for ask in cli.server.asks]
    assert [body["temperature"] for body in bodies] == [0.25, 0.25, 0.25]
    assert [body.get("max_tokens") == 50 for body in bodies] == [False, True, False]
    done = cli.run(cli.ask("?", "a.txt", "--set", "heat=9"))
    assert done.returncode == 2
    assert b"temperature, max_tokens" in done.stderr


def test_a_run_with_tools_of_a_program_is_told_to_go_on_there(make_cli: MakeCli, tmp_path: Path) -> None:
    cli = make_cli(["prose"])

    def lookup(name: str) -> str:
        return name

    run = RLM(ScriptedModel(["prose"]), tools=[lookup], runs=tmp_path / "kept").run("?", "abc")
    done = cli.run(cli.command("runs", "resume", run.id, "--runs", "kept"))
    assert done.returncode == 2
    assert b"(lookup): go on with it there" in done.stderr
    assert cli.server.asks == []


@pytest.mark.parametrize(
    ("kind", "code", "printed", "as_json"),
    [
        ("int", "'42'", "42\n", 42),
        ("float", "'1.5'", "1.5\n", 1.5),
        ("bool", "'yes'", "true\n", True),
        ("str", "7", "7\n", "7"),
        ("list[str]", "('a', 'b')", '["a", "b"]\n', ["a", "b"]),
        ("date", "'2031-05-24'", "2031-05-24\n", "2031-05-24"),
        ("DataFrame", "[{'a': 1}]", '[{"a": 1}]\n', [{"a": 1}]),
        ("wanted.json", "{'n': '3'}", '{"n": 3}\n', {"n": 3}),
    ],
)
def test_an_answer_of_a_type(make_cli: MakeCli, kind: str, code: str, printed: str, as_json: object) -> None:
    cli = make_cli([submits(code)])
    cli.file("wanted.json", '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}')
    command = cli.ask("?", cli.file("a.txt", "hello"), "--answer", kind)
    done = cli.run(command)
    assert (done.returncode, done.stdout.decode()) == (0, printed), done.stderr
    assert "The answer must be" in str(cli.server.asks[0].body)
    assert json.loads(cli.run([*command, "--json"]).stdout)["answer"] == as_json


@pytest.mark.parametrize(
    ("given", "content", "words"),
    [
        ("integer", None, ("'integer'", "Did you mean 'int'? Use int, float")),
        ("list[", None, ("'list['", "notation. Use int, float")),
        ("__import__('os').system('x')", None, ("Use int, float",)),
        ("missing.json", None, ("missing.json", "no such file")),
        ("bad.json", "{", ("bad.json", "no JSON")),
        ("list.json", "[1]", ("list.json", "no JSON schema")),
        ("kind.json", '{"type": "int"}', ("--answer: kind.json is no JSON schema: no type 'int'", "integer")),
        (
            "empty.json",
            "{}",
            ("--answer: empty.json is no JSON schema: it says neither type nor properties",),
        ),
    ],
)
def test_a_wrong_type_is_one_clear_error(
    make_cli: MakeCli, given: str, content: str | None, words: tuple[str, ...]
) -> None:
    cli = make_cli([submits("1")])
    if content is not None:
        cli.file(given, content)
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello"), "--answer", given))
    assert (done.returncode, done.stdout) == (2, b"")
    told = done.stderr.decode()
    assert told.count("\n") == 1
    assert all(word in told for word in words), told
    assert cli.server.asks == []


def test_a_draft_of_another_type_is_told_and_is_no_answer(make_cli: MakeCli) -> None:
    cli = make_cli([LOOK, submits("['many', 'more']")])
    command = cli.ask(
        "?", cli.file("a.txt", "hello"), "--answer", "int", "--max-turns", "2", "--runs", "kept"
    )
    done = cli.run(command)
    assert (done.returncode, done.stdout) == (4, b"")
    told = done.stderr.decode()
    assert (
        "answer refused: the answer does not fit the wanted type: the value: expected a whole number" in told
    )
    assert "unspool: the draft is no answer (the value: expected a whole number, got a list): [" in told
    watched = cli.run(cli.command("watch", "last", "--runs", "kept", "--quiet"))
    assert (watched.returncode, watched.stdout) == (4, b"")
    got = json.loads(cli.run(cli.command("watch", "last", "--runs", "kept", "--json")).stdout)
    assert (got["answer"], got["draft_value"], got["status"]) == (None, ["many", "more"], "budget")
    assert isinstance(got["draft"], str)  # where it is from, as in Run.draft


def test_a_draft_of_the_type_is_printed(make_cli: MakeCli) -> None:
    cli = make_cli(["```python\nresult = 41 + 1\nprint(result)\n```"])
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello"), "--answer", "int", "--max-turns", "2"))
    assert (done.returncode, done.stdout) == (4, b"42\n"), done.stderr


def test_a_program_as_a_model_is_short_where_models_are_listed(make_cli: MakeCli) -> None:
    cli = make_cli(["unused"])
    reply = submits("1")
    program = f"command:{sys.executable} -c {shlex.quote(f'print({reply!r})')}"
    done = cli.run(cli.command("ask", "?", cli.file("a.txt", "hello"), "--model", program, "--runs", "kept"))
    assert done.returncode == 0, done.stderr
    short = f"command:{Path(sys.executable).name} -c "
    for told in (done.stderr, cli.run(cli.command("runs", "show", "last", "--runs", "kept")).stdout):
        (line,) = [each for each in told.decode().splitlines() if "command:" in each]
        assert short in line
        assert len(line) < 100
    shown = cli.run(cli.command("runs", "show", "last", "--runs", "kept", "--json")).stdout.decode()
    assert json.loads(shown.splitlines()[0])["model"] == program  # by which it is known


def test_a_resumed_run_still_wants_its_type(make_cli: MakeCli) -> None:
    cli = make_cli([LOOK, submits("'many'"), submits("'7'")])
    name = cli.file("a.txt", "hello")
    first = cli.run(cli.ask("?", name, "--answer", "int", "--max-turns", "2", "--runs", "kept"))
    assert first.returncode == 4, first.stderr
    done = cli.run(cli.command("runs", "resume", "last", "--runs", "kept", "--max-turns", "5", "--json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"] == 7


def test_auto_says_what_it_has_decided_and_why(make_cli: MakeCli) -> None:
    cli = make_cli(["Answer: five"])
    done = cli.run(
        cli.ask("How long is it?", cli.file("a.txt", "hello"), "--strategy", "auto", "--runs", "kept")
    )
    assert (done.returncode, done.stdout) == (0, b"five\n"), done.stderr
    told = done.stderr.decode()
    assert "strategy: direct (a question that a passage may answer over about" in told
    shown = cli.run(cli.command("runs", "show", "last", "--runs", "kept")).stdout.decode()
    assert "strategy: direct (a question that a passage may answer over about" in shown


def test_json_names_the_strategy(make_cli: MakeCli) -> None:
    cli = make_cli(["Answer: five"])
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello"), "--strategy", "auto", "--json"))
    assert json.loads(done.stdout)["strategy"] == "direct"


def test_an_unknown_strategy_is_wrong_usage(make_cli: MakeCli) -> None:
    cli = make_cli(["unused"])
    done = cli.run(cli.ask("?", cli.file("a.txt", "hello"), "--strategy", "best"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--strategy best: there are rlm" in done.stderr


def test_what_a_program_that_failed_has_cost_is_not_known(make_cli: MakeCli) -> None:
    cli = make_cli(["unused"])
    ask = cli.command("ask", "?", cli.file("a.txt", "hello"), "--model", "command:false")
    done = cli.run(ask)
    assert done.returncode == 1
    assert "cost unknown" in done.stderr.decode()
    assert json.loads(cli.run([*ask, "--json"]).stdout)["cost"] is None
