"""``rlms``, the reference implementation, with its local REPL."""

from __future__ import annotations

from driver import QUERY, WIDTH, main


class Rlms:
    package = "rlm"
    where = "the engine's process"
    context = "context"

    def reply(self, code: str) -> str:
        return f"```repl\n{code}\n```"

    def final(self, name: str) -> str:
        return self.reply(f'answer["content"] = {name}\nanswer["ready"] = True')

    def batch(self, prompts: str) -> str:
        return f"llm_query_batched({prompts})"

    def children(self, queries: str) -> str:
        return f"r = rlm_query_batched({queries}, model='bench-child')"

    def run(self, url: str, context: str) -> object:
        from rlm import RLM

        root, other = (
            {"model_name": model, "base_url": url, "api_key": "bench"}
            for model in ("bench-root", "bench-child")
        )
        engine = RLM(
            backend="openai",
            backend_kwargs=root,
            other_backends=["openai"],  # children and sub-calls
            other_backend_kwargs=[other],
            max_depth=2,
            max_concurrent_subcalls=WIDTH,
        )
        return engine.completion(context, root_prompt=QUERY).response


if __name__ == "__main__":
    main(Rlms())
