"""Tells code from prose, output and other languages, for text that no tag calls Python.

Contract: total, linear, and careful in one direction: a doubt is settled against running. Two
degrees of proof, because a fence is half a proof already:

- :func:`why_not_code` judges a block without a tag. Statements, calls, subscripts and
  comprehensions are code, and so is text full of Python with a syntax error in it (the model has
  to see the error). Bare words, numbers, literals and the ``repr`` of common types are output:
  printing them again would tell the model nothing.
- :func:`unmistakable` judges a whole reply without a fence. It has to parse, and to hold a call,
  an assignment, an import or a definition; ``Paris (France)``, ``O(n)``, ``Answer: 42`` and
  ``yes or no`` parse as Python and are prose.

>>> import ast
>>> unmistakable(ast.parse("print(len(context))"), "print(len(context))")
True
>>> unmistakable(ast.parse("Paris (France)"), "Paris (France)")
False
"""

from __future__ import annotations

import ast
import json
import re

from ._cells_repair import Mended, strings

NOT_PYTHON = "a block without a tag that does not read as Python is not run"

_ASSIGNS = (ast.Assign, ast.AugAssign)
_PLAIN_STATEMENTS = (ast.Expr, ast.AnnAssign, ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue)
_MADE_HERE = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr, ast.Lambda)
# names that start what ``repr`` shows; a call of one with literals only is a value shown, not a step
_REPRS = {
    "Counter", "OrderedDict", "defaultdict", "deque", "array", "dict_keys", "dict_values", "dict_items",
    "set", "frozenset", "Decimal", "Fraction", "Timestamp", "Index", "datetime", "date", "timedelta",
}  # fmt: skip


class _Source:
    """Looks at the character behind a node: ``f(x)`` is a call, ``Paris (France)`` is not."""

    def __init__(self, code: str) -> None:
        self._lines = re.split(rb"\r\n|\r|\n", code.encode("utf-8", "replace"))

    def follows(self, node: ast.expr, mark: bytes) -> bool:
        line, column = node.end_lineno, node.end_col_offset
        if line is None or column is None or line > len(self._lines):
            return False
        return self._lines[line - 1][column : column + 1] == mark


def _is_call(node: ast.expr, source: _Source) -> bool:
    if isinstance(node, ast.Await):
        node = node.value
    if not isinstance(node, ast.Call) or not source.follows(node.func, b"("):
        return False
    return isinstance(node.func, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))


def _acts(node: ast.stmt, source: _Source) -> bool:
    """Whether the statement itself is unmistakably one; blocks are judged by what is in them."""
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        single = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and len(value.func.id) == 1
        return _is_call(value, source) and not single
    if isinstance(node, ast.AnnAssign):
        return node.value is not None
    if isinstance(node, ast.ClassDef):
        return (node.end_lineno or 0) > node.lineno
    return isinstance(node, (*_ASSIGNS, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef))


def _statements(tree: ast.Module) -> list[ast.stmt]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def unmistakable(tree: ast.Module, code: str) -> bool:
    """Whether a whole reply that parses is code and cannot be read as prose."""
    source = _Source(code)
    for node in tree.body[:-1]:  # a bare word is a result at the end, and prose before it
        bare = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
        if (bare or isinstance(node, ast.AnnAssign)) and not _acts(node, source):
            return False
    return any(_acts(node, source) for node in _statements(tree))


