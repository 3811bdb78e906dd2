"""What a cell may do: language, names, output, errors. One REPL a test, through the protocol."""

from __future__ import annotations

import re

import pytest

from .conftest import Opener, Session

LANGUAGE = {
    "class": ("class A:\n    n = 3\n    def get(self): return self.n", "A().get()", "3"),
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: 'list[int]'",
        "P(1, [2])",
        "P(x=1, y=[2])",
    ),
    "enum": (
        "from enum import Enum\nclass Color(Enum):\n    RED = 1",
        "Color.RED.name, Color(1) is Color.RED",
        "('RED', True)",
    ),
    "generator": (
        "def squares(n):\n    for i in range(n): yield i * i\ng = squares(9)\nnext(g)",
        "next(g), list(g)[-1]",
        "(1, 64)",
    ),
    "async def": (
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 7",
        "await f()",
        "7",
    ),
    "await in statements": (
        "import asyncio\nx = await asyncio.sleep(0, 5)\nawait asyncio.sleep(0)",
        "x",
        "5",
    ),
    "asyncio.run": ("import asyncio\nasync def f(): return 8\ny = asyncio.run(f())", "y", "8"),
    "gather": (
        "import asyncio\nasync def f(i): return i\nr = await asyncio.gather(*[f(i) for i in range(3)])",
        "r",
        "[0, 1, 2]",
    ),
    "a loop of its own": (
        "import asyncio\nawait asyncio.sleep(0)",
        "asyncio.get_event_loop().run_until_complete(asyncio.sleep(0, 6))",
        "6",
    ),
    "slots and frozen": (
        "from dataclasses import dataclass\n@dataclass(slots=True, frozen=True)\nclass S:\n    x: int\n    def up(self): return S(self.x + 1)",
        "S(1).up(), hash(S(2)) == hash(S(2))",
        "(S(x=2), True)",
    ),
    "inheritance": (
        "class A:\n    def f(self): return 1\nclass B(A):\n    def f(self): return super().f() + 1",
        "B().f(), B.__mro__[1] is A",
        "(2, True)",
    ),
    "main guard": ("if __name__ == '__main__':\n    ran = 1", "ran", "1"),
    "a process of its own": (
        "import multiprocessing\np = multiprocessing.Process(target=print, args=('child',))\np.start(); p.join()",
        "p.exitcode",
        "0",
    ),
    "async comprehension": (
        "async def a():\n    for i in range(3): yield i\nv = [i async for i in a()]",
        "v",
        "[0, 1, 2]",
    ),
    "global": ("n = 1\ndef bump():\n    global n\n    n += 1\nbump()", "n", "2"),
    "with": (
        "import contextlib\n@contextlib.contextmanager\ndef m(): yield 4\nwith m() as v: w = v",
        "w",
        "4",
    ),
    "recursion": ("def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)", "fib(15)", "610"),
    "match": ("match {'a': [1, 2]}:\n    case {'a': [_, x]}: got = x", "got", "2"),
    "lambda and closure": ("def make(n):\n    return lambda x: x + n\nadd = make(3)", "add(4)", "7"),
    "walrus and comprehension scope": ("k = 5\nm = [z := i + k for i in range(3)]", "m, z", "([5, 6, 7], 7)"),
    "exception group": (
        "try:\n    raise ExceptionGroup('g', [ValueError(1)])\nexcept* ValueError as e: n = 1",
        "n",
        "1",
    ),
    "import": ("import collections as c\nfrom math import pi", "c.Counter('aab')['a'], round(pi)", "(2, 3)"),
    "underscore": ("_x = 4\n__y = 5", "_x + __y", "9"),
    "future": (
        "from __future__ import annotations\ndef f(x: Nope): ...",
        "f.__annotations__",
        "{'x': 'Nope'}",
    ),
    "inspect": ("import inspect\ndef f():\n    return 'source'", "'source' in inspect.getsource(f)", "True"),
    "pickle of own class": (
        "import pickle\nclass Q: pass",
        "type(pickle.loads(pickle.dumps(Q()))) is Q",
        "True",
    ),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as p: r = list(p.map(abs, [-2, 3]))",
        "r",
        "[2, 3]",
    ),
    "scratch file": ("open('note.txt', 'w').write('hi')", "open('note.txt').read()", "'hi'"),
    "tempfile": ("import tempfile\nwith tempfile.TemporaryFile() as f: n = f.write(b'12')", "n", "2"),
    "sqlite": (
        "import sqlite3\ndb = sqlite3.connect(':memory:')\nrow = db.execute('select 1+1').fetchone()",
        "row",
        "(2,)",
    ),
}


