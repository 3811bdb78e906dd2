"""The tools: what each gives, how each is refused, and that nothing is larger than is documented."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import anyio

from unspool import RLM, Budget
from unspool import events as ev
from unspool.mcp.asked import TOOLS
from unspool.mcp.bounds import ERROR, MOST
from unspool.mcp.desk import MOST_ASKED, Desk
from unspool.mcp.places import Places
from unspool.testing import ScriptedModel

from .helpers import LOOK, SECONDS, MakeDesk, submits

ERAS = ["legacy", "2026-07-28"]


@pytest.mark.parametrize("mode", ERAS)
async def test_the_tools_are_told_in_schemas_that_every_client_reads(make_desk: MakeDesk, mode: str) -> None:
    async with (await make_desk()).agent(mode=mode) as agent:
        tools = (await agent.client.list_tools()).tools
    assert [tool.name for tool in tools] == list(TOOLS)
    for tool in tools:
        schema = json.dumps(tool.input_schema)
        assert tool.input_schema["type"] == "object"
        assert "$ref" not in schema
        assert '"null"' not in schema
        assert 50 < len(tool.description or "") < 1_000
        assert "\n" not in (tool.description or "")


@pytest.mark.parametrize("mode", ERAS)
async def test_an_agent_works_through_a_text(make_desk: MakeDesk, mode: str) -> None:
    desktop = await make_desk()
    async with desktop.agent(mode=mode) as agent:
        opened = await agent.call("open_context", text="one\ntwo\nthree\n", calls=5)
        handle = opened.figures["handle"]
        assert opened.text.startswith("`context` is a str of 14 characters")
        assert opened.figures["left"]["calls"] == 5
        assert (await agent.call("look", handle=handle)).text == opened.text
        assert (await agent.call("look", handle=handle, what="head")).text == (
            "[characters 0 to 14]\none\ntwo\nthree\n"
        )
        assert (await agent.call("look", handle=handle, what="tail")).text.endswith("two\nthree\n")
        assert (
            await agent.call("look", handle=handle, what="grep", pattern="^t.*")
        ).text == "2: two\n3: three"
        none = await agent.call("look", handle=handle, what="grep", pattern="four")
        assert none.text == "[no line matches]"
        assert (await agent.call("read_range", handle=handle, first_line=2, last_line=3)).text == (
            "[lines 2 to 3]\ntwo\nthree"
        )
        assert (await agent.call("read_range", handle=handle, start=4, stop=7)).text == (
            "[characters 4 to 7]\ntwo"
        )
        got = await agent.run(handle, "rows = context.split()\nprint(llm_query_batched(rows))")
        assert got.text == "['ONE', 'TWO', 'THREE']"
        assert got.figures["outcome"] == "ok"
        assert got.figures["sub_calls"] == 3
        assert got.figures["left"]["calls"] == 2
        assert (await agent.run(handle, "rows[1]")).text == "'two'"
        assert (await agent.run(handle, "quiet = 1")).text == "(ran; nothing was printed)"
        closed = (await agent.call("close", handle=handle)).figures
        assert (closed["closed"], closed["sub_calls"]) == (handle, 3)
    events = list(desktop.store.read(handle))
    started = events[0]
    assert isinstance(started, ev.RunStarted)
    assert started.model == "agent:mcp"
    assert sum(isinstance(event, ev.CellStarted) for event in events) == closed["turns"] == 9
    assert events[-1].kind == "run.ended"


async def test_a_question_is_answered_with_its_figures_and_its_progress(make_desk: MakeDesk) -> None:
    replies = [LOOK, submits("llm_query('why? ' + context) and cite('two') and 'it says two'"), "because"]
    desktop = await make_desk(ScriptedModel(replies, cost=0.01))
    async with desktop.agent() as agent:
        handle = await agent.open(text="one\ntwo\n")
        got = await agent.call("ask", handle=handle, question="What does it say?")
    assert got.text == "it says two"
    figures = got.figures
    assert (figures["status"], figures["turns"], figures["sub_calls"]) == ("answered", 2, 1)
    assert figures["cost"] == pytest.approx(0.03)
    assert figures["coverage"]["share"] == 1.0
    assert [(each["quote"], each["line"]) for each in figures["citations"]] == [("two", 2)]
    assert figures["run"] in desktop.store.runs()
    assert got.told[0].startswith("model: scripted:model")
    assert any(line.startswith("turn 2") for line in got.told)


async def test_an_answer_of_a_type_comes_as_json_and_a_wrong_schema_is_refused(make_desk: MakeDesk) -> None:
    async with (await make_desk(ScriptedModel([LOOK, submits("{'n': 2}")]))).agent() as agent:
        handle = await agent.open(text="one\ntwo\n")
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        got = await agent.call("ask", handle=handle, question="How many?", answer=schema)
        assert json.loads(got.text) == {"n": 2}
        wrong = await agent.call("ask", handle=handle, question="How many?", answer={"type": "nonsense"})
        assert wrong.error


async def test_a_run_without_an_answer_is_an_error_and_one_with_a_draft_says_so(make_desk: MakeDesk) -> None:
    draft = "```python\nresult = len(context)\nprint(result)\n```"
    desktop = await make_desk(ScriptedModel([LOOK, draft]), budget=Budget(turns=1))
    async with desktop.agent() as agent:
        handle = await agent.open(text="text")
        failed = await agent.call("ask", handle=handle, question="How long?")
        assert failed.error
        assert failed.text.startswith("no answer, the run ")
        assert failed.text.endswith("ended budget: the one turn is used")
        got = await agent.call("ask", handle=handle, question="How long?")
        assert (got.error, got.text) == (False, "4")
        assert (got.figures["status"], got.figures["draft"]) == ("budget", "variable result")


async def test_budgets_hold_for_code_and_for_a_question_each(make_desk: MakeDesk) -> None:
    def reply(messages: Any) -> str:
        if messages[0].role != "system":
            return "yes"
        return submits("str(llm_query_batched(['a'] * 5))") if len(messages) > 2 else LOOK

    desktop = await make_desk(ScriptedModel(reply), budget=Budget(calls=3))
    async with desktop.agent() as agent:
        handle = await agent.open(text="text", calls=9)  # never wider than the server's
        got = await agent.run(handle, "sum(map(bool, llm_query_batched(['a'] * 5)))")
        assert got.text.startswith("3")
        assert got.figures["failed"] == 2
        refused = await agent.run(handle, "llm_query('b')")
        assert "limit of 3 sub-calls" in refused.text
        asked = await agent.call("ask", handle=handle, question="How many?", calls=2)
        assert asked.text.count("'yes'") == 2


WRONG: list[tuple[str, dict[str, object], str]] = [
    ("open_context", {}, "give either path or text"),
    ("open_context", {"path": "", "text": ""}, "give either path or text"),
    ("open_context", {"path": "a", "text": "b"}, "give either path or text"),
    ("open_context", {"path": ["none.txt", 3]}, "path"),
    ("open_context", {"path": "none.txt"}, "no such file"),
    ("open_context", {"path": "none/*.txt"}, "there is no folder"),
    ("open_context", {"path": "a\0b"}, "is no path"),
    ("open_context", {"text": "a", "usd": -1}, "usd: expected a value above 0"),
    ("open_context", {"text": "a", "usd": 1.0}, "price of scripted:model is not known"),
    ("open_context", {"text": "a", "budgets": 1}, "budgets: there is no such argument (known: path, text"),
    ("look", {"handle": "20200101-000000-00000000"}, "is not known here"),
    ("look", {"handle": ""}, "handle"),
    ("look", {"handle": "H", "what": "middle"}, "what"),
    ("look", {"handle": "H", "what": "grep"}, "grep needs one"),
    ("look", {"handle": "H", "what": "head", "part": "a.txt"}, "leave part out"),
    ("read_range", {"handle": "H", "start": 5, "stop": 4}, "it is before start"),
    ("read_range", {"handle": "H", "start": 5, "first_line": 4}, "start and stop, or first_line"),
    ("read_range", {"handle": "H", "start": 999}, "there is nothing from character 999"),
    ("read_range", {"handle": "H", "first_line": 999}, "there is no line 999"),
    ("run_code", {"handle": "H", "code": ""}, "code"),
    ("run_code", {"handle": "H", "code": "  \n"}, "give Python code"),
    ("run_code", {"handle": "H"}, "code: is missing"),
    ("run_code", {"handle": "H", "code": 3}, "code"),
    ("ask", {"handle": "H", "question": ""}, "question"),
    ("ask", {"handle": "H", "question": " "}, "give the question as text"),
    ("ask", {"handle": "H", "question": "x", "seconds": 0}, "seconds"),
    ("close", {"handle": "nope"}, "is not known here"),
]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"), WRONG, ids=[f"{w[0]}-{n}" for n, w in enumerate(WRONG)]
)
async def test_what_is_wrong_is_an_error_of_one_sentence(
    make_desk: MakeDesk, tool: str, arguments: dict[str, object], said: str
) -> None:
    desktop = await make_desk(ScriptedModel([LOOK], cost=None))
    async with desktop.agent() as agent:
        handle = await agent.open(text="some text")
        if arguments.get("handle") == "H":
            arguments = {**arguments, "handle": handle}
        got = await agent.call(tool, **arguments)
    assert got.error
    assert said in got.text
    assert len(got.texts) == 1
    assert "\n" not in got.text
    assert "Traceback" not in got.text


async def test_a_tool_that_there_is_not_is_an_error_of_the_protocol(make_desk: MakeDesk) -> None:
    async with (await make_desk()).agent() as agent:
        with pytest.raises(Exception, match="there is no tool 'delete'; known: open_context, look"):
            await agent.client.call_tool("delete", {})


async def test_closed_and_idle_handles_say_why_they_are_gone(make_desk: MakeDesk) -> None:
    async with (await make_desk()).agent() as agent:
        handle = await agent.open(text="text")
        await agent.call("close", handle=handle)
        for tool, more in (("look", {}), ("run_code", {"code": "1"}), ("close", {})):
            got = await agent.call(tool, handle=handle, **more)
            assert got.text == f"the handle {handle!r} was closed; open_context gives one"
    async with (await make_desk(idle=0)).agent() as agent:
        handle = await agent.open(text="text")
        assert "nobody used it for" in (await agent.run(handle, "1")).text


async def test_no_more_are_open_at_once_than_may_be(make_desk: MakeDesk) -> None:
    async with (await make_desk(most=2)).agent() as agent:
        first, _ = await agent.open(text="a"), await agent.open(text="b")
        assert "2 contexts are open" in (await agent.call("open_context", text="c")).text
        await agent.call("close", handle=first)
        assert not (await agent.call("open_context", text="c")).error


async def test_what_is_in_a_range_shows_whole(make_desk: MakeDesk) -> None:
    async with (await make_desk()).agent() as agent:
        handle = await agent.open(text="abc\x1b[31m\x07")
        got = await agent.call("read_range", handle=handle, start=0, stop=9)
        assert got.text == "[characters 0 to 9]\nabc\\x1b[31m\\x07"
        run = await agent.run(handle, "print('A\\x1b[31mRED\\x1b[0mB')")
        assert run.text == "A\\x1b[31mRED\\x1b[0mB"


HUGE = [
    ("print('x' * 10**7)", "characters"),
    ("'y' * 10**7", "characters"),
    ("for n in range(10**5): print(n)", "99999"),
    ("raise ValueError('z' * 10**6)", "ValueError"),
    ("print('\\x1b[31m' * 10**5 + '\\x07' * 10**5)", "\\x1b[31m"),
    ("print('\\x1b]0;title\\x07' * 2_000)", "\\x1b]0;title"),
    ("print(chr(0xD800) * 9_000)", "\\ud800"),
    ("llm_query('echo ' * 1_000_000)", ""),
]


@pytest.mark.parametrize(("code", "part"), HUGE, ids=range(len(HUGE)))
async def test_outputs_of_any_size_and_content_stay_within_the_bound(
    make_desk: MakeDesk, code: str, part: str
) -> None:
    async with (await make_desk()).agent() as agent:  # call() asserts the bound
        got = await agent.run(await agent.open(text="text"), code)
    assert part in got.text
    assert got.figures["outcome"] in ("ok", "error")
    assert not any(ord(character) < 32 and character not in "\n\t" for character in got.text)
    assert "\ud800" not in got.text


async def test_an_answer_of_any_size_stays_within_the_bound(make_desk: MakeDesk) -> None:
    cites = "[cite(context[n:n + 30]) for n in range(0, 3000, 30)]"
    text = "".join(f"line {n} of the text\n" for n in range(1_000))
    desktop = await make_desk(ScriptedModel([LOOK, submits(f"({cites}, 'a' * 10**6)[1]")]))
    async with desktop.agent() as agent:
        got = await agent.call("ask", handle=await agent.open(text=text), question="All of it?")
    assert "characters cut]" in got.text
    assert got.figures["quotes"] == 100
    assert 3 < len(got.figures["citations"]) < 40
    assert agent.sizes[-1] > MOST // 2


async def test_ranges_can_be_read_on_to_the_end(make_desk: MakeDesk) -> None:
    text = "".join(f"{n} " for n in range(8_000))
    async with (await make_desk()).agent() as agent:
        handle, read, start = await agent.open(text=text), "", 0
        while True:
            head, _, part = (await agent.call("read_range", handle=handle, start=start)).text.partition("\n")
            read += part
            if "more follows: start=" not in head:
                break
            start = int(head.rpartition("=")[2].rstrip("]"))
        assert read.rstrip() == text.rstrip()
        lines = await agent.call("read_range", handle=handle, first_line=1, last_line=1)
        assert "line 1 is longer than 7,000 characters" in lines.text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "sub").mkdir(parents=True)
    (made / "notes.md").write_text("first\nsecond line\n" * 500)
    (made / "sub" / "data.csv").write_text("a,b\n1,2\n")
    (made / "blob.bin").write_bytes(bytes(range(256)) * 40)
    (made / "old.log.gz").write_bytes(gzip.compress(b"packed line\n" * 100))
    return made


async def test_folders_globs_several_and_binary_files(make_desk: MakeDesk, folder: Path) -> None:
    async with (await make_desk()).agent() as agent:
        handle = await agent.open(path=str(folder))
        tree = (await agent.call("look", handle=handle, what="head")).text
        assert "blob.bin" in tree
        assert "sub/" in tree
        found = await agent.call("look", handle=handle, what="grep", pattern="second", limit=2)
        assert found.text.splitlines()[:2] == ["notes.md:2: second line", "notes.md:4: second line"]
        assert found.text.endswith("[more than 2 lines match: raise limit, or narrow the pattern]")
        odd = await agent.call("look", handle=handle, what="grep", pattern="(")
        assert odd.text.startswith("'(' is no regular expression: missing )")
        part = await agent.call("read_range", handle=handle, part="old.log.gz", first_line=100, last_line=101)
        assert part.text == "[line 100]\npacked line"
        binary = await agent.call("read_range", handle=handle, part="blob.bin")
        assert binary.error
        assert "binary" in binary.text
        none = await agent.call("look", handle=handle, what="tail", part="notes.txt")
        assert none.text == "there is no part 'notes.txt' among 4; for example 'notes.md'"

        both = await agent.open(path=[str(folder / "notes.md"), str(folder / "sub")])
        hits = (await agent.call("look", handle=both, what="grep", pattern="second|1,2", limit=1_00)).text
        assert "notes.md:2: second line" in hits
        assert (await agent.run(both, "sorted(map(type, context.values()), key=str)")).figures[
            "outcome"
        ] == "ok"
        globbed = await agent.open(path=str(folder / "**/*.csv"))
        assert (await agent.run(globbed, "list(context)")).text == "['sub/data.csv']"
        alone = await agent.call("open_context", path=str(folder / "blob.bin"))
        assert alone.error
        assert "is a binary file, not text" in alone.text


async def test_values_that_are_no_text_are_shown_in_short(make_desk: MakeDesk, folder: Path) -> None:
    desktop = await make_desk()
    async with desktop.agent() as agent:
        opened = await desktop.desk.handles.open([{"n": n} for n in range(9_000)], (), "a test", Budget())
        head = await agent.call("look", handle=opened.handle, what="head")
        assert head.text.startswith("[the first 20 of 9,000 items]\n0: {'n': 0}")
        tail = await agent.call("look", handle=opened.handle, what="tail")
        assert tail.text.endswith("8999: {'n': 8999}")
        assert (await agent.call("look", handle=opened.handle, what="head", part="-1")).text.endswith(
            "'n': 8999"
        )
        assert "not text" in (await agent.call("read_range", handle=opened.handle)).text
        assert (
            "there are 9,000" in (await agent.call("look", handle=opened.handle, what="head", part="x")).text
        )


async def test_code_that_hangs_is_stopped_and_the_repl_stays(make_desk: MakeDesk) -> None:
    async with (await make_desk(cell_seconds=0.3)).agent() as agent:
        handle = await agent.open(text="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")
        await agent.run(handle, "kept = 1")
        hung = await agent.run(handle, "while True: pass")
        assert hung.figures["outcome"] == "interrupted"
        assert "stopped after" in hung.text
        crashed = await agent.run(handle, "import os; os._exit(7)")
        assert crashed.figures["outcome"] == "rolled_back"
        slow = await agent.call("look", handle=handle, what="grep", pattern="(a+)+$")
        assert slow.error
        assert "stopped after" in slow.text
        assert (await agent.run(handle, "kept")).text == "1"


@pytest.mark.parametrize("mode", ERAS)
async def test_cancelling_a_call_stops_what_it_began_and_nothing_else(make_desk: MakeDesk, mode: str) -> None:
    model = ScriptedModel(lambda _: LOOK, latency=30)
    desktop = await make_desk(model)
    async with desktop.agent(mode=mode) as agent:
        handle = await agent.open(text="text")
        await agent.run(handle, "kept = 2")
        for tool, arguments in (("run_code", {"code": "llm_query('x')"}), ("ask", {"question": "What?"})):
            before = len(model.requests)
            async with anyio.create_task_group() as group:
                group.start_soon(agent.client.call_tool, tool, {"handle": handle, **arguments})
                with anyio.fail_after(SECONDS):
                    while len(model.requests) == before:  # noqa: ASYNC110 (on another thread's loop)
                        await anyio.sleep(0.01)
                group.cancel_scope.cancel()
            with anyio.fail_after(SECONDS):
                while model.cancelled < len(model.requests):  # noqa: ASYNC110
                    await anyio.sleep(0.01)
        assert (await agent.run(handle, "kept")).text == "2"
    (asked,) = [run for run in desktop.store.runs() if run != handle]
    with anyio.fail_after(SECONDS):
        while list(desktop.store.read(asked))[-1].kind != "run.ended":  # noqa: ASYNC110
            await anyio.sleep(0.01)
    last = list(desktop.store.read(asked))[-1]
    assert isinstance(last, ev.RunEnded)
    assert last.status == "cancelled"


async def test_two_agents_at_once_do_not_meet(make_desk: MakeDesk) -> None:
    desktop = await make_desk()
    async with desktop.agent() as one, desktop.agent() as other:
        handles = await one.open(text="first"), await other.open(text="second")
        agents = (one, other)

        async def work(number: int) -> None:
            agent, handle = agents[number], handles[number]
            await agent.run(handle, "seen = []")
            for turn in range(5):
                await agent.run(handle, f"seen.append(llm_query(context + ' {turn}'))")
            got = await agent.run(handle, "seen")
            word = ("FIRST", "SECOND")[number]
            assert got.text == repr([f"{word} {turn}" for turn in range(5)])

        async with anyio.create_task_group() as group:
            group.start_soon(work, 0)
            group.start_soon(work, 1)


async def test_while_it_ends_calls_are_refused_and_open_ones_told(make_desk: MakeDesk) -> None:
    model = ScriptedModel(lambda _: LOOK, latency=30)
    desktop = await make_desk(model)
    async with desktop.agent() as agent:
        handle = await agent.open(text="text")
        said: list[str] = []

        async def ask() -> None:
            said.append((await agent.call("ask", handle=handle, question="What?")).text)

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            while not model.requests:  # noqa: ASYNC110
                await anyio.sleep(0.01)
            await desktop.desk.end()
        assert said == ["the server is shutting down"]
        assert (await agent.call("open_context", text="more")).text == "the server is shutting down"
    assert {list(desktop.store.read(run))[-1].kind for run in desktop.store.runs()} == {"run.ended"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("open_context", {"path": "x" * 100_000}),
        ("open_context", {"path": ["\x1b[2J" * 10_000]}),
        ("open_context", {"text": "a", "b" * 100_000: 1}),
        ("look", {"handle": "h" * 100_000}),
        ("look", {"handle": "h", "what": "w" * 100_000}),
        ("run_code", {"handle": "h", "code": "c" * 300_000}),
        ("ask", {"handle": "h", "question": "q", "answer": {"type": "t" * 100_000}}),
    ],
    ids=range(7),
)
async def test_errors_about_huge_arguments_are_short(
    make_desk: MakeDesk, tool: str, arguments: dict[str, object]
) -> None:
    async with (await make_desk()).agent() as agent:
        handle = await agent.open(text="text")
        if tool == "ask":
            arguments["handle"] = handle
        got = await agent.call(tool, **arguments)
        assert got.error
        assert len(got.text) <= ERROR
        assert "\x1b" not in got.text


async def test_no_more_questions_go_on_at_once_than_may(make_desk: MakeDesk) -> None:
    model = ScriptedModel(lambda _: LOOK, latency=30)
    async with (await make_desk(model)).agent() as agent:
        handle = await agent.open(text="text")
        async with anyio.create_task_group() as group:
            for _ in range(MOST_ASKED):
                group.start_soon(partial(agent.call, "ask", handle=handle, question="What?"))
            while len(model.requests) < MOST_ASKED:  # noqa: ASYNC110
                await anyio.sleep(0.01)
            got = await agent.call("ask", handle=handle, question="One more?")
            assert got.text.startswith(f"{MOST_ASKED} questions are under way")
            group.cancel_scope.cancel()


async def test_a_fault_of_our_own_is_told_without_its_inside(
    make_desk: MakeDesk, capsys: pytest.CaptureFixture[str]
) -> None:
    desktop = await make_desk()

    class Faulty(Desk):
        async def do(self, *_: object) -> list[str]:
            raise RuntimeError("a secret of the server")

    desk = Faulty(RLM(desktop.model, runs=False), Places(), asks=Budget(), handles=desktop.desk.handles)
    async with replace(desktop, desk=desk).agent() as agent:
        got = await agent.call("open_context", text="text")
    assert got.error
    assert got.text == "unspool itself failed (RuntimeError); its standard error says where"
    assert "a secret of the server" in capsys.readouterr().err


async def test_what_is_submitted_is_noted_and_the_repl_goes_on(make_desk: MakeDesk) -> None:
    desktop = await make_desk(ScriptedModel(["yes"], cost=0.5))
    async with desktop.agent() as agent:
        handle = await agent.open(text="text")
        asked = await agent.run(handle, "print(llm_query('?')); submit(42)")
        assert asked.text == "yes\n(noted as the answer of this session)"
        assert asked.figures["cost_so_far"] == 0.5
        assert (await agent.run(handle, "len(context)")).text == "4"
        closed = (await agent.call("close", handle=handle)).figures
        assert (closed["answer_kept"], closed["cost"]) == (True, 0.5)
