"""Checks of contexts on their way in."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from ...contexts.grants import Grants
from ...contexts.sources import with_sources
from ...sandbox._calls import OPEN
from ...sandbox.protocol import HostCall
from .bench import Bench, ScriptedHost, check

_SAME = "import hashlib\nhashlib.sha256(repr(context).encode('utf-8', 'surrogatepass')).hexdigest()"


async def _arrives(bench: Bench, context: object) -> None:
    repl = await bench.open(context)
    wanted = hashlib.sha256(repr(context).encode("utf-8", "surrogatepass")).hexdigest()
    await repl.shows("type(context).__name__", repr(type(context).__name__))
    await repl.shows(_SAME, repr(wanted))
    await repl.repl.close()


@check("a text of 10 MB arrives as it is")
async def large_text(bench: Bench) -> None:
    await _arrives(bench, "a line of the log, and another\n" * 330_000)


@check("texts arrive as they are: every width, NUL, lone surrogates, none at all")
async def odd_texts(bench: Bench) -> None:
    for text in ("", "a\0b\r\n", "é" * 5_000, "Ω\ud800\udc00 \udfff" * 3_000, "\U0001f600 \ud83d" * 3_000):
        await _arrives(bench, text)


@check("bytes, lists, dicts and plain values arrive as they are")
async def plain_data(bench: Bench) -> None:
    for value in (
        b"\x00\xff" * 50_000,
        ["a", 1, 2.5, None, True, ("t", {"k": [1, {2, 3}]})],
        {"name": "x" * 200_000, 5: [b"raw"], ("a", 1): {"deep": {"deeper": [[]]}}},
        None,
        10**30,
    ):
        await _arrives(bench, value)


@check("many records arrive, and can be walked")
async def many_records(bench: Bench) -> None:
    repl = await bench.open([{"id": i, "text": f"record {i}"} for i in range(20_000)])
    await repl.shows("len(context), sum(r['id'] for r in context), context[-1]['text']",
                     "(20000, 199990000, 'record 19999')")  # fmt: skip


@check("files are read by descriptors that the host hands over", "files")
async def files(bench: Bench) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.log"
        path.write_text("".join(f"line {i}\n" for i in range(200_000)), encoding="utf-8")
        context = with_sources(path)
        grants = Grants(context)

        async def opened(call: HostCall) -> object:
            return await grants.open(call)

        repl = await bench.open(context, host=ScriptedHost(**{OPEN: opened}), files=True)
        await repl.shows("context[:13]", repr("line 0\nline 1"))
        await repl.shows("context[-12:]", repr("line 199999\n"))
        await repl.shows("len(grep('line 77777', context))", "1")
