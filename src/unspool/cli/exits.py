"""The exit codes, and what an error turns into.

=====  =============================================================
0      answered
1      failed: no answer
2      usage: an option, a file or a setting is wrong
3      partial: stopped early, the best draft was printed
4      budget: a limit was reached, with or without a draft
130    cancelled (Ctrl-C); 143 by a TERM signal
=====  =============================================================

>>> CODES["budget"]
4
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..errors import ConfigError, ContextError, NoServer, UnspoolError
from ..types import Status
from .terminal import complain, unwritten

FAILED, USAGE, CANCELLED, TERMINATED = 1, 2, 130, 143

CODES: Mapping[Status, int] = {
    "answered": 0,
    "failed": FAILED,
    "partial": 3,
    "budget": 4,
    "cancelled": CANCELLED,
}


@contextmanager
def errors_as_exits() -> Iterator[None]:
    """Our own errors become one message and an exit code; a bug keeps its traceback."""
    import typer

    try:
        yield
    except NoServer as error:  # nothing was written wrong
        complain(str(error))
        raise typer.Exit(FAILED) from None
    except (ConfigError, ContextError) as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    except UnspoolError as error:
        complain(str(error))
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        complain("cancelled")
        raise typer.Exit(CANCELLED) from None


@contextmanager
def ended() -> Iterator[None]:
    """Around a whole command: what stdout did not take is told and no success, whatever wrote it."""
    code: str | int | None = 0
    try:
        yield
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:  # before the command had begun to listen for it
        code = CANCELLED
    lost = unwritten()
    sys.exit(FAILED if lost and not code else code)
