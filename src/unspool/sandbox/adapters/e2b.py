"""An E2B sandbox as a command: ``python -m unspool.sandbox.adapters.e2b [TEMPLATE]``.

It has no internet access, and is killed with this program. The template needs Python 3.11 or newer.
"""

from __future__ import annotations

import sys

from ._relay import COMMAND, END, Lines, line, say, send_all

SECONDS = 3600  # the most that E2B gives everybody


def main(template: str | None = None) -> None:
    from e2b import Sandbox

    box = Sandbox.create(template, timeout=SECONDS, allow_internet_access=False)
    try:
        process = box.commands.run(COMMAND, background=True, stdin=True, timeout=0)
        lines = Lines()
        send_all(
            lambda data: box.commands.send_stdin(process.pid, line(data)),
            lambda: box.commands.send_stdin(process.pid, END),
        )
        for out, complaint, _ in process:  # text alone
            if out:
                say(lines.bytes_in(out))
            if complaint:
                say(complaint.encode(), to=2)
    finally:
        box.kill()


if __name__ == "__main__":
    main(*sys.argv[1:2])
