"""``minrlm``, as its README has it."""

from __future__ import annotations

from driver import QUERY, main


class Minrlm:
    package = "minrlm"
    where = "the engine's process"
    context = "input_0"

    def reply(self, code: str) -> str:
        return f"```python\n{code}\n```"

    def final(self, name: str) -> str:
        look = (
            f"search({self.context}[:100], 'line')"  # it refuses an answer of a model that has not searched
        )
        return self.reply(f"{look}\nFINAL(str({name}))")

    def batch(self, prompts: str) -> str:
        return f"sub_llm_batch([(p, '') for p in {prompts}])"

    def children(self, queries: str) -> None:
        return None

    def run(self, url: str, context: str) -> object:
        from minrlm import RLM

        engine = RLM(
            model="bench-root", base_url=url, api_key="bench", max_iterations=40, max_sub_llm_calls=100_000
        )
        return engine.completion(task=QUERY, context=context).response


if __name__ == "__main__":
    main(Minrlm())
