"""What a strategy is: a way to answer a question over an input, on the models and limits of a run.

Contract: a strategy is pure. It is :class:`Given` what is known before anything is sent, and makes a
:class:`Plan` of it: the profile that the node runs with, and tighter limits. The loop, the budget, retries,
the cache, the journal, typed answers and coverage are the same for every strategy. What one does before the
model is asked is a program of its own, run in the sandbox as the profile's first look (turn 0): so it can be
read in a trace, its sub-calls are known when the run is resumed, and files are read where they always are.

>>> names()[:3]
('rlm', 'no_subcalls', 'direct')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, get_args

if TYPE_CHECKING:
    from ..answers import AnswerType
    from ..models.protocol import ModelInfo
    from ..prompts import Profile
    from ..scope import Limits

StrategyName = Literal[
    "rlm",
    "no_subcalls",
    "direct",
    "codeact",
    "codeact_subcalls",
    "compaction",
    "retrieval",
    "map_reduce",
    "auto",
]

CHILDREN = ("rlm_query", "rlm_query_batched")
SUB_CALLS = ("llm_query", "llm_query_batched", "llm_map", "classify", *CHILDREN)
"""What code in the REPL asks models with."""
OF_MODELS = (*SUB_CALLS, "LLMError", "FailedCall")
"""The same, and what comes of it: what a REPL without models lacks."""
CHARACTERS_PER_TOKEN = 4  # of a size: no tokenizer is needed to know one, and no two models share one


def names() -> tuple[StrategyName, ...]:
    """The names of all strategies."""
    return get_args(StrategyName)


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of a run before anything is sent."""

    query: str
    context: object
    description: str  # of the context
    answer: AnswerType
    instructions: str  # the user's own
    root: ModelInfo
    sub: ModelInfo
    profile: Profile  # that suits the model
    sub_profile: Profile
    limits: Limits
    reply: int | None = None  # tokens of a reply, where the user's settings say so


@dataclass(frozen=True, slots=True)
class Choice:
    """What ``auto`` has decided. Sizes in tokens, ``size`` of four characters each; None: not known."""

    strategy: StrategyName
    reason: str
    size: int | None
    window: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """How the node runs."""

    profile: Profile
    sub_profile: Profile
    limits: Limits
    notes: tuple[str, ...] = ()  # for the run
    chosen: Choice | None = None


class Strategy(Protocol):
    """See the module docstring."""

    def __call__(self, given: Given) -> Plan: ...
