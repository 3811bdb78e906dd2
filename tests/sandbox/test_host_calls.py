"""Calls from code in a REPL to the host: arguments, failures, threads, order, limits."""

from __future__ import annotations

import asyncio
import dataclasses

import pandas
import pytest

from unspool.errors import HostCallError
from unspool.sandbox.protocol import HostCall
from unspool.types import FailedCall

from .conftest import Host, Opener, Session


def llm_host() -> Host:
    return Host(
        llm_query=lambda call: f"<{call.args[0]}>",
        llm_query_batched=lambda call: [f"<{p}>" for p in call.args[0]],
        classify=lambda call: [call.args[1][0] for _ in call.args[0]],
        rlm_query=lambda call: ("child", call.args[0], call.kwargs["context"]),
        rlm_query_batched=lambda call: [f"<{q}>" for q in call.args[0]],
        budget=lambda call: {"calls": 3, "dollars": None},
    )


@pytest.fixture
async def repl(open_repl: Opener) -> Session:
    return await open_repl("the context", host=llm_host(), tools=("lookup",))


RIGHT = {
    "llm_query('q')": "'<q>'",
    "llm_query(prompt='q')": "'<q>'",
    "llm_query(query='q')": "'<q>'",
    "llm_query(question='q', model='m')": "'<q>'",
    "llm_query_batched(['a', 'b'])": "['<a>', '<b>']",
    "llm_query_batched(queries=['a'])": "['<a>']",
    "llm_query_batched(prompts=('a', 'b'))": "['<a>', '<b>']",
    "llm_query_batched(texts=(p for p in 'ab'))": "['<a>', '<b>']",
    "llm_query_batched(iter(['a']))": "['<a>']",
    "llm_query_batched({'a': 1}.keys())": "['<a>']",
    "llm_query_batched([])": "[]",
    "llm_query_batched(x for x in [])": "[]",
    "import pandas\nllm_query_batched(pandas.DataFrame({'t': ['a', 'b']})['t'])": "['<a>', '<b>']",
    "import numpy\nllm_query_batched(numpy.array(['a', 'b']))": "['<a>', '<b>']",
    "classify(['x', 'y'], ['l', 'm'])": "['l', 'l']",
    "classify(texts=['x'], categories=('l', 'm'), examples=[('a', 'l')])": "['l']",
    "classify([1, 2.5], ['l', 'm'], {'a': 'l'})": "['l', 'l']",
    "classify([], ['l', 'm'])": "[]",
    "rlm_query('q', 'slice')": "('child', 'q', 'slice')",
    "rlm_query(prompt='q', context={'a': [1, (2,)]})": "('child', 'q', {'a': [1, (2,)]})",
    "rlm_query('q')": "('child', 'q', None)",
    "rlm_query_batched(['p', 'q'], contexts=('a', 'b'))": "['<p>', '<q>']",
    "rlm_query_batched([])": "[]",
    "budget()": "{'calls': 3, 'dollars': None}",
}


@pytest.mark.parametrize("code", RIGHT)
async def test_calls_in_the_forms_that_models_write(repl: Session, code: str) -> None:
    assert await repl.show(code) == RIGHT[code]


