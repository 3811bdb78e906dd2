"""Clouds as commands, each over a stand-in of its SDK that drives a real interpreter.

The stand-ins have the calls that the SDKs' documents have, and cut and echo what passes as those may.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from unspool.sandbox.command import CommandSandbox
from unspool.testing.sandbox_conformance import conform

SRC = str(Path(__file__).parents[2] / "src")

MODAL = """
import os, subprocess, sys
class Image:
    @staticmethod
    def debian_slim(python_version): return Image()
    def pip_install(self, *packages): return self
class App:
    @staticmethod
    def lookup(name, create_if_missing=False): return App()
class Stdin:
    def __init__(self, pipe): self.pipe, self.kept, self.ends = pipe, b"", False
    def write(self, data):
        assert isinstance(data, bytes) and len(self.kept) < 2 << 20
        self.kept += data
    def write_eof(self): self.ends = True
    def drain(self):
        self.pipe.write(self.kept); self.pipe.flush(); self.kept = b""
        if self.ends: self.pipe.close()
def chunks(pipe):
    while data := os.read(pipe.fileno(), 777): yield data
class Process:
    def __init__(self, *argv):
        p = subprocess.Popen([sys.executable, *argv[1:]], stdin=-1, stdout=-1, stderr=-1)
        self.stdin, self.stdout, self.stderr = Stdin(p.stdin), chunks(p.stdout), chunks(p.stderr)
class Sandbox:
    @staticmethod
    def create(app, image, block_network, timeout):
        assert block_network is True
        return Sandbox()
    def exec(self, *argv, text=True):
        assert argv[0] == "python3" and text is False
        return Process(*argv)
    def terminate(self): open(LOG, "a").write("ended")
"""

E2B = """
import os, subprocess, sys
class Handle:
    def __init__(self, p): self.p, self.pid = p, p.pid
    def __iter__(self):
        while data := os.read(self.p.stdout.fileno(), 501): yield data.decode("utf-8", "replace"), None, None
class Commands:
    def run(self, cmd, background, stdin, timeout):
        assert background and stdin and timeout == 0
        self.p = subprocess.Popen(["sh", "-c", cmd.replace("python3", sys.executable)], stdin=-1, stdout=-1)
        return Handle(self.p)
    def send_stdin(self, pid, data):
        assert pid == self.p.pid and isinstance(data, str)
        self.p.stdin.write(data.encode()); self.p.stdin.flush()
class Sandbox:
    @classmethod
    def create(cls, template=None, timeout=None, allow_internet_access=True):
        assert allow_internet_access is False
        box = cls(); box.commands = Commands()
        return box
    def kill(self): open(LOG, "a").write("ended")
"""

DAYTONA = """
import asyncio, os, subprocess, sys
class CreateSandboxFromSnapshotParams:
    def __init__(self, snapshot=None, network_block_all=False): assert network_block_all is True
class SessionExecuteRequest:
    def __init__(self, command, run_async, suppress_input_echo): self.command = command; assert run_async
class Response: cmd_id = "c1"
class Process:
    echo = ""
    def create_session(self, name): self.name = name
    def execute_session_command(self, name, request):
        assert name == self.name
        cmd = request.command.replace("python3", sys.executable)
        self.p = subprocess.Popen(["sh", "-c", cmd], stdin=-1, stdout=-1)
        return Response()
    def send_session_command_input(self, name, command, data):
        assert (name, command) == (self.name, "c1")
        self.echo += data  # older ones do, whatever they are asked
        self.p.stdin.write(data.encode()); self.p.stdin.flush()
    async def get_session_command_logs_async(self, name, command, on_stdout, on_stderr):
        while data := await asyncio.to_thread(os.read, self.p.stdout.fileno(), 999):
            text = data.decode()
            if self.echo and text.endswith("\\n"):
                text, self.echo = text + self.echo, ""
            on_stdout(text)
class Box: process = Process()
class Daytona:
    def create(self, params): return Box()
    def delete(self, box): open(LOG, "a").write("ended")
"""
STAND_INS = {"modal": MODAL, "e2b": E2B, "daytona": DAYTONA}


@pytest.mark.parametrize("name", STAND_INS)
@pytest.mark.parametrize(
    "check",
    [
        "values survive",
        "odd output",
        "large values",
        "several threads",
        "a crash is undone",
        "that hangs",
        "10 MB arrives",
        "closing ends",
    ],
)
def test_a_cloud(name: str, check: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / f"{name}.py").write_text(f"LOG = {str(log)!r}\n{STAND_INS[name]}")
    command = [
        "env",
        f"PYTHONPATH={tmp_path}:{SRC}",
        sys.executable,
        "-m",
        f"unspool.sandbox.adapters.{name}",
    ]
    report = conform(lambda: CommandSandbox(command), only=check)
    assert report.outcomes
    assert report.ok, str(report)
    assert "ended" in log.read_text()  # somebody pays for what is left running


@pytest.mark.parametrize("name", STAND_INS)
def test_adapters_are_short(name: str) -> None:
    assert len((Path(SRC) / f"unspool/sandbox/adapters/{name}.py").read_text().splitlines()) <= 80
