"""grep, chunks, SHOW_VARS: the helpers in the REPL that need no host."""

from __future__ import annotations

import ast

import pytest

from .conftest import Opener, Session

LOG = "\n".join(
    f"Dec 10 06:55:{i:02} LabSZ sshd[{24200 + i}]: Failed password for {'root' if i % 2 else 'admin'} from 5.36.59.{i} port 42393 ssh2"
    for i in range(60)
)


async def found(session: Session, code: str) -> list[str]:
    value = ast.literal_eval(await session.show(f"print(repr({code}))"))
    assert isinstance(value, list)
    return value


async def test_grep_in_a_log_gives_whole_lines(open_repl: Opener) -> None:
    repl = await open_repl(LOG)
    snippets = await found(repl, "grep(r'from 5\\.36\\.59\\.7 ')")
    assert snippets == [LOG.splitlines()[7]]
    assert await found(repl, "grep('root', limit=3)") == [LOG.splitlines()[i] for i in (1, 3, 5)]


async def test_a_larger_window_gives_more_whole_lines(open_repl: Opener) -> None:
    repl = await open_repl(LOG)
    (snippet,) = await found(repl, "grep('sshd.24207.', window=300)")
    assert snippet.splitlines() == LOG.splitlines()[5:10]


async def test_grep_in_one_long_line_cuts_by_characters(open_repl: Opener) -> None:
    text = "x" * 5_000 + "NEEDLE" + "y" * 5_000
    repl = await open_repl(text)
    assert await found(repl, "grep('NEEDLE', window=10)") == ["x" * 10 + "NEEDLE" + "y" * 10]
    assert await found(repl, "grep('^x', window=5)") == ["x" * 6]
    assert await found(repl, "grep('y$', window=5)") == ["y" * 6]


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("grep('b', 'a\\nb\\nc', window=0)", ["b"]),
        ("grep('B', 'a\\nb\\nc', 0, 5, 2)", ["b"]),
        ("grep('o', 'foo\\nbar\\nboo', 3)", ["foo", "boo"]),
        ("grep('x', {'k': 'axb', 'm': 'none', 3: 'x'})", ["[k] axb", "[3] x"]),
        ("grep('x', ['no', 'axb'])", ["[1] axb"]),
        ("grep(__import__('re').compile('X', 2), 'axb')", ["axb"]),
        ("grep('nothing', 'axb')", []),
        ("grep('', 'axb')", []),
        ("grep('a', '')", []),
        ("grep('(open', 'an (open one')", ["an (open one"]),
        ("grep('é', 'caf\\u00e9 \\U0001f642')", ["café 🙂"]),
    ],
)
async def test_grep(repl: Session, code: str, result: list[str]) -> None:
    assert await found(repl, code) == result


async def test_grep_says_when_it_stops_or_takes_a_text_literally(open_repl: Opener) -> None:
    repl = await open_repl("aaa\n" * 100)
    result = await repl.run("x = grep('a', limit=2)\nlen(x)")
    assert result.output == "2\n"
    assert any("stopped at 2" in note for note in result.notes)
    result = await repl.run("grep('[')")
    assert any("is no regex" in note for note in result.notes)


async def test_grep_of_something_else_is_a_type_error(repl: Session) -> None:
    for code in ("grep(5)", "grep('a', 5)"):
        result = await repl.run(code)
        assert result.error is not None
        assert result.error.type == "TypeError"


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("chunks('abcdefg', 3)", ["abc", "def", "g"]),
        ("chunks('abcdefg', 3, 1)", ["abc", "cde", "efg"]),
        ("chunks('abc', 3, overlap=2)", ["abc"]),
        ("chunks(text='abc', chunk_size=2)", ["ab", "c"]),
        ("chunks('', 3)", []),
        ("chunks([1, 2, 3], 2)", [[1, 2], [3]]),
        ("chunks('ab', 10)", ["ab"]),
    ],
)
async def test_chunks(repl: Session, code: str, result: list[object]) -> None:
    assert await found(repl, code) == result


@pytest.mark.parametrize(
    "code",
    [
        "chunks('a', 0)",
        "chunks('a', 2, 2)",
        "chunks('a', 2, -1)",
        "chunks('a', 'b')",
        "chunks(5, 2)",
        "chunks('a')",
    ],
)
async def test_wrong_chunks_say_how(repl: Session, code: str) -> None:
    result = await repl.run(code)
    assert result.error is not None
    assert "chunks(text, size, overlap=0)" in result.error.message


async def test_chunks_cover_everything(open_repl: Opener) -> None:
    repl = await open_repl(LOG)
    assert await repl.show("''.join(chunks(context, 997)) == context") == "True"


async def test_show_vars_lists_what_the_model_has_made(repl: Session) -> None:
    await repl.show(
        "import json, pandas\nn = 5\ntext = 'abc' * 1000\nrows = [1] * 7\ndf = pandas.DataFrame({'a': [1, 2]})\n_h = 1\ndef f(): pass"
    )
    shown = await repl.show("SHOW_VARS()")
    for line in (
        "n: int, 5",
        "text: str, 3,000 characters",
        "rows: list, 7 items",
        "df: DataFrame, 2 × 1",
        "f: function",
    ):
        assert line in shown.splitlines()
    assert "json" not in shown
    assert "context" not in shown
    assert "llm_query" not in shown


async def test_help_and_repr_of_the_functions_work(repl: Session) -> None:
    assert "prompt" in await repl.show("print(llm_query.__doc__)")
    assert (await repl.run("llm_query")).outcome == "ok"
