"""The functions of the REPL contract: ``llm_query``, ``grep``, ``submit`` and the others.

Contract: :class:`Functions` has them by name, as methods with usage in their docstrings; each checks its
arguments and asks the host. Standard library only; importable as a sibling module too.

>>> "grep" in function_names()
True
"""

from __future__ import annotations

import re
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, cast

if TYPE_CHECKING:
    from ._repl import Repl
if TYPE_CHECKING or __package__:
    from ._arguments import (
        all_as_wanted,
        as_items,
        as_prompt,
        as_prompts,
        as_schema,
        as_texts,
        as_wanted,
        bind,
        is_table,
        with_tables,
    )
    from ._calls import AnswerRefused
    from ._reach import reach
    from ._shown import Listing, line_window, size_of
    from ._values import FailedCall, LLMError
else:
    from _arguments import (
        all_as_wanted,
        as_items,
        as_prompt,
        as_prompts,
        as_schema,
        as_texts,
        as_wanted,
        bind,
        is_table,
        with_tables,
    )
    from _calls import AnswerRefused
    from _reach import reach
    from _shown import Listing, line_window, size_of
    from _values import FailedCall, LLMError

_PROMPT = ("query", "question", "text", "message", "content", "input", "q", "instruction")
_PROMPTS = ("queries", "questions", "texts", "messages", "inputs", "items", "prompt", "batch")
_ITEMS = ("texts", "inputs", "prompts", "values", "data", "records", "sentences")
_INSTRUCTION = ("prompt", "question", "task", "query", "template")
_PACK = ("pack_size", "batch_size", "per_call", "size")
_LABELS = ("categories", "classes", "options", "choices", "candidate_labels")
_SCHEMA = ("format", "response_format", "response_model", "output_type", "answer", "type")
_CONTEXT = ("text", "data", "document", "content")
_CONTEXTS = ("context", "texts", "documents", "data")


class Labelled(list[object]):
    """The labels of the items, in order; ``counts`` says how many there are of each."""

    @property
    def counts(self) -> Counter[object]:
        return Counter(self)


def function_names() -> list[str]:
    """The names of the REPL contract but for ``context`` and the tools."""
    return list(Functions(cast("Repl", None), ()).names)


