"""A question about several things: each is read by itself, whatever was found for all of them together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool import RLM
from unspool.models.protocol import Message
from unspool.prompts.small_several import each_of
from unspool.testing import ScriptedModel

ROOMS = ["Amber Room", "Blue Room", "Cedar Hall", "Dusk Chamber"]
KEEPERS = dict(zip(ROOMS, ["Ann Bell", "Bo Cox", "Cy Dee", "Di Eve"], strict=True))
FILLING = (
    "The house was built long before anybody who lives there now was born, and its walls have seen much. "
    "Some say that the wind is heard in winter, while others say that nothing but the clock is ever heard."
)
PROSE = "\n\n".join(
    f"{FILLING}\n\nThe keeper of the {room} is {keeper}, as everybody in the village knows by now."
    for room, keeper in KEEPERS.items()
)


def reader(messages: Sequence[Message]) -> str:
    """Names the keeper of the one room that it is asked about, where its text has it."""
    text, _, question = messages[-1].text.partition("\n\n")
    asked = [room for room in ROOMS if room in question]
    return KEEPERS[asked[0]] if len(asked) == 1 and KEEPERS[asked[0]] in text else "nobody"


def test_each_is_read_by_itself() -> None:
    asked = "Who are the keepers of the Amber Room, the Cedar Hall and the Dusk Chamber?"
    sub = ScriptedModel(reader)
    root = ScriptedModel([f"```python\nsubmit(read({asked!r}, A[:1]))\n```"])
    run = RLM(root, sub_model=sub, profile="small", runs=False).run(asked, PROSE)
    assert run.answer == "Ann Bell, Cy Dee, Di Eve"
    assert len(sub.requests) == 3


def test_one_thing_is_one_reading() -> None:
    asked = "Who is the keeper of the Blue Room?"
    sub = ScriptedModel(reader)
    root = ScriptedModel([f"```python\nsubmit(read({asked!r}, A))\n```"])
    assert RLM(root, sub_model=sub, profile="small", runs=False).run(asked, PROSE).answer == "Bo Cox"
    assert len(sub.requests) == 1


@pytest.mark.parametrize(
    ("question", "first", "count"),
    [
        ("What are the capitals of Peru, Chad and Mali?", "What is the capital of Peru?", 3),
        ("Who are the authors of Romeo and Juliet, Emma, and Dune?", "Who is the author of Romeo and Juliet?", 3),
        ("In which years were Oslo, Rome and Bonn founded?", "In which year was Oslo founded?", 3),
        ("What are the specialties of the mill, the inn and the well?", "What is the specialty of the mill?", 3),
        ("Where are the mill, the inn, the well and the barn kept? In short.", "Where is the mill kept?", 4),
    ],
)  # fmt: skip
def test_the_same_is_asked_of_each(question: str, first: str, count: int) -> None:
    found = each_of(question)
    assert (found[0], len(found)) == (first, count)


@pytest.mark.parametrize(
    "question",
    [
        "What are the names of the two brothers?",
        "Who are the owners of the mill and the inn?",
        "What is the capital of Peru, and what is that of Chad?",
        "What are the codes of , , and ?",
        "",
    ],
)
def test_what_is_no_list_of_three_is_left_whole(question: str) -> None:
    assert each_of(question) == []


@given(st.text(), st.lists(st.text(max_size=20), max_size=6))
def test_any_text_is_taken(text: str, things: list[str]) -> None:
    for question in (text, f"What are the {text}s of {', '.join(things)}?"):
        assert all(each and len(each) < len(question) + 20 for each in each_of(question))