WRONG = {
    "llm_query('')": ("ValueError", "llm_query("),
    "llm_query('  \\n')": ("ValueError", "llm_query("),
    "llm_query(None)": ("TypeError", "llm_query("),
    "llm_query()": ("TypeError", "llm_query("),
    "llm_query(['a', 'b'])": ("TypeError", "llm_query_batched([…])"),
    "llm_query(('a', 'b'))": ("TypeError", "llm_query_batched([…])"),
    "llm_query(p for p in 'ab')": ("TypeError", "llm_query_batched([…])"),
    "llm_query(5)": ("TypeError", "llm_query("),
    "llm_query('q', 'text')": ("TypeError", "in one prompt"),
    "llm_query('q', context='text')": ("TypeError", "in one prompt"),
    "llm_query('q', prompt='q')": ("TypeError", "twice"),
    "llm_query_batched('one')": ("TypeError", "llm_query_batched([first, second, …])"),
    "llm_query_batched(None)": ("TypeError", "llm_query_batched("),
    "llm_query_batched(5)": ("TypeError", "llm_query_batched("),
    "llm_query_batched(['a', None])": ("TypeError", "item 1 of 2"),
    "llm_query_batched(['a', float('nan')])": ("TypeError", "item 1 of 2"),
    "llm_query_batched(['a', ''])": ("ValueError", "item 1 of 2 is empty"),
    "llm_query_batched(['a'], 5)": ("TypeError", "the call is"),
    "classify('one', ['a', 'b'])": ("TypeError", "takes a list"),
    "classify(['x'])": ("TypeError", "takes a list"),
    "classify(['x', None], ['a', 'b'])": ("TypeError", "item 1 of 2"),
    "rlm_query(None)": ("TypeError", "rlm_query("),
    "rlm_query_batched(['a', 'b'], ['one'])": ("ValueError", "2 queries but 1 contexts"),
    "rlm_query('q', context=(x for x in 'ab'))": ("TypeError", "generator"),
    "llm_query('q', schema='int')": ("", ""),
    "submit()": ("TypeError", "submit(value)"),
    "FINAL_VAR('nope')": ("NameError", "nope"),
}


@pytest.mark.parametrize("code", WRONG)
async def test_a_wrong_call_is_an_error_that_shows_the_right_one(repl: Session, code: str) -> None:
    result = await repl.run(code)
    assert result.outcome == "error"
    assert result.error is not None
    kind, words = WRONG[code]
    assert result.error.type == kind or not kind
    assert words in result.error.message
    assert repl.host.calls == []


async def test_arguments_arrive_normalised(repl: Session) -> None:
    await repl.show("llm_query(question='q', model='m')\nllm_query_batched(inputs=['a'], on_error='raise')")
    one, many = repl.host.calls
    assert one == HostCall("llm_query", ("q",), {"model": "m", "schema": None, "ranges": b""})
    assert many == HostCall(
        "llm_query_batched",
        (["a"],),
        {"model": None, "schema": None, "on_error": "raise", "ranges": b""},
    )


async def test_schemas_may_be_types(repl: Session) -> None:
    code = (
        "from dataclasses import dataclass\nimport pydantic\n@dataclass\nclass D:\n    n: int\n    t: str\n"
        "class M(pydantic.BaseModel):\n    n: int\n"
        "print([llm_query('q', schema=s) for s in (int, list[str], D, M, {'type': 'boolean'})])"
    )
    replies = iter([1, ["a"], {"n": 1, "t": "a"}, {"n": 2}, True])
    repl.host.replies["llm_query"] = lambda call: next(replies)
    assert await repl.show(code) == "[1, ['a'], D(n=1, t='a'), M(n=2), True]"
    schemas = [call.kwargs["schema"] for call in repl.host.calls]
    assert [s["type"] for s in schemas] == ["integer", "array", "object", "object", "boolean"]  # type: ignore[index]
    assert set(schemas[2]["properties"]) == {"n", "t"}  # type: ignore[index]


async def test_a_tool_gets_what_the_code_gave(repl: Session) -> None:
    repl.host.replies["lookup"] = lambda call: [list(call.args), dict(call.kwargs)]
    shown = await repl.show("lookup(1, 'b', name={2: (3,)}, self=None)")
    assert shown == "[[1, 'b'], {'name': {2: (3,)}, 'self': None}]"


@pytest.mark.parametrize("kind", ["LLMError", "ToolError", "TypeError", "ValueError"])
async def test_a_failure_of_the_host_is_an_exception_of_its_name(repl: Session, kind: str) -> None:
    repl.host.replies["lookup"] = HostCallError(kind, "the reason", failure="timeout")  # type: ignore[arg-type]
    result = await repl.run("lookup()")
    assert result.error is not None
    assert (result.error.type, result.error.message) == (kind, "the reason")
    caught = await repl.show(
        "try: lookup()\nexcept Exception as e: print(type(e).__name__, getattr(e, 'kind', ''))"
    )
    assert caught.split() == ([kind, "timeout"] if kind == "LLMError" else [kind])


