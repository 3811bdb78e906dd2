"""Our table of names against OpenTelemetry's own, of the package that is locked: what was renamed there is seen here."""

from __future__ import annotations

import ast
import re
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from unspool import span_names as names

attributes = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
TABLE = {
    value for name, value in vars(names).items() if name.isupper() and isinstance(value, str) and "." in value
}
THEIRS = sorted(value for value in TABLE if value.startswith("gen_ai."))
# Since 1.42.0 the names have a repository of their own; the package has them as 1.41.0 had them, and says so of each.
MOVED = re.compile(
    r"Deprecated: Moved to the \[OpenTelemetry GenAI semantic conventions repository\]\([^)]*\)\.?\s*$"
)


def told() -> dict[str, str]:
    """What the package says of each of its names."""
    body = ast.parse(Path(attributes.__file__).read_text("utf-8")).body
    return {
        ast.literal_eval(name.value): ast.literal_eval(text.value)
        for name, text in pairwise(body)
        if isinstance(name, ast.AnnAssign) and name.value is not None
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


def stale(name: str) -> str | None:
    """Why a name is not to be used, as the conventions have it."""
    text = told().get(name)
    if text is None:
        return "there is no such name"
    why = text.strip()
    return None if "Deprecated" not in why or MOVED.fullmatch(why) else why


@pytest.mark.parametrize("name", THEIRS)
def test_a_name_of_theirs_is_there_and_has_no_successor(name: str) -> None:
    assert stale(name) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gen_ai.system", "Replaced by `gen_ai.provider.name`"),
        ("gen_ai.usage.prompt_tokens", "Replaced by `gen_ai.usage.input_tokens`"),
        ("gen_ai.completion", "Removed"),
        ("gen_ai.usage.tokens", "there is no such name"),
    ],
)
def test_a_name_that_is_stale_would_be_seen(name: str, why: str) -> None:
    assert why in (stale(name) or "")


def values(of: str) -> set[str]:
    enum: type[Enum] = getattr(attributes, of)
    return {each.value for each in enum}


def test_operations_and_providers_are_theirs() -> None:
    assert {names.RUN, names.NODE, names.CELL, names.CALL} <= values("GenAiOperationNameValues")
    known = values("GenAiProviderNameValues")
    ours = (
        "anthropic",
        "azure",
        "bedrock",
        "deepseek",
        "gemini",
        "google",
        "groq",
        "mistral",
        "openai",
        "xai",
    )
    assert {names.provider(f"{each}:model") for each in ours} <= known


def test_the_rest_of_the_table_is_ours_or_stable() -> None:
    error: Any = pytest.importorskip("opentelemetry.semconv.attributes.error_attributes")
    assert error.ERROR_TYPE == names.ERROR_TYPE
    rest = TABLE - {*THEIRS, names.ERROR_TYPE, names.SCHEMA_URL, names.VERSION}
    assert rest
    assert all(value.startswith("unspool.") for value in rest)


def test_the_version_is_one_of_theirs_and_has_these_names() -> None:
    schemas = pytest.importorskip("opentelemetry.semconv.schemas")
    assert names.SCHEMA_URL in {each.value for each in schemas.Schemas}
