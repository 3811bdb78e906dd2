from __future__ import annotations
from unspool.testing import ScriptedModel
from .conftest import *


async def test_a(serve):
    up = await serve(ScriptedModel([LOOK, submits("len(context)")]))
    r = await up.chat("x")
    print(r.status, r.headers, r.body.decode())
    print(up.logged)


async def test_b(serve):
    up = await serve(ScriptedModel([LOOK, submits("len(context)")]))
    r = await up.chat("x", stream=True, stream_options={"include_usage": True})
    print(r.status, r.headers, r.body.decode())
    print(up.logged)


async def test_c(serve):
    up = await serve(ScriptedModel([LOOK, submits("len(context)")]))
    r = await up.send("/v1/responses", {"model": "unspool", "input": "hi", "stream": True})
    print(r.status, r.headers, r.body.decode())
    for p in ("/metrics", "/health", "/v1/models", "/v1/models/x", "/nope"):
        r = await up.send(p)
        print(r.status, r.body.decode())
    print(up.logged)
