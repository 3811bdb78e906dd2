"""Children: what they see, where their context lies, how they end, and how deep they go."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest

from unspool import RLM, Budget, FailedCall, Run
from unspool.children import speaks_of_a_text
from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import OnCall, Repl, ReplSpec
from unspool.testing import MemoryStore, ScriptedModel
from unspool.types import TextPart

from .helpers import py

Messages = Sequence[object]
TEXT = "".join(f"line {i} of the text\n" for i in range(400_000))  # larger than what is kept by copy
SEEN = "print('secret' in globals())\nsubmit([len(context), context[:30], context[-30:]])"


def question(messages: Messages) -> str:
    """The question that a request is about."""
    first = next(m.text for m in messages if m.role == "user")  # type: ignore[attr-defined]
    return str(first).rpartition("The question:\n")[2]


def family(root: Sequence[str], child: str | Callable[[str], str] = SEEN) -> ScriptedModel:
    """The root says these replies in order, every child says the same cell."""
    said = iter(root)

    def reply(messages: Messages) -> str:
        asked = question(messages)
        if asked.startswith("top"):
            return next(said)
        return py(child if isinstance(child, str) else child(asked))

    return ScriptedModel(reply)


class Watched:
    """The usual sandbox; tells with what its REPLs were opened, and what they share."""

    def __init__(self, *, takes_parts: bool = True) -> None:
        self.takes_parts = takes_parts
        self.inner = ProcessSandbox("process")
        self.opened: list[object] = []
        self.shared: list[bool] = []

    async def open(self, spec: ReplSpec, on_call: OnCall) -> Repl:
        self.opened.append(spec.context)
        handed = self.inner.handed_on(spec.context)
        self.shared.append(handed is not None)
        if handed is not None:
            handed.close()
        return await self.inner.open(spec, on_call)

    async def close(self) -> None:
        await self.inner.close()


def run(model: ScriptedModel, context: object, **settings: object) -> Run:
    settings.setdefault("runs", False)
    return RLM(model, **settings).run("top question", context)  # type: ignore[arg-type]


def expected(text: str) -> list[object]:
    return [len(text), text[:30], text[-30:]]


def test_a_part_of_the_context_is_not_copied() -> None:
    sandbox = Watched()
    cells = py(
        "secret = 1\nr = rlm_query('part?', context[100_000:300_001])\nprint(r)",
        "rs = rlm_query_batched(['all?', 'end?', 'small?'], [context, context[-200_000:], context[:10]])\n"
        "submit([r, *rs])",
    )
    answer = run(family([cells]), TEXT, sandbox=sandbox).answer
    parts = [TEXT[100_000:300_001], TEXT, TEXT[-200_000:], TEXT[:10]]
    assert answer == [expected(part) for part in parts]
    first, whole, end, small = sandbox.opened[1:]
    assert isinstance(first, TextPart)
    assert isinstance(end, TextPart)
    assert (first.start, first.length) == (100_000, 200_001)
    assert whole is TEXT
    assert small == TEXT[:10]
    assert sandbox.shared == [False, True, True, True, False]


def test_a_part_of_a_part_is_a_part_of_the_whole() -> None:
    sandbox = Watched()

    def child(asked: str) -> str:
        if asked.startswith("half"):
            return "submit(rlm_query('third?', context[70_000:280_000]))"
        return SEEN

    cells = py("print(1)\nsubmit(rlm_query('half?', context[1_000_000:2_000_000]))")
    result = run(
        family([cells], lambda asked: f"print(0)\n{child(asked)}"), TEXT, sandbox=sandbox, max_depth=2
    )
    assert result.answer == expected(TEXT[1_070_000:1_280_000])
    last = sandbox.opened[-1]
    assert isinstance(last, TextPart)
    assert (last.start, last.whole is TEXT) == (1_070_000, True)
    assert sandbox.shared == [False, True, True]


@pytest.mark.parametrize("letter", ["é", "Ω", "😀"])
def test_a_part_of_a_text_of_wider_characters_is_the_same_text(letter: str) -> None:
    text = TEXT[:3_000_000] + letter + TEXT[:3_000_000]
    cells = py(
        "rs = rlm_query_batched(['a', 'b', 'c'], [context[5:200_000], context[2_900_000:3_100_000], context])\n"
        "submit(rs)"
    )
    child = "submit([len(context), context[:30], context[-30:], context.isascii(), hash(context) == hash(''.join(context))])"
    answer = run(family([cells], f"print(1)\n{child}"), text).answer
    parts = [text[5:200_000], text[2_900_000:3_100_000], text]
    assert answer == [[*expected(part), part.isascii(), True] for part in parts]


def test_what_is_no_part_is_copied() -> None:
    sandbox = Watched()
    cells = py("submit(rlm_query('changed?', context[:200_000].upper()))")
    assert run(family(["```python\nprint(1)\n```\n" + cells]), TEXT, sandbox=sandbox).answer == expected(
        TEXT[:200_000].upper()
    )
    assert isinstance(sandbox.opened[1], str)


def test_a_sandbox_that_takes_no_parts_gets_the_text() -> None:
    sandbox = Watched(takes_parts=False)
    cells = py("print(1)\nsubmit(rlm_query('part?', context[70_000:200_000]))")
    assert run(family([cells]), TEXT, sandbox=sandbox).answer == expected(TEXT[70_000:200_000])
    assert sandbox.opened[1] == TEXT[70_000:200_000]


@pytest.mark.parametrize(
    "part", ["(0, 10**9)", "(-5, 3)", "(5, -3)", "'ab'", "(True, 2)", "(0.0, 2)", "(1, 2, 3)", "[0, 2]"]
)
def test_a_place_that_is_none_is_refused(part: str) -> None:
    """Code in the REPL may say what it likes over its channel."""
    cell = f"try:\n    r = rlm_query.__self__._call('rlm_query', 'q', part={part})\nexcept ValueError as e:\n    r = str(e)\nprint(r)\nsubmit(r)"
    assert "no part of the context" in str(run(family([py(cell)]), "a short text").answer)


def test_a_context_that_is_no_text_has_no_parts() -> None:
    cell = "try:\n    r = rlm_query.__self__._call('rlm_query', 'q', part=(0, 1))\nexcept ValueError as e:\n    r = str(e)\nprint(r)\nsubmit(r)"
    assert "no part of the context" in str(run(family([py(cell)]), ["a", "b"]).answer)


@pytest.mark.parametrize(
    ("query", "warned"),
    [
        ("Summarise the chunk above", True),
        ("What does this passage say about tax?", True),
        ("How many errors are in the following log?", True),
        ("Who is named in the text?", False),
        ("Is this text about tax? Text: 'The levy was raised in the spring of that year.'", False),
        ("Summarise this text:\nOnce upon a time there was a miller who had three sons.", False),
        ("Who wrote Moby Dick?", False),
    ],
)
def test_a_query_about_a_text_that_is_not_given_is_warned_of(query: str, warned: bool) -> None:
    assert (speaks_of_a_text(query) is not None) == warned
    model = family([py(f"r = rlm_query({query!r})\nprint(r)"), py("submit('x')")], "print(1)\nsubmit(2)")
    run(model, "context")
    last = model.requests[-1].messages[-1].text
    assert ("gives none" in last) == warned


def test_a_child_is_held_to_the_schema() -> None:
    """A submission that does not fit is refused in the child, which then does better."""
    cells = py("r = rlm_query('how many?', 'abc', schema={'type': 'integer'})\nprint(r)\nsubmit(r)")
    child = "try:\n    submit('three')\nexcept Exception as e:\n    print(e)\nprint(1)\nsubmit('3')"
    model = family([cells], f"print(0)\n{child}")
    result = run(model, "context")
    assert result.answer == 3
    assert '{"type": "integer"}' in model.requests[1].messages[-1].text
    assert "expected integer" in result.trace.children[0].turns[0].cells[0].output


def test_a_failed_child_says_how_it_ended_and_hands_over_its_draft() -> None:
    store = MemoryStore()
    cells = py(
        "rs = rlm_query_batched(['a', 'b'], ['x', 'y'])\nprint([bool(r) for r in rs], rs[0].message)",
        "try:\n    rlm_query('c', 'z')\nexcept LLMError as e:\n    print(e.kind, e)\nsubmit(1)",
    )
    model = family(
        [cells], lambda asked: "result = 'half of it'\nprint(1)" if asked != "b" else "print(1)\nsubmit(5)"
    )
    result = run(model, "context", store=store, max_turns=2)
    assert result.answer == 1
    first, second = result.trace.turns[0].cells
    assert first.output.startswith("[False, True] the child ended budget")
    assert "its draft (variable result): 'half of it'" in first.output
    assert second.output.startswith("child the child ended budget")
    again = RLM(model, store=store, max_turns=2).resume(result.id, "context")
    assert again.answer == 1
    assert len(model.requests) == 6


def test_the_depth_that_is_left_is_told() -> None:
    model = family(
        [py("print(budget()['depth'])\nsubmit(rlm_query('one', 'x'))")],
        lambda asked: (
            f"print(budget()['depth'])\nsubmit({'rlm_query(' + repr('two') + ', 1)' if asked == 'one' else 1})"
        ),
    )
    result = run(model, "context", max_depth=2)
    assert result.answer == 1
    left = [re.search(r"Depth left: (\d)", r.messages[-1].text) for r in model.requests]
    assert [m and m[1] for m in left] == ["2", "1", "0"]
    node, outputs = result.trace, []
    while True:
        outputs.append(node.turns[0].cells[0].output.strip())
        if not node.children:
            break
        node = node.children[0]
    assert outputs == ["2", "1", "0"]


def test_three_levels_of_children() -> None:
    def child(asked: str) -> str:
        level = int(asked)
        return (
            f"print(1)\nsubmit(1 + sum(rlm_query_batched(['{level + 1}'] * 2, ['a', 'b'])))"
            if level < 3
            else "print(1)\nsubmit(1)"
        )

    result = run(
        family([py("print(1)\nsubmit(1 + sum(rlm_query_batched(['1'] * 2, ['a', 'b'])))")], child),
        "c",
        max_depth=3,
    )
    assert result.answer == 1 + 2 + 4 + 8


def test_a_runaway_tree_ends_at_the_budget_of_the_run() -> None:
    """Every node makes children without end; the tokens are those of the whole tree."""
    cell = "r = rlm_query_batched([f'more {i}' for i in range(4)], [str(i) for i in range(4)])\nprint(len(r), budget()['tokens'])"
    model = ScriptedModel(lambda _: py(cell))
    result = run(model, "c", max_depth=3, budget=Budget(tokens=40_000))
    assert result.status == "budget"
    used = result.usage
    assert (used.input_tokens or 0) + (used.output_tokens or 0) <= 40_000
    assert 4 < len(model.requests) < 150


def test_few_children_of_a_node_live_at_once() -> None:
    sandbox = Watched()
    model = family(
        [py("print(1)\nrs = rlm_query_batched([str(i) for i in range(40)], ['c'] * 40)\nsubmit(sum(rs))")],
        "print(1)\nsubmit(1)",
    )
    assert run(model, "c", sandbox=sandbox).answer == 40
    assert model.peak <= 32


def test_failed_children_are_items_in_place() -> None:
    model = family(
        [
            py("print(1)\nrs = rlm_query_batched(['a', 'b', 'a'], ['x', 'y', 'z'])\nprint(rs)\nsubmit(rs)"),
            py("submit(9)"),
        ],
        lambda asked: "print(1)\nsubmit(2)" if asked == "a" else "print(1)",
    )
    result = run(model, "c", max_turns=1)
    assert result.status == "budget"
    first, failed, last = result.answer  # type: ignore[misc]
    assert (first, last) == (2, 2)
    assert isinstance(failed, FailedCall)
    assert failed.kind == "child"
