"""A process that outlives this one by a moment, to end what this one can no longer end.

Contract: from the time that a :class:`Watch` is made until it is closed, all processes of ``group`` are
killed, and then ``folder`` is removed, as soon as this process is no more, however it ended. It is a shell
that waits for the end of a pipe which nobody else holds: code that keeps a Python interpreter busy
(``9**9**9``) keeps the interpreter's own threads from their turn, so none of them can see to it. It is
started from outside of what confines such code. POSIX alone.

>>> with Watch(2**22, "/nowhere/at/all") as watch:
...     watch.pid > 0
True
"""

from __future__ import annotations

import os
import subprocess
from types import TracebackType

__all__ = ["Watch"]

# Nothing is ever written: read comes back when the pipe has no other end any more.
_PROGRAM = 'read -r nothing; kill -9 "-$1"; rm -rf -- "$2"'


class Watch:
    """See the module docstring. Raises ``OSError`` where no process can be started."""

    def __init__(self, group: int, folder: str) -> None:
        reader, self._writer = os.pipe()  # neither is inherited
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _PROGRAM, "unspool-watch", str(group), folder], stdin=reader,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin"}, cwd="/",
                start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(self._writer)
            raise
        finally:
            os.close(reader)

    @property
    def pid(self) -> int:
        """Its own."""
        return self._process.pid

    def close(self) -> None:
        """Ends it, before the number of the group can be another one's."""
        self._process.kill()
        self._process.wait()
        os.close(self._writer)

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
