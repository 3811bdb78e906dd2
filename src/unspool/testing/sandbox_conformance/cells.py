"""Checks of what cells do, print and raise, and of the names in a REPL."""

from __future__ import annotations

from .bench import SECONDS, Bench, check, holds, same


@check("values survive from cell to cell")
async def values_survive(bench: Bench) -> None:
    repl = await bench.open()
    await repl.shows("import math\nclass P:\n    n = 1\ndef f(x):\n    return x + P.n + math.floor(seen)", "")
    await repl.shows("seen = 40.5", "")
    await repl.shows("print(f(1))", "42")
    await repl.shows("[i for i in range(3) if seen], (lambda: seen)()", "([0, 1, 2], 40.5)")


@check("tracebacks say the number that the run gives a cell, or the next")
async def numbered(bench: Bench) -> None:
    repl = await bench.open()
    for number, said in ((3, 3), (0, 4), (7, 7)):
        result = await repl.repl.execute("1 / 0", seconds=SECONDS, number=number)
        told = result.error.traceback if result.error else result.outcome
        holds(f"cell {said}, line 1" in told, f"cell {said} is told as {told[:1_000]!r}")


@check("the last expression is shown, None is not")
async def last_expression(bench: Bench) -> None:
    repl = await bench.open()
    await repl.shows("1 + 1", "2")
    await repl.shows("print('a')\n'b'", "a\n'b'")
    await repl.shows("None", "")
    await repl.shows("x = 5", "")


@check("stdout and stderr come in the order in which they were written")
async def two_streams(bench: Bench) -> None:
    repl = await bench.open()
    await repl.shows("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c', end='')", "a\nb\nc")


@check("long output is cut in the middle, and what is left out is counted")
async def output_cut(bench: Bench) -> None:
    repl = await bench.open(shown=600)
    result = await repl.run("print('A' + 'x' * 1_000_000 + 'Z')")
    same(result.outcome, "ok", "outcome")
    same(result.printed, 1_000_003, "characters printed")
    holds(len(result.output) < 900, f"{len(result.output):,} characters are shown where 600 are wanted")
    holds(result.output.startswith("Ax"), "the head is not kept")
    holds(result.output.rstrip("\n").endswith("xZ"), "the tail is not kept")
    holds(999_000 < result.omitted < 1_000_003, f"omitted is {result.omitted:,}")
    await repl.shows("print('short')", "short")


@check("odd output comes as it is: NUL, lone surrogates, escape sequences, characters of any plane")
async def odd_output(bench: Bench) -> None:
    repl = await bench.open()
    odd = "a\0b \ud800 \x1b[31mred\x1b[0m \x07 \r| \U0001f600 \u202e é"
    result = await repl.run(f"print({odd!r})")
    same(result.outcome, "ok", "outcome")
    same(result.output, odd + "\n", "output")
    same(result.printed, len(odd) + 1, "characters printed")


@check("what is written past Python is shown", "raw_output")
async def raw_output(bench: Bench) -> None:
    repl = await bench.open()
    result = await repl.run("import os\nx = os.write(1, b'out \\xff\\n')\nx = os.write(2, b'err\\n')")
    same(result.outcome, "ok", "outcome")
    same(result.output, "out \ufffd\nerr\n", "output")


@check("an exception keeps the variables before it, and names its line")
async def exceptions(bench: Bench) -> None:
    repl = await bench.open()
    result, error = await repl.fails("kept = 1\nprint('before')\n{}['no such key']\nnever = 2", "KeyError")
    same(result.output, "before\n", "output")
    same(error.line, 3, "line")
    holds("no such key" in error.traceback, "the traceback does not have the message")
    await repl.shows("kept, 'never' in globals()", "(1, False)")


@check("a traceback is short, however deep or long what was raised")
async def short_tracebacks(bench: Bench) -> None:
    repl = await bench.open()
    for code, kind in (
        ("def f():\n    f()\nf()", "RecursionError"),
        ("raise ValueError('x' * 10**6)", "ValueError"),
    ):
        _, error = await repl.fails(code, kind)
        holds(len(error.traceback) < 20_000, f"{len(error.traceback):,} characters")


