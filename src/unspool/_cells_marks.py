"""The marks in a reply that tell code from the rest: fences and their tags, reasoning, harmony.

Contract: patterns and pure functions over text. Every pattern here is linear in what it crosses
and is anchored to a line or to a token, so that a search over a whole reply is linear too.

>>> tag_of('{.python title="a.py"}'), tag_of("Python3 title=x"), tag_of("bash")
(('python', ''), ('python3', ''), ('bash', ''))
>>> is_python("python3"), is_python("bash")
(True, False)
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

from ._cells_repair import parse

_PYTHON_TAG = re.compile(
    r"(?:i?python|py|ipy|cpython|sage)-?[\d.]*|(?:i?python|py)[-_]?(?:repl|code|exec|cell|console)|pycon|repl"
    r"|jupyter|notebook|tool_code|code_execution|code_interpreter|[\w./-]+\.pyi?"
)
_KNOWN_TAGS = {
    "bash", "sh", "shell", "zsh", "console", "terminal", "cmd", "powershell", "json", "jsonl", "yaml",
    "yml", "toml", "ini", "xml", "html", "css", "csv", "tsv", "text", "txt", "plaintext", "plain",
    "output", "out", "result", "markdown", "md", "sql", "js", "javascript", "ts", "typescript", "java",
    "c", "cpp", "rust", "go", "ruby", "r", "diff", "log", "latex", "traceback", "pytb",
}  # fmt: skip
CALL_TAGS = frozenset({"tool_call", "tool_calls", "tool_use", "function_call", "function_calls"})


def is_python(tag: str) -> bool:
    """Whether a fence's tag says Python."""
    return _PYTHON_TAG.fullmatch(tag) is not None


def is_known(tag: str) -> bool:
    """Whether a word after backticks is a tag that models use, not the first word of a sentence."""
    return tag in _KNOWN_TAGS or tag in CALL_TAGS or is_python(tag)


def tag_of(info: str) -> tuple[str, str]:
    """The tag of a fence, in lower case, and code that a model put behind it on the same line."""
    found = re.match(r"\s*\{?\s*[.=]?([\w+#./-]*)", info)
    word, rest = (found[1].lower(), info[found.end() :].strip()) if found else ("", "")
    if info.lstrip().startswith("{"):
        return word, ""
    if not is_known(word) and _is_step(info.strip()):
        return "", info.strip()
    return "" if word == "code" else word, rest if is_python(word) and _is_step(rest) else ""


def _is_step(rest: str) -> bool:
    """Whether text behind a fence is code. ``title="x"`` parses too: an assignment has spaces."""
    step = re.match(r"(?:import|from|def|for|with|if|while)\b|\w+ = |[\w.]+\(", rest)
    return step is not None and (rest.endswith(":") or parse(rest) is not None)


# ---- reasoning ---------------------------------------------------------------------------------

