"""The paper profile: endings in prose, there and nowhere else."""

from __future__ import annotations

import pytest

from unspool import RLM
from unspool.events import AnswerAccepted
from unspool.models.discover import resolve
from unspool.prompts import get_profile
from unspool.prompts.paper import ending
from unspool.testing import MemoryStore, ScriptedModel

from .engine.helpers import play

LOOK = "Let me look.\n\n```repl\nprint(len(context))\ntotal = 42\nanswer_text = 'a (b) c'\n```\n"


@pytest.mark.parametrize(
    ("prose", "code"),
    [
        ("FINAL(42)", "FINAL(42)"),
        ("FINAL(1,234)", "FINAL('1,234')"),
        ("FINAL(007)", "FINAL('007')"),
        ("FINAL(['a', 'b'])", "FINAL(['a', 'b'])"),
        ("FINAL(" + "[" * 5_000 + ")", f"FINAL({'[' * 5_000!r})"),
        ("So it is.\n  **FINAL(Paris (the one in Texas))**\nDone.", "FINAL('Paris (the one in Texas)')"),
        ('FINAL("quoted \\"text\\"")', "FINAL('quoted \"text\"')"),
        ("FINAL('it's broken')", "FINAL(\"'it's broken'\")"),
        ("FINAL(one\ntwo\n\nthree)", "FINAL('one\\ntwo\\n\\nthree')"),
        ("FINAL(total)", "FINAL(globals().get('total', 'total'))"),
        ("FINAL_VAR(total)", "FINAL_VAR('total')"),
        ('FINAL_VAR("total").', "FINAL_VAR('total')"),
        ("FINAL_VAR(the answer is 42)", "FINAL_VAR('the answer is 42')"),
        ("FINAL(a smile :-( at the end)", "FINAL('a smile :-( at the end')"),
        ("FINAL(I am first)\nFINAL(I am second)", "FINAL('I am first')"),
        ("My plan is to FINAL(the count)", None),
        ("FINAL(the count) is what I will write next.", None),
        ("FINAL(the count) comes after print(total)", None),
        ("FINAL()", None),
        ("FINAL(cut off in the", None),
        ("FINALLY(x)\nNOT_FINAL(x)\nfinal(x)", None),
        ("", None),
        ("FINAL(" * 5_000, None),
    ],
)
def test_endings_in_prose(prose: str, code: str | None) -> None:
    assert ending(prose) == code


@pytest.mark.parametrize(
    ("reply", "answer", "via"),
    [
        ("That is it.\nFINAL(forty-two)", "forty-two", "FINAL"),
        ("FINAL_VAR(total)", 42, "FINAL_VAR"),
        ("FINAL(1,234)", "1,234", "FINAL"),
        ("FINAL(total)", 42, "FINAL"),
        ("It is in a variable.\nFINAL(total)", 42, "FINAL"),
        ("It is no variable.\nFINAL(nothing_of_that_name)", "nothing_of_that_name", "FINAL"),
        ("FINAL_VAR(It is 42.)", "It is 42.", "FINAL_VAR"),
        ("FINAL_VAR(answer_text)", "a (b) c", "FINAL_VAR"),
        ("```repl\ntotal += 1\n```\nFINAL_VAR(total)", 43, "FINAL_VAR"),
        ("```repl\nFINAL_VAR('total')\n```\nFINAL(something else)", 42, "FINAL_VAR"),
    ],
)
def test_a_run_ends_in_prose(reply: str, answer: object, via: str) -> None:
    store = MemoryStore()
    run, _ = play([LOOK, reply], profile="paper", store=store)
    assert (run.status, run.answer) == ("answered", answer)
    assert [e.via for e in store.read(run.id) if isinstance(e, AnswerAccepted)] == [via]


@pytest.mark.parametrize(
    "reply",
    [
        "<think>\nFINAL(42)\n</think>\n```repl\nprint(total)\n```",
        "```repl\ns = '''\nFINAL(42)\n'''\nprint(s)\n```",
        "I plan to end with FINAL(42) later.\n```repl\nprint(1)\n```",
    ],
)
def test_what_only_looks_like_an_ending_is_none(reply: str) -> None:
    run, model = play([LOOK, reply, "FINAL(7)"], profile="paper")
    assert (run.answer, len(model.requests)) == (7, 3)


@pytest.mark.parametrize("profile", ["frontier", "small"])
def test_no_other_profile_takes_prose_for_an_answer(profile: str) -> None:
    run, _ = play(
        [LOOK, "It is clear by now.\nFINAL(42 doors)", "```python\nsubmit('done')\n```"], profile=profile
    )
    assert run.answer == "done"


def test_an_ending_is_checked_like_any_answer() -> None:
    run, model = play(["FINAL(too early: yes)", LOOK, "FINAL_VAR(nothing)", "FINAL(many)", "FINAL(42)"],
                      "a line of the input\n" * 500, profile="paper", answer=int)  # fmt: skip
    assert (run.status, run.answer) == ("answered", 42)
    assert "nothing has been printed" in model.requests[1].messages[-1].text
    assert "no variable 'nothing'" in model.requests[3].messages[-1].text
    assert "does not fit" in model.requests[4].messages[-1].text


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("mit-oasys/rlm-qwen3-8b-v0.1", "paper"),
        ("RLM-Qwen3-8B", "paper"),
        ("rlm_qwen3:8b-q4", "paper"),
        ("qwen3-8b", "frontier"),
        ("qwen3:1.7b", "small"),
        ("alarm-qwen", "frontier"),
    ],
)
def test_a_family_has_its_profile_by_name(name: str, profile: str) -> None:
    key = {"OPENAI_API_KEY": "sk-test-0123456789"}
    assert resolve(f"openai:{name}", environ=key).info.profile == profile


def test_a_profile_can_be_chosen_by_name_or_be_ones_own() -> None:
    model = ScriptedModel(["```python\nprint(1)\nsubmit('x')\n```"] * 2, profile="small")
    assert RLM(model, profile="paper").run("?", "abc").answer == "x"
    assert model.requests[0].messages[0].text == get_profile("paper").system
    from dataclasses import replace

    own = replace(get_profile("frontier"), name="mine", system="Be quick.")
    model = ScriptedModel(["```python\nprint(1)\nsubmit('x')\n```"] * 2)
    RLM(model, profile=own).run("?", "abc")
    assert model.requests[0].messages[0].text == "Be quick."
