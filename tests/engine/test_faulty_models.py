"""What a model of one's own raises by mistake comes out as it is, and is blamed on nothing else."""

from __future__ import annotations

import pytest

from tests.engine.helpers import py
from unspool import RLM
from unspool.testing import ScriptedModel


@pytest.mark.parametrize("error", [IndexError, KeyError, ValueError, TypeError])
@pytest.mark.parametrize("call", ["llm_query('a')", "llm_query_batched(['a', 'b'])", "llm_map('a', ['b'])"])
def test_a_mistake_in_a_model_is_raised(error: type[Exception], call: str) -> None:
    def reply(_: object) -> str:
        raise error("a mistake of the model's own")

    rlm = RLM(ScriptedModel([py(f"print(1)\nsubmit({call})")]), sub_model=ScriptedModel(reply), runs=False)
    with pytest.raises((error, ExceptionGroup)) as raised:
        rlm.run("q", "text")
    inner: BaseException = raised.value
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    assert isinstance(inner, error)
    assert "a mistake of the model's own" in str(inner)
