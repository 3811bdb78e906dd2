"""Ours: the default sandbox, runs kept as always."""

from __future__ import annotations

from driver import QUERY, WIDTH, main


class Unspool:
    package = "unspool"
    where = "a sandboxed process"
    context = "context"

    def reply(self, code: str) -> str:
        return f"```python\n{code}\n```"

    def final(self, name: str) -> str:
        return self.reply(f"submit({name})")

    def batch(self, prompts: str) -> str:
        return f"llm_query_batched({prompts})"

    def children(self, queries: str) -> str:
        return f"r = rlm_query_batched({queries}, ['abc'] * 8)"

    def run(self, url: str, context: str) -> object:
        from unspool import RLM

        engine = RLM("openai:bench-root", sub_model="openai:bench-sub", concurrency=WIDTH)
        answer = engine.run(QUERY, context).answer
        engine.close()
        return answer


if __name__ == "__main__":
    main(Unspool())
