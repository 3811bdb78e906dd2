"""`unspool doctor` and `unspool models`: what a user is told of this machine."""

from __future__ import annotations

import json
import sys

import pytest

from unspool.cli.doctor import works
from unspool.models.catalog import known
from unspool.models.providers import masked
from unspool.sandbox.protocol import Protection, SandboxReport, Tier

from .conftest import MakeCli

HELD = Protection("network", True, "a filter", "no network")
LOST = Protection("network", False, "got through", "no network")
NO_NAMESPACES = Protection("separate world", False, "not here", "a world of its own")


@pytest.mark.parametrize(
    ("tier", "protections", "expected"),
    [
        ("namespaces", (HELD,), True),
        ("landlock", (HELD, NO_NAMESPACES), True),
        ("namespaces", (HELD, LOST), False),
        ("none", (HELD,), False),
        (None, (LOST,), False),
    ],
)
def test_the_sandbox_works_only_if_every_protection_holds(
    tier: Tier | None, protections: tuple[Protection, ...], expected: bool
) -> None:
    assert works(SandboxReport("process", tier, protections)) is expected


def test_an_address_is_shown_without_its_password() -> None:
    assert masked("X=https://me:pw@host/v1, http://a/@b") == "X=https://***@host/v1, http://a/@b"


def test_doctor_tells_the_protections_and_the_models_in_words(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    done = cli.run(cli.command("doctor"))
    told = done.stdout.decode()
    assert done.returncode == (0 if "sandbox process: works" in told else 1), done.stderr
    for word in (
        "python: ",
        "network: ",
        "files: ",
        "environment: ",
        "model: openai:served",
        cli.server.base_url,
    ):
        assert word in told
    assert done.stderr == b""


def test_doctor_as_json_says_the_same_and_no_secret(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    secret = {"OPENAI_API_KEY": "sk-very-secret", "ANTHROPIC_API_KEY": "sk-other-secret"}
    done = cli.run(cli.command("doctor", "--json"), environment=secret)
    told = json.loads(done.stdout)
    assert done.returncode == (0 if told["sandbox"]["works"] else 1)
    assert {p["name"] for p in told["sandbox"]["protections"]} >= {"network", "files", "environment"}
    assert told["models"]["model"] == "openai:served"
    assert "ANTHROPIC_API_KEY" in [c["place"] for c in told["models"]["candidates"]]
    assert b"secret" not in done.stdout


def test_models_are_listed_with_where_they_lie(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    cache = str(cli.folder / "cache")
    done = cli.run(cli.command("models", "list"), environment={"UNSPOOL_CACHE": cache})
    told = done.stdout.decode()
    assert done.returncode == 0
    assert "local:qwen2.5-coder-1.5b" in told
    assert "default" in told
    assert "not pulled yet: unspool models pull qwen2.5-coder-0.5b" in told
    assert cache in told
    entry = known("qwen2.5-coder-0.5b")
    (cli.folder / "cache" / "models").mkdir(parents=True)
    with open(cli.folder / "cache" / "models" / entry.file, "wb") as sparse:
        sparse.truncate(entry.size)
    done = cli.run(cli.command("models", "list"), environment={"UNSPOOL_CACHE": cache})
    assert f"pulled: {cache}/models/{entry.file}" in done.stdout.decode()
    assert "not pulled yet: unspool models pull qwen2.5-coder-1.5b" in done.stdout.decode()


def test_a_model_is_removed_with_what_a_broken_pull_has_left(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    entry = known("qwen2.5-coder-0.5b")
    folder = cli.folder / "cache" / "models"
    staging = folder / f".{entry.file}.staging"
    staging.mkdir(parents=True)
    (staging / "slices.json").write_text("{}")
    (folder / f".{entry.file}.partial").write_bytes(b"x" * 3_000_000)
    (folder / "another.gguf").write_text("mine")
    with open(folder / entry.file, "wb") as sparse:
        sparse.truncate(entry.size)
    environment = {"UNSPOOL_CACHE": str(cli.folder / "cache")}
    done = cli.run(cli.command("models", "rm", "local:qwen2.5-coder-0.5b"), environment=environment)
    assert done.stdout.decode() == "local:qwen2.5-coder-0.5b is removed: 494 MB are free\n"
    assert not staging.exists()
    assert sorted(p.name for p in folder.iterdir()) == [f".{entry.file}.lock", "another.gguf"]
    done = cli.run(cli.command("models", "rm", "qwen2.5-coder-0.5b"), environment=environment)
    assert (done.returncode, done.stdout.decode()) == (0, "local:qwen2.5-coder-0.5b is not here\n")


@pytest.mark.parametrize(
    ("name", "said"),
    [("nonsense", "qwen2.5-coder-1.5b, qwen2.5-coder-0.5b"), ("local:/a/b.gguf", "a file of your own")],
)
def test_only_a_pulled_model_is_removed(make_cli: MakeCli, name: str, said: str) -> None:
    cli = make_cli(["ok"])
    done = cli.run(cli.command("models", "rm", name), environment={"UNSPOOL_CACHE": str(cli.folder)})
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()


def test_pulling_an_unknown_model_names_the_known_ones(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    done = cli.run(cli.command("models", "pull", "nonsense"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert "qwen2.5-coder-1.5b, qwen2.5-coder-0.5b" in done.stderr.decode()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["--version"], ["ask", "--help"], ["models", "--help"]]
)
def test_help_is_plain_and_on_stdout(make_cli: MakeCli, arguments: list[str]) -> None:
    cli = make_cli(["ok"])
    done = cli.run(cli.command(*arguments))
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"unspool" in done.stdout.lower()
    assert b"\x1b" not in done.stdout


def test_help_of_ask_tells_the_exit_codes(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    told = " ".join(cli.run(cli.command("ask", "--help")).stdout.decode().split())
    assert "0 answered, 1 failed, 2 wrong usage, 3 partial" in told


def test_help_imports_nothing_that_takes_long(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    told = cli.run([sys.executable, "-X", "importtime", "-m", "unspool", "--help"]).stderr.decode()
    imported = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    assert "typer" in imported
    slow = {"asyncio", "rich.console", "pydantic", "lm15", "numpy", "pandas", "uvicorn", "starlette"}
    assert imported & slow == set()


def test_no_model_at_all_is_one_message_with_the_ways_out(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    nothing = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "UNSPOOL_CACHE": "/dev/null/nowhere"}
    found = json.loads(cli.run(cli.command("doctor", "--json"), environment=nothing).stdout)["models"]
    if any(c["kind"] == "server" and c["model"] for c in found["candidates"]):
        pytest.skip("a model server runs on this machine")
    done = cli.run(cli.command("ask", "?", cli.file("a.txt", "hello")), environment=nothing)
    told = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b"")
    assert "Traceback" not in told
    for way in ("OPENAI_API_KEY", "Ollama", "unspool models pull"):
        assert way in told, told


def test_a_server_that_is_named_and_away_is_told_alike_by_ask_and_doctor(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    away = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "UNSPOOL_CACHE": "/dev/null/nowhere"}
    why = "OPENAI_BASE_URL=http://127.0.0.1:9/v1: no answer (Connection refused)"
    done = cli.run(cli.command("ask", "?", cli.file("a.txt", "hello")), environment=away)
    assert (done.returncode, done.stdout) == (1, b"")
    assert why in done.stderr.decode()
    assert b"pull" not in done.stderr
    assert f"model: none ({why})" in cli.run(cli.command("doctor"), environment=away).stdout.decode()


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")
def test_doctor_attacks_the_sandbox_and_says_what_held(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    done = cli.run(cli.command("doctor", "--attack", "--json"))
    told = json.loads(done.stdout)
    attacks = told["attacks"]
    assert attacks["held"] is all(not line["through"] for line in attacks["lines"])
    assert done.returncode == (0 if told["sandbox"]["works"] and attacks["held"] else 1), done.stderr
    assert attacks["tier"] == told["sandbox"]["tier"]
    assert sum(line["tried"] for line in attacks["lines"]) > 300


def test_doctor_looks_at_other_sandboxes_from_inside(make_cli: MakeCli) -> None:
    cli = make_cli(["ok"])
    done = cli.run(cli.command("doctor", "--sandbox", f"command:{sys.executable} -"))
    told = " ".join(done.stdout.decode().split())
    assert done.returncode == 0, done.stderr
    assert "works (as safe as where it leads)" in told
    assert "no files: NOT PROTECTED. Where it is: Code does not see the files of this machine." in told
    assert "no processes: " in told
    assert "yes environment: " in told
    for name, code, why in (("command:no-such-program -", 1, "no such program"), ("bad", 2, "command:")):
        done = cli.run(cli.command("doctor", "--sandbox", name))
        assert done.returncode == code
        assert why in (done.stdout + done.stderr).decode()
