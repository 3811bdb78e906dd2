"""Checks of host calls: what code asks for, and what comes back."""

from __future__ import annotations

import asyncio
import datetime
import decimal

from ...errors import HostCallError
from ...sandbox.protocol import HostCall, HostReply
from ...types import FailedCall
from .bench import Bench, Fails, ScriptedHost, check, holds, refused, same

_VALUES = (
    "[None, True, -5, 10**25, 2.5, float('inf'), 'text', 'x' * 5_000, '\\ud800', b'\\x00\\xff', (1, 'two'), "
    "{3, 4}, frozenset('a'), {'k': [1, {2: (3,)}], (1, 2): None}, datetime.date(2024, 2, 29), "
    "datetime.timedelta(1, 2, 3), decimal.Decimal('1.50'), 1 + 2j, []]"
)


@check("values of every plain kind go to the host and come back as they were")
async def values_both_ways(bench: Bench) -> None:
    repl = await bench.open()
    await repl.shows(
        f"import datetime, decimal\nmine = {_VALUES}\nback = tool(mine, key={{'a': mine}})\n"
        "back == mine, [type(x) for x in back] == [type(x) for x in mine]",
        "(True, True)",
    )
    (call,) = repl.host.calls
    wanted = eval(_VALUES, {"datetime": datetime, "decimal": decimal})
    same(call.args, (wanted,), "arguments at the host")
    same(dict(call.kwargs), {"key": {"a": wanted}}, "keywords at the host")


@check("large values go both ways: 10 MB")
async def large_values(bench: Bench) -> None:
    repl = await bench.open()
    await repl.shows("big = 'é' * 5_000_000 + 'end'\ntool(big) == big, tool(big.encode()) == big.encode()",
                     "(True, True)")  # fmt: skip


@check("what is no data is refused in the cell, and the REPL goes on")
async def no_data(bench: Bench) -> None:
    repl = await bench.open()
    for code in ("tool(object())", "tool(print)", "x = []\nx.append(x)\ntool(x)"):
        await repl.fails(code, "TypeError")
    await repl.shows("tool(1)", "1")
    same(len(repl.host.calls), 1, "calls at the host")


@check("200 sub-calls in one batch come back in order")
async def batch(bench: Bench) -> None:
    async def replies(call: HostCall) -> object:
        prompts = call.args[0]
        assert isinstance(prompts, list)
        return [f"reply to {prompt}" for prompt in prompts]

    repl = await bench.open(host=ScriptedHost(llm_query_batched=replies))
    await repl.shows(
        "prompts = [f'prompt {i}' for i in range(200)]\nreplies = llm_query_batched(prompts)\n"
        "len(replies), replies == [f'reply to {p}' for p in prompts]",
        "(200, True)",
    )


@check("calls from several threads are open at the same time")
async def concurrent_calls(bench: Bench) -> None:
    waiting, together = 0, asyncio.Event()

    async def waits(call: HostCall) -> object:
        nonlocal waiting
        waiting += 1
        if waiting == 8:
            together.set()
        try:
            await asyncio.wait_for(together.wait(), 10.0)
        except TimeoutError:
            together.set()  # one is enough to know: the others need not wait, too
            return "it was alone"
        return call.args[0]

    repl = await bench.open(host=ScriptedHost(llm_query=waits))
    await repl.shows(
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as pool:\n"
        "    replies = list(pool.map(llm_query, [f'p{i}' for i in range(8)]))\nreplies",
        repr([f"p{i}" for i in range(8)]),
    )


@check("500 calls one after another")
async def many_calls(bench: Bench) -> None:
    repl = await bench.open()
    await repl.shows("sum(tool(i) for i in range(500))", "124750")
    same(len(repl.host.calls), 500, "calls at the host")


@check("what the host raises is an exception of that type in the cell")
async def host_errors(bench: Bench) -> None:
    async def fails(call: HostCall) -> object:
        raise HostCallError("LLMError", "too many requests", failure="rate_limit")

    async def breaks(call: HostCall) -> object:
        raise HostCallError("ToolError", "the tool broke")

    repl = await bench.open(host=ScriptedHost(llm_query=fails, tool=breaks))
    await repl.shows("try:\n    llm_query('p')\nexcept LLMError as e:\n    print(e.kind, '|', e)",
                     "rate_limit | too many requests")  # fmt: skip
    await repl.fails("tool(1)", "ToolError")


