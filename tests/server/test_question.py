"""The rule by which a request becomes a question over named contexts."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from unspool import Budget, Contexts, Image
from unspool.server.bodies import ChatMessage, InputItem, Options
from unspool.server.messages import turns_of_chat, turns_of_input
from unspool.server.problems import Problem
from unspool.server.question import END, LONG, Question, question_of


def chat(*messages: dict[str, Any], **unspool: Any) -> Question:
    turns = turns_of_chat([ChatMessage.model_validate(message) for message in messages])
    return question_of(turns, Options.model_validate(unspool) if unspool else None)


def user(*parts: Any) -> dict[str, Any]:
    content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else [part(p) for p in parts]
    return {"role": "user", "content": content}


def part(given: Any) -> Any:
    return {"type": "text", "text": given} if isinstance(given, str) else given


def file(text: str, name: str | None = "notes.txt") -> dict[str, Any]:
    data = "data:text/plain;base64," + base64.b64encode(text.encode()).decode()
    return {"type": "file", "file": {"file_data": data, **({"filename": name} if name else {})}}


LETTER = "once upon a time " * 500


def test_a_short_message_is_the_query_over_nothing() -> None:
    asked = chat(user("How many r in strawberry?"))
    assert (asked.query, asked.context, asked.instructions) == ("How many r in strawberry?", "", "")


def test_system_messages_are_instructions() -> None:
    asked = chat(
        {"role": "system", "content": "Be brief."}, {"role": "developer", "content": "In French."}, user("x")
    )
    assert asked.instructions == "Be brief.\n\nIn French."


def test_a_long_part_is_the_context_of_the_short_one() -> None:
    assert chat(user(LETTER, "Who?")) == Question("Who?", LETTER)
    two = chat(user(LETTER, "Who?", LETTER + "!"))
    assert two.context == Contexts(message=LETTER, message_2=LETTER + "!")


def test_of_a_long_message_alone_the_query_shows_both_ends_and_where_it_is() -> None:
    text = "Count the words:\n" + LETTER + "\nThat was it."
    asked = chat(user(text))
    assert asked.context == text
    assert "the whole of it is `context`," in asked.query
    assert text[:END] in asked.query
    assert asked.query.endswith("That was it.")
    assert len(asked.query) < LONG
    with_file = chat(user(text, file("a")))
    assert "the whole of it is `message`," in with_file.query
    assert with_file.context == Contexts(message=text, files={"notes.txt": "a"})


def test_many_short_parts_that_are_long_together_are_a_long_message() -> None:
    asked = chat(user(*["word " * 200] * 10))
    assert len(asked.query) < LONG
    assert isinstance(asked.context, str)
    assert len(asked.context) > LONG


def test_files_of_all_turns_are_contexts_by_name() -> None:
    asked = chat(
        user("Read this.", file("one")), {"role": "assistant", "content": "Done."}, user("And?", file("two"))
    )
    assert asked.query == "And?"
    assert asked.context == Contexts(
        files={"notes.txt": "one", "notes.txt (2)": "two"},
        conversation=[{"role": "user", "text": "Read this."}, {"role": "assistant", "text": "Done."}],
    )
    three = chat(user("Compare.", file("1"), file("2"), file("3")))
    assert three.context == {"notes.txt": "1", "notes.txt (2)": "2", "notes.txt (3)": "3"}
    assert chat(user("Read.", file("one", None))).context == "one"


def test_calls_of_the_client_s_own_tools_stay_in_the_conversation() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = chat(
        user("Look."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "found"},
        user("So?"),
    )
    assert asked.context == [
        {"role": "user", "text": "Look."},
        {"role": "assistant", "text": "", "other": [call]},
        {"role": "tool", "text": "found"},
    ]


def test_what_follows_the_last_user_message_is_conversation() -> None:
    asked = chat(user("Look."), {"role": "tool", "content": "found"})
    assert (asked.query, asked.context) == ("Look.", [{"role": "tool", "text": "found"}])


def test_long_instructions_are_a_context_and_are_pointed_at() -> None:
    asked = chat({"role": "system", "content": LETTER}, user("Who?", file("one")))
    assert asked.context == Contexts(files={"notes.txt": "one"}, instructions=LETTER)
    assert "`instructions`;" in asked.instructions


def test_the_rule_can_be_overridden() -> None:
    given = {"rows": [1, 2, {"deep": None}]}
    asked = chat(user("How many rows?"), context=given)
    assert (asked.query, asked.context) == ("How many rows?", given)
    asked = chat(user("a short text"), query="How many words?")
    assert (asked.query, asked.context) == ("How many words?", "a short text")
    asked = chat(user("ignored"), query="How many rows?", context=given)
    assert (asked.query, asked.context) == ("How many rows?", given)
    assert chat({"role": "assistant", "content": "a"}, query="What was said?").context == [
        {"role": "assistant", "text": "a"}
    ]


def test_limits_are_a_budget() -> None:
    asked = chat(user("x"), budget={"usd": 0.5, "calls": 3}, max_turns=4, max_depth=0)
    assert asked.budget == Budget(usd=0.5, calls=3, turns=4, depth=0)


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"type": "input_audio", "input_audio": {}}, "messages[0].content[1].type"),
        ({"type": "image_url", "image_url": {"url": "http://a/b.png"}}, "messages[0].content[1].image_url"),
        (
            {"type": "image_url", "image_url": {"url": "data:;base64,AAAA"}},
            "messages[0].content[1].image_url",
        ),
        ({"type": "image_url"}, "messages[0].content[1].image_url"),
        ({"type": "file", "file": {"file_id": "f1"}}, "messages[0].content[1].file.file_data"),
        ({"type": "file"}, "messages[0].content[1].file.file_data"),
        ({"type": "file", "file": {"file_data": "not base64!"}}, "messages[0].content[1].file.file_data"),
        ({"type": "file", "file": {"file_data": "data:text/plain"}}, "messages[0].content[1].file.file_data"),
        ({"type": "file", "file": {"file_data": "AAAA"}}, "messages[0].content[1].file"),
        ({"type": "text"}, "messages[0].content[1].text"),
    ],
)
def test_a_part_that_cannot_be_read_is_named(given: dict[str, Any], param: str) -> None:
    with pytest.raises(Problem) as caught:
        chat(user("x", given))
    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize("data", ["aGk=", "data:;base64,aGk=", "data:text/plain,h%69"])
def test_file_data_may_be_base64_or_a_data_url(data: str) -> None:
    assert chat(user("x", {"type": "file", "file": {"file_data": data}})).context == "hi"


def test_the_responses_shape_says_the_same() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Read."}]},
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        {"type": "function_call_output", "call_id": "1", "output": "found"},
        {"role": "user", "content": [
            {"type": "input_file", "filename": "a.csv", "file_data": "YSxi"},
            {"type": "input_text", "text": "And?"},
        ]},
    ]  # fmt: skip
    turns = turns_of_input([InputItem.model_validate(item) for item in items])
    asked = question_of(turns, None, field="input")
    assert asked.query == "And?"
    assert isinstance(asked.context, Contexts)
    assert asked.context["files"] == {"a.csv": "a,b"}
    earlier: Any = asked.context["conversation"]
    assert [each["role"] for each in earlier] == ["user", "assistant", "tool"]
    assert earlier[2]["other"]["output"] == "found"
    with pytest.raises(Problem, match=r"input\[0\]: no items are kept"):
        turns_of_input([InputItem(type="item_reference")])
    with pytest.raises(Problem, match=r"input\[0\]\.role: is missing"):
        turns_of_input([InputItem(content="x")])


def test_images_are_contexts() -> None:
    data = "data:image/gif;base64," + base64.b64encode(b"GIF89a\x02\x00\x03\x00" + bytes(20)).decode()
    shown = {"type": "image_url", "image_url": {"url": data}}
    one = chat(user("What is on it?", shown)).context
    assert isinstance(one, Image)
    assert (one.format, one.width, one.height) == ("gif", 2, 3)
    as_file = {"type": "file", "file": {"filename": "a.gif", "file_data": data}}
    assert chat(user("Do they differ?", shown, as_file)).context == [one, one]
    item = InputItem.model_validate(
        {
            "role": "user",
            "content": [{"type": "input_image", "image_url": data}, {"type": "input_text", "text": "?"}],
        }
    )
    assert question_of(turns_of_input([item]), None).context == one