async def test_one_failed_item_is_typed_and_falsy(repl: Session) -> None:
    repl.host.replies["llm_query_batched"] = lambda call: [
        FailedCall("timeout", "no reply in 60 s") if p == "3" else p for p in call.args[0]
    ]
    await repl.show("a = llm_query_batched([str(i) for i in range(16)])")
    assert (
        await repl.show("len([x for x in a if x]), type(a[3]).__name__, a[3].kind")
        == "(15, 'FailedCall', 'timeout')"
    )
    assert await repl.show("a[3]") == "FailedCall(timeout: no reply in 60 s)"
    assert await repl.show("isinstance(a[3], FailedCall), bool(a[3]), a[3] == a[3]") == "(True, False, True)"
    for use in ("str(a[3])", "f'{a[3]}'", "'x' + a[3]", "a[3] + 'x'", "print(a[3])", "a[3].strip()", "len(a[3])",
                "'x' in a[3]", "a[3][0]", "'%s' % a[3]", "'{}'.format(a[3])", "','.join(map(str, a))"):  # fmt: skip
        result = await repl.run(use)
        assert result.error is not None, use
        assert result.error.type == "LLMError", use
        assert "no reply in 60 s" in result.error.message
    result = await repl.run("', '.join(a)")
    assert result.error is not None
    assert "a sub-call failed" in result.error.traceback


async def test_a_failed_item_comes_back_to_the_host_as_one(repl: Session) -> None:
    failed = FailedCall("server", "500")
    repl.host.replies["llm_query_batched"] = lambda call: ["x", failed]
    await repl.run("submit({'deep': [llm_query_batched(['a', 'b'])]})")
    assert repl.host.named("submit")[0].args == ({"deep": [["x", failed]]},)


async def test_from_threads_async_functions_and_sort_keys(repl: Session) -> None:
    async def slow(call: HostCall) -> str:
        await asyncio.sleep(0.05 if str(call.args[0]).endswith("0") else 0.01)
        return f"<{call.args[0]}>"

    repl.host.replies["llm_query"] = slow
    code = (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(16) as pool:\n"
        "    out = list(pool.map(llm_query, [f'p{i}' for i in range(64)]))\nout == [f'<p{i}>' for i in range(64)]"
    )
    assert await repl.show(code) == "True"
    assert repl.host.most_open >= 8
    assert await repl.show("async def f(): return llm_query('a0')\nawait f()") == "'<a0>'"
    gathered = (
        "import asyncio\nawait asyncio.gather(*[asyncio.to_thread(llm_query, str(i)) for i in range(5)])"
    )
    assert await repl.show(gathered) == "['<0>', '<1>', '<2>', '<3>', '<4>']"
    assert await repl.show("sorted(['b', 'a'], key=llm_query)") == "['a', 'b']"
    assert (
        await repl.show(
            "import threading\nr = []\nt = threading.Thread(target=lambda: r.append(llm_query('z')))\nt.start(); t.join(); r"
        )
        == "['<z>']"
    )
    assert (await repl.run("1")).notes == ()


async def test_awaiting_a_call_gets_a_hint(repl: Session) -> None:
    result = await repl.run("x = await llm_query('q')")
    assert result.error is not None
    assert "leave out await" in result.error.traceback


async def test_a_call_from_a_forked_process_is_refused_there(repl: Session) -> None:
    code = "import os\nif os.fork() == 0:\n    try: llm_query('child')\n    except RuntimeError as e: print(e)\n    os._exit(0)\nos.wait()\nllm_query('parent')"
    shown = await repl.show(code)
    assert "only in the REPL's own process" in shown
    assert "'<parent>'" in shown


async def test_more_open_calls_than_are_let_through_wait(open_repl: Opener) -> None:
    gate = asyncio.Event()

    async def wait(call: HostCall) -> str:
        if host.open >= 40:
            gate.set()
        await gate.wait()
        return "ok"

    host = Host(llm_query=wait)
    repl = await open_repl(host=host)
    code = "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(40) as p: print(len(list(p.map(llm_query, ['x'] * 200))))"
    assert await repl.show(code) == "200"


