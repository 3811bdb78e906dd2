"""Short ways to script a run."""

from __future__ import annotations

from collections.abc import Sequence

from unspool import RLM, Run
from unspool.testing import ScriptedModel


def py(*cells: str) -> str:
    """A reply with these cells."""
    return "\n\n".join(f"```python\n{cell}\n```" for cell in cells)


def play(
    replies: Sequence[str],
    context: object = "line one\nline two\n",
    *,
    query: str = "What is there?",
    answer: object = None,
    sub: ScriptedModel | None = None,
    **settings: object,
) -> tuple[Run, ScriptedModel]:
    """Runs the scripted replies; gives the run and the model, which holds the requests."""
    model = ScriptedModel(list(replies))
    engine = RLM(model, sub_model=sub, **settings)  # type: ignore[arg-type]
    return engine.run(query, context, answer=answer), model


def shown(model: ScriptedModel, turn: int) -> str:
    """What the model was told after its reply number ``turn`` (from 1)."""
    return model.requests[turn].messages[-1].text
