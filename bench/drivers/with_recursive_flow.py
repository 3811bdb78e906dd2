"""``recursive-flow`` with its client for OpenAI and its local runtime."""

from __future__ import annotations

from driver import QUERY, WIDTH, main


class RecursiveFlow:
    package = "rflow"
    where = "the engine's process"
    context = 'INPUTS["context"]'

    def reply(self, code: str) -> str:
        return f"```repl\n{code}\n```"

    def final(self, name: str) -> str:
        return self.reply(f"done({name})")

    def batch(self, prompts: str) -> str:
        return f"llm_query_batched({prompts})"

    def children(self, queries: str) -> str:
        return f"r = await launch_subagents([{{'name': 'c', 'query': q}} for q in {queries}])"

    def run(self, url: str, context: str) -> object:
        from rflow import Flow, OpenAIClient

        client = OpenAIClient(model="bench-root", base_url=url, api_key="bench")
        flow = Flow(client, max_iters=40, max_concurrency=WIDTH, llm_max_concurrency=WIDTH)
        return flow.run(QUERY, {"context": context})


if __name__ == "__main__":
    main(RecursiveFlow())
