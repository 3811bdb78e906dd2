"""The process that runs llama.cpp: started by ``local_process``, not to be imported by anything.

Contract: standard library and xllamacpp only, run by its path with ``python -P``. The first line
of stdin is a JSON object of settings; when the model is loaded, one line of JSON with the URL goes
to stdout. It ends when stdin closes, as it does when the host ends in whatever way, or when its
parent is another one than at the start.
"""

from __future__ import annotations

import json
import os
import select
import threading

CHECK_SECONDS = 1.0


def end_with_host(parent: int) -> None:
    while os.getppid() == parent:
        ready, _, _ = select.select([0], [], [], CHECK_SECONDS)
        if ready and not os.read(0, 4096):
            break
    os._exit(0)


def read_line() -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            os._exit(0)
        line += piece
    return line


def main() -> None:
    parent = os.getppid()
    settings = json.loads(read_line())
    threading.Thread(target=end_with_host, args=(parent,), daemon=True).start()
    # llama.cpp writes to stdout where it likes: keep ours for the one line.
    answer = os.dup(1)
    os.dup2(2, 1)
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.n_ctx = settings["window"] * settings["slots"]
    params.n_parallel = settings["slots"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.api_keys = [settings["key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.endpoint_props = False
    params.verbosity = 1
    params.cache_ram_mib = settings["cache_mib"]
    params.slot_save_path = settings["states"] + os.sep
    server = xllamacpp.Server(params)
    os.write(answer, json.dumps({"url": server.listening_address}).encode() + b"\n")
    os.close(answer)
    threading.Event().wait()


if __name__ == "__main__":
    main()
