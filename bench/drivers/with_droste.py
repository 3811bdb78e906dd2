"""``droste``, as a library, with its native environment."""

from __future__ import annotations

from driver import QUERY, WIDTH, main


class Droste:
    package = "droste"
    where = "the engine's process"
    context = "context"

    def reply(self, code: str) -> str:
        return f"```python\n{code}\n```"

    def final(self, name: str) -> str:
        return self.reply(f'answer["content"] = str({name})\nanswer["ready"] = True')

    def batch(self, prompts: str) -> str:
        # It takes fifty at a time.
        return (
            f"[x for p in [{prompts}] for i in range(0, len(p), 50) for x in llm_query_batched(p[i:i + 50])]"
        )

    def children(self, queries: str) -> None:
        return None

    def run(self, url: str, context: str) -> object:
        from droste import (
            Budget,
            EnvironmentConfig,
            OpenAICompatClient,
            OpenAICompatSubcallClient,
            RLMConfig,
            RolloutConfiguration,
            create_environment,
            create_environment_context,
            run_rlm,
        )

        budget = Budget(tokens=10**9, subcalls=100_000, wall_ms=600_000, max_iterations=40)
        settings = EnvironmentConfig(kind="native", budget=budget)
        execution = create_environment_context(settings)
        calls = OpenAICompatSubcallClient(
            model="bench-sub", context=execution, base_url=url, api_key="bench", max_parallel=WIDTH
        )
        environment = create_environment(
            settings, context=context, registry=None, subcalls=calls, execution_context=execution
        )
        root = OpenAICompatClient(model="bench-root", base_url=url, api_key="bench")
        config = RLMConfig(
            root_model="bench-root", budget=budget, rollout=RolloutConfiguration(concurrency=WIDTH)
        )
        return run_rlm(
            QUERY, environment=environment, root_llm=root, subcalls=calls, config=config, context=execution
        ).answer


if __name__ == "__main__":
    main(Droste())
