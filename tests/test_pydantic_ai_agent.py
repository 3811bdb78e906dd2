"""An RLM as the model of an agent of pydantic-ai's: through ``run``, ``run_sync`` and ``run_stream``."""

from __future__ import annotations

import asyncio
import base64
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from unspool import RLM, Budget
from unspool.errors import WrongSetting
from unspool.testing import MemoryStore, ScriptedModel

pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")

from pydantic_ai import Agent, ModelRetry, PromptedOutput, ToolOutput, UsageLimits
from pydantic_ai import exceptions as theirs
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    FinalResultEvent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters, override_allow_model_requests
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.tools import ToolDefinition

from unspool.pydantic_ai import RLMModel

SECONDS = 60


class Person(BaseModel):
    name: str
    age: int


class Address(BaseModel):
    street: str


class Home(BaseModel):
    """Where somebody lives."""

    owner: Person
    address: Address


def submits(*expressions: str) -> list[str]:
    return [f"```python\nprint(type(context))\nsubmit({each})\n```" for each in expressions]


class Made:
    """A model, and what stands behind it."""

    def __init__(self, replies: Any, **more: Any) -> None:
        given = {name: more.pop(name) for name in ("latency", "usage", "cost") if name in more}
        self.script = ScriptedModel(replies, **given)
        self.store = MemoryStore()
        self.engine = RLM(self.script, sandbox="none", store=self.store, **more)
        self.model = RLMModel(self.engine)

    @property
    def asked(self) -> str:
        """All that the last request said."""
        return "\n".join(message.text for message in self.script.requests[-1].messages)

    @property
    def statuses(self) -> list[str]:
        return [self.store.read(run)[-1].status for run in self.store.runs()]  # type: ignore[attr-defined]


Make = Callable[..., Made]


@pytest.fixture
def make() -> Iterator[Make]:
    """``make(replies, …)``: a model over an engine that is closed after the test."""
    made: list[Made] = []

    def build(replies: Any, **more: Any) -> Made:
        made.append(Made(replies, **more))
        return made[-1]

    yield build
    for each in made:
        each.engine.close()


