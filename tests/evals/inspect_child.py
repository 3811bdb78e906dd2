"""Runs suites through inspect-ai in a process of its own, as inspect's users do; says where each log is.

``python -m tests.evals.inspect_child FOLDER`` prints a JSON object: case -> path. A process of its own, since
inspect-ai leaves streams to the collector, and warns of its own dependencies, which are errors in our tests.
"""

from __future__ import annotations

import json
import sys

from inspect_ai import eval as evaluate
from inspect_ai.model import ChatMessage, Model, ModelOutput, ModelUsage, get_model

from unspool.evals.inspect_tasks import TASKS

USED = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}


def finds(messages: list[ChatMessage]) -> str:
    """A root that asks a sub-model, and answers any question about one needle."""
    line = messages[-1].text.strip().splitlines()[-1]
    if line == "Say yes.":
        return "yes"
    return (
        f"```python\nimport re\nname = re.search('access code of the (.*)[?]', {line!r})[1]\n"
        "assert llm_query('Say yes.') == 'yes'\nprint(name)\n"
        "submit(re.search(f'code of the {name} is (\\\\w+)', context)[1])\n```"
    )


def fails(_: list[ChatMessage]) -> str:
    raise RuntimeError("the server is gone")


REPLIES = {
    "right": finds,
    "wrong": lambda _: "```python\nsubmit('nothing')\n```",
    "limit": lambda _: "```python\nprint(1)\n```",
    "fails": fails,
}


def model(case: str) -> Model:
    def outputs(messages: list[ChatMessage], *_: object) -> ModelOutput:
        output = ModelOutput.from_content("mockllm/model", REPLIES[case](messages))
        output.usage = ModelUsage(**USED)
        return output

    return get_model("mockllm/model", custom_outputs=outputs, memoize=False)


def main(folder: str) -> None:
    paths: dict[str, str] = {}
    for case in REPLIES:
        asked = (
            {"sizes": 2_000, "seeds": 2, "tasks": "number,word"}
            if case == "right"
            else {"sizes": "2k", "seeds": 1, "tasks": "word"}
        )
        limit = 250 if case == "limit" else None
        (log,) = evaluate(
            TASKS["needle"](**asked), model=model(case), log_dir=folder, display="none", token_limit=limit
        )
        paths[case] = log.location
    print(json.dumps(paths))


if __name__ == "__main__":
    main(sys.argv[1])
