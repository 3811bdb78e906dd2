"""The local model for real, where its file is: in UNSPOOL_CACHE or the user's cache folder."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from unspool.errors import ModelError, NoModelFound
from unspool.models.calls import Caller
from unspool.models.catalog import FILES, find
from unspool.models.local import LocalModel, as_grammar, usable_cores
from unspool.models.local_process import LocalServer, Settings
from unspool.models.prefixes import KEPT, Prefixes
from unspool.models.protocol import Message, ModelRequest
from unspool.types import Usage

RULES = "\n".join(f"Rule {i}: answer in one short line." for i in range(30))

pytestmark = pytest.mark.xdist_group("local")  # one llama.cpp at a time: two would share the cores


def here() -> Path | None:
    """The smallest model file that is on this machine."""
    return next((path for name in reversed(list(FILES)) if (path := find(name))), None)


needs_model = pytest.mark.skipif(here() is None, reason="no local model file: unspool models pull")
local = pytest.mark.local


def ask(text: str, *before: Message, **fields: object) -> ModelRequest:
    stable = 1 if before and before[0].role == "system" else 0
    messages = (*before, Message("user", text))
    return ModelRequest(messages, temperature=0.0, stable=stable, **fields)  # type: ignore[arg-type]


def model_in(cache: Path, slots: int = 2) -> LocalModel:
    """The model with a cache of its own, so that no state of another run is there."""
    pytest.importorskip("xllamacpp")
    file = here()
    assert file is not None
    folder = cache / "models"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / file.name).exists():
        (folder / file.name).symlink_to(file.resolve())
    name = next(entry.name for entry in FILES.values() if entry.file == file.name)
    return LocalModel(
        name, cache=cache, window=2048, slots=slots, threads=1
    )  # busy machines: two threads wait for each other


@pytest.fixture
async def caller(tmp_path: Path) -> AsyncIterator[Caller]:
    caller = Caller(model_in(tmp_path))
    yield caller
    await caller.close()


@local
@needs_model
async def test_a_run_of_calls(caller: Caller, tmp_path: Path) -> None:
    """One start of the process for all that can share it: starting takes seconds."""
    reply = await caller.call(ask("What is 2+3? Reply with the number only.", max_tokens=8))
    assert "5" in reply.text
    assert (reply.cost, reply.finish, reply.model) == (0.0, "stop", caller.info.name.removeprefix("local:"))
    assert reply.usage.input_tokens

    labels = ("positive", "negative")
    replies = await asyncio.gather(
        *(
            caller.call(ask(f"Is this review good? {text}", choices=labels))
            for text in ("I love it", "Awful", "Great!")
        )
    )
    assert all(r.text in labels for r in replies)

    schema = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    reply = await caller.call(ask("How many days has a week?", schema=schema, max_tokens=40))
    assert isinstance(json.loads(reply.text)["days"], int)

    with pytest.raises(
        ModelError, match=r"the prompt is [\d,]+ tokens and local:\S+ reads at most 2,048: send slices"
    ) as long:
        await caller.call(ask("a b " * 1500))
    assert long.value.kind == "too_long"

    cut = await caller.call(ask("Count from 1 to 100, one number a line.", max_tokens=10))
    assert cut.finish == "length"

    await check_prefix_is_read_once(caller)
    await check_cancelling_frees_the_slot(caller)
    assert len(states(tmp_path / "models" / "states")) == 1


async def check_prefix_is_read_once(caller: Caller) -> None:
    """Root turns and sub-calls in turn: neither pushes out what the other begins with."""
    system = Message("system", RULES)
    first = await caller.call(ask("Say one.", system, max_tokens=4))
    again = (system, Message("user", "Say one."), Message("assistant", first.text))
    shared = "Name the colour in this sentence, in one word: "
    for number in range(3):
        await caller.call(ask(f"{shared}the sky is blue today, item {number}", max_tokens=4))
        later = await caller.call(ask("Say two.", *again, max_tokens=4))
        read = unread(later.usage)
        assert read < 40, later.usage
        sub = await caller.call(ask(f"{shared}grass is green, item {number}", max_tokens=4))
        assert unread(sub.usage) < 40, sub.usage


def unread(usage: Usage) -> int:
    """Tokens of the prompt that were not found in the cache."""
    assert usage.input_tokens is not None
    return usage.input_tokens - (usage.cached_tokens or 0)


async def check_cancelling_frees_the_slot(caller: Caller) -> None:
    long = [
        asyncio.create_task(caller.call(ask("Write a very long story.", max_tokens=1500))) for _ in range(2)
    ]
    await asyncio.sleep(0.5)
    for task in long:
        task.cancel()
    await asyncio.gather(*long, return_exceptions=True)
    started = time.monotonic()
    await caller.call(ask("Say hi.", max_tokens=2))
    assert time.monotonic() - started < 30  # the stories would take minutes


@local
@needs_model
async def test_the_next_start_does_not_read_the_instructions_again(tmp_path: Path) -> None:
    system = Message("system", RULES)
    for number in range(2):
        model = model_in(tmp_path)
        reply = await model.complete(ask(f"Say {number}.", system, max_tokens=4))
        await model.close()
        if number:
            assert unread(reply.usage) < 40, reply.usage
    (state,) = states(tmp_path / "models" / "states")
    assert state.stat().st_mode & 0o777 == 0o600


@local
@needs_model
async def test_a_process_that_dies_is_an_error_and_the_next_call_starts_a_new_one(tmp_path: Path) -> None:
    model = model_in(tmp_path, slots=1)
    caller = Caller(model, attempts=1)
    await caller.call(ask("Say hi.", max_tokens=2))
    story = asyncio.create_task(caller.call(ask("Write a very long story.", max_tokens=1500)))
    await asyncio.sleep(0.5)
    kill_children()
    with pytest.raises(ModelError) as failed:
        await story
    assert failed.value.kind in ("server", "connection")
    assert failed.value.retryable
    assert (await caller.call(ask("Say hi.", max_tokens=2))).text
    await caller.close()
    assert servers(os.getpid()) == []


@local
@needs_model
def test_killing_the_host_ends_the_process(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys, time\n"
        "from unspool.models.local import LocalModel\n"
        "model = LocalModel(path=sys.argv[1], window=512, slots=1, cache=sys.argv[2])\n"
        "asyncio.run(model.warm())\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    pytest.importorskip("xllamacpp")
    host = subprocess.Popen(
        [sys.executable, "-c", script, str(here()), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert host.stdout is not None
    assert host.stdout.readline() == "ready\n"
    (server,) = servers(host.pid)
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    wait_until(lambda: not alive(server))


def test_a_file_that_is_no_model_is_an_error_that_says_so(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"this is not a model")
    model = LocalModel(path=path, cache=tmp_path)

    async def call() -> None:
        try:
            await model.complete(ask("hi"))
        finally:
            await model.close()

    with pytest.raises(ModelError, match=r"did not start with bad\.gguf") as failed:
        asyncio.run(call())
    assert not failed.value.retryable
    assert servers(os.getpid()) == []


def test_a_file_that_was_not_pulled_says_how(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    with pytest.raises(NoModelFound, match=r"unspool models pull qwen2\.5-coder-0\.5b"):
        LocalModel("qwen2.5-coder-0.5b", cache=tmp_path)


def test_users_of_one_file_share_a_process() -> None:
    settings = Settings("/nowhere.gguf", 512, 1, 1, 16, "/nowhere")
    one, two = LocalServer.join(settings), LocalServer.join(settings)
    assert one is two
    one.leave()
    assert LocalServer.join(settings) is one
    one.leave()
    one.leave()
    three = LocalServer.join(settings)
    assert three is not one
    three.leave()


def test_choices_become_a_grammar() -> None:
    assert as_grammar(("yes", 'a "b"\n')) == 'root ::= "yes" | "a \\"b\\"\\n"'


def test_there_is_at_least_one_core() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


class Scribe:
    """A server that saves what it is told to, without a model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths: list[str] = []

    async def post(self, path: str, body: object) -> dict[str, object]:
        self.paths.append(path)
        assert isinstance(body, dict)
        if path.endswith("save"):
            (self.folder / body["filename"]).write_bytes(b"state")
        if path == "/apply-template":
            return {"prompt": "".join(f"[{m['content']}]" for m in body["messages"])}
        if path == "/completion":
            assert body["prompt"].endswith("][")
        return {}


