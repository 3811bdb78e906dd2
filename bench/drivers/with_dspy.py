"""``dspy.RLM`` with its local interpreter; its default one needs Deno and a download."""

from __future__ import annotations

from driver import CHILDREN, QUERY, main


class Dspy:
    package = "dspy"
    where = "a process of its own"
    context = "context"

    def reply(self, code: str) -> str:
        return (
            f"[[ ## reasoning ## ]]\nThe next step.\n\n[[ ## code ## ]]\n```python\n{code}\n```\n\n"
            "[[ ## completed ## ]]"
        )

    def final(self, name: str) -> str:
        return self.reply(f"SUBMIT(str({name}))")

    def batch(self, prompts: str) -> str:
        return f"llm_query_batched({prompts})"

    def children(self, queries: str) -> str:
        return (
            "import dspy\nfrom concurrent.futures import ThreadPoolExecutor\n"
            "def child(query):\n    made = dspy.RLM('context, query -> answer')\n"
            "    return made(context='abc', query=query).answer\n"
            f"with ThreadPoolExecutor({CHILDREN}) as pool:\n    r = list(pool.map(child, {queries}))"
        )

    def run(self, url: str, context: str) -> object:
        import dspy
        from dspy.primitives.local_interpreter import LocalInterpreter

        root, sub = (
            dspy.LM(f"openai/{model}", api_base=url, api_key="bench", cache=False)
            for model in ("bench-root", "bench-sub")
        )
        engine = dspy.RLM(
            "context, query -> answer",
            max_iters=40,
            max_llm_calls=100_000,
            sub_lm=sub,
            interpreter_factory=LocalInterpreter,
        )
        with dspy.context(lm=root):
            return engine(context=context, query=QUERY).answer


if __name__ == "__main__":
    main(Dspy())
