"""A Modal sandbox as a command: ``python -m unspool.sandbox.adapters.modal [PACKAGE …]``.

It has no network, Python 3.13 and the packages that are named. It is terminated with this program.
"""

from __future__ import annotations

import sys
import threading

from ._relay import say, send_all

SECONDS = 24 * 3600  # the most that Modal gives


def main(packages: list[str]) -> None:
    import modal

    image = modal.Image.debian_slim(python_version="3.13")
    if packages:
        image = image.pip_install(*packages)
    app = modal.App.lookup("unspool", create_if_missing=True)
    box = modal.Sandbox.create(app=app, image=image, block_network=True, timeout=SECONDS)
    try:
        process = box.exec("python3", "-qi", "-", text=False)

        def send(data: bytes) -> None:
            process.stdin.write(data)
            process.stdin.drain()

        def close() -> None:
            process.stdin.write_eof()
            process.stdin.drain()

        def complaints() -> None:
            for data in process.stderr:
                say(data, to=2)

        send_all(send, close)
        threading.Thread(target=complaints, daemon=True).start()
        for data in process.stdout:
            say(data)
    finally:
        box.terminate()


if __name__ == "__main__":
    main(sys.argv[1:])