@pytest.fixture
def own_loop() -> Iterator[None]:
    """``run_sync`` takes the loop of its thread, and leaves a new one open where there is none."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


# Questions


async def test_an_agent_asks_and_the_usage_is_that_of_the_tree(make: Make) -> None:
    made = make([*submits("llm_query('Say: forty-two')"), "forty-two"])
    result = await Agent(made.model).run("How many?")
    assert result.output == "forty-two"
    usage = result.usage
    assert (usage.requests, usage.details) == (1, {"calls": 2, "sub_calls": 1, "turns": 1})
    assert usage.input_tokens > 0
    assert usage.cost == Decimal("0.0")
    last = result.all_messages()[-1]
    assert isinstance(last, ModelResponse)
    assert (last.model_name, last.provider_name, last.finish_reason) == ("rlm", "unspool", "stop")
    assert last.provider_response_id == next(iter(made.store.runs()))
    assert last.provider_details is not None
    assert (last.provider_details["status"], last.provider_details["sub_calls"]) == ("answered", 1)
    assert "turn 1" in str(last.thinking)
    assert made.model.model_id == "unspool:rlm"


async def test_what_is_not_known_of_usage_and_cost_is_said_so(make: Make) -> None:
    made = make(submits("1"), usage=None, cost=None)
    usage = (await Agent(made.model).run("How many?")).usage
    assert (usage.unmeasured_requests, usage.input_tokens, usage.cost) == (1, 0, None)


@pytest.mark.usefixtures("own_loop")
def test_run_sync_works_too(make: Make) -> None:
    agent = Agent(make(submits("'a'", "'b'")).model)
    assert [agent.run_sync(each).output for each in ("First?", "Second?")] == ["a", "b"]


async def test_system_prompts_and_instructions_are_instructions(make: Make) -> None:
    made = make(submits("'x'"))
    agent = Agent(made.model, system_prompt="Answer as a pirate.", instructions="In one word.")
    await agent.run("Who?", instructions="In capitals.")
    assert all(words in made.asked for words in ("Answer as a pirate.", "In one word.", "In capitals."))
    assert made.asked.rstrip().endswith("Who?")


async def test_a_long_message_is_a_context_and_earlier_turns_are_the_conversation(make: Make) -> None:
    made = make(submits("'noted'", "[len(message), [turn['text'] for turn in conversation]]"))
    agent = Agent(made.model)
    first = await agent.run("Remember: 7.")
    second = await agent.run(["word " * 2_000, "How long?"], message_history=first.all_messages())
    assert second.output == '[10000, ["Remember: 7.", "noted"]]'


async def test_files_and_images_are_contexts(make: Make) -> None:
    pixel = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
    made = make(submits("[sorted(files), files['b.csv'], type(images).__name__, len(images)]"))
    content = [
        BinaryContent(b"a,b", media_type="text/csv"),
        BinaryContent(b"c,d", media_type="text/csv", vendor_metadata={"filename": "b.csv"}),
        BinaryContent(pixel, media_type="image/gif"),
        ImageUrl(f"data:image/gif;base64,{base64.b64encode(pixel).decode()}"),
        "What is there?",
    ]
    assert (await Agent(made.model).run(content)).output == '[["b.csv", "file"], "c,d", "list", 2]'


@pytest.mark.parametrize(
    "content",
    [
        AudioUrl("https://example.org/a.mp3"),
        ImageUrl("https://example.org/a.png"),
        DocumentUrl("https://example.org/a.pdf"),
        BinaryContent(b"RIFF", media_type="audio/wav"),
        BinaryContent(b"\0\1\2\xff", media_type="application/octet-stream"),
    ],
)
async def test_what_cannot_be_read_is_refused_by_name_and_costs_nothing(make: Make, content: Any) -> None:
    made = make([])
    with pytest.raises(theirs.UserError, match=r"messages\[0\]\.content\[0\]"):
        await Agent(made.model).run([content, "What is it?"])
    assert made.script.requests == []


async def test_the_rule_is_overridden_as_for_a_client_of_serve(make: Make) -> None:
    made = make(submits("context * 2"))
    own = {"context": "abc", "query": "Twice?", "budget": {"calls": 3}, "max_turns": 2}
    result = await Agent(made.model).run("", model_settings={"extra_body": {"unspool": own}})
    assert result.output == "abcabc"
    assert "Twice?" in made.asked
    with pytest.raises(theirs.UserError, match="no such field"):
        await Agent(made.model).run("x", model_settings={"extra_body": {"unspool": {"contxt": 1}}})


async def test_a_request_that_asks_nothing_is_refused(make: Make) -> None:
    with pytest.raises(theirs.UserError, match="no text in the last user message"):
        await Agent(make([]).model).run("  ")


# Typed answers


HALF = "'\\ud83d, \\ud83d\\ude00'"  # half of a pair alone, and a pair in two halves


@pytest.mark.parametrize(
    ("output", "code"),
    [
        (str, f"submit({HALF})"),
        (dict[str, str], f"submit({{'a': {HALF}}})"),
        (list[str], f"submit([{HALF}])"),
        (ToolOutput(Person), f"submit({{'name': {HALF}, 'age': 3}})"),
    ],
)
async def test_half_a_surrogate_pair_is_in_no_reply(make: Make, output: Any, code: str) -> None:
    made = make([f"```python\nprint({HALF})\n{code}\n```"])
    result = await Agent(made.model, output_type=output).run("Who?")
    assert "\ufffd, \U0001f600" in str(result.output)
    assert "\U0001f600" in result.all_messages_json().decode()
    made = make([f"```python\nprint({HALF})\n{code}\n```"])
    async with Agent(made.model, output_type=output).run_stream("Who?") as stream:
        assert "\ufffd, \U0001f600" in str(await stream.get_output())
        assert "\U0001f600" in stream.all_messages_json().decode()


@pytest.mark.parametrize("kind", [Person, ToolOutput(Person), PromptedOutput(Person)])
async def test_the_output_is_of_the_type_that_was_asked_for(make: Make, kind: Any) -> None:
    made = make(submits("'Ada'", "{'name': 'Ada', 'age': 36}"))  # the first does not fit, and is refused
    result = await Agent(made.model, output_type=kind).run("Who?")
    assert result.output == Person(name="Ada", age=36)
    assert result.usage.requests == 1


async def test_nested_types_lists_and_words_are_types_too(make: Make) -> None:
    home = "{'owner': {'name': 'Ada', 'age': 36}, 'address': {'street': 'Main'}}"
    for kind, expression, wanted in (
        (Home, home, Home(owner=Person(name="Ada", age=36), address=Address(street="Main"))),
        (list[int], "[1, 2]", [1, 2]),
        (Literal["yes", "no"], "'yes'", "yes"),
        (bool, "False", False),
    ):
        agent: Agent[None, Any] = Agent(make(submits(expression)).model, output_type=kind)
        assert (await agent.run("What?")).output == wanted


async def test_one_of_several_types_or_text(make: Make) -> None:
    either: Any = [Person, str]
    made = make(submits("{'answer': 'nobody'}"))
    assert (await Agent(made.model, output_type=either).run("Who?")).output == "nobody"
    call = "{'tool_calls': [{'tool': 'final_result', 'arguments': {'name': 'Ada', 'age': 36}}]}"
    made = make(submits(call))
    assert (await Agent(made.model, output_type=either).run("Who?")).output == Person(name="Ada", age=36)
    several: Any = [ToolOutput(Home, name="home"), ToolOutput(Address, name="address")]
    call = "{'tool_calls': [{'tool': 'address', 'arguments': {'street': 'Main'}}]}"
    made = make(submits("{'street': 'Main'}", call))
    assert (await Agent(made.model, output_type=several).run("Where?")).output == Address(street="Main")


async def test_an_output_that_the_agent_refuses_is_asked_for_again_with_the_same_question(make: Make) -> None:
    made = make(submits("{'name': 'Ada', 'age': 3}", "{'name': context[0]['text'], 'age': 36}"))
    agent = Agent(made.model, output_type=Person, retries=2)

    @agent.output_validator
    def grown(person: Person) -> Person:
        if person.age < 18:
            raise ModelRetry("she is older")
        return person

    result = await agent.run("Who is it?")
    assert result.output == Person(name='{"name":"Ada","age":3}', age=36)
    question = made.asked.partition("The question:")[2]
    assert question.index("Who is it?") < question.index("she is older")


# Tools


def weather(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


async def test_the_agents_tools_are_called_by_answers_and_their_results_are_the_conversation(
    make: Make,
) -> None:
    calls = "{'tool_calls': [{'tool': 'weather', 'arguments': {'city': c}} for c in ('Rome', 'Oslo')]}"
    told = "{'answer': '; '.join(turn['text'] for turn in context if turn['role'] == 'tool')}"
    made = make(submits(calls, told))
    agent = Agent(made.model, tools=[weather])
    result = await agent.run("How is it in Rome and Oslo?")
    assert result.output == "rain in Rome; rain in Oslo"
    assert result.usage.requests == 2
    assert (result.usage.tool_calls, len(list(made.store.runs()))) == (2, 2)
    assert "- weather: The weather of a city." in made.asked
    first = result.all_messages()[1]
    assert isinstance(first, ModelResponse)
    assert first.finish_reason == "tool_call"
    assert [call.args_as_dict() for call in first.tool_calls] == [{"city": "Rome"}, {"city": "Oslo"}]
    assert made.asked.rstrip().endswith("How is it in Rome and Oslo?")  # the question is still the question


async def test_a_call_that_does_not_fit_its_tool_is_refused_before_it_is_made(make: Make) -> None:
    wrong = "{'tool_calls': [{'tool': 'weather', 'arguments': {'town': 'Rome'}}]}"
    unknown = "{'tool_calls': [{'tool': 'climate', 'arguments': {'city': 'Rome'}}]}"
    made = make(submits(wrong, unknown, "'Fine.'", "{'answer': 'Fine.'}"))
    result = await Agent(made.model, tools=[weather]).run("How is it?")
    assert result.output == "Fine."
    assert (result.usage.requests, result.usage.tool_calls) == (1, 0)


async def test_tools_and_a_typed_answer_go_together(make: Make) -> None:
    def lives_at(home: Home) -> str:
        return home.address.street

    home = "{'owner': {'name': 'Ada', 'age': 36}, 'address': {'street': 'Main'}}"
    made = make(
        submits(
            f"{{'tool_calls': [{{'tool': 'lives_at', 'arguments': {home}}}]}}",
            "{'answer': {'owner': {'name': context[-1]['text'], 'age': 1}, 'address': {'street': 's'}}}",
        )
    )
    result = await Agent(made.model, tools=[lives_at], output_type=Home).run("Where?")
    assert result.output.owner.name == "Main"


@pytest.mark.parametrize(
    ("choice", "known", "may_answer"),
    [
        ("auto", {"one", "two", "three"}, True),
        ("none", set(), True),
        ("required", {"one", "two", "three"}, False),
        (["two", "three"], {"two", "three"}, False),
        (ToolOrOutput(function_tools=["one"]), {"one"}, True),
    ],
)
async def test_a_choice_of_tools_is_kept(make: Make, choice: Any, known: set[str], may_answer: bool) -> None:
    made = make(["```python\nprint(1)\n```", *submits("'text'", "{'answer': 'text'}")], max_turns=3)
    tools = [ToolDefinition(name=name) for name in ("one", "two", "three")]
    settings: Any = {"tool_choice": choice}
    asked: Any = [ModelRequest(parts=[UserPromptPart("What?")])], settings
    parameters = ModelRequestParameters(function_tools=tools)
    if may_answer:
        assert (await made.model.request(*asked, parameters)).text == "text"
    else:
        with pytest.raises(theirs.ModelAPIError, match="without an answer"):
            await made.model.request(*asked, parameters)
    assert {tool.name for tool in tools if f"\n- {tool.name}: " in made.asked} == known


@pytest.mark.parametrize("kind", [list, lambda names: ToolOrOutput(function_tools=names)])
async def test_a_choice_of_tools_that_are_not_there_names_them_all_and_those_that_are(
    make: Make, kind: Any
) -> None:
    made = make([])
    tools = [ToolDefinition(name=name) for name in ("weather", "clock")]
    told = r"no function 'wether' \(weather\?\), 'x'; there are: weather, clock$"
    with pytest.raises(theirs.UserError, match=told):
        await made.model.request(
            [ModelRequest(parts=[UserPromptPart("What?")])],
            {"tool_choice": kind(["clock", "wether", "x"])},
            ModelRequestParameters(function_tools=tools),
        )
    assert made.script.requests == []


async def test_one_tool_that_has_to_be_called_has_its_own_type(make: Make) -> None:
    made = make(submits("'Rome'", "{'city': 'Rome'}"))
    city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [ToolDefinition(name="one"), ToolDefinition(name="two", parameters_json_schema=city)]
    reply = await made.model.request(
        [ModelRequest(parts=[UserPromptPart("What?")])],
        {"tool_choice": ["two"]},
        ModelRequestParameters(function_tools=tools),
    )
    assert [(call.tool_name, call.args_as_dict()) for call in reply.tool_calls] == [("two", {"city": "Rome"})]


async def test_a_history_with_calls_of_other_models_is_read(make: Make) -> None:
    history: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("How is Rome?")]),
        ModelResponse(
            parts=[
                ThinkingPart("hm"),
                TextPart("Let me see."),
                ToolCallPart("weather", '{"city": "Rome"}', "c1"),
            ]
        ),
        ModelRequest(parts=[ToolReturnPart("weather", {"sky": "grey"}, "c1")]),
        ModelResponse(parts=[TextPart("Grey.")]),
    ]
    made = make(submits("[[turn['role'], turn['text'], turn.get('other')] for turn in context]"))
    told = (await Agent(made.model).run("And now?", message_history=history)).output
    assert told == (
        '[["user", "How is Rome?", null], ["assistant", "Let me see.", [{"id": "c1", "tool": "weather", '
        '"arguments": {"city": "Rome"}}]], ["tool", "{\\"sky\\":\\"grey\\"}", [{"id": "c1", "tool": "weather"}]], '
        '["assistant", "Grey.", null]]'
    )


async def test_tools_of_a_provider_are_refused(make: Make) -> None:
    from pydantic_ai.capabilities import NativeTool

    agent = Agent(make([]).model, capabilities=[NativeTool(WebSearchTool())])
    with pytest.raises(theirs.UserError, match="WebSearchTool"):
        await agent.run("What?")


# Streams


async def test_a_stream_tells_progress_as_thinking_and_then_the_answer(make: Make) -> None:
    made = make(["```python\nprint(1)\n```", *submits("'forty-two ' * 500")])
    thought, started = "", []
    async with Agent(made.model).run_stream_events("How many?") as events:
        async for event in events:
            match event:
                case PartStartEvent(part=ThinkingPart(content=text)):
                    thought += text
                case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))):
                    thought += text
                case PartStartEvent() | FinalResultEvent():
                    started.append(type(event).__name__)
    assert ("turn 1" in thought, "turn 2" in thought) == (True, True)
    assert started == ["PartStartEvent", "FinalResultEvent"]


async def test_run_stream_gives_text_in_pieces_and_the_usage_at_the_end(make: Make) -> None:
    made = make(submits("'forty-two ' * 500"))
    async with Agent(made.model).run_stream("How many?") as stream:
        pieces = [piece async for piece in stream.stream_text(delta=True, debounce_by=None)]
        assert stream.usage.output_tokens > 0
    assert "".join(pieces) == "forty-two " * 500
    assert len(pieces) > 1
    last = stream.all_messages()[-1]
    assert isinstance(last, ModelResponse)
    assert (last.finish_reason, last.state) == ("stop", "complete")
    assert last.provider_response_id == next(iter(made.store.runs()))


async def test_run_stream_gives_typed_output_and_calls_tools(make: Make) -> None:
    call = "{'tool_calls': [{'tool': 'weather', 'arguments': {'city': 'Rome'}}]}"
    made = make(submits(call, "{'answer': {'name': context[-1]['text'], 'age': 1}}"))
    async with Agent(made.model, tools=[weather], output_type=Person).run_stream("How is it?") as stream:
        assert await stream.get_output() == Person(name="rain in Rome", age=1)


# What goes wrong


async def test_a_draft_is_the_reply_and_is_cut(make: Make) -> None:
    look = "```python\nprint('a draft')\n```"
    made = make([look, "```python\nresult = 'a draft'\n```", look], max_turns=2)
    result = await Agent(made.model).run("How many?")
    last = result.all_messages()[-1]
    assert isinstance(last, ModelResponse)
    assert (result.output, last.finish_reason) == ("a draft", "length")
    assert last.provider_details is not None
    assert last.provider_details["status"] == "budget"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_run_without_an_answer_is_an_error_that_names_it(make: Make, streamed: bool) -> None:
    for more, kind in (({"max_turns": 1}, theirs.ModelQuotaExceededError), ({}, theirs.ModelServerError)):
        made = make(["no code at all"] * 9, **more)
        with pytest.raises(kind, match="the run ended without an answer") as raised:
            await (streamed_output if streamed else whole_output)(Agent(made.model))
        assert next(iter(made.store.runs())) in str(raised.value)


async def whole_output(agent: Agent[None, str]) -> str:
    return (await agent.run("How many?")).output


async def streamed_output(agent: Agent[None, str]) -> str:
    async with agent.run_stream("How many?") as stream:
        return await stream.get_output()


async def test_a_time_limit_of_the_engine_is_a_timeout(make: Make) -> None:
    made = make(["```python\npass\n```"] * 99, latency=0.05, budget=Budget(seconds=0.2), max_turns=99)
    with pytest.raises(theirs.ModelTimeoutError, match="without an answer"):
        await Agent(made.model).run("How many?")


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 (the run is on another thread's loop)
            await asyncio.sleep(0.01)


async def test_cancelling_the_agent_cancels_the_run_and_its_request(make: Make) -> None:
    made = make(["never"], latency=600)
    asking = asyncio.create_task(Agent(made.model).run("How many?"))
    await until(lambda: len(made.script.requests) == 1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await until(lambda: made.script.cancelled == 1)
    assert made.statuses == ["cancelled"]


async def test_a_run_that_its_owner_cancels_is_said_to_be_cancelled(make: Make) -> None:
    made = make(["never"], latency=600)
    asking = asyncio.create_task(Agent(made.model).run("How many?"))
    await until(lambda: len(made.script.requests) == 1)
    made.engine.cancel(next(iter(made.store.runs())))
    with pytest.raises(theirs.ModelServerError, match="the run ended without an answer: cancelled"):
        await asking


async def test_a_timeout_of_the_agent_cancels_the_run(make: Make) -> None:
    made = make(["never"], latency=600)
    with pytest.raises(theirs.ModelRequestTimeout):
        await Agent(made.model).run("How many?", model_settings={"request_timeout": 0.3})
    await until(lambda: made.script.cancelled == 1)
    assert made.statuses == ["cancelled"]


async def test_leaving_a_stream_cancels_the_run(make: Make) -> None:
    made = make(["```python\nprint(1)\n```"] * 500, latency=0.02, max_turns=500)
    async with Agent(made.model).run_stream_events("How many?") as events:
        async for event in events:
            if isinstance(event, PartDeltaEvent):
                break
    await until(lambda: made.statuses == ["cancelled"])


async def test_cancelling_a_stream_keeps_what_was_thought(make: Make) -> None:
    made = make(["```python\nprint(1)\n```"] * 500, latency=0.02, max_turns=500)
    parameters = ModelRequestParameters()
    asked: Any = [ModelRequest(parts=[UserPromptPart("How many?")])]
    async with made.model.request_stream(asked, None, parameters) as stream:
        async for event in stream:
            if isinstance(event, PartDeltaEvent):
                await stream.cancel()
        said = stream.get()
    assert (said.state, "turn 1" in str(said.thinking)) == ("interrupted", True)
    assert made.statuses == ["cancelled"]


async def test_it_stands_in_their_list_of_models_and_keeps_their_limits(make: Make) -> None:
    made = make(["no code at all"] * 9)
    both = FallbackModel(made.model, TestModel(custom_output_text="from the second"))
    assert (await Agent(both).run("How many?")).output == "from the second"
    made = make(submits("'x' * 100"))
    with pytest.raises(theirs.UsageLimitExceeded):
        await Agent(made.model).run("How many?", usage_limits=UsageLimits(input_tokens_limit=5))
    with override_allow_model_requests(False), pytest.raises(RuntimeError, match="not allowed"):
        await Agent(make([]).model).run("How many?")


async def test_a_setting_that_has_no_effect_is_warned_of(make: Make) -> None:
    made = make(submits("1"))
    with pytest.warns(theirs.UnsupportedSettingWarning, match="stop_sequences"):
        await Agent(made.model).run("How many?", model_settings={"stop_sequences": ["x"], "temperature": 1.0})


def test_both_ways_at_once(make: Make) -> None:
    """An RLM whose model is an agent's model that is an RLM: runs in runs, on the one loop."""
    code = "print(context)\nsubmit('deep')"
    inner = make(submits(repr(f"```python\n{code}\n```")))
    with RLM(inner.model, sandbox="none", runs=False) as outer:
        run = outer.run("How?", "a text")
    assert (run.answer, run.model) == ("deep", "pydantic-ai:unspool:rlm")
    assert run.usage.input_tokens