@check("what cannot be compiled is an error with its line")
async def syntax_errors(bench: Bench) -> None:
    repl = await bench.open()
    _, error = await repl.fails("x = 1\nif x\n    y = 2", "SyntaxError")
    same(error.line, 2, "line")
    await repl.shows("'x' in globals()", "False")


@check("exit ends the cell, not the REPL")
async def exits(bench: Bench) -> None:
    repl = await bench.open()
    for code in ("a = 1\nexit()\na = 2", "import sys\nb = 1\nsys.exit(3)\nb = 2"):
        result = await repl.run(code)
        holds(result.outcome in ("ok", "error"), f"{code!r} ended as {result.outcome}")
    await repl.shows("a, b", "(1, 1)")


@check("await works at the top of a cell, and asyncio.run in it")
async def top_level_await(bench: Bench) -> None:
    repl = await bench.open()
    await repl.shows(
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 7\nawait f()", "7"
    )
    await repl.shows("asyncio.run(f())", "7")
    await repl.shows("await asyncio.gather(f(), f())", "[7, 7]")


@check("there is nobody to ask: input() is an error")
async def no_input(bench: Bench) -> None:
    repl = await bench.open()
    for code in ("input('who? ')", "import sys\nsys.stdin.readline()"):
        result = await repl.run(code)
        same(result.outcome, "error", f"outcome of {code!r}")


@check("context and the functions are put back when a cell rebinds or deletes them")
async def names_put_back(bench: Bench) -> None:
    repl = await bench.open("the input")
    result = await repl.run("context = 'mine'\ndel llm_query\nsubmit = 5")
    same(result.outcome, "ok", "outcome")
    told = " ".join(result.notes)
    for name in ("context", "llm_query", "submit"):
        holds(name in told, f"no note says that {name} is back: {told!r}")
    await repl.shows("context, callable(llm_query), callable(submit)", "('the input', True, True)")


@check("a builtin that a cell has spoiled is put back")
async def builtins_put_back(bench: Bench) -> None:
    repl = await bench.open()
    await repl.run("len = 3\nimport builtins\nbuiltins.sum = None\ndel builtins.max")
    await repl.shows("len([1, 2]), sum([1, 2]), max(1, 2)", "(2, 3, 2)")


@check("a stream that a cell has taken away is put back")
async def streams_put_back(bench: Bench) -> None:
    repl = await bench.open()
    await repl.run("import sys\nsys.stdout = None")
    await repl.shows("print('here')", "here")
    await repl.run(
        "import contextlib, io\nguard = contextlib.redirect_stdout(io.StringIO())\nguard.__enter__()"
    )
    await repl.shows("print('here again')", "here again")


@check("imports are made before the first cell; one that fails is a note")
async def imports(bench: Bench) -> None:
    repl = await bench.open(imports=("import math as m", "import no_such_module_at_all"))
    result = await repl.run("print(m.floor(1.5))")
    same((result.outcome, result.output), ("ok", "1\n"), "outcome and output")
    holds(any("no_such_module_at_all" in note for note in result.notes), "nothing says that an import failed")


@check("the same seed gives the same random numbers")
async def seeds(bench: Bench) -> None:
    shown = []
    for seed in (5, 5, 6):
        repl = await bench.open(seed=seed)
        result = await repl.run(
            "import random, uuid\nrandom.random(), random.Random().random(), uuid.uuid4()"
        )
        same(result.outcome, "ok", "outcome")
        shown.append(result.output)
        await repl.repl.close()
    same(shown[0] == shown[1], True, "two of one seed are alike")
    same(shown[0] == shown[2], False, "two of different seeds are alike")


@check("the helpers are there: grep, chunks, SHOW_VARS")
async def helpers(bench: Bench) -> None:
    repl = await bench.open("one\ntwo here\nthree\n")
    await repl.shows("grep('two', window=10)", "['two here']")
    await repl.shows("chunks('abcdef', 4)", "['abcd', 'ef']")
    await repl.shows("mine = 'abc'\nSHOW_VARS()", "mine: str, 3 characters")


@check("functions that a REPL is to do without are not there, the others are")
async def left_out(bench: Bench) -> None:
    repl = await bench.open(without=("llm_query", "grep"))
    await repl.shows("[n in globals() for n in ('llm_query', 'grep', 'llm_map', 'chunks', 'tool')]",
                     "[False, False, True, True, True]")  # fmt: skip
