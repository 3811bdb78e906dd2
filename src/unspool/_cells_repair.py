"""Makes code run that a model wrote nearly right: indentation, prompts, magics, odd characters.

Contract: :func:`mend` takes any text and never raises. Text that parses comes back as it is, byte
for byte. Else the steps below are tried in turn, each only while the text still does not parse;
every change but plain dedenting is named in ``repairs``. Nothing inside a string or a comment is
changed, with three exceptions that cannot run otherwise: NUL and lone surrogates become escapes
that mean the same, the fields of f-strings are code, and a smart quote may close a string.
Time is linear in the text: a fixed number of passes and of calls to the parser. What is longer than
``MOST_MENDED`` characters is left as it is: parsing holds up every run of the process.

>>> mend("print(“hi”)").code
'print("hi")'
>>> mend("print(“hi”)").repairs
('smart quotes on line 1',)
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MOST_MENDED = 60_000  # characters: they are parsed in 0.1 s; what is longer holds data, mostly

_quiet = threading.Lock()  # catch_warnings swaps a global: not two of ours at a time


@dataclass(frozen=True, slots=True)
class Mended:
    """Code, its tree (``None``: still a syntax error) and what was changed or stands in the way.

    ``too_long``: it was not parsed, and may be right."""

    code: str
    tree: ast.Module | None
    repairs: tuple[str, ...] = ()
    too_long: bool = False

    @property
    def wrong(self) -> bool:
        return self.tree is None and not self.too_long


def mend(code: str) -> Mended:
    """The code as it can run, or as near to that as the repairs come."""
    if len(code) > MOST_MENDED:
        return Mended(code, None, too_long=True)
    notes: list[str] = []
    tree = parse(code)
    for step in _STEPS:
        if tree is not None:
            break
        changed, said = step(code)
        if changed != code:
            code, tree = changed, parse(changed)
            notes += said
    if tree is None:
        notes += _complaint(code)
    return Mended(code, tree, tuple(dict.fromkeys(notes)))


def parse(code: str) -> ast.Module | None:
    """The tree, or ``None`` for whatever the parser refuses (also NUL, surrogates, deep nesting)."""
    try:
        return _parse(code)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return None


def _parse(code: str) -> ast.Module:
    with _quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "\d" in a cell is the model's business, not the host's
        return ast.parse(code)


def _complaint(code: str) -> list[str]:
    """The line of a character that no repair knows; the parser alone may not name it."""
    try:
        _parse(code)
    except SyntaxError as error:
        if error.msg and "invalid" in error.msg and "character" in error.msg:
            return [f"{error.msg} on line {error.lineno}"]
    except (ValueError, OverflowError, RecursionError, MemoryError):
        if found := re.search("[\0\ud800-\udfff]", code):
            line = code.count("\n", 0, found.start()) + 1
            return [f"a character that Python source cannot hold (U+{ord(found[0]):04X}) on line {line}"]
    return []


# ---- strings and comments ------------------------------------------------------------------

_LITERAL = re.compile(r"#[^\n]*|\"\"\"|'''|\"|'")
_ENDS = {
    quote: re.compile(rf"\\.|{quote}" if len(quote) == 3 else rf"\\.|{quote}|\n", re.DOTALL)
    for quote in ('"""', "'''", '"', "'")
}


def string_end(text: str, at: int, quote: str) -> tuple[int, bool]:
    """Where the string that opens at ``at`` ends, and whether it is closed there.

    A short string ends with its line; a long one that is never closed ends with the text. The
    prefix does not matter: also in a raw string a backslash keeps the quote from closing it.
    """
    seek, pos = _ENDS[quote], at + len(quote)
    while found := seek.search(text, pos):
        if found[0] == quote:
            return found.end(), True
        if found[0] == "\n":
            return found.start(), False
        pos = found.end()
    return len(text), False


def strings(code: str) -> Iterator[tuple[int, int]]:
    """Start and end of every string literal, comments left out."""
    pos = 0
    while found := _LITERAL.search(code, pos):
        pos = found.end()
        if not found[0].startswith("#"):
            pos, _ = string_end(code, found.start(), found[0])
            yield found.start(), pos


def _lines_in_strings(code: str) -> set[int]:
    """Indices of the lines that begin inside a string."""
    inside: set[int] = set()
    line = done = 0
    for start, end in strings(code):
        line += code.count("\n", done, start)
        breaks = code.count("\n", start, end)
        inside.update(range(line + 1, line + breaks + 1))
        line, done = line + breaks, end
    return inside


# ---- lines: prompts, indentation, notebook magics --------------------------------------------

_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.)(?: |$)")
_MAGIC = re.compile(r"([ \t]*)(%%?[A-Za-z]\w*.*|!{1,2} ?[\w./~].*)")

