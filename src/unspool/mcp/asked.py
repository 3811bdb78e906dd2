"""What the tools take, as pydantic models; their JSON schemas are what a client is told.

Contract: an unknown argument is refused with the known ones: it is a typing error, and what it should have
said would be lost. The schemas are plain objects without references or unions with null, which not every
client reads.

>>> read("close", {"handle": "h"})
Close(handle='h')
>>> read("close", {"hand": "h"})
Traceback (most recent call last):
...
unspool.mcp.bounds.Refused: close: handle: is missing; hand: there is no such argument (known: handle)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from ..budget import Budget
from ..misfits import plainly
from ..safe_text import one_line
from .bounds import LOOKED, MOST, Refused

LONGEST_TEXT = 2_000_000  # characters handed over in a call; more is a file
LONGEST_CODE = 200_000
LONGEST_QUESTION = 20_000

Handle = Annotated[str, Field(min_length=1, max_length=100, description="What open_context gave.")]
Part = Annotated[
    str,
    Field(
        max_length=4_096,
        description="A part of the context: a path in a folder, a key, an item by number; without it: all.",
    ),
]
Usd = Annotated[float, Field(gt=0, allow_inf_nan=False, description="Spend at most so many US dollars.")]
Tokens = Annotated[int, Field(gt=0, le=10**15, description="Read and write at most so many tokens.")]
Calls = Annotated[int, Field(ge=0, le=10**15, description="Make at most so many sub-calls.")]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False, description="Take at most so long.")]


class Asked(BaseModel):
    """The arguments of a tool. ``tool``: its name; what it is for is the class's docstring."""

    model_config = ConfigDict(extra="forbid", strict=True)
    tool: ClassVar[str]
    reads_only: ClassVar[bool] = True
    asks_models: ClassVar[bool] = False


class OpenContext(Asked):
    """Open a long input (files, a folder, a glob, or text) without reading it into your window. Gives a
    handle for the other tools and a short description of constant size, whatever the input. The input stays
    outside of your window, in a sandboxed Python REPL that run_code drives and that ask answers questions
    over."""

    tool = "open_context"

    path: str | list[str] | None = Field(
        None,
        description='A file, a folder or a glob ("logs/*.gz"), or a list; text, tables, SQLite, archives.',
    )
    text: Annotated[str, Field(max_length=LONGEST_TEXT)] | None = Field(
        None, description="The input itself, in place of a path."
    )
    usd: Usd | None = None
    tokens: Tokens | None = None
    calls: Calls | None = None

    @model_validator(mode="after")
    def _one(self) -> OpenContext:
        if bool(self.path) == bool(self.text):
            raise ValueError("give either path or text, and not an empty one")
        return self

    @property
    def budget(self) -> Budget:
        return Budget(usd=self.usd, tokens=self.tokens, calls=self.calls)


class Look(Asked):
    __doc__ = f"""Look at a context: its description, how it begins or ends, or the lines that match a regular
    expression. At most {LOOKED:,} characters of it; the cut is named."""

    tool = "look"

    handle: Handle
    what: Literal["description", "head", "tail", "grep"] = "description"
    pattern: Annotated[str, Field(max_length=2_000)] | None = Field(
        None, description="For grep: a regular expression of Python's."
    )
    part: Part = ""
    limit: Annotated[int, Field(ge=1, le=200, description="For grep: matches at most.")] = 30

    @model_validator(mode="after")
    def _pattern(self) -> Look:
        if self.what == "grep" and not self.pattern:
            raise ValueError("pattern: grep needs one")
        return self


class RunCode(Asked):
    """Run Python in the REPL of a context. Variables stay from call to call. `context` is the input; print
    what you need to see: at most 8,000 characters come back, head and tail, the cut named. In the REPL:
    grep(pattern, text=context, limit=50); chunks(text, size, overlap=0); llm_query(prompt) is one call of a
    language model on text you give it, llm_query_batched(prompts) many at once, in order;
    llm_map(instruction, items, schema) and classify(items, labels) for many items; rlm_query(question,
    text) answers a question over a long text by a run of its own; cite(quote) finds where a passage stands;
    budget() says what is left. Use them in loops over slices, keep results in variables, and print
    summaries. Sandboxed: no network, no files but the context's, a time limit on each call (waiting for
    models is not counted)."""

    tool = "run_code"
    reads_only = False
    asks_models = True

    handle: Handle
    code: Annotated[str, Field(min_length=1, max_length=LONGEST_CODE)]