class Functions:
    """The functions of the REPL contract. ``repl`` is where they live."""

    def __init__(self, repl: Repl, tools: Sequence[str]) -> None:
        self._repl = repl
        self._last = (0, 0)  # the part of the context that was found last
        self.names: dict[str, object] = {
            name: getattr(self, name)
            for name in (
                "llm_query", "llm_query_batched", "llm_map", "classify", "rlm_query", "rlm_query_batched",
                "grep", "chunks", "budget", "cite", "SHOW_VARS", "submit", "FINAL", "FINAL_VAR", "SUBMIT",
            )
        }  # fmt: skip
        self.names |= {"LLMError": LLMError, "FailedCall": FailedCall}
        self.names |= {tool: self._tool(tool) for tool in tools}

    def _call(self, name: str, /, *args: object, **kwargs: object) -> object:
        return self._repl.calls.call(name, args, kwargs)

    def _read(self, texts: Sequence[str]) -> dict[str, object]:
        """What these texts have of the context, for the host."""
        marks = self._repl.marks
        return {} if marks is None else {"ranges": marks.prompts(texts)}

    def _read_by_children(self, queries: Sequence[str], contexts: Sequence[object]) -> dict[str, object]:
        if (marks := self._repl.marks) is None:
            return {}
        return {"ranges": marks.prompts(queries), "stretches": marks.children(contexts)}

    def _tool(self, name: str) -> Callable[..., object]:
        def tool(*args: object, **kwargs: object) -> object:
            given = self._repl.outgoing((args, kwargs))
            return self._repl.calls.call(name, *cast("tuple[tuple[object, ...], dict[str, object]]", given))

        tool.__name__ = tool.__qualname__ = name
        return tool

    def llm_query(self, *args: object, **kwargs: object) -> object:
        """llm_query(prompt, *, model=None, schema=None, images=None): one call to a language model."""
        usage = "llm_query(prompt, model=None, schema=None, images=None): question and text in one prompt"
        names = {"prompt": _PROMPT, "model": (), "schema": _SCHEMA, "images": ("image",)}
        given = bind("llm_query", usage, names, args, kwargs, positional=1)
        prompt = as_prompt(given.get("prompt"), "llm_query", "llm_query_batched")
        images = given.get("images")
        more = {} if images is None else {"images": reach("pictures").many(images)}
        more |= self._read([prompt])
        schema = given.get("schema")
        value = self._call("llm_query", prompt, model=given.get("model"), schema=as_schema(schema), **more)
        return as_wanted(schema, value)

    def llm_query_batched(self, *args: object, **kwargs: object) -> object:
        """llm_query_batched(prompts, *, model=None, schema=None, on_error="item", images=None): many calls.

        ``images``: a list of images for each prompt.
        """
        usage = 'llm_query_batched(prompts, model=None, schema=None, on_error="item", images=None)'
        names = {"prompts": _PROMPTS, "model": (), "schema": _SCHEMA, "on_error": (), "images": ()}
        given = bind("llm_query_batched", usage, names, args, kwargs, positional=1)
        prompts = as_prompts(given.get("prompts"), "llm_query_batched")
        if not prompts:
            return []
        schema, on_error = given.get("schema"), given.get("on_error", "item")
        images = given.get("images")
        more = {} if images is None else {"images": reach("pictures").of_each(images, len(prompts))}
        more |= {"model": given.get("model"), "on_error": on_error, **self._read(prompts)}
        values = self._call("llm_query_batched", prompts, schema=as_schema(schema), **more)
        return all_as_wanted(schema, values)

    def llm_map(self, *args: object, **kwargs: object) -> object:
        """llm_map(instruction, items, schema=None, *, model=None, pack=None): a reply to each item, in order.

        Many items go into each sub-call; ``pack`` is how many at most.
        """
        usage = "llm_map(instruction, items, schema=None): what to do with each item, and the items"
        names = {
            "instruction": _INSTRUCTION, "items": _ITEMS, "schema": _SCHEMA, "model": (), "pack": _PACK
        }  # fmt: skip
        given = bind("llm_map", usage, names, args, kwargs, positional=3)
        instruction, items = given.get("instruction"), given.get("items")
        if isinstance(items, str) and not isinstance(instruction, str):
            instruction, items = items, instruction
        instruction = as_prompt(instruction, "llm_map", "llm_map")
        texts = as_texts(items, "llm_map", usage)
        if not texts:
            return []
        schema = given.get("schema")
        more = {"model": given.get("model"), "pack": given.get("pack"), **self._read(texts)}
        values = self._call("llm_map", instruction, texts, schema=as_schema(schema), **more)
        return all_as_wanted(schema, values)

    def classify(self, *args: object, **kwargs: object) -> object:
        """classify(items, labels, examples=None, *, model=None): the label of each item, by sub-calls.

        ``labels`` is a list, or a dict of what each label means.
        """
        usage = 'classify(items, ["label a", "label b"], examples=[("a text", "label a")])'
        names = {"items": _ITEMS, "labels": _LABELS, "examples": ("shots", "few_shot"), "model": ()}
        given = bind("classify", usage, names, args, kwargs, positional=3)
        texts = as_texts(given.get("items"), "classify", usage)
        if not texts:
            return Labelled()
        named = given.get("labels")
        meanings = [(str(k), str(v)) for k, v in named.items()] if isinstance(named, dict) else []
        labels = [str(label) for label in as_items(named, "classify(items, labels)")]
        examples = given.get("examples")
        if isinstance(examples, dict):
            examples = list(examples.items())
        pairs = [] if examples is None else as_items(examples, "examples=")
        more = {"meanings": meanings, "examples": pairs, "model": given.get("model"), **self._read(texts)}
        return Labelled(cast("list[object]", self._call("classify", texts, labels, **more)))

    def rlm_query(self, *args: object, **kwargs: object) -> object:
        """rlm_query(query, context=None, *, schema=None): a child like you, over the context you give it."""
        usage = "rlm_query(query, context=None, schema=None)"
        names = {"query": ("prompt", "question"), "context": _CONTEXT, "schema": _SCHEMA}
        given = bind("rlm_query", usage, names, args, kwargs, positional=2)
        query = as_prompt(given.get("query"), "rlm_query", "rlm_query_batched")
        schema, part = given.get("schema"), self._place(given.get("context"))
        where: dict[str, object] = (
            {"context": with_tables(given.get("context"))} if part is None else {"part": part}
        )
        where |= self._read_by_children([query], [where.get("context")])
        return as_wanted(schema, self._call("rlm_query", query, **where, schema=as_schema(schema)))

    def rlm_query_batched(self, *args: object, **kwargs: object) -> object:
        """rlm_query_batched(queries, contexts=None, *, schema=None): several children at once."""
        usage = "rlm_query_batched(queries, contexts=None, schema=None)"
        names = {"queries": ("prompts", "questions"), "contexts": _CONTEXTS, "schema": _SCHEMA}
        given = bind("rlm_query_batched", usage, names, args, kwargs, positional=2)
        queries = as_prompts(given.get("queries"), "rlm_query_batched")
        contexts = given.get("contexts")
        if contexts is not None:
            contexts = as_items(contexts, "rlm_query_batched(queries, contexts)")
            if len(contexts) != len(queries):
                raise ValueError(
                    f"{len(queries)} queries but {len(contexts)} contexts: one for each is needed"
                )
        if not queries:
            return []
        schema, parts = given.get("schema"), [self._place(context) for context in contexts or ()]
        contexts = None if contexts is None else [with_tables(context) for context in contexts]
        rest = [None if part else context for context, part in zip(contexts or (), parts, strict=True)]
        where: dict[str, object] = {"contexts": contexts}
        if any(parts):
            where = {"contexts": rest, "parts": parts}
        where |= self._read_by_children(queries, rest)
        values = self._call("rlm_query_batched", queries, **where, schema=as_schema(schema))
        return all_as_wanted(schema, values)

    def _place(self, text: object) -> tuple[int, int] | None:
        """Where a text lies in the context, so that it need not be copied."""
        find = cast("Callable[..., tuple[int, int] | None]", reach("part_of").find_part)
        place = find(text, self._repl.context, self._last)
        self._last = place or self._last
        return place

    def budget(self) -> object:
        """budget(): what is left of the run's limits, as a dict."""
        return self._call("budget")

    def grep(
        self, pattern: object, text: object = None, window: int = 120, limit: int = 50, flags: int = 0
    ) -> list[str]:
        """grep(pattern, text=context, window=120, limit=50): the text around each match of a regex.

        Of text in a file, ``number: line``; of several files, ``path:number: line``.
        """
        if isinstance(pattern, str):
            flags |= re.MULTILINE
            try:
                compiled = re.compile(pattern, flags)
            except re.error as error:
                self._repl.note(f"grep: {pattern!r} is no regex ({error}); it was searched as plain text")
                compiled = re.compile(re.escape(pattern), flags)
        elif isinstance(pattern, re.Pattern):
            compiled = pattern
        else:
            raise TypeError(f"grep takes a str or a compiled regex, not a {type(pattern).__name__}")
        found: list[str] = []
        for label, part in self._parts(self._repl.context if text is None else text):
            hits = getattr(type(part), "__unspool_hits__", None)
            for snippet in hits(part, compiled) if hits else self._snippets(compiled, part, window):
                if len(found) >= limit:
                    self._repl.note(f"grep stopped at {limit} snippets; pass limit= for more, or use re")
                    return found
                found.append(label + snippet)
        return found

    @staticmethod
    def _snippets(pattern: re.Pattern[str], text: str, window: int) -> Iterator[str]:
        shown = (-1, -1)
        for match in pattern.finditer(text):
            span = line_window(text, match.start(), match.end(), max(0, window))
            if match.start() != match.end() and span != shown:
                shown = span
                yield text[span[0] : span[1]]

    def _parts(self, text: object) -> Iterator[tuple[str, str]]:
        """Texts with what stands before their snippets; those in files know how to search themselves."""
        if isinstance(text, str) or hasattr(type(text), "__unspool_hits__"):
            yield "", cast(str, text)
        elif is_table(text):
            raise TypeError("grep searches texts; in a table: t[t['column'].str.contains(pattern)]")
        elif isinstance(text, Iterable):
            pairs = text.items() if isinstance(text, Mapping) else enumerate(text)
            for key, part in pairs:
                if is_table(part):
                    self._repl.note(f"grep: {key!r} is a table, which is not searched: use str.contains")
                    continue
                known = isinstance(part, str) or hasattr(type(part), "__unspool_hits__")
                yield f"[{key}] ", part if known else str(part)
        else:
            raise TypeError(f"grep searches a str, or a list or dict of str, not a {type(text).__name__}")

    def chunks(self, *args: object, **kwargs: object) -> Sequence[object]:
        """chunks(text, size, overlap=0): pieces of a text (or a list) of at most that size."""
        usage = "chunks(text, size, overlap=0)"
        names = {
            "text": ("context", "data", "items"), "size": ("chunk_size", "n"), "overlap": ("chunk_overlap",)
        }  # fmt: skip
        given = bind("chunks", usage, names, args, kwargs)
        text, size, overlap = given.get("text"), given.get("size"), given.get("overlap", 0)
        if not isinstance(size, int) or not isinstance(overlap, int) or size < 1 or not 0 <= overlap < size:
            raise ValueError(f"{usage}: size has to be at least 1, overlap at least 0 and less than size")
        if not isinstance(text, Sequence):
            raise TypeError(f"{usage}: text has to be a str or a list, not a {type(text).__name__}")
        if hasattr(type(text), "__unspool_text__"):
            return cast("Callable[[int, int], Sequence[object]]", text.chunks)(size, overlap)  # type: ignore[attr-defined]
        starts = range(0, max(1, len(text) - overlap), size - overlap) if len(text) else ()
        if self._repl.marks is not None:
            self._repl.marks.made(text, starts)
        return [text[at : at + size] for at in starts]

    def cite(self, quote: object) -> object:
        """cite(quote): where a passage stands in the context, word for word; false where it does not."""
        marks = self._repl.marks
        if not isinstance(quote, str) or not quote.strip():
            raise TypeError("cite takes the words of a passage of the context, e.g. cite('the first of May')")
        if marks is None:
            raise RuntimeError("cite does not work in this REPL")
        found = marks.cite(quote)
        self._call("cite", quote, found.part, found.offset, found.line, found.source, found.place)
        if not found:
            self._repl.note(f"cite: not in the context, word for word: {found!r}")
        return found

    def SHOW_VARS(self) -> str:
        """SHOW_VARS(): the names you have made, with types and sizes."""
        lines = [
            f"{name}: {type(value).__name__}" + (f", {size}" if (size := size_of(value)) else "")
            for name, value in self._repl.made().items()
            if not isinstance(value, types.ModuleType)
        ]
        return Listing("\n".join(lines) or "(you have made no variables yet)")

    def submit(self, *args: object, **kwargs: object) -> NoReturn:
        """submit(value): ends the run with this value if it passes the checks."""
        given = bind("submit", "submit(value)", {"value": ("answer", "result", "final_answer")}, args, kwargs)
        if "value" not in given:
            raise TypeError("submit needs the answer: submit(value)")
        self._submit(given["value"], "submit")

    def FINAL(self, *args: object, **kwargs: object) -> NoReturn:
        """FINAL(value): the same as submit(value)."""
        given = bind("FINAL", "FINAL(value)", {"value": ("answer", "result", "final_answer")}, args, kwargs)
        if "value" not in given:
            raise TypeError("FINAL needs the answer: FINAL(value)")
        self._submit(given["value"], "FINAL")

    def SUBMIT(self, *args: object, **kwargs: object) -> NoReturn:
        """SUBMIT(value) or SUBMIT(name=value, …): the same as submit(value)."""
        if len(args) + len(kwargs) == 0 or len(args) > 1 or (args and kwargs):
            raise TypeError("SUBMIT needs the answer: SUBMIT(value), or SUBMIT(name=value)")
        value = args[0] if args else next(iter(kwargs.values())) if len(kwargs) == 1 else kwargs
        self._submit(value, "SUBMIT")

    def FINAL_VAR(self, name: object) -> NoReturn:
        """FINAL_VAR("name"): submits the variable of that name."""
        if not isinstance(name, str):
            self._submit(name, "FINAL_VAR")
        made = self._repl.made(answer=True)
        key = name.strip().strip("\"'")
        if not key.isidentifier():  # FINAL_VAR(x) where x holds the text
            self._submit(name, "FINAL_VAR", named=True)
        if key not in made:
            known = ", ".join(made) or "none yet"
            raise NameError(f"there is no variable {name[:60]!r}; the names you have made: {known}")
        self._submit(made[key], "FINAL_VAR", named=True)

    def _submit(self, value: object, via: str, named: bool = False) -> NoReturn:
        current = self._repl.namespace.get("answer")
        if value is current and isinstance(value, dict) and set(value) == {"content", "ready"}:
            if value["content"] in ("", None):
                raise NameError('the variable answer was not set; put the answer into it, or use submit("…")')
            value = value["content"]
        made = self._repl.made(answer=True)
        names = isinstance(value, str) and not named and len(value) < 100 and value.strip() in made
        self._call(
            "submit",
            self._repl.outgoing(value),
            printed=self._repl.screen.printed,
            variable=cast(str, value).strip() if names else None,
            via=via,
        )
        raise AnswerRefused("the answer was not taken")  # a host that replies without ending the cell
