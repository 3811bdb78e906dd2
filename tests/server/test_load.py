"""Many clients at once: none lost, none mixed up."""

from __future__ import annotations

import asyncio
import re

from unspool.testing import ScriptedModel

from .conftest import Start

CLIENTS = 200


async def test_two_hundred_streaming_clients_each_get_their_own_answer(serve: Start) -> None:
    def replies(messages: tuple[object, ...]) -> str:
        first = messages[1].text  # type: ignore[attr-defined]
        name = re.search(r"client-(\d+)", first)
        assert name is not None
        if len(messages) < 3:
            return "```python\nprint(context)\n```"
        return f"```python\nsubmit(('{name[0]}', context))\n```"

    up = await serve(ScriptedModel(replies, latency=0.05), runs=CLIENTS)

    async def ask(number: int) -> None:
        path = "/v1/responses" if number % 2 else "/v1/chat/completions"
        words = f"I am client-{number}. Who am I?"
        asked = {"input": words} if number % 2 else {"messages": [{"role": "user", "content": words}]}
        reply = await up.send(path, {**asked, "stream": True, "unspool": {"context": f"data of {number}"}})
        assert reply.status == 200, reply.body
        events = reply.events
        if number % 2:
            text = events[-1]["response"]["output"][-1]["content"][0]["text"]
        else:
            text = "".join(event["choices"][0]["delta"].get("content") or "" for event in events)
        assert text == f'["client-{number}", "data of {number}"]'
        run = reply.headers["x-unspool-run"]
        assert up.store.read(run)[0].query == words  # type: ignore[attr-defined]

    async with asyncio.timeout(240):
        await asyncio.gather(*(ask(number) for number in range(CLIENTS)))
    assert len(set(up.store.runs())) == CLIENTS
    assert up.service.runs.taken == 0
    assert f'unspool_runs_total{{status="answered"}} {CLIENTS}' in up.service.metrics.text(running=0)