def test_many_agents_at_once_each_get_their_own_answer(make: Make) -> None:
    made = make(lambda messages: submits("context")[0])

    async def all_of_them() -> list[str]:
        agent = Agent(made.model)
        own: list[Any] = [{"extra_body": {"unspool": {"context": f"text {number}"}}} for number in range(8)]
        asked = [agent.run("What is it?", model_settings=settings) for settings in own]
        return [result.output for result in await asyncio.gather(*asked)]

    assert asyncio.run(all_of_them()) == [f"text {number}" for number in range(8)]


def test_without_the_package_one_line_says_how_to_have_it() -> None:
    code = (
        "import sys\nsys.modules['pydantic_ai'] = None\n"  # as where it is not installed
        "try:\n    from unspool.pydantic_ai import RLMModel\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    command = "pip install 'unspool[pydantic-ai]' (in a checkout: pip install '.[pydantic-ai]')"
    assert done.stdout == f"ConfigError RLMModel needs pydantic-ai: {command}\n"


def test_what_is_no_rlm_is_refused_at_once() -> None:
    for engine in ("openai:gpt-5", ScriptedModel([])):
        with pytest.raises(WrongSetting, match=r"engine=.*: give an RLM: RLMModel\(RLM\(…\)\)"):
            RLMModel(engine)  # type: ignore[arg-type]


async def test_a_short_prompt_has_no_input_to_look_at_first(make: Make) -> None:
    made = make(["```python\nsubmit('hello')\n```"])
    assert (await Agent(made.model).run("Say hello.")).output == "hello"
