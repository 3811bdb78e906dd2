"""``recursive-llm``, over LiteLLM."""

from __future__ import annotations

from driver import QUERY, main


class RecursiveLlm:
    package = "rlm"
    where = "a process that RestrictedPython guards"
    context = "context"

    def reply(self, code: str) -> str:
        return code

    def final(self, name: str) -> str:
        return f"FINAL_VAR({name})"

    def batch(self, prompts: str) -> str:
        return f"llm_query_batched({prompts})"

    def children(self, queries: str) -> str:
        return f"r = rlm_query_batched({queries})"

    def run(self, url: str, context: str) -> object:
        from rlm import RLM

        # Wider than four, batches did not end where this was tried.
        engine = RLM(
            model="openai/bench-root",
            recursive_model="openai/bench-sub",
            api_base=url,
            api_key="bench",
            max_depth=2,
            max_concurrent_subcalls=4,
            repl_timeout=600,
            repl_max_snapshot_bytes=10**9,
        )
        return engine.complete(QUERY, context)


if __name__ == "__main__":
    main(RecursiveLlm())