async def test_states_are_made_once_kept_few_and_slots_take_turns(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    prefixes = Prefixes(tmp_path, "seed", slots=2)
    for number in range(KEPT + 3):
        start = [Message("system", f"{number} {RULES}")]
        await asyncio.gather(*(prefixes.prepare(start, 1, scribe.post) for _ in range(3)))
    assert len(states(tmp_path)) == KEPT
    saves = [p for p in scribe.paths if p.endswith("save")]
    assert saves == [f"/slots/{n % 2}?action=save" for n in range(KEPT + 3)]
    scribe.paths.clear()
    await prefixes.prepare(start, 2, scribe.post)
    assert scribe.paths == ["/slots/0?action=restore"]
    await Prefixes(tmp_path, "another model", slots=2).prepare(start, 1, scribe.post)
    assert scribe.paths[-1] == "/slots/0?action=save"


async def test_short_instructions_are_not_kept(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    prefixes = Prefixes(tmp_path, "seed", slots=2)
    await prefixes.prepare([], 1, scribe.post)
    await prefixes.prepare([Message("system", "short")], 1, scribe.post)
    assert scribe.paths == []
    for _ in range(3):
        await prefixes.prepare([Message("system", RULES)], 1, scribe.post)
    assert len([p for p in scribe.paths if p.endswith("save")]) == 1


def states(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.state"))


def servers(parent: int) -> list[int]:
    """The llama.cpp processes of a host."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if int(status[1]) == parent and b"local_server.py" in command and status[0] != "Z":
            found.append(int(entry.name))
    return found


def kill_children() -> None:
    for pid in servers(os.getpid()):
        os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