async def test_a_batch_of_ten_thousand_is_one_call_in_order(repl: Session) -> None:
    code = "ps = [f'{i}:' + 'p' * (i % 400) for i in range(10_000)]\nllm_query_batched(ps) == [f'<{p}>' for p in ps]"
    assert await repl.show(code) == "True"
    assert len(repl.host.calls) == 1


async def test_interrupted_calls_leave_the_channel_whole(repl: Session) -> None:
    async def slow(call: HostCall) -> str:
        await asyncio.sleep(0.02)
        return f"<{call.args[0]}>"

    repl.host.replies["llm_query"] = slow
    code = (
        "import signal, os\nn = bad = 0\nsignal.setitimer(signal.ITIMER_REAL, 0.013, 0.013)\n"
        "signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))\n"
        "for i in range(60):\n    try:\n        bad += llm_query(str(i)) != f'<{i}>'\n    except KeyboardInterrupt: n += 1\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\nprint(n > 5, bad)"
    )
    result = await repl.run(code)
    assert result.output == "True 0\n", (result.error, result.notes)


async def test_open_calls_are_cancelled_with_the_cell(open_repl: Opener) -> None:
    cancelled = []
    started = asyncio.Event()

    async def hang(call: HostCall) -> None:
        started.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.append(call.args[0])
            raise

    repl = await open_repl(host=Host(llm_query=hang))
    task = asyncio.create_task(repl.run("llm_query('a')", seconds=600))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled == ["a"]
    result = await repl.run(
        "import threading\nthreading.Thread(target=llm_query, args=('b',), daemon=True).start()\nimport time; time.sleep(0.2)"
    )
    assert result.outcome == "ok"
    assert cancelled == ["a", "b"]


async def test_an_unexpected_error_of_the_host_is_raised_on_the_host(repl: Session) -> None:
    repl.host.replies["lookup"] = ZeroDivisionError("a bug")
    with pytest.raises(ZeroDivisionError, match="a bug"):
        await repl.run("lookup()")
    assert await repl.show("1") == "1"


class Odd(BaseException):
    """Nobody's: no Exception, and nothing that ends a program."""


@pytest.mark.parametrize("error", [Odd("odd"), GeneratorExit("odd"), asyncio.CancelledError("odd")])
@pytest.mark.parametrize(
    "code", ["lookup()", "try:\n    lookup()\nexcept BaseException:\n    pass\nwhile True: pass"]
)
async def test_what_is_no_exception_ends_the_cell_at_once_and_is_raised_on_the_host(
    repl: Session, error: BaseException, code: str
) -> None:
    repl.host.replies["lookup"] = error
    began = asyncio.get_running_loop().time()
    with pytest.raises((Odd, RuntimeError), match="odd"):
        await repl.run(code, seconds=20)
    assert asyncio.get_running_loop().time() - began < 15
    assert await repl.show("1") == "1"


@dataclasses.dataclass
class Local:
    """A class that no sandbox can import."""

    n: int


async def test_values_from_the_host_keep_their_types(repl: Session) -> None:
    frame = pandas.DataFrame({"a": [1, 2], "c": pandas.Categorical(["x", "y"])})
    repl.host.replies["lookup"] = lambda call: frame
    assert await repl.show("df = lookup()\nstr(df.dtypes['c']), df.a.sum().item()") == "('category', 3)"
    repl.host.replies["lookup"] = lambda call: Local(1)
    assert await repl.show("x = lookup()\nprint(x, x.n)") == "Local(n=1) 1"
    repl.host.replies["lookup"] = lambda call: (x for x in "ab")
    result = await repl.run("lookup()")
    assert result.error is not None
    assert "generator" in result.error.message


async def test_a_host_call_is_cheap(repl: Session) -> None:
    """A generous bound: the figure itself is for the benchmark."""
    shown = await repl.show(
        "import time\nt = time.perf_counter()\nfor _ in range(300): llm_query('x')\ntime.perf_counter() - t < 6"
    )
    assert shown == "True"