Step = tuple[str, list[str]]


def _doctest(code: str) -> Step:
    """An interactive session: the prompts go, and so do the lines of output."""
    if not code.lstrip().startswith(">>>"):
        return code, []
    kept: list[str] = []
    for line in code.split("\n"):
        if prompt := _PROMPT.match(line):
            kept.append(line[prompt.end() :])
    return "\n".join(kept), ["prompts (>>>) and the output between them were taken out"]


def _shift(lines: list[str], margin: str) -> str:
    """Takes from each line as much of the margin as it has."""
    return "\n".join(line[_shared(margin, line) :] for line in lines)


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return same


def _dedent(code: str) -> Step:
    lines = code.split("\n")
    inside = _lines_in_strings(code)
    solid = [line for i, line in enumerate(lines) if line.strip() and i not in inside]
    solid = [line for line in solid if not line.lstrip().startswith("#")] or solid
    if not solid:
        return code, []
    margins = [line[: len(line) - len(line.lstrip(" \t"))] for line in solid]
    first = margins[0]
    common = first[: min(_shared(first, margin) for margin in margins)]
    even = _shift(lines, common) if common else code
    if first == common:
        return even, []
    at = lines.index(solid[0])
    only_first = "\n".join([*lines[:at], lines[at][len(first) :], *lines[at + 1 :]])
    for attempt in (even, _shift(lines, first), only_first):
        if attempt != code and parse(attempt) is not None:
            return attempt, [] if attempt is even else [f"uneven indentation from line {at + 1} on"]
    return even, []


def _magics(code: str) -> Step:
    """``%pip`` and ``!ls`` belong to a notebook: named and not run, the lines keep their numbers."""
    if "%" not in code and "!" not in code:
        return code, []
    lines, inside = code.split("\n"), _lines_in_strings(code)
    notes: list[str] = []
    for i, line in enumerate(lines):
        if i not in inside and (magic := _MAGIC.fullmatch(line)):
            lines[i] = f"{magic[1]}pass  # not run: {magic[2]}"
            notes.append(f"notebook command on line {i + 1} not run: {magic[2].strip()[:80]}")
    return "\n".join(lines), notes


