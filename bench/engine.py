"""The engine's overheads, each beside a floor measured in the same run.

``scripts/bench engine [--json FILE] [--quick]`` prints a table; ``--quick`` leaves out what takes long.
Medians of several rounds, value and floor in turn, because machines are shared and noisy.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))  # run as a file

import size
import tracing
import trees
from floors import bare_calls, fan_out, fill_memfd, timed
from measure import Row, report, row, runs_apart, served

if TYPE_CHECKING:
    from unspool.models.protocol import Message

CONTEXT = "one line of text\n" * 10_000
HERE = Path(__file__).parent


def server(delay: float = 0.0, faults: float = 0.0) -> AbstractContextManager[str]:
    return served("serve.py", "--delay", str(delay), "--faults", str(faults))


def engine_model(url: str) -> object:
    os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"] = url, "bench"
    return "openai:bench-model"


def two_turns(rounds: int) -> list[Row]:
    from unspool import RLM

    with server() as url:
        model = engine_model(url)
        warm = RLM(model)
        warm.run("q", CONTEXT)
        values, floors, fresh = [], [], []
        for _ in range(rounds):
            values.append(timed(lambda: warm.run("q", CONTEXT)))
            floors.append(timed(lambda: bare_calls(url, 2)))
            fresh.append(timed(lambda: RLM(model).run("q", CONTEXT)))
        warm.close()
    floor = "two bare HTTP calls"
    return [
        _beyond("two-turn run, warm engine, sandboxed", values, floor, floors, 0.010),
        _beyond("two-turn run, fresh engine, warm zygote", fresh, floor, floors, 0.010),
    ]


def _beyond(what: str, values: list[float], floor: str, floors: list[float], limit: float) -> Row:
    goal = f"≤ {limit * 1000:g} ms beyond the floor"
    return row(what, values, floor, floors, goal, statistics.median(floors) + limit)


def _fork_and_reply() -> None:
    """The floor of a worker: a fork of this process (pandas loaded) and one byte back."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writable, b"x")
        os._exit(0)
    os.read(readable, 1)
    os.close(readable)
    os.close(writable)
    os.waitpid(child, 0)


SANDBOX = (
    ("open", "worker ready: a REPL open, 0.1 s after the last", "≤ 5 ms", 0.005),
    ("open, back to back", "worker ready, back to back", "≤ 5 ms", 0.005),
    ("cell", "a cell, checkpoint included, 20 ms after the last", "≤ 3 ms", 0.003),
    ("cell, back to back", "a cell, checkpoint included, back to back", "≤ 3 ms", 0.003),
    ("call", "one host call from code", "≤ 0.1 ms", 0.0001),
    ("batch", "a prompt of a batch of 10,000, host call only", "≤ 0.02 ms", 0.00002),
)


def sandbox_rows(rounds: int) -> list[Row]:
    import pandas  # noqa: F401  (the floor forks a process that holds it)

    from unspool._runtime import runtime
    from unspool.sandbox.protocol import HostCall, HostReply, ReplSpec
    from unspool.sandbox.shared import shared_sandbox

    async def on_call(call: HostCall) -> HostReply:
        return HostReply("ok")

    sandbox = shared_sandbox("process")

    async def measure() -> dict[str, list[float]]:
        taken: dict[str, list[float]] = {name: [] for name, _, _, _ in SANDBOX}
        floors: list[float] = []
        repl = await sandbox.open(ReplSpec(context=CONTEXT), on_call)
        await repl.execute("x = 1", seconds=5)

        async def take(name: str, awaitable: Awaitable[object], count: int = 1) -> object:
            started = time.perf_counter()
            result = await awaitable
            taken[name].append((time.perf_counter() - started) / count)
            return result

        for _ in range(rounds):
            for pause, suffix in ((0.1, ""), (0.0, ", back to back")):
                await asyncio.sleep(pause)
                other = await take(f"open{suffix}", sandbox.open(ReplSpec(context=CONTEXT), on_call))
                await other.close()  # type: ignore[attr-defined]
            for pause, suffix in ((0.02, ""), (0.0, ", back to back")):
                await asyncio.sleep(pause)
                await take(f"cell{suffix}", repl.execute("x = 1", seconds=5))
            floors.append(timed(_fork_and_reply))
            await take("call", repl.execute("for _ in range(100): llm_query('p')", seconds=5), 100)
            await take("batch", repl.execute("r = llm_query_batched(['p'] * 10_000)", seconds=30), 10_000)
        await repl.close()
        return {**taken, "floor": floors}

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the floor forks in a process with threads
        taken = runtime().wait(measure())
    fork, floors = "fork of a process with pandas, one byte back", tuple(taken["floor"])
    return [row(what, taken[name], fork, floors, goal, limit) for name, what, goal, limit in SANDBOX]


