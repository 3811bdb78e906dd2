"""``RLM.within``: one engine and its models under other limits."""

from __future__ import annotations

import pytest

from unspool import RLM, Budget, ConfigError
from unspool.testing import ScriptedModel

LOOK = "```python\nprint(len(context))\n```"
DONE = "```python\nsubmit(len(context))\n```"


def test_limits_only_become_tighter_and_the_engine_itself_stays_as_it_is() -> None:
    model = ScriptedModel(lambda messages: DONE if len(messages) > 2 else LOOK)
    engine = RLM(model, max_turns=2)
    assert engine.within(Budget(turns=1)).run("How long?", "abc").status == "budget"
    assert engine.within(Budget(turns=9)).within(Budget(turns=5)).run("How long?", "abc").answer == 3
    assert engine.within(Budget(tokens=10)).run("How long?", "abc").status == "budget"
    assert engine.run("How long?", "abc").answer == 3


def test_the_models_are_shared_and_instructions_are_added() -> None:
    model = ScriptedModel([LOOK, DONE])
    engine = RLM(model, instructions="Be brief.")
    other = engine.within(Budget(), instructions="Answer in French.")
    assert other.run("How long?", "abc").answer == 3
    assert "Be brief.\n\nAnswer in French." in model.requests[0].messages[-1].text
    engine.close()
    assert model.closed


def test_a_limit_in_dollars_is_refused_where_the_price_is_not_known() -> None:
    engine = RLM(ScriptedModel([LOOK, DONE], cost=None))
    with pytest.raises(ConfigError, match="price of scripted:model is not known"):
        engine.within(Budget(usd=1)).run("How long?", "abc")
    assert engine.run("How long?", "abc").cost is None
