"""A root and a sub-model that make no mistake, or a mistake now and then: what is lost then is the engine's.

Contract: the root writes the program of the sample, which reads the context and never knows the answer; the
sub-model replies the true label of each item, and the true answer to each question over a document, with
probability ``right``; else another one. Which items it gets wrong follows from the seed and the item alone.
``oracle`` and ``oracle:0.9`` are its names. It has no other model's faults: it is no forecast of a score.

>>> import asyncio
>>> from unspool import RLM
>>> from .suites import SUITES
>>> sample = SUITES["pairs"].make(1_000, seed=1)[0]
>>> root, sub = Oracle(1.0).models(sample)
>>> with RLM(root, sub_model=sub, runs=False) as engine:
...     engine.run(sample.question, sample.context).answer == sample.gold
True
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..checks import near
from ..errors import ConfigError, ModelError
from ..models.naming import BEGINNINGS
from ..models.protocol import Message
from ..packs import DO, ITEMS
from ..testing import ScriptedModel
from .sample import Sample

NAME = "oracle"
_ITEM = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Oracle:
    """``right``: how probable a right reply of the sub-model is."""

    right: float = 1.0

    @classmethod
    def of(cls, name: str) -> Oracle | None:
        """The oracle of this name; ``None`` for the name of another model.

        >>> Oracle.of("oracle:0.9"), Oracle.of("openai:gpt-5")
        (Oracle(right=0.9), None)
        """
        kind, colon, share = name.strip().partition(":")
        if kind != NAME:
            return None
        try:
            right = float(share) if colon else 1.0
        except ValueError:
            right = -1.0
        if not 0 <= right <= 1:
            raise ConfigError(
                f"model {name!r}: give oracle or oracle:P, P from 0 to 1, how often it is right"
            )
        return cls(right)

    @property
    def name(self) -> str:
        return NAME if self.right == 1 else f"{NAME}:{self.right:g}"

    def models(self, sample: Sample) -> tuple[ScriptedModel, ScriptedModel]:
        """The root and the sub-model for one sample."""
        knows = Knows(sample, self.right)
        root = ScriptedModel(lambda messages: _written(sample, messages), name=self.name)
        return root, ScriptedModel(knows.reply, name=self.name)


def meant_oracle(name: str) -> bool:
    """Whether it is nearer to the oracle's name than to how any model's begins.

    >>> meant_oracle("orcale:0.9"), meant_oracle("openai:gpt-5"), meant_oracle("ollama:x")
    (True, False, False)
    """
    first = name.strip().partition(":")[0]
    return first not in BEGINNINGS and near(first, (NAME, *BEGINNINGS)) == NAME


def _written(sample: Sample, messages: Sequence[Message]) -> str:
    """A look, then the program; where that was not the end, what it has found once more."""
    before = sum(message.role == "assistant" for message in messages)
    cells = ("print(type(context), len(context))", sample.program)
    return f"```python\n{cells[before] if before < len(cells) else 'submit(result)'}\n```"


class Knows:
    """What the sub-model replies."""

    def __init__(self, sample: Sample, right: float) -> None:
        self._sample = sample
        self._right = right
        self._names = sorted(set(sample.labels.values()))
        self._replies = sorted(set(sample.facts.values()))

    def reply(self, messages: Sequence[Message]) -> str:
        """To a pack of numbered items, to one item after its labels, or to a question over a document."""
        text = messages[-1].text
        if ITEMS in text:
            body = text.partition(ITEMS)[2].rpartition(DO)[0]
            return json.dumps({number: self._label(item) for number, item in _ITEM.findall(body)})
        if text in self._sample.labels:
            return self._label(text)
        question = text.partition("\n")[0]
        if question in self._sample.facts:
            return self._said(question, self._sample.facts[question], self._replies)
        raise ModelError("bad_request", f"the oracle does not know {text[:200]!r}", model=NAME)

    def _label(self, item: str) -> str:
        return self._said(item, self._sample.labels[item], self._names)

    def _said(self, about: str, true: str, names: Sequence[str]) -> str:
        if self._right == 1:
            return true
        chance = random.Random(f"{self._sample.seed}/{about}")
        others = [name for name in names if name != true]
        return chance.choice(others) if others and chance.random() >= self._right else true
