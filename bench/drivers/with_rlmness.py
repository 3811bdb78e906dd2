"""``rlmness`` with its subprocess, where its WebAssembly sandbox is not set up."""

from __future__ import annotations

from driver import QUERY, WIDTH, main


class Rlmness:
    package = "rlmness"
    where = "a process of its own"
    context = "PROMPT"

    def reply(self, code: str) -> str:
        return f"```python\n{code}\n```"

    def final(self, name: str) -> str:
        return self.reply(f"FINAL({name})")

    def batch(self, prompts: str) -> None:
        return None  # each piece is an agent

    def children(self, queries: str) -> str:
        return f"r = await gather_rlm([q + ' ' for q in {queries}])"

    def run(self, url: str, context: str) -> object:
        from rlmness import Config, solve
        from rlmness.providers import ChatClient, Provider

        provider = Provider("bench", f"{url}/chat/completions", "OPENAI_API_KEY")
        config = Config(
            primary_agent="bench-root",
            max_steps=40,
            max_calls=10**6,
            max_concurrent=WIDTH,
            runtime="subprocess",
        )
        return solve(context, ChatClient("bench", provider=provider), config=config, instruction=QUERY).output


if __name__ == "__main__":
    main(Rlmness())