class Ask(Asked):
    __doc__ = f"""Answer a question over a whole context by a run of its own: a model writes code that reads
    the input and calls models on slices of it. Gives the answer (at most about {MOST - 4_000:,}
    characters), then a JSON object with status, run id, cost, coverage (how much of the input models read)
    and citations. May take minutes; tells its progress. Cancelling the call cancels the run."""

    tool = "ask"
    reads_only = False
    asks_models = True

    handle: Handle
    question: Annotated[str, Field(min_length=1, max_length=LONGEST_QUESTION)]
    answer: dict[str, object] | None = Field(
        None, description="A JSON schema that the answer has to fit; it then comes as JSON."
    )
    usd: Usd | None = None
    tokens: Tokens | None = None
    calls: Calls | None = None
    seconds: Seconds | None = None

    @property
    def budget(self) -> Budget:
        return Budget(usd=self.usd, tokens=self.tokens, calls=self.calls, seconds=self.seconds)


class ReadRange(Asked):
    __doc__ = f"""Read a range of a text in a context, by characters (start, stop) or by lines (first_line,
    last_line, from 1). At most {LOOKED:,} characters; says how to go on. Control characters show as
    escapes."""

    tool = "read_range"

    handle: Handle
    part: Part = ""
    start: Annotated[int, Field(ge=0, le=10**15)] | None = None
    stop: Annotated[int, Field(ge=0, le=10**15)] | None = None
    first_line: Annotated[int, Field(ge=1, le=10**12)] | None = None
    last_line: Annotated[int, Field(ge=1, le=10**12)] | None = None

    @model_validator(mode="after")
    def _one(self) -> ReadRange:
        if self.by_lines and (self.start is not None or self.stop is not None):
            raise ValueError("give start and stop, or first_line and last_line")
        for low, high, names in (
            (self.start or 0, self.stop, ("start", "stop")),
            (self.first_line or 1, self.last_line, ("first_line", "last_line")),
        ):
            if high is not None and high < low:
                raise ValueError(f"{names[1]}: it is before {names[0]}")
        return self

    @property
    def by_lines(self) -> bool:
        return self.first_line is not None or self.last_line is not None


class Close(Asked):
    """Close a context: its REPL and its variables go. Gives what its code has spent."""

    tool = "close"
    reads_only = False

    handle: Handle


TOOLS: Mapping[str, type[Asked]] = {
    kind.tool: kind for kind in (OpenContext, Look, RunCode, Ask, ReadRange, Close)
}


def read(tool: str, arguments: Mapping[str, object] | None) -> Asked:
    """The arguments, checked. Raises :class:`Refused` with what is wrong."""
    try:
        return TOOLS[tool].model_validate(dict(arguments or {}))
    except ValidationError as error:
        raise Refused(f"{tool}: {_told(tool, error)}") from None


def _told(tool: str, error: ValidationError) -> str:
    told: dict[str, str] = {}
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        field = one_line(str(each["loc"][0]), 60) if each["loc"] else ""
        why = plainly(each["msg"])
        if each["type"] == "extra_forbidden":
            why = f"there is no such argument (known: {', '.join(TOOLS[tool].model_fields)})"
        told.setdefault(field, f"{field}: {why}" if field else why)
    return "; ".join(list(told.values())[:5])


def schema_of(kind: type[Asked]) -> dict[str, JsonValue]:
    """The JSON schema of its arguments."""
    made = cast("dict[str, JsonValue]", kind.model_json_schema())
    made.pop("description", None)
    return cast("dict[str, JsonValue]", _plain(made))


def _plain(schema: JsonValue) -> JsonValue:
    """Without titles and without null, which leaving an argument out says as well."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _plain(value) for name, value in schema.items() if not _is_title(name, value)}
    options = kept.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:
        options = [option for option in options if option != {"type": "null"}]
        kept.pop("default", None)
        kept["anyOf"] = options
        if len(options) == 1 and isinstance(options[0], dict):
            del kept["anyOf"]
            kept = {**options[0], **kept}
    return kept


def _is_title(name: str, value: JsonValue) -> bool:
    return name == "title" and isinstance(value, str)


def described(kind: type[Asked]) -> str:
    """What the tool is for, as one paragraph."""
    return " ".join((kind.__doc__ or "").split())