def sub_calls(rounds: int) -> list[Row]:
    from unspool import RLM
    from unspool.testing import ScriptedModel

    code = "```python\nr = llm_query_batched(['prompt'] * 1000)\nprint(sum(map(bool, r)))\nsubmit(1)\n```"
    values, floors, cpu = [], [], []
    with server(0.05) as url:
        sub = engine_model(url)
        for _ in range(rounds):
            engine = RLM(ScriptedModel([code]), sub_model=sub, concurrency=64)  # type: ignore[arg-type]
            used = time.process_time()
            values.append(timed(lambda engine=engine: engine.run("q", "c")))
            cpu.append(time.process_time() - used)
            engine.close()
            floors.append(timed(lambda: fan_out(url, 1000, 64)))
    ideal = (1000 / 64 * 0.05,) * rounds
    limit = 1.15 * statistics.median(floors)
    return [
        row("1,000 sub-calls of 50 ms, 64 at a time", values, "bare client", floors, "≤ 1.15 ×", limit),
        row("the same: CPU time of the host", cpu, "ideal wall time", ideal, "≤ 0.6 s", 0.6),
    ]


def imports(rounds: int) -> list[Row]:
    """Modules compiled before, as an installer leaves them, whatever this shell says of bytecode."""
    commands = {
        "python -c pass": ("-c", "pass"),
        "import unspool": ("-c", "import unspool"),
        "import unspool, RLM loaded": ("-c", "import unspool; unspool.RLM"),
        "unspool --help": ("-m", "unspool", "--help"),
    }
    taken: dict[str, list[float]] = {what: [] for what in commands}
    with TemporaryDirectory(prefix="unspool-bench-") as compiled:
        given = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": compiled}

        def command(*arguments: str) -> None:
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=given)

        for arguments in commands.values():
            command(*arguments)
        for _ in range(rounds):
            for what, arguments in commands.items():
                taken[what].append(timed(lambda arguments=arguments: command(*arguments)))
    floor, floors = next(iter(taken.items()))
    goals = {"import unspool": 0.1, "import unspool, RLM loaded": 0.2, "unspool --help": 0.3}
    return [
        row(what, taken[what], floor, floors, f"≤ {goal * 1000:g} ms in all", goal)
        for what, goal in goals.items()
    ]


def large_context(rounds: int) -> list[Row]:
    from unspool import RLM
    from unspool.testing import ScriptedModel

    text = "0123456789abcde\n" * (100 * 2**20 // 16)
    values, floors = [], []
    for _ in range(rounds):
        seen: list[float] = []

        def first(_: object, seen: list[float] = seen) -> str:
            seen.append(time.perf_counter())
            return "```python\nprint(len(context))\nsubmit(1)\n```"

        started = time.perf_counter()
        RLM(ScriptedModel(first)).run("q", text)
        values.append(seen[0] - started)
        floors.append(timed(lambda: fill_memfd(text)))
    what = "100 MB text: run() to first root request"
    return [row(what, values, "encode into a memfd", floors, "≤ 300 ms", 0.3)]


TIME_LIMIT = 0.5  # seconds
BUSY = (
    ("a cell that sleeps", "import time\nprint(1)\ntime.sleep(30)"),
    ("a loop in C that hears no interrupt", "print(sum(range(10**12)))"),
    ("200 sub-calls under way", "print(len(llm_query_batched(['prompt'] * 200)))"),
    ("a child that waits", "print(rlm_query('what?', 'abc'))"),
)


def time_limit(rounds: int) -> list[Row]:
    """Whatever a run is busy with, its limit of time ends it."""
    from unspool import RLM, Budget
    from unspool.testing import ScriptedModel

    rows = []
    with server(30.0) as url:
        slow = engine_model(url)
        RLM(ScriptedModel(["```python\nprint(1)\nsubmit(1)\n```"]), sub_model=slow).run("q", "c")  # warm  # type: ignore[arg-type]
        for what, code in BUSY:
            values = []
            for _ in range(rounds):

                def reply(messages: Sequence[Message], code: str = code) -> str:
                    child = trees.question(messages) != "q"
                    return trees.cell("print(llm_query('prompt'))" if child else code)

                model = ScriptedModel(reply)
                engine = RLM(model, sub_model=slow, budget=Budget(seconds=TIME_LIMIT), concurrency=200)  # type: ignore[arg-type]
                started = time.perf_counter()
                status = engine.run("q", "c").status
                values.append(time.perf_counter() - started)
                assert status == "budget", status
                engine.close()
            floors, goal = (TIME_LIMIT,) * rounds, "≤ 0.3 s beyond the limit"
            rows.append(
                row(f"seconds={TIME_LIMIT:g}, {what}", values, "the limit", floors, goal, TIME_LIMIT + 0.3)
            )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--quick", action="store_true", help="few rounds, no gigabyte: whether it runs")
    arguments = parser.parse_args()
    many, few = (3, 1) if arguments.quick else (40, 5)
    rows = [
        *imports(few),
        *two_turns(many),
        *sandbox_rows(many),
        *sub_calls(few),
        *large_context(few),
        *tracing.rows(few),
        *trees.rows(few),
        *time_limit(few),
        *([] if arguments.quick else size.rows(1)),  # a gigabyte, in processes of their own
    ]
    return report(rows, arguments.json)


if __name__ == "__main__":
    with runs_apart():
        status = main()
    sys.exit(status)
