"""An RLM as a language model of DSPy's: long fields of a signature are contexts that no prompt holds.

``pip install dspy``, then ``python examples/dspy_lm.py`` asks the model that unspool finds about a log,
for ten minutes at most, and tells of each turn on stderr.
:func:`language_model` is all that a program of DSPy's needs. It is an engine of DSPy's own (3.4 and later):
nothing goes through LiteLLM, and nothing over a network but the calls of unspool's models.
"""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import dspy
from dspy.lm15 import (
    BillingError,
    Message,
    ProviderError,
    Request,
    Response,
    TextPart,
    Usage,
    response_to_events,
)

from unspool import RLM, Budget, Run

LOG = Path(__file__).parent / "data" / "openssh_2k.log"
LONG = 4_000  # characters of a field, from which on it is a context
WISH = "\n\nRespond with "  # begins what DSPy writes behind the fields
FIELD = re.compile(r"^\[\[ ## (\w+) ## \]\]\n(.*?)(?=^\[\[ ## \w+ ## \]\]$|\Z)", re.DOTALL | re.MULTILINE)


class FailedAttempts(dspy.Signature):
    """Answer the question about the log."""

    log: str = dspy.InputField()
    question: str = dspy.InputField()
    address: str = dspy.OutputField()
    attempts: int = dspy.OutputField()


def language_model(rlm: RLM) -> dspy.LM:
    return dspy.LM("unspool", engine=Engine(rlm), async_engine=AsyncEngine(rlm), cache=False)


class Engine:
    """One request of DSPy's is one run."""

    def __init__(self, rlm: RLM) -> None:
        self.rlm = rlm

    def complete(self, request: Request) -> Response:
        query, contexts = asked(request)
        return replied(self.rlm.run(query, contexts))

    def stream(self, request: Request):  # type: ignore[no-untyped-def]
        return response_to_events(self.complete(request))

    def close(self) -> None:
        """The RLM is its user's to close."""


class AsyncEngine:
    """The same for ``acall``: leaving it cancels the run."""

    def __init__(self, rlm: RLM) -> None:
        self.rlm = rlm

    async def complete(self, request: Request) -> Response:
        query, contexts = asked(request)
        return replied(await self.rlm.arun(query, contexts))

    async def stream(self, request: Request):  # type: ignore[no-untyped-def]
        for event in response_to_events(await self.complete(request)):
            yield event

    async def aclose(self) -> None:
        """The RLM is its user's to close."""


def asked(request: Request) -> tuple[str, dict[str, str]]:
    """The question, and the long fields by their names. What else was said stands in the question."""
    contexts: dict[str, str] = {}

    def shortened(field: re.Match[str]) -> str:
        name, value = field[1], field[2].rstrip()
        if len(value) <= LONG:
            return field[0]
        if contexts.setdefault(name, value) != value:  # of an example
            contexts[name := f"{name}_{len(contexts)}"] = value
        return f"[[ ## {field[1]} ## ]]\n({len(value):,} characters: context[{name!r}])\n\n"

    said = []
    for message in reversed(request.messages):  # so that the fields that are asked about keep their names
        text = message.text or ""
        fields, wish, form = text.rpartition(WISH)
        told = FIELD.sub(shortened, f"{fields if wish else text}\n") + (wish + form if wish else "")
        said.insert(0, told if len(request.messages) == 1 else f"{message.role}:\n{told}")
    system = request.system if isinstance(request.system, str) else ""
    end = "Submit what is to be responded, as text or as a dict of the fields."
    return "\n\n".join(filter(None, [system, *said, end])), contexts


def replied(run: Run) -> Response:
    if run.status != "answered":
        kind = BillingError if run.status == "budget" else ProviderError  # neither is sent, and paid, again
        raise kind(f"the run {run.id} has no answer: {run.reason}")
    text = run.answer if isinstance(run.answer, str) else json.dumps(run.answer, default=str)
    usage = Usage(
        input_tokens=run.usage.input_tokens,
        output_tokens=run.usage.output_tokens,
        cache_read_tokens=run.usage.cached_tokens,
        reasoning_tokens=run.usage.reasoning_tokens,
    )
    message = Message.assistant([TextPart(text)])
    return Response(id=run.id, model=run.model, message=message, finish_reason="stop", usage=usage)


def ask(rlm: RLM, log: str, question: str) -> dspy.Prediction:
    with dspy.context(lm=language_model(rlm), adapter=dspy.JSONAdapter()):
        return dspy.Predict(FailedAttempts)(log=log, question=question)


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("unspool").setLevel(logging.INFO)  # a line a turn
    with RLM(budget=Budget(seconds=600)) as rlm:
        found = ask(
            rlm, LOG.read_text(), "Which IP address had the most failed password attempts, and how many?"
        )
    print(f"{found.address}: {found.attempts} attempts")


if __name__ == "__main__":
    main()