@pytest.mark.parametrize("name", LANGUAGE)
async def test_language_works_and_persists(repl: Session, name: str) -> None:
    first, later, shown = LANGUAGE[name]
    assert (await repl.run(first)).outcome == "ok"
    assert await repl.show(later) == shown


async def test_a_function_sees_a_variable_of_a_later_cell(repl: Session) -> None:
    await repl.show("def f(): return later + 1")
    await repl.show("later = 41")
    assert await repl.show("f()") == "42"


async def test_del_really_deletes(repl: Session) -> None:
    await repl.show("x = 1")
    await repl.show("del x")
    result = await repl.run("x")
    assert result.error is not None
    assert result.error.type == "NameError"


async def test_an_exception_keeps_what_was_before_it(repl: Session) -> None:
    result = await repl.run("x = 1\nprint('before')\nraise ValueError('no')\ny = 2")
    assert result.outcome == "error"
    assert result.output == "before\n"
    assert result.error is not None
    assert (result.error.type, result.error.message, result.error.line) == ("ValueError", "no", 3)
    assert "raise ValueError('no')" in result.error.traceback
    assert await repl.show("x, 'y' in globals()") == "(1, False)"


async def test_tracebacks_show_cells_alone(repl: Session) -> None:
    await repl.show("import json\ndef load(text):\n    return json.loads(text)")
    result = await repl.run("ok = 1\nload('{')")
    assert result.error is not None
    assert result.error.line == 2
    text = result.error.traceback
    assert "cell 1, line 3, in load" in text
    assert "return json.loads(text)" in text
    assert "cell 2, line 2" in text
    assert "decoder.py" not in text
    assert "worker.py" not in text
    assert text.splitlines()[-1].startswith("json.decoder.JSONDecodeError: Expecting")


async def test_deep_recursion_is_reported_short(repl: Session) -> None:
    result = await repl.run("def f(n): return f(n + 1)\nf(0)")
    assert result.error is not None
    assert result.error.type == "RecursionError"
    assert len(result.error.traceback) < 3_000
    assert "more frames" in result.error.traceback


ODD_ERRORS = [
    "raise KeyError({1, 2})",
    "raise ValueError(object())",
    "raise ValueError('\\ud800 lone')",
    "class E(Exception):\n    def __str__(self): raise RuntimeError('x')\nraise E",
    "class E(Exception):\n    def __str__(self): return 5\nraise E",
    "class E(BaseException): pass\nraise E('base')",
    "raise ValueError('x' * 10**6)",
    "class M(type):\n    def __repr__(c): raise ValueError\nclass E(Exception, metaclass=M): pass\nraise E",
    "raise ExceptionGroup('several', [ValueError(1), KeyError('k')])",
    "class R:\n    def __repr__(self): raise ZeroDivisionError('in repr')\nR()",
    "raise NameError",
    "1 +",
    "x = '\\ud800'\nx.encode()",
    "def f(:\n  pass",
    "(" * 300,
    "a\x00b",
    "raise GeneratorExit",
    "assert False",
]


@pytest.mark.parametrize("code", ODD_ERRORS)
async def test_any_exception_is_reported_and_the_repl_goes_on(repl: Session, code: str) -> None:
    await repl.show("kept = 1")
    result = await repl.run(code)
    assert result.outcome == "error"
    assert result.error is not None
    assert result.error.type
    assert len(result.error.message) < 2_500
    assert len(result.error.traceback) < 9_000
    assert await repl.show("kept") == "1"


async def test_a_syntax_error_names_its_line(repl: Session) -> None:
    result = await repl.run("x = 1\nif x\n    print(x)")
    assert result.error is not None
    assert (result.error.type, result.error.line) == ("SyntaxError", 2)
    assert "if x" in result.error.traceback


async def test_lone_surrogates_in_code_do_not_break_the_repl(repl: Session) -> None:
    result = await repl.run("x = '\ud800'")
    assert result.error is not None
    assert await repl.show("1") == "1"


@pytest.mark.parametrize(
    "code", ["import sys; sys.exit()", "exit()", "quit()", "raise SystemExit", "import sys; sys.exit('why')"]
)
async def test_exit_ends_the_cell_alone(repl: Session, code: str) -> None:
    result = await repl.run(f"x = 5\n{code}\nx = 6")
    assert result.outcome == "ok"
    assert any("exit was called" in note for note in result.notes)
    assert await repl.show("x") == "5"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("0", "0"), ("[]", "[]"), ('""', "''"), ("False", "False"), ("print(1); 2", "1\n2"), ("None", ""),
        ("x = 3", ""), ("'a\\nb'", "'a\\nb'"), ("x = 1\nx\n", "1"), ("if True: 5", ""), ("1, 2", "(1, 2)"),
        ("{'k': {1}}", "{'k': {1}}"), ("...", "Ellipsis"), ("'''doc'''", "'doc'"), ("# only a comment", ""), ("", ""),
    ],
)  # fmt: skip
async def test_the_last_expression_is_shown_as_in_a_notebook(repl: Session, code: str, shown: str) -> None:
    assert await repl.show(code) == shown


