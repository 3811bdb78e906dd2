"""Short ways to run a strategy on a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unspool import RLM, Message, ModelReply, Run
from unspool.strategies import StrategyName
from unspool.testing import ScriptedModel

WINDOW = 4_000  # tokens


def by(
    strategy: StrategyName,
    replies: Sequence[str | ModelReply] | Callable[[tuple[Message, ...]], str],
    context: object = "line one\nline two\n",
    *,
    query: str = "What is there?",
    answer: object = None,
    window: int | None = WINDOW,
    sub: ScriptedModel | None = None,
    profile: str = "frontier",
    **settings: object,
) -> tuple[Run, ScriptedModel]:
    """Runs the scripted replies; gives the run and the model, which holds the requests."""
    model = ScriptedModel(replies, window=window, profile=profile)
    engine = RLM(model, sub_model=sub, strategy=strategy, runs=False, **settings)  # type: ignore[arg-type]
    return engine.run(query, context, answer=answer), model


def asked(model: ScriptedModel, request: int = 0) -> str:
    """The last message of a request."""
    return model.requests[request].messages[-1].text


def all_text(model: ScriptedModel) -> str:
    """All that the model was shown."""
    return "\n".join(message.text for request in model.requests for message in request.messages)