def _is_shown_value(node: ast.expr) -> bool:
    """A literal, or the ``repr`` of a common type with literals in it."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in _REPRS and all(_is_shown_value(part) for part in node.args)
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _does_something(tree: ast.Module, code: str) -> bool:
    """Whether a fenced block that parses is more than words and values."""
    source = _Source(code)
    if all(isinstance(node, ast.Expr) and _is_shown_value(node.value) for node in tree.body):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return True
        if isinstance(node, ast.stmt) and not isinstance(node, _PLAIN_STATEMENTS):
            return True
        if isinstance(node, _MADE_HERE) or (isinstance(node, ast.Call) and _is_call(node, source)):
            return True
        if isinstance(node, ast.Subscript) and source.follows(node.value, b"["):
            return True
    return False


def _only_shows(tree: ast.Module, code: str) -> bool:
    """For a block under a line like ``Output:``: nothing in it but values and assignments."""
    source = _Source(code)
    return not any(
        _acts(n, source) for n in _statements(tree) if not isinstance(n, (*_ASSIGNS, ast.AnnAssign))
    )


def _only_states(tree: ast.Module) -> bool:
    """Whether there are but values and names set to values."""
    values = [node.value for node in tree.body if isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign))]
    return len(values) == len(tree.body) and all(value is None or _is_shown_value(value) for value in values)


# ---- text that does not parse -------------------------------------------------------------------

_LABEL = re.compile(
    r"\W*(?:(?:the|expected|example|sample|actual)\s+)*(?:output|result|stdout|prints)s?\W*:\W*",
    re.IGNORECASE,
)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):|^  File \"[^\"\n]*\", line \d+", re.MULTILINE)
_SHELL = re.compile(
    r"(?:[$%] |[\w.-]+@[\w.-]+[:~][^\n]*[$#] |PS [A-Z]:\\|[A-Z]:\\[^\n]*>)"
    r"|(?:sudo|pip3?|python3?|cd|ls|cat|grep|curl|wget|apt(?:-get)?|npm|npx|git|docker|uv|brew|chmod|mkdir|echo"
    r"|export|bash|sh) [\w./~$\"'-]"
)
_FOREIGN = re.compile(
    r"\s*(?:(?:const|let|var|function|public|private|package|func|fn|use|struct|interface|#include)\s"
    r"|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WITH)\s.*|<[A-Za-z!?/]|(?:[+-]{3}|@@) |\|.*\|\s*$)"
)
_BLOCK = re.compile(r"(?:async )?(for|with|while|if|elif|else|try|finally|except|match|case)\b")
_PYTHON = re.compile(
    r"""
      import\s+\w[\w.]*(?:\s+as\s+\w+|\s*,.*)?$ | from\s+[\w.]+\s+import\b
    | (?:async\s+)?def\s+\w+ | class\s+\w+\s*[(:] | @\w
    | (?:return|raise|yield|await|assert|del)\b.*[\w)\]}"']$ | (?:pass|break|continue)$
    | [A-Za-z_][\w.]*(?:\[.*\])?\s*(?:[-+*/%|&^@]|//|\*\*)?=(?!=)
    | [A-Za-z_][\w.]*\( | [)\]}]+[,:]?$ | \#
    """,
    re.VERBOSE,
)


def _is_python_line(line: str) -> bool:
    line = line[:2000].strip()
    if line.endswith((";", "{")):
        return False
    if block := _BLOCK.match(line):
        head = line.split("#", 1)[0].rstrip()
        return head.endswith(":") and (block[1] != "for" or " in " in head)
    return _PYTHON.match(line) is not None


def _is_json(code: str) -> bool:
    text = code.strip()
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return re.match(r"[{\[]\s*(?:\"[^\"\n]*\"\s*:|\{\s*\"[^\"\n]*\"\s*:)", text) is not None
    return True


def _without_strings(code: str) -> str:
    parts, pos = [], 0
    for start, end in strings(code):
        parts += [code[pos:start], '""']
        pos = end
    return "".join([*parts, code[pos:]])


def looks_like_python(code: str) -> bool:
    """Whether at least half of the lines of text that does not parse read as Python."""
    lines = [line for line in _without_strings(code).split("\n") if line.strip()]
    hits = [line.lstrip()[0] for line in lines if _is_python_line(line)]
    return any(first not in "#)]}" for first in hits) and len(hits) * 2 >= len(lines)


def why_not_code(found: Mended, line_before: str = "", *, behind_tagged: bool = False) -> str | None:
    """Why a block without a tag is not run, or ``None`` where it is code.

    Behind a block that was tagged as Python, in the same reply, one without a tag is rather what
    the model expects to see: ``total = 12`` there must not set the variable.
    """
    code, tree = found.code, found.tree
    if _TRACEBACK.search(code):
        return "a traceback in a block without a tag is output, not code"
    if tree is not None:
        if _LABEL.fullmatch(line_before[-200:]) and _only_shows(tree, code):
            return "a block without a tag below a line like “Output:” is output, not code"
        if behind_tagged and _only_states(tree):
            return "a block without a tag behind a tagged one that only states values is output, not code"
        if _does_something(tree, code):
            return None
        what = "JSON" if _is_json(code) else "a value or plain words"
        return f"a block without a tag that holds only {what} is output, not code"
    first = code.lstrip().split("\n", 1)[0][:2000]
    if _is_json(code):
        return "JSON in a block without a tag is data, not code"
    if _SHELL.match(first):
        return "only Python is run, and this block reads as shell commands"
    if not _FOREIGN.match(first) and looks_like_python(code):
        return None
    return NOT_PYTHON
