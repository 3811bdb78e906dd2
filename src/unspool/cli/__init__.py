"""The command line: ``unspool ask``, ``unspool doctor``, ``unspool models``.

Contract: the answer, and nothing else, goes to stdout; all that tells of the work goes to stderr. Exit
codes are those of :mod:`unspool.cli.exits`. What a command needs is imported when it runs, so that
``unspool --help`` comes at once.
"""

from __future__ import annotations


def main() -> None:
    """The console script."""
    from .exits import ended
    from .terminal import prepare_streams

    prepare_streams()
    with ended():
        from .app import app

        app()
