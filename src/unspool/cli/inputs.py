"""The context of ``unspool ask``: files, or what is piped in; and the type of its answer.

Contract: the text of a small file exactly as it is, line ends included; only a byte-order mark is taken off.
Large files, folders, globs, archives, tables and databases are a :class:`~pathlib.Path`, read where they lie
(:mod:`unspool.contexts.named`). Several inputs are a dict by name. What cannot be read is a
:class:`unspool.errors.ContextError` that names it and says what to do.
"""

from __future__ import annotations

import glob
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from ..answers import AnswerType
from ..contexts.folders import LONGEST
from ..contexts.named import read_name
from ..contexts.text import decode, read_file, read_piped
from ..errors import ConfigError, ContextError
from ..type_names import read_type
from .terminal import is_terminal

STDIN = "-"
_STDIN_NAME = "standard input"


def read_context(files: Sequence[str]) -> str | Path | dict[str, str | Path]:
    """The context that the arguments name; without any, what is piped in."""
    if not files:
        if sys.stdin is None or is_terminal(sys.stdin):
            raise ContextError(
                "there is no input. Name a file (unspool ask QUESTION FILE) or pipe text in "
                "(some-command | unspool ask QUESTION)."
            )
        files = (STDIN,)
    texts: dict[str, str | Path] = {
        ("stdin" if name == STDIN else name): _read(name) for name in dict.fromkeys(files)
    }
    if not any(texts.values()):
        names = _STDIN_NAME if files[0] == STDIN and len(texts) == 1 else ", ".join(texts)
        empty = "is empty" if len(texts) == 1 else "are all empty"
        raise ContextError(f"{names} {empty}: there is nothing to ask about.")
    return next(iter(texts.values())) if len(texts) == 1 else texts


def read_asked(question: str, files: Sequence[str]) -> str | Path | dict[str, str | Path]:
    """The context of a question; where that stands behind its file, the error says so."""
    if files and os.path.exists(question) and not any(map(_is_there, files)):
        raise ContextError(
            f"{files[0]}: no such file, but {question} is one. The question comes first: "
            f"unspool ask {shlex.quote(files[0])} {shlex.quote(question)}"
        )
    return read_context(files)


def _is_there(name: str) -> bool:
    """Whether it is an input; of a glob, whether it matches."""
    full = os.path.expanduser(name)
    if name == STDIN or os.path.lexists(full) or len(full) > LONGEST:
        return True
    return next(glob.iglob(full, recursive=True), None) is not None


def source_names(files: Sequence[str]) -> tuple[str, ...]:
    """The files from which the same context can be read again, as they were named; nothing for what was
    piped in."""
    return () if STDIN in files else tuple(files)


def read_answer_type(given: str | None) -> object:
    """The type that ``--answer`` names: a type of Python's, or what a file with a JSON schema says."""
    if given is None:
        return None
    if not given.endswith(".json") and not Path(given).is_file():
        try:
            return read_type(given)
        except ConfigError as error:
            raise ConfigError(f"--answer: {error}") from None
    try:
        schema = json.loads(read_file(given))
    except ContextError as error:
        raise ConfigError(f"--answer: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"--answer: {given} is no JSON: {error}") from None
    if not isinstance(schema, dict):
        raise ConfigError(
            f"--answer: {given} holds no JSON schema: an object with type, properties, … is one"
        )
    try:
        AnswerType(schema)  # what is wrong with it is said before a model is looked for
    except ConfigError as error:
        raise ConfigError(f"--answer: {given}{str(error).removeprefix('answer=')}") from None
    return schema


def _read(name: str) -> str | Path:
    if name.startswith(("http://", "https://")) and not os.path.lexists(name):
        raise ContextError(
            f"{name}: addresses are not fetched. Pipe in what is there: "
            f"curl -sL {shlex.quote(name)} | unspool ask QUESTION"
        )
    if name != STDIN:
        return read_name(name)
    if sys.stdin is None:
        raise ContextError(f"{_STDIN_NAME} is closed: pipe text in, or name a file.")
    return decode(read_piped(sys.stdin.buffer, _STDIN_NAME), _STDIN_NAME)
