"""``unspool runs export``: a run as a file to keep, to send or to work with.

Contract: everything comes from the events of the journal. A file is written whole or not at all; one that is
there stays, unless it is to be replaced. With ``--redact`` texts are told by size and hash alone.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .exits import FAILED, errors_as_exits
from .options import RunName, RunsFolder
from .runs import find_run, journal_in
from .terminal import Output, unwritten

if TYPE_CHECKING:
    from ..events import Event

STDOUT = "-"


def export(
    run: RunName,
    runs: RunsFolder = None,
    markdown: Annotated[
        str | None, typer.Option("--md", metavar="FILE", help="Markdown.", show_default=False)
    ] = None,
    jsonl: Annotated[
        str | None,
        typer.Option("--jsonl", metavar="FILE", help="The events as JSON lines.", show_default=False),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", help="A page that needs nothing else.", show_default=False),
    ] = None,
    otel: Annotated[
        str | None,
        typer.Option(
            "--otel", metavar="FILE", help="Spans for OpenTelemetry, as OTLP JSON lines.", show_default=False
        ),
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Put sizes and hashes in the place of all texts.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a run to a file, or to stdout where FILE is -."""
    with errors_as_exits():
        from ..journal import without_secrets

        made: Mapping[str, Callable[[str, list[Event]], str]] = {
            "--md": lambda name, events: _markdown(name, events),
            "--jsonl": lambda _, events: _lines(events),
            "--html": lambda name, events: _page(name, events, redacted=redact),
            "--otel": lambda _, __: _spans(kept, content=not redact),
        }
        wanted = {
            option: target
            for option, target in zip(made, (markdown, jsonl, html, otel), strict=True)
            if target is not None
        }
        _check(wanted, force)
        journal = journal_in(runs)
        name = find_run(journal, run)
        events = kept = journal.read(name)
        if redact:
            from ..redact import Redactor

            redactor = Redactor()
            events = [redactor.event(event) for event in kept]
        for option, target in wanted.items():
            text = without_secrets(made[option](name, events))
            if target == STDOUT:
                _to_stdout(text)
            else:
                write_whole(Path(target), text, force=force)


def _check(wanted: Mapping[str, str], force: bool) -> None:
    """Before anything is read or written."""
    from ..errors import ConfigError

    if not wanted:
        raise ConfigError("export: say what to write: --md FILE, --jsonl FILE, --html FILE or --otel FILE")
    targets = list(wanted.values())
    if len(set(targets)) < len(targets):
        raise ConfigError("export: give each format a file of its own")
    for target in targets:
        if target != STDOUT:
            _refuse(Path(os.path.realpath(target)), force)


def _refuse(path: Path, force: bool) -> None:
    """Raises for what must not be written."""
    from ..errors import ConfigError

    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise ConfigError(f"{path.parent} is no folder: make it, or name another file") from None
        return
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{path} is no file; - writes to stdout")
    if not force:
        raise ConfigError(f"{path} is there already: name another file, or give --force to replace it")


def write_whole(path: Path, text: str, *, force: bool) -> None:
    """The text as a file, all of it or nothing; another file of that name stays, unless ``force``."""
    from ..errors import ConfigError

    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with open(fd, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace"))
                file.flush()
                os.fsync(fd)
            if force:
                os.replace(part, path)
            else:
                _move_new(part, path)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError:
        _refuse(path, force=False)  # made meanwhile
        raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None


def _move_new(part: Path, path: Path) -> None:
    """Gives the file its name, if nobody has it; on a file system without links after one more look."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        if path.exists():
            raise FileExistsError(path) from None
        os.replace(part, path)


def _to_stdout(text: str) -> None:
    """The text as a file would have it."""
    out = Output(sys.stdout)
    out.write(text.encode("utf-8", "backslashreplace").decode())
    if unwritten("the export"):
        raise typer.Exit(FAILED)


def _markdown(name: str, events: Sequence[Event]) -> str:
    from ..trace import folded
    from .markdown import markdown

    return markdown(folded(events), name)


def _page(name: str, events: Sequence[Event], *, redacted: bool) -> str:
    from ..viewer.followed import Seen
    from ..viewer.page import page

    return page(Seen.of(name, events), redacted=redacted)


def _lines(events: Sequence[Event]) -> str:
    from .plain import as_json

    return "".join(as_json({"kind": event.kind, **asdict(event)}) + "\n" for event in events)


def _spans(events: Sequence[Event], *, content: bool) -> str:
    from ..otlp_lines import lines

    return "".join(line + "\n" for line in lines(events, content=content))