_REASONING = "think|thinking|thoughts?|reasoning|scratchpad"
_CLOSE = (
    rf"</(?:\w+:)?(?:{_REASONING})\s*>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|/think(?:ing)?\|>"
    r"|<channel\|>"
)
_OPEN = (
    rf"<(?:\w+:)?(?:{_REASONING})\s*>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|think(?:ing)?\|>"
    r"|<\|channel>thought\b"
)
_REASON = re.compile(rf"(?P<close>{_CLOSE})|(?P<open>{_OPEN})", re.IGNORECASE)
HARMONY_END = re.compile(r"<\|(?:end|start|channel|return|call)\|>")
_TOKENS = (
    r"<\|(?:im_end|im_start|eot_id|eom_id|endoftext|end|return|call|start|channel)\|>|</s>|<end_of_turn>"
)
TOKENS = re.compile(_TOKENS)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Where reasoning that opens at a place ends; worked out once for a whole reply."""

    _ends: dict[int, int]
    _closers: list[int]
    _text: str

    @classmethod
    def of(cls, text: str) -> Reasoning:
        ends: dict[int, int] = {}
        closers: list[int] = []
        opened: list[int] = []
        for mark in _REASON.finditer(text):
            if quoted(text, mark.start()):
                continue
            if mark.lastgroup == "open":
                opened.append(mark.start())
                continue
            closers.append(mark.end())
            if opened:
                ends[opened.pop()] = mark.end()
        return cls(ends, closers, text)

    def end(self, at: int) -> int | None:
        """Where the reasoning that opens at ``at`` ends: -1 if never, ``None`` if it is none.

        A tag in the middle of a sentence with no partner is a mention of the tag.
        """
        if at in self._ends:
            return self._ends[at]
        if not starts_line(self._text, at):
            return None
        later = bisect_left(self._closers, at)
        return self._closers[later] if later < len(self._closers) else -1


def quoted(text: str, at: int) -> bool:
    """Whether a mark stands right behind one backtick: it is talked about, not used."""
    return text[max(0, at - 1) : at] == "`" and text[max(0, at - 2) : at] != "``"


def starts_line(text: str, at: int) -> bool:
    """Whether nothing but a little space stands before a mark on its line."""
    before = text[max(0, at - 200) : at].rstrip(" \t")
    return before.endswith("\n") or (not before and at <= 200)


def ends_line(text: str, at: int) -> bool:
    """Whether nothing but a little space stands behind a mark on its line."""
    after = text[at : at + 200].lstrip(" \t")
    return after.startswith("\n") or (not after and at + 200 >= len(text))


# ---- patterns ----------------------------------------------------------------------------------

_CODE_TAGS = "code|python|py|ipython|repl|python_code|tool_code|execute|execute_python|execute_ipython"
_CALLS = "tool_call|tool_calls|tool_use|function_calls?|invoke"
_HARMONY = r"(?:<\|start\|>[^<\n]{0,100})?<\|channel\|>[^<]{0,100}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
_RUN = r"`{3,}|~{3,}"

# what may begin in prose
EVENT = re.compile(
    rf"^[ \t]*(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+)?(?P<run>{_RUN})(?P<info>[^\n]*)$"
    rf"|(?<!`)(?P<inline>`{{3,}})(?P<inline_info>(?:python3?|py|repl|ipython))[ \t]*$"
    rf"|(?P<close>{_CLOSE})|(?P<open>{_OPEN})|(?P<harmony>{_HARMONY})"
    rf"|<(?P<tag>{_CODE_TAGS})(?:\s[^<>\n]{{0,200}})?>|<(?P<call>{_CALLS})(?:\s[^<>\n]{{0,200}})?>"
    r"|<(?P<function>function)=[^<>\n]{1,100}>|(?P<python_tag><\|python_tag\|>)",
    re.MULTILINE | re.IGNORECASE,
)
# what may end code, and the strings and comments that may hide it
CODE_STOP = re.compile(
    rf"^[ \t]*(?P<run>{_RUN})(?P<rest>[^\n]*)$|(?<!`)(?P<tail>`{{3,}})[ \t]*$"
    rf"|(?P<literal>#[^\n]*|\"\"\"|'''|\"|')|(?P<token>{_CLOSE}|{_TOKENS})",
    re.MULTILINE | re.IGNORECASE,
)
FENCE_LINE = re.compile(rf"^[ \t]*(?P<run>{_RUN})(?P<rest>[^\n]*)$", re.MULTILINE)
ONE_LINE = re.compile(r"[ \t]*(?P<tag>python3?|py|repl)[ \t]+(?P<code>[^`\n]+)`{3,}[ \t]*", re.IGNORECASE)


HOLDS_CODE = re.compile(r"```|~~~|<code>|<tool_call>")


@lru_cache(maxsize=64)
def stop_of(name: str, *, hidden: bool = True) -> re.Pattern[str]:
    """What ends the body of ``<name>``: its closing tag, the next such tag, the end of the turn.

    With ``hidden`` also the strings and comments that can hide it.
    """
    literal = r"(?P<literal>#[^\n<]*|\"\"\"|'''|\"|')|" if hidden else ""
    stops = rf"(?P<end></{name}\s*>)|(?P<again><{name}[\s>=])|(?P<token>{_CLOSE}|{_TOKENS})"
    return re.compile(literal + stops, re.IGNORECASE)
