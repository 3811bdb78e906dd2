"""The exit codes, and what an error turns into.

=====  ==================================================================================
0      answered
1      failed: no answer
2      usage: an option, a file, a setting, or the name of a run or of a part of it is wrong; an extra
       that what was asked for needs is not installed
3      partial: stopped early, with a draft
4      budget: a limit was reached, with or without a draft
130    cancelled (Ctrl-C); 143 by a TERM signal
=====  ==================================================================================

>>> CODES["budget"]
4
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import (
    ConfigError,
    ContextError,
    NoServer,
    NoSuchRun,
    UnknownPrice,
    UnspoolError,
    WrongSetting,
)
from ..shortage import shortage
from ..types import Status
from .terminal import complain, unwritten

if TYPE_CHECKING:
    from typer._click.exceptions import UsageError

FAILED, USAGE, CANCELLED, TERMINATED = 1, 2, 130, 143

CODES: Mapping[Status, int] = {
    "answered": 0,
    "failed": FAILED,
    "partial": 3,
    "budget": 4,
    "cancelled": CANCELLED,
}


# Settings that are options of the same name; the others are said as they are in Python.
_OPTIONS = frozenset(
    ("usd", "tokens", "calls", "seconds", "max_turns", "max_depth", "branches", "strategy", "strategies",
     "sandbox", "profile", "runs")
)  # fmt: skip


def _typed(error: WrongSetting) -> str:
    """What is wrong as it is typed.

    >>> from unspool.errors import WrongSetting
    >>> _typed(WrongSetting("max_turns", 0, "")), _typed(WrongSetting("strategy", "rml", ""))
    ('--max-turns 0', '--strategy rml')
    """
    if error.name not in _OPTIONS:
        return f"{error.name}={error.value!r}"
    return f"--{error.name.replace('_', '-')} {error.value}"


@contextmanager
def errors_as_exits() -> Iterator[None]:
    """Our own errors become one message and an exit code; a bug keeps its traceback."""
    import typer

    try:
        yield
    except NoServer as error:  # nothing was written wrong
        complain(str(error))
        raise typer.Exit(FAILED) from None
    except WrongSetting as error:
        complain(f"{_typed(error)}: {error.wanted}")
        raise typer.Exit(USAGE) from None
    except UnknownPrice as error:
        complain(_with_options(error))
        raise typer.Exit(USAGE) from None
    except (ConfigError, ContextError, NoSuchRun) as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    except UnspoolError as error:
        complain(str(error))
        raise typer.Exit(FAILED) from None
    except OSError as error:
        if (told := shortage(error)) is None:
            raise
        complain(told)
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        complain("cancelled")
        raise typer.Exit(CANCELLED) from None


def _with_options(error: UnknownPrice) -> str:
    """What can be done about it with the options of the command that is run."""
    options = _options()
    limits = [each for each in ("--tokens", "--calls", "--seconds") if each in options]
    price = "--set price=READ/WRITTEN" if "--set" in options else ""
    return error.told(price, " or ".join(filter(None, (", ".join(limits[:-1]), *limits[-1:]))), "--usd")


def _options() -> frozenset[str]:
    """The options of the command that is run."""
    import typer

    core = typer.Context.__bases__[0].__module__  # wherever this release of typer has it
    running = import_module(f"{core.rpartition('.')[0]}.globals").get_current_context()
    return frozenset(each for param in running.command.params for each in param.opts)


def usage(error: UsageError) -> str:
    """What is wrong with a command line, in one line as all other errors, and where its options are told."""
    from ..misfits import plainly

    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):  # there is none of that name
        told = f"there is no option {option}"
        text = f"{told}. Did you mean {guess}?" if (guess := _nearest(option, error)) else told
    else:
        text = error.format_message().strip().replace(error.message, plainly(error.message))
        text = text[:1].lower() + text[1:]
    if error.ctx is None:
        return text
    return f"{text if text.endswith('?') else text.rstrip('.') + '.'} See {error.ctx.command_path} -h"


def _nearest(option: str, error: UsageError) -> str:
    """The option of the command that a wrong one is nearest to; "" where none is near."""
    from ..checks import near

    params = error.ctx.command.params if error.ctx is not None else ()
    known = {each.lstrip("-"): each for param in params for each in (*param.opts, *param.secondary_opts)}
    return known.get(near(option.lstrip("-"), [name for name in known if len(name) > 1]), "")


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
