"""How an answer leaves a REPL: submit and its other spellings, refusals, and what counts as data."""

from __future__ import annotations

import pytest

from unspool.sandbox.protocol import HostCall, HostReply

from .conftest import Host, Opener, Session, refused

SPELLINGS = {
    "submit(42)": (42, "submit"),
    "submit(value=42)": (42, "submit"),
    "submit(answer=42)": (42, "submit"),
    "FINAL(42)": (42, "FINAL"),
    "SUBMIT(42)": (42, "SUBMIT"),
    "SUBMIT(a=1)": (1, "SUBMIT"),
    "SUBMIT(a=1, b='x')": ({"a": 1, "b": "x"}, "SUBMIT"),
    "x = [1]\nFINAL_VAR('x')": ([1], "FINAL_VAR"),
    "x = [1]\nFINAL_VAR(' \"x\" ')": ([1], "FINAL_VAR"),
    "x = [1]\nFINAL_VAR(x)": ([1], "FINAL_VAR"),
    "x = 'two words'\nFINAL_VAR(x)": ("two words", "FINAL_VAR"),
    "answer['content'] = 'a'; answer['ready'] = True": ("a", "answer"),
    "answer['ready'] = True; answer['content'] = 'late'": ("late", "answer"),
    "answer.update(content=7, ready=True)": (7, "answer"),
    "answer = {'content': [1], 'ready': True}": ([1], "answer"),
    "answer['content'] = 'kept'; answer['ready'] = True\n1 / 0": ("kept", "answer"),
    "answer['content'] = 'x'\nFINAL(answer)": ("x", "FINAL"),
    "def f(): submit('from a function')\nf()": ("from a function", "submit"),
    "try:\n    submit(1)\nexcept Exception: pass\nsubmit(2)": (1, "submit"),
    "try:\n    submit(1)\nexcept BaseException: pass\nx = 3": (1, "submit"),
    "import threading\nt = threading.Thread(target=submit, args=('thread',)); t.start(); t.join()": (
        "thread",
        "submit",
    ),
    "async def f(): submit('async')\nawait f()": ("async", "submit"),
}


@pytest.mark.parametrize("code", SPELLINGS)
async def test_every_spelling_ends_the_cell(repl: Session, code: str) -> None:
    result = await repl.run(f"print('seen')\n{code}")
    assert result.outcome == "submitted", (result.error, result.notes)
    assert result.output == "seen\n"
    assert result.error is None
    (call,) = repl.host.named("submit")
    value, via = SPELLINGS[code]
    assert call.args == (value,)
    assert call.kwargs == {"printed": 5, "variable": None, "via": via}


async def test_the_repl_goes_on_after_an_answer(repl: Session) -> None:
    await repl.run("x = 1\nsubmit(x)\nx = 2")
    assert await repl.show("x") == "1"
    assert await repl.show("answer") == "{'content': '', 'ready': False}"


async def test_a_text_that_names_a_variable_is_text_with_a_hint(repl: Session) -> None:
    await repl.run("result = 5\nsubmit('result')")
    await repl.run("submit('results')")
    await repl.run("submit('context')")
    given = [(call.args[0], call.kwargs["variable"]) for call in repl.host.named("submit")]
    assert given == [("result", "result"), ("results", None), ("context", None)]


@pytest.mark.parametrize(
    "code",
    ["FINAL(answer)", "submit(answer)", "FINAL_VAR('answer')", "FINAL(undefined)", "FINAL_VAR('undefined')"],
)
async def test_an_undefined_answer_is_a_name_error(repl: Session, code: str) -> None:
    await repl.show("made = 1")
    result = await repl.run(code)
    assert result.error is not None
    assert result.error.type == "NameError"
    assert repl.host.calls == []
    if "'undefined'" in code:
        assert "made" in result.error.message


async def test_a_refusal_is_one_line_and_the_cell_ends_there(open_repl: Opener) -> None:
    repl = await open_repl(host=Host(submit=refused("look at the context first")))
    result = await repl.run("x = 1\nsubmit('guess')\nx = 2")
    assert result.outcome == "error"
    assert result.error is not None
    assert result.error.traceback == "AnswerRefused: look at the context first"
    assert await repl.show("x") == "1"
    assert await repl.show("try: submit(1)\nexcept Exception as e: print(e)") == "look at the context first"


async def test_a_refused_answer_variable_is_told_once(open_repl: Opener) -> None:
    repl = await open_repl(host=Host(submit=refused("does not fit")))
    result = await repl.run("answer.update(content=1, ready=True)")
    assert result.error is not None
    assert result.error.traceback == "AnswerRefused: does not fit"
    assert (await repl.run("1")).outcome == "ok"
    result = await repl.run("answer['ready'] = True\n1 / 0")
    assert result.error is not None
    assert result.error.type == "ZeroDivisionError"
    assert any("does not fit" in note for note in result.notes)