@pytest.mark.parametrize(
    "code",
    [
        "'x' * 10**8",
        "list(range(10**7))",
        "{i: 'v' * 99 for i in range(10**5)}",
        "[['a' * 10**6] * 99] * 99",
        "7 ** (10**6)",
    ],
)
async def test_a_huge_value_is_shown_in_part(repl: Session, code: str) -> None:
    result = await repl.run(code)
    assert result.outcome == "ok"
    assert 0 < len(result.output) < 9_000


async def test_a_repl_that_shows_nothing_opens(open_repl: Opener) -> None:
    repl = await open_repl(shown=0)
    result = await repl.run("print('abc')")
    assert (result.outcome, result.printed) == ("ok", 4)


async def test_long_output_keeps_head_and_tail_and_names_the_cut(open_repl: Opener) -> None:
    repl = await open_repl(shown=900)
    result = await repl.run("for i in range(100_000): print(i)")
    printed = sum(len(str(i)) + 1 for i in range(100_000))
    assert result.printed == printed
    assert result.omitted == printed - 900
    assert result.output.startswith("0\n1\n2\n")
    assert result.output.endswith("99998\n99999\n")
    assert f"… {printed - 900:,} characters left out …" in result.output
    cut = result.output.index("\n… ")
    assert 590 <= cut <= 610


async def test_a_giant_print_is_cut_in_the_sandbox(repl: Session) -> None:
    result = await repl.run("print('é' * 10**8)")
    assert result.printed == 10**8 + 1
    assert result.omitted == 10**8 + 1 - 8_000
    assert len(result.output) < 8_100


async def test_output_of_exactly_the_limit_is_whole(open_repl: Opener) -> None:
    repl = await open_repl(shown=100)
    for size in (99, 100):
        result = await repl.run(f"print('z' * {size}, end='')")
        assert (result.output, result.omitted) == ("z" * size, 0)
    result = await repl.run("print('z' * 101, end='')")
    assert result.omitted == 1


async def test_stderr_and_warnings_are_shown_and_are_no_errors(repl: Session) -> None:
    result = await repl.run("import sys, warnings\nprint('e', file=sys.stderr)\nwarnings.warn('careful')")
    assert result.outcome == "ok"
    assert "e\n" in result.output
    assert "careful" in result.output


async def test_output_below_python_is_caught_in_order(repl: Session) -> None:
    code = "import os\nprint('a')\nos.write(1, b'b\\n')\nprint('c')\nos.write(2, b'd\\n')\nimport sys\nsys.stdout.buffer.write(b'e\\n')"
    assert (await repl.show(code)).splitlines()[:5] == ["a", "b", "c", "d", "e"]


async def test_a_redirected_or_closed_stdout_is_mended(repl: Session) -> None:
    await repl.run("import sys, io\nsys.stdout = io.StringIO()\nprint('hidden')")
    assert await repl.show("print('shown')") == "shown"
    await repl.run("import sys\nsys.stdout.close()\nsys.stdout = None")
    assert await repl.show("print('again')") == "again"


async def test_help_is_there(repl: Session) -> None:
    assert "Return the number of items in a container." in await repl.show("help(len)")


async def test_what_cannot_work_here_says_what_does(repl: Session) -> None:
    pool = "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(2) as p: list(p.map(abs, [1]))"
    result = await repl.run(pool)
    assert result.error is not None
    assert "use threads" in result.error.traceback
    result = await repl.run("import asyncio\nasync def f(): return 1\nx = await f()\ny = asyncio.run(f())")
    assert result.error is not None
    assert "use await" in result.error.traceback
    assert await repl.show("x, await f()") == "(1, 1)"


async def test_input_says_there_is_nobody(repl: Session) -> None:
    for code in (
        "input('name? ')",
        "import sys; sys.stdin.readline()",
        "import sys; sys.stdin.read()",
        "import getpass; getpass.getpass()",
    ):
        result = await repl.run(code)
        assert result.error is not None
        assert "nobody to ask" in result.error.message