def only_magics(code: str) -> bool:
    """Whether nothing but notebook commands is there, or a cell magic of another language."""
    head = re.match(r"\s*%%(\w+)", code)
    if head and head[1] not in {"time", "timeit", "capture", "prun", "python", "python3"}:
        return True
    solid = [line for line in code.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    return bool(solid) and all(_MAGIC.fullmatch(line) for line in solid)


# ---- characters --------------------------------------------------------------------------------

_DOUBLE, _SINGLE = "“”„‟″＂", "‘’‚‛′＇"
_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_HIDDEN = "\0\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_WIDE = "\uff01-\uff5e"
_SIGNS = {
    "−": "-",
    "–": "-",
    "—": "-",
    "‐": "-",
    "‑": "-",
    "…": "...",
    "、": ",",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
}
_ODD = re.compile(
    rf"#[^\n]*|\"\"\"|'''|[\"'{_DOUBLE}{_SINGLE}]"
    rf"|(?P<space>[{_SPACES}]+)|(?P<hidden>[{_HIDDEN}]+)|(?P<line>[\u2028\u2029\x85])"
    rf"|(?P<wide>[{_WIDE}]+)|(?P<sign>[{''.join(_SIGNS)}])"
)
_CLOSE = {
    '"': re.compile(rf"(?:\\.|[^\\\n\"{_DOUBLE}])*([\"{_DOUBLE}])"),
    # an apostrophe inside a word does not close: ‘it’s’
    "'": re.compile(rf"(?:\\.|[^\\\n'{_SINGLE}]|['{_SINGLE}](?=\w))*(['{_SINGLE}])(?!\w)"),
}
_PARTNER = {'"': re.compile(f"[{_DOUBLE}]"), "'": re.compile(f"[{_SINGLE}]")}
_TRIPLE = {'"': re.compile(rf"[\"{_DOUBLE}]{{3}}"), "'": re.compile(rf"['{_SINGLE}]{{3}}")}
_FIELD = re.compile(r"\{\{|\}\}|\{[^{}\n]*\}")
_UNHOLDABLE = re.compile("\\\\[\\s\\S]|[\0\ud800-\udfff]")
_NAMES = {"space": "odd spaces", "hidden": "invisible characters", "line": "odd line ends",
          "wide": "full-width characters", "sign": "look-alike signs"}  # fmt: skip


class _Characters:
    """One walk over code that does not parse: strings and comments pass, the rest becomes ASCII."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.out: list[str] = []
        self.seen: dict[str, list[int]] = {}
        self._line, self._counted = 1, 0
        self._unclosed: dict[str, int] = {}  # quote → end of a line known to hold no closing one

    def walk(self) -> Step:
        pos = 0
        while found := _ODD.search(self.code, pos):
            self.out.append(self.code[pos : found.start()])
            pos = self._one(found)
        self.out.append(self.code[pos:])
        return "".join(self.out), [self._said(what, lines) for what, lines in self.seen.items()]

    def _one(self, found: re.Match[str]) -> int:
        at, text = found.start(), found[0]
        if found.lastgroup:
            self._note(_NAMES[found.lastgroup], at)
            self.out.append(_plain(found.lastgroup, text))
            return found.end()
        if text[0] == "#":
            self.out.append(self._holdable(text, at, lambda bad: ""))
            return found.end()
        if text[0] in "\"'":
            return self._ascii_string(at, text)
        return self._smart_string(at, '"' if text in _DOUBLE else "'")

    def _ascii_string(self, at: int, quote: str) -> int:
        end, closed = string_end(self.code, at, quote)
        body, close = self.code[at + len(quote) : end - len(quote) if closed else end], quote
        if not closed:
            if partner := _PARTNER[quote].search(body) if quote in _PARTNER else None:
                self._note("smart quotes", at + 1 + partner.start())
                body, end = body[: partner.start()], at + 2 + partner.start()
            else:
                close = ""
        self.out.append(quote + self._body(body, at) + close)
        return end

    def _smart_string(self, at: int, quote: str) -> int:
        code = self.code
        self._note("smart quotes", at)
        if _TRIPLE[quote].match(code, at):
            close = _TRIPLE[quote].search(code, at + 3)
            body = code[at + 3 : close.start() if close else len(code)]
            self.out.append(quote * 3 + self._body(body, at) + (quote * 3 if close else ""))
            return close.end() if close else len(code)
        known = self._unclosed.get(quote, -1)
        short = _CLOSE[quote].match(code, at + 1) if at >= known else None
        if short is None:
            if at >= known:
                eol = code.find("\n", at)
                self._unclosed[quote] = eol if eol >= 0 else len(code)
            self.out.append(quote)
            return at + 1
        body = self._body(code[at + 1 : short.start(1)], at)
        if quote == "'":
            body = re.sub(r"(?<!\\)'", r"\\'", body)
        self.out.append(quote + body + quote)
        return short.end()

    def _body(self, body: str, at: int) -> str:
        """The inside of a string that opens at ``at``: text, save for fields and what cannot be held."""
        letters = re.search(r"[A-Za-z]{0,2}\Z", self.code[max(0, at - 2) : at])
        prefix = letters[0].lower() if letters else ""
        if "f" in prefix:
            fixed = _FIELD.sub(_plain_field, body)
            if fixed != body:
                self._note("odd characters in an f-string", at)
                body = fixed
        return body if "r" in prefix else self._holdable(body, at, _escaped)

    def _holdable(self, text: str, at: int, change: Callable[[str], str]) -> str:
        def one(found: re.Match[str]) -> str:
            pair = found[0]
            if len(pair) == 2 and not _UNHOLDABLE.fullmatch(pair[1]):
                return pair
            return ("\\\\" if len(pair) == 2 else "") + change(pair[-1])

        fixed = _UNHOLDABLE.sub(one, text)
        if fixed != text:
            self._note("unprintable characters escaped", at)
        return fixed

    def _note(self, what: str, at: int) -> None:
        self._line += self.code.count("\n", self._counted, at)
        self._counted = max(at, self._counted)
        lines = self.seen.setdefault(what, [])
        if not lines or lines[-1] != self._line:
            lines.append(self._line)

    @staticmethod
    def _said(what: str, lines: list[int]) -> str:
        some = ", ".join(map(str, lines[:5])) + (f" and {len(lines) - 5} more" if len(lines) > 5 else "")
        return f"{what} on line{'s' if len(lines) > 1 else ''} {some}"


def _plain(kind: str, text: str) -> str:
    if kind == "space":
        return " " * len(text)
    if kind == "wide":
        return "".join(chr(ord(char) - 0xFEE0) for char in text)
    return "\n" if kind == "line" else _SIGNS.get(text, "")


def _plain_field(found: re.Match[str]) -> str:
    """A replacement field of an f-string is code: quotes and signs in it are meant for Python."""
    field = found[0]
    if len(field) == 2:
        return field
    field = _PARTNER['"'].sub('"', _PARTNER["'"].sub("'", field))
    return _ODD.sub(lambda odd: _plain(odd.lastgroup, odd[0]) if odd.lastgroup else odd[0], field)


def _escaped(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def _characters(code: str) -> Step:
    return _Characters(code).walk()


_STEPS: tuple[Callable[[str], Step], ...] = (_doctest, _dedent, _characters, _dedent, _magics)