@pytest.mark.parametrize("content", ["''", "None", "'  '"])
async def test_an_empty_answer_variable_is_noted(repl: Session, content: str) -> None:
    result = await repl.run(f"answer['ready'] = True; answer['content'] = {content}")
    assert result.outcome == "ok"
    assert any("is empty" in note for note in result.notes)
    assert repl.host.calls == []


DATA = {
    "(1, 'x')": (1, "x"),
    "{1, 2}": {1, 2},
    "{'a': {2: (3, None)}}": {"a": {2: (3, None)}},
    "'x'": "x",
    "'ab' * 10**6": "ab" * 10**6,
    "b'\\x00\\xff'": b"\x00\xff",
    "float('inf')": float("inf"),
    "__import__('pandas').DataFrame({'a': [1, 2], 'b': ['x', None]})": [
        {"a": 1, "b": "x"},
        {"a": 2, "b": None},
    ],
    "__import__('pandas').Series([1.5, 2])": [1.5, 2.0],
    "__import__('pandas').Series([1, 2], index=['x', 'y'])": {"x": 1, "y": 2},
    "__import__('pandas').DataFrame({'k': ['a', 'b', 'a'], 'n': [1, 2, 3]}).groupby('k').sum()": [
        {"k": "a", "n": 4},
        {"k": "b", "n": 2},
    ],
    "__import__('numpy').arange(3)": [0, 1, 2],
    "__import__('numpy').float64(2.5)": 2.5,
    "__import__('numpy').int64(7)": 7,
    "[__import__('numpy').bool_(True), __import__('pandas').NaT]": [True, None],
    "__import__('collections').Counter('aab')": {"a": 2, "b": 1},
    "{}.keys()": [],
    "range(3)": [0, 1, 2],
}


@pytest.mark.parametrize("code", DATA)
async def test_data_arrives_as_data(repl: Session, code: str) -> None:
    await repl.run(f"submit({code})")
    (call,) = repl.host.named("submit")
    assert call.args == (DATA[code],)
    assert type(call.args[0]) is type(DATA[code])


async def test_classes_of_the_model_arrive_as_dicts(repl: Session) -> None:
    code = (
        "from dataclasses import dataclass\nimport enum, pydantic, typing\nclass E(enum.Enum):\n    A = 'a'\n"
        "@dataclass\nclass D:\n    n: int\n    e: E\nclass M(pydantic.BaseModel):\n    d: D\n"
        "class N(typing.NamedTuple):\n    x: int\nsubmit([D(1, E.A), M(d=D(2, E.A)), N(3)])"
    )
    await repl.run(code)
    assert repl.host.named("submit")[0].args == ([{"n": 1, "e": "a"}, {"d": {"n": 2, "e": "a"}}, (3,)],)


NO_DATA = ["object()", "(x for x in 'ab')", "lambda: 1", "int", "open('f', 'w')", "__import__('re')", "iter([1])", "10**5000",
           "[object()]", "{(1, object()): 2}", "__import__('re').match('a', 'a')"]  # fmt: skip


@pytest.mark.parametrize("code", NO_DATA)
async def test_what_is_no_data_is_a_clear_type_error(repl: Session, code: str) -> None:
    result = await repl.run(f"submit({code})")
    assert result.error is not None
    assert result.error.type == "TypeError"
    assert any(word in result.error.message for word in ("pass", "call it"))
    assert repl.host.calls == []


async def test_cycles_and_depth_are_refused_in_words(repl: Session) -> None:
    result = await repl.run("a = []\na.append({'k': a})\nsubmit(a)")
    assert result.error is not None
    assert "contains itself" in result.error.message
    result = await repl.run("b = 1\nfor _ in range(65): b = [b]\nsubmit(b)")
    assert result.error is not None
    assert "64 levels" in result.error.message
    await repl.run("submit(b[0])")
    assert len(repl.host.named("submit")) == 1


async def test_an_accepted_answer_stands_whatever_the_cell_does_then(open_repl: Opener) -> None:
    repl = await open_repl()
    result = await repl.run("import os\ntry: submit('first')\nexcept BaseException: os._exit(1)")
    assert result.outcome == "submitted"
    result = await repl.run(
        "while True:\n    try: submit('second')\n    except BaseException: pass", seconds=60
    )
    assert result.outcome == "submitted"
    assert result.seconds < 10


async def test_any_reply_may_end_the_cell(open_repl: Opener) -> None:
    def reply(call: HostCall) -> HostReply:
        return HostReply(end=True)

    repl = await open_repl(host=Host(lookup=reply), tools=("lookup",))
    result = await repl.run("lookup()\nx = 1")
    assert result.outcome == "submitted"
    assert await repl.show("'x' in globals()") == "False"