SPOILED = {
    'context = "x"': "context",
    "del context": "context",
    "llm_query = 3": "llm_query",
    "print = None": "print",
    "len = 7": "len",
    "import builtins; builtins.sorted = None": "sorted",
    "import builtins; del builtins.max": "max",
    'del globals()["submit"]': "submit",
    "def grep(*a): return []": "grep",
    "budget = {}": "budget",
    "for FINAL in range(3): pass": "FINAL",
    "import json as chunks": "chunks",
    "class LLMError(Exception): pass": "LLMError",
    "globals().clear()": "context",
    "del __builtins__": "",
}


@pytest.mark.parametrize("code", SPOILED)
async def test_names_of_the_contract_come_back(repl: Session, code: str) -> None:
    result = await repl.run(code)
    name = SPOILED[code]
    assert result.outcome == "ok"
    assert any(re.search(rf"\b{name}\b", note) for note in result.notes) or not name
    check = "print(context, len('abc'), sorted([2, 1]), max(1, 2), callable(submit), callable(llm_query), grep('the'), callable(budget))"
    assert await repl.show(check) == "the context 3 [1, 2] 2 True True ['the context'] True"


async def test_a_value_that_lost_its_name_is_kept(repl: Session) -> None:
    result = await repl.run("context = context[:3]\nsum = 5")
    assert await repl.show("context_, sum_, sum([1, 2])") == "('the', 5, 3)"
    assert any("context_" in note for note in result.notes)


async def test_imports_that_shadow_builtins_are_left_alone(repl: Session) -> None:
    result = await repl.run("from math import pow\nfrom os import open")
    assert result.notes == ()
    assert await repl.show("pow(2, 3)") == "8.0"


@pytest.mark.parametrize(
    "text",
    [
        "🙂👩‍👩‍👧",
        "e\u0301",
        "\ud800",
        "\ud83d\ude00",
        "a\x00b",
        "\u202eabc\u202c",
        "\r\n\x1b[31m",
        "\ufeffx",
        "\U0010ffff",
        "ß" * 300 + "\udfff",
    ],
)
async def test_unicode_round_trips_everywhere(open_repl: Opener, text: str) -> None:
    repl = await open_repl(text, tools=("echo",))
    repl.host.replies["echo"] = lambda call: call.args[0]
    assert (await repl.run("print(context, end='')")).output == text
    assert (
        await repl.show("echo(context) == context, echo({context: [context]}) == {context: [context]}")
        == "(True, True)"
    )
    assert repl.host.named("echo")[0].args == (text,)
    await repl.run("submit(context)")
    assert repl.host.named("submit")[0].args == (text,)


async def test_random_numbers_go_on_from_cell_to_cell(repl: Session) -> None:
    """A fork before each cell must not reseed what the model has seeded."""
    await repl.show("import random, numpy\nrandom.seed(7); numpy.random.seed(7)")
    first = await repl.show("random.random(), float(numpy.random.rand())")
    second = await repl.show("random.random(), float(numpy.random.rand())")
    await repl.show("random.seed(7); numpy.random.seed(7)")
    both = await repl.show("[(random.random(), float(numpy.random.rand())) for _ in range(2)]")
    assert both == f"[{first}, {second}]"


async def test_imports_are_made_before_the_first_cell(open_repl: Opener) -> None:
    repl = await open_repl(
        imports=("import re, json", "from collections import Counter", "import not_a_module_at_all")
    )
    result = await repl.run("re.sub('a', 'b', 'a'), Counter('aa')")
    assert result.output == "('b', Counter({'a': 2}))\n"
    assert any("not_a_module_at_all" in note for note in result.notes)
    assert await repl.show("print(SHOW_VARS())") == "(you have made no variables yet)"


async def test_an_alarm_of_one_cell_does_not_kill_the_next(repl: Session) -> None:
    await repl.show("import signal\nkept = 1\nsignal.setitimer(signal.ITIMER_REAL, 0.2)")
    await repl.show("import time")
    assert await repl.show("time.sleep(0.4); kept") == "1"


async def test_a_forked_copy_of_the_cell_does_not_speak_for_it(repl: Session) -> None:
    result = await repl.run(
        "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('child' if pid == 0 else 'parent')"
    )
    assert result.outcome == "ok"
    assert sorted(result.output.split()) == ["child", "parent"]
    assert await repl.show("pid > 0") == "True"


async def test_tasks_that_were_not_awaited_are_named(repl: Session) -> None:
    result = await repl.run(
        "import asyncio\nt = asyncio.create_task(asyncio.sleep(99))\nawait asyncio.sleep(0)"
    )
    assert result.outcome == "ok"
    assert any("not awaited" in note for note in result.notes)