@check("a failed item of a batch is falsy, and an error as soon as it is used as text")
async def failed_items(bench: Bench) -> None:
    async def some(call: HostCall) -> object:
        return ["good", FailedCall("timeout", "no reply")]

    repl = await bench.open(host=ScriptedHost(llm_query_batched=some))
    await repl.shows("got = llm_query_batched(['a', 'b'])\n[bool(g) for g in got], got[1].kind",
                     "([True, False], 'timeout')")  # fmt: skip
    await repl.fails("'; '.join(str(g) for g in got)", "LLMError")
    result = await repl.run("submit(got)")
    same(result.outcome, "submitted", "outcome")
    same(repl.host.calls[-1].args[0], ["good", FailedCall("timeout", "no reply")], "at the host")


@check("submit ends the cell at once, and nothing in it can go on")
async def submit_ends(bench: Bench) -> None:
    repl = await bench.open()
    result = await repl.run(
        "print('before')\ntry:\n    submit({'n': 42})\nexcept Exception:\n    tool('caught')\n"
        "tool('after')\nprint('after')"
    )
    same(result.outcome, "submitted", "outcome")
    same(result.output, "before\n", "output")
    same(repl.host.names(), ["submit"], "calls")
    call = repl.host.calls[0]
    same(call.args, ({"n": 42},), "the answer")
    same(call.kwargs.get("printed"), 7, "characters printed before it")


@check("the other ways to submit: FINAL, FINAL_VAR, SUBMIT, answer")
async def other_ends(bench: Bench) -> None:
    for code, via in (
        ("FINAL('it')", "FINAL"),
        ("mine = 'it'\nFINAL_VAR('mine')", "FINAL_VAR"),
        ("SUBMIT(answer='it')", "SUBMIT"),
        ("answer['content'] = 'it'\nanswer['ready'] = True", "answer"),
    ):
        repl = await bench.open()
        same((await repl.run(code)).outcome, "submitted", code)
        call = repl.host.calls[-1]
        same((call.args[0], call.kwargs.get("via")), ("it", via), code)
        await repl.repl.close()


@check("an answer that is refused is an error that says why, and the REPL goes on")
async def refusals(bench: Bench) -> None:
    repl = await bench.open(host=ScriptedHost(submit=refused))
    await repl.fails("x = 1\nsubmit('it')\nx = 2", "AnswerRefused")
    await repl.shows("x", "1")


@check("the clock of a cell stands still while a host call is open")
async def clock(bench: Bench) -> None:
    async def slow(call: HostCall) -> object:
        await asyncio.sleep(2.5)
        return "late"

    repl = await bench.open(host=ScriptedHost(llm_query=slow))
    await repl.shows("1", "1")
    result = await repl.run("llm_query('p')", seconds=1.5)
    same((result.outcome, result.output), ("ok", "'late'\n"), "outcome and output")
    holds(result.seconds > 2 > result.own_seconds, f"{result.seconds=:.2f} {result.own_seconds=:.2f}")


@check("a fault of the host's own is raised to the host, and the REPL goes on")
async def host_faults(bench: Bench) -> None:
    async def breaks(call: HostCall) -> object:
        raise ZeroDivisionError("a mistake of the host's")

    repl = await bench.open(host=ScriptedHost(llm_query=breaks))
    await repl.shows("kept = 1", "")
    try:
        await repl.run("try:\n    llm_query('p')\nexcept BaseException:\n    pass\nspoiled = 1")
    except ZeroDivisionError:
        pass
    else:
        raise Fails("nothing was raised")
    await repl.shows("kept", "1")


@check("a reply that ends the cell does so for any call")
async def any_end(bench: Bench) -> None:
    async def ends(call: HostCall) -> object:
        return HostReply(end=True)

    repl = await bench.open(host=ScriptedHost(tool=ends))
    same((await repl.run("tool(1)\nprint('after')")).outcome, "submitted", "outcome")
