"""The names of spans and attributes: OpenTelemetry's for generative AI, and our own where it has none.

Pinned to the semantic conventions 1.41.0 (status: development): ``gen_ai.*`` and ``error.type`` are theirs,
the rest is ours and starts with ``unspool.``. A change of version is a change of this file alone.

>>> provider("bedrock:some-model"), model("bedrock:some-model"), provider("local:qwen")
('aws.bedrock', 'some-model', 'local')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VERSION: Final = "1.41.0"
SCHEMA_URL: Final = f"https://opentelemetry.io/schemas/{VERSION}"
SCOPE: Final = "unspool"

# Theirs
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION: Final = "gen_ai.conversation.id"  # the run
WORKFLOW: Final = "gen_ai.workflow.name"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_ID: Final = "gen_ai.agent.id"  # the node
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"  # content: the code of a cell
TOOL_RESULT: Final = "gen_ai.tool.call.result"  # content: what it printed
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"  # cached included, as ours
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"  # reasoning included, as ours
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
INPUT_MESSAGES: Final = "gen_ai.input.messages"  # content
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"  # content
ERROR_TYPE: Final = "error.type"

RUN, NODE, CELL, CALL = "invoke_workflow", "invoke_agent", "execute_tool", "chat"  # operations
TOOL = "python"  # what a cell is

# Ours
COST: Final = "unspool.cost_usd"
STATUS: Final = "unspool.status"
OUTCOME: Final = "unspool.outcome"
TURN: Final = "unspool.turn"
CELL_NUMBER: Final = "unspool.cell"
CALL_NUMBER: Final = "unspool.call"
BATCH: Final = "unspool.batch"
DEPTH: Final = "unspool.depth"
ROLE: Final = "unspool.role"
RETRIES: Final = "unspool.retries"
CACHED: Final = "unspool.cached"
SUB_CALLS: Final = "unspool.sub_calls"
TURNS: Final = "unspool.turns"
PROMPT_SIZE: Final = "unspool.prompt.characters"
REPLY_SIZE: Final = "unspool.reply.characters"
CODE_LINES: Final = "unspool.code.lines"
PRINTED: Final = "unspool.printed.characters"
QUERY: Final = "unspool.query"  # content
ANSWER: Final = "unspool.answer"  # content

_PROVIDERS: Mapping[str, str] = {
    "anthropic": "anthropic",
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}


def provider(name: str) -> str:
    """Of a model's name, "provider:model", as the conventions call it; else as we do."""
    first = name.partition(":")[0] if ":" in name else ""
    return _PROVIDERS.get(first, first or "_OTHER")


def model(name: str) -> str:
    return name.partition(":")[2] or name
