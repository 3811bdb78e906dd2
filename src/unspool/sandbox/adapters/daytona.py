"""A Daytona sandbox as a command: ``python -m unspool.sandbox.adapters.daytona [SNAPSHOT]``.

It has no network, and is deleted with this program. The snapshot needs Python 3.11 or newer.
"""

from __future__ import annotations

import asyncio
import sys

from ._relay import COMMAND, END, Lines, line, say, send_all

SESSION = "unspool"


def main(snapshot: str | None = None) -> None:
    from daytona import CreateSandboxFromSnapshotParams, Daytona, SessionExecuteRequest

    client = Daytona()
    box = client.create(CreateSandboxFromSnapshotParams(snapshot=snapshot, network_block_all=True))
    try:
        process = box.process
        process.create_session(SESSION)
        asked = SessionExecuteRequest(command=COMMAND, run_async=True, suppress_input_echo=True)
        command = process.execute_session_command(SESSION, asked).cmd_id
        lines = Lines()
        send_all(
            lambda data: process.send_session_command_input(SESSION, command, line(data)),
            lambda: process.send_session_command_input(SESSION, command, END),
        )
        asyncio.run(
            process.get_session_command_logs_async(
                SESSION,
                command,
                lambda text: say(lines.bytes_in(text)),
                lambda text: say(text.encode(), to=2),
            )
        )
    finally:
        client.delete(box)


if __name__ == "__main__":
    main(*sys.argv[1:2])
