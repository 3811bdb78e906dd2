"""The example for DSPy, where ``dspy`` is installed: a program of DSPy's whose model is an RLM."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from unspool import RLM
from unspool.testing import ScriptedModel

from .engine.helpers import py

dspy = pytest.importorskip("dspy", minversion="3.4", reason="needs dspy 3.4 or later")

EXAMPLE = Path(__file__).parents[1] / "examples" / "dspy_lm.py"

COUNT = """
import collections, re
found = re.findall(r"Failed password for .* from (\\S+)", context["log"])
(address, attempts), = collections.Counter(found).most_common(1)
print(len(context["log"]), address, attempts)
"""
SUBMIT = "submit({'address': address, 'attempts': attempts})"


@pytest.fixture(scope="module")
def example() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("dspy_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rlm(model: ScriptedModel, **more: Any) -> RLM:
    return RLM(model, sandbox="none", runs=False, **more)


def test_a_long_field_is_a_context_and_the_prediction_is_typed(example: ModuleType) -> None:
    log = example.LOG.read_text()
    model = ScriptedModel([py(COUNT), py(SUBMIT)])
    with rlm(model) as engine:
        found = example.ask(engine, log, "Which address failed most often?")
    wanted = Counter(re.findall(r"Failed password for .* from (\S+)", log)).most_common(1)
    assert [(found.address, found.attempts)] == wanted
    prompt = "\n".join(message.text for message in model.requests[0].messages)
    assert "Which address failed most often?" in prompt
    assert "context['log']" in prompt
    assert len(prompt) < len(log) / 4


def test_both_adapters_and_a_chain_of_thought_work(example: ModuleType) -> None:
    chat = "[[ ## reasoning ## ]]\nCounted.\n\n[[ ## answer ## ]]\n3\n\n[[ ## completed ## ]]"
    for adapter, reply in (
        (dspy.ChatAdapter(), chat),
        (dspy.JSONAdapter(), {"reasoning": "Counted.", "answer": 3}),
    ):
        with (
            rlm(ScriptedModel([py(f"print(context)\nsubmit({reply!r})")])) as engine,
            dspy.context(lm=example.language_model(engine), adapter=adapter),
        ):
            found = dspy.ChainOfThought("text, question -> answer: int")(text="a a a", question="How many?")
        assert (found.answer, found.reasoning) == (3, "Counted.")


def test_usage_is_that_of_the_run_and_examples_are_in_the_question(example: ModuleType) -> None:
    model = ScriptedModel([py("print(sorted(context))\nsubmit({'answer': '; '.join(sorted(context))})")])
    with rlm(model) as engine:
        lm = example.language_model(engine)
        program = dspy.Predict("text -> answer")
        program.demos = [dspy.Example(text="x" * 5_000, answer="many x")]
        with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
            assert program(text="y" * 5_000).answer == "text; text_1"
    assert lm.history[-1]["usage"]["prompt_tokens"] > 0
    assert "many x" in model.requests[0].messages[-1].text


def test_a_run_without_an_answer_is_an_error_and_is_not_paid_twice(example: ModuleType) -> None:
    model = ScriptedModel([py("print(1)")] * 9)
    with (
        rlm(model, max_turns=1) as engine,
        pytest.raises(Exception, match="has no answer: the one turn is used"),
    ):
        example.language_model(engine)("How many?")
    assert len(model.requests) == 1


async def test_leaving_an_asynchronous_call_cancels_the_run(example: ModuleType) -> None:
    model = ScriptedModel(["never"], latency=600)
    engine = rlm(model)
    call = asyncio.ensure_future(example.language_model(engine).acall("How many?"))
    async with asyncio.timeout(60):
        while not model.requests:  # noqa: ASYNC110 (the run is on another thread's loop)
            await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        while not model.cancelled:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await asyncio.to_thread(engine.close)
