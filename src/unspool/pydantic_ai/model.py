"""The model: each request of an agent is a run of the engine.

Contract: the question is made by the rule of ``unspool serve``; the answer is the reply, of the type that the
agent wants, or calls of the agent's tools (:mod:`.wanted`). Progress is thinking. Usage is that of the whole
tree; its cost is ``None`` where a price is not known. What is left alone of the settings is what the engine
says itself: how its models are sampled. A request that is cancelled, or a stream that is left, cancels the
run. A request that cannot be a question is a ``UserError``; a run without an answer is a ``ModelAPIError``
of the category that it belongs to. This module needs pydantic-ai.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, ClassVar

from pydantic_ai.messages import ModelMessage, ModelResponse, ThinkingPart
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, check_allow_model_requests
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettingName, ModelSettings

from ..errors import WrongSetting
from ..server.problems import Problem
from ..server.running import Followed, followed, problem_of
from .asked import question
from .replied import error_of, finish_of, told, usage_of
from .streamed import RLMStream
from .wanted import Wanted, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_ai.tools import RunContext

    from ..rlm import RLM
    from ..server.question import Question

SYSTEM = "unspool"

PROFILE = ModelProfile(
    supports_json_schema_output=True,
    supports_json_object_output=True,
    default_structured_output_mode="native",
    supports_inline_system_prompts=True,  # they are instructions, wherever they stand
    supports_thinking=False,
)


class RLMModel(Model[None]):
    """An RLM as the model of an agent.

    :param engine: what answers; it stays yours to close.
    :param name: what replies call the model.
    :param settings: of each request, as for any model; ``extra_body={"unspool": {…}}`` overrides the rule.
    """

    unsupported_settings: ClassVar[frozenset[ModelSettingName]] = frozenset(
        ("timeout", "max_retries", "stop_sequences", "parallel_tool_calls", "extra_headers")
    )

    # Feedback comes as what it is, see .asked; where a version does not know this, as a message of the user.
    _renders_retry_feedback: ClassVar[bool] = True

    def __init__(self, engine: RLM, *, name: str = "rlm", settings: ModelSettings | None = None) -> None:
        from ..rlm import RLM

        if not isinstance(engine, RLM):
            raise WrongSetting("engine", engine, "give an RLM: RLMModel(RLM(…))")
        super().__init__(settings=settings, profile=PROFILE)
        self._engine = engine
        self._name = name

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def system(self) -> str:
        return SYSTEM

    @property
    def provider(self) -> None:
        return None

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        with self._problems():
            asked, want, _ = self._asked(messages, model_settings, model_request_parameters)
            async with followed(self._engine, asked) as run:
                async with aclosing(run.lines()) as lines:
                    progress = "".join([line async for line in lines])
                return self._response(run, want, progress)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        with self._problems():
            asked, want, parameters = self._asked(messages, model_settings, model_request_parameters)
            async with followed(self._engine, asked) as run:
                yield RLMStream(parameters, run, want, self._name, lambda: self._engine.cancel(run.id))

    def _asked(
        self,
        messages: Sequence[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> tuple[Question, Wanted, ModelRequestParameters]:
        check_allow_model_requests()
        settings, parameters = self.prepare_request(settings, parameters)
        want = wanted(parameters, settings)
        return question(messages, settings, parameters, want), want, parameters

    def _response(self, run: Followed, want: Wanted, progress: str) -> ModelResponse:
        if (problem := problem_of(run.end, run.question)) is not None:
            raise problem
        thought = [ThinkingPart(progress)] if progress else []
        replied = want.parts(run.end, run.question)
        return ModelResponse(
            parts=[*thought, *replied],
            usage=usage_of(run.end),
            model_name=self._name,
            provider_name=SYSTEM,
            provider_response_id=run.id,
            provider_details=told(run.end, run.question),
            finish_reason=finish_of(run.end, replied),
        )

    @contextmanager
    def _problems(self) -> Iterator[None]:
        """A problem as what pydantic-ai raises for it."""
        try:
            yield
        except Problem as problem:
            raise error_of(problem, self._name) from None
