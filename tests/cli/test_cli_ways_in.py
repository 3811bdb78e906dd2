"""One rule for all ways in: a name in the shell, a path for MCP, a ``Path`` in Python, a pipe."""

from __future__ import annotations

import gzip
import io
import os
import resource
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from unspool import RLM
from unspool.contexts.named import read_name
from unspool.contexts.text import decode, read_piped
from unspool.errors import ContextError
from unspool.testing import ScriptedModel

from .conftest import SECONDS, MakeCli, submits

PDF, DOCX, ELF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", b"PK\x03\x04word", b"\x7fELF\0\0\1"
SQLITE = b"SQLite format 3\0" + bytes(80)
ADDRESS_SPACE = 3 << 30  # of a command that might read without a bound: it must fail, not eat the machine


def refused(path: Path) -> str:
    """What Python says of the path."""
    with pytest.raises(ContextError) as caught:
        RLM(ScriptedModel(["none"])).run("?", path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"), [("a.pdf", PDF), ("a.docx", DOCX), ("a.odt", DOCX), ("core", ELF), ("a.rtf", b"{\\rtf1")]
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_the_same_words(
    make_cli: MakeCli, tmp_path: Path, name: str, content: bytes
) -> None:
    cli = make_cli([submits("1")])
    cli.file(name, content)
    words = refused(tmp_path / name).replace(str(tmp_path) + "/", "")
    assert words.startswith(name)
    done = cli.run(cli.ask("?", name))
    assert done.returncode == 2
    assert done.stderr.decode() == f"unspool: {words}\n"
    assert cli.server.asks == []


@pytest.mark.parametrize("content", [PDF, ELF, SQLITE, gzip.compress(b"text", mtime=0), DOCX])
def test_what_is_no_text_is_refused_from_a_pipe(content: bytes) -> None:
    with pytest.raises(ContextError, match=r"^standard input is (a|an|packed)\b.*"):
        decode(content, "standard input")


def test_text_in_another_encoding_is_read_whatever_its_size_and_way(
    make_cli: MakeCli, tmp_path: Path
) -> None:
    """Its bytes stand as lone surrogates, and it is the text it was in its own encoding."""
    odd = "context.encode('utf-8', 'surrogateescape').decode('latin-1')[:4]"
    how = f"context.encoded('latin-1')[:4] if hasattr(context, 'encoded') else {odd}"
    cli = make_cli([submits(how)] * 3)
    small = cli.file("small.log", b"caf\xe9 au lait\n")
    large = cli.file("large.log", b"caf\xe9 au lait\n" * 400_000)
    for names, piped in (([small], b""), ([large], b""), (["-"], b"caf\xe9 au lait\n")):
        done = cli.run(cli.ask("?", *names), stdin=piped)
        assert (done.returncode, done.stdout.decode()) == (0, "café\n"), done.stderr
    assert isinstance(read_name(str(tmp_path / small)), Path)


def test_an_image_is_one_from_the_shell_too(make_cli: MakeCli) -> None:
    pixels = zlib.compress(b"\0\0\0\0")
    parts = ((b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)), (b"IDAT", pixels), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    cli = make_cli([submits("type(context).__name__")])
    done = cli.run(cli.ask("?", cli.file("a.png", png)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() in ("Picture\n", "PngImageFile\n")  # without Pillow, with it


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


@pytest.mark.parametrize("way", ["ask", "mcp", "python"])
@pytest.mark.parametrize("kind", ["device", "pipe", "link to a device"])
def test_what_has_no_end_is_refused_before_a_byte_is_read(
    make_cli: MakeCli, tmp_path: Path, way: str, kind: str
) -> None:
    path = tmp_path / "odd"
    if kind == "device":
        path = Path("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    cli = make_cli([submits("1")])
    code = {
        "mcp": "from unspool.mcp.places import Places; Places().read({path!r})",
        "python": "from pathlib import Path; from unspool import RLM; from unspool.testing import ScriptedModel;"
        "RLM(ScriptedModel(['none'])).run('?', Path({path!r}))",
    }  # fmt: skip
    if way in code:
        command = [sys.executable, "-c", code[way].format(path=str(path))]
    else:
        command = cli.ask("?", str(path))
    done = subprocess.run(
        command, cwd=cli.folder, env=cli.environment, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=SECONDS, preexec_fn=limited, check=False,
    )  # fmt: skip
    assert f"{path} is no regular file: pipe it in, or write it to a file first" in done.stderr.decode()
    assert done.returncode == (1 if way in code else 2)


def test_a_pipe_has_a_bound_that_is_named() -> None:
    assert read_piped(io.BytesIO(b"1234"), "standard input", 4) == b"1234"
    with pytest.raises(ContextError, match=r"more than 4 bytes.*save it to a file and name that"):
        read_piped(io.BytesIO(b"12345"), "standard input", 4)


class Endless(io.RawIOBase):
    def read(self, size: int = -1, /) -> bytes:
        return bytes(size)


def test_a_pipe_without_an_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContextError, match=r"more than 8\.0 MB"):
        read_piped(Endless(), "standard input", 8_000_000)  # type: ignore[arg-type]


@pytest.mark.parametrize("command", [("ask", "?"), ("llm", "?")])
def test_a_pipe_that_memory_does_not_hold_is_one_clear_error(
    make_cli: MakeCli, command: tuple[str, ...]
) -> None:
    cli = make_cli([submits("1")])

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))

    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as yes:
        done = subprocess.run(
            [*cli.command(*command), "--model", "openai:test-model"], cwd=cli.folder, env=cli.environment,
            stdin=yes.stdout, capture_output=True, timeout=SECONDS, preexec_fn=small, check=False,
        )  # fmt: skip
        yes.kill()
    told = done.stderr.decode()
    assert done.returncode == 2, told
    assert told.count("\n") == 1
    assert "save it to a file and name that" in told
