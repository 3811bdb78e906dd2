"""Images as contexts, in sub-calls and as answers: real bytes on the wire, none in journals and histories."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from unspool import RLM, Budget, ContextError, Contexts, Image, ModelError
from unspool.contexts import describe
from unspool.contexts.identity import context_hash
from unspool.contexts.image import with_images
from unspool.images import header
from unspool.journal import Journal
from unspool.models.command import CommandModel
from unspool.models.protocol import Message, ModelRequest
from unspool.models.providers import PROVIDERS
from unspool.models.remote import RemoteModel
from unspool.purse import messages_tokens
from unspool.request_key import request_key
from unspool.testing import FaultyServer, MemoryStore, ScriptedModel

from .helpers import py

pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed: pip install pillow")


def picture(width: int = 40, height: int = 30, mode: str = "RGB", colour: object = None) -> object:
    return pillow.new(mode, (width, height), colour if colour is not None else 200 if mode == "L" else None)


def file_of(image: object, kind: str = "PNG", **more: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **more)  # type: ignore[attr-defined]
    return file.getvalue()


FILES = [
    ("PNG", "RGB"), ("PNG", "RGBA"), ("PNG", "L"), ("PNG", "P"), ("PNG", "LA"), ("PNG", "1"), ("JPEG", "RGB"),
    ("JPEG", "L"), ("JPEG", "CMYK"), ("GIF", "P"), ("WEBP", "RGB"), ("WEBP", "RGBA"), ("BMP", "RGB"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "mode"), FILES)
def test_a_header_says_format_and_size(kind: str, mode: str) -> None:
    image = Image.of(file_of(picture(41, 33, mode), kind))
    assert (image.format, image.width, image.height) == (kind.lower(), 41, 33)
    if mode != "1" and kind != "WEBP":
        assert image.mode == mode
    assert image.pil().size == (41, 33)
    for cut in range(0, 30, 3):
        found = header(image.data[:cut])  # whatever is cut off: never an exception
        assert found is None or found[1:3] == (41, 33)


def test_what_is_no_image_is_an_error_in_words() -> None:
    for wrong in (b"no image", b"", "text", 5, None, [b""]):
        with pytest.raises(ValueError, match=r"no image|image"):
            Image.of(wrong)
    image = Image.of(picture())
    assert "data" not in repr(image)
    assert Image.of(image) is image


# Contexts


SHAPES: dict[str, Callable[[object], object]] = {
    "a PIL image": lambda p: p,
    "bytes of a PNG": file_of,
    "an Image": Image.of,
}


@pytest.mark.parametrize("name", SHAPES)
def test_an_image_is_described_and_is_a_pil_image_in_the_repl(name: str) -> None:
    context = SHAPES[name](picture(640, 480))
    told = describe(with_images(context))
    assert "640 × 480, mode RGB" in told
    assert len(told) < 500
    code = "print(type(context).__mro__[-2].__name__, context.size, context.mode, context.crop((0, 0, 9, 5)).size)"
    run = RLM(ScriptedModel([py(f"{code}\nsubmit(context.getpixel((3, 3)))")])).run("?", context)
    assert run.trace.turns[0].cells[0].output == "Image (640, 480) RGB (9, 5)\n"
    assert run.answer == (0, 0, 0)


def test_images_in_lists_dicts_names_and_files(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(file_of(picture(20, 10), "JPEG"))
    png = file_of(picture())
    cases: list[tuple[object, str]] = [
        ([png, picture(5, 5), "text"], "[c.size for c in context[:2]] + [context[2]]"),
        ({"x": png, "other": b"\x89PNG no"}, "[context['x'].size, context['other']]"),
        (Contexts(scan=png, note="n"), "[scan.size, note, context['scan'] is scan]"),
        (tmp_path / "a.jpg", "[context.size, context.format]"),
        (Contexts(scan=tmp_path / "a.jpg", n=1), "[scan.size, n]"),
    ]
    answers = [
        [(40, 30), (5, 5), "text"],
        [(40, 30), b"\x89PNG no"],
        [(40, 30), "n", True],
        [(20, 10), "JPEG"],
        [(20, 10), 1],
    ]
    for (context, code), answer in zip(cases, answers, strict=True):
        model = ScriptedModel([py(f"print(1)\nsubmit({code})")])
        assert RLM(model, runs=False).run("?", context).answer == answer
        assert "image, " in model.requests[0].messages[-1].text
    (tmp_path / "b.png").write_bytes(b"not an image at all")
    with pytest.raises(ContextError, match=r"b\.png is named like an image and is none"):
        RLM(ScriptedModel([])).run("?", tmp_path / "b.png")


def test_a_collection_of_images_says_how_one_is_seen() -> None:
    assert "images=[context[1]])" in describe(["text", picture(), picture()])
    assert "images=[context['b']])" in describe({"a": 1, "b": picture()})
    assert "images=" not in describe(["text"])


def test_the_hash_of_an_image_is_of_its_content() -> None:
    png = file_of(picture())
    assert context_hash(with_images(png)) == context_hash(Image.of(png)) != context_hash(png)
    other = picture(colour=(1, 2, 3))
    assert context_hash(picture()) == context_hash(picture()) != context_hash(other)


# Sub-calls


def images_of(messages: tuple[Message, ...]) -> str:
    return " ".join(f"{i.format}{i.width}x{i.height}" for i in messages[-1].images) or "none"


def test_crops_go_to_the_sub_model_and_nowhere_else(tmp_path: Path) -> None:
    code = (
        "a = context.crop((0, 0, 10, 8))\n"
        "print(llm_query('one?', images=[a]), llm_query('bare?', image=context), llm_query('no?'))\n"
        "import io; f = io.BytesIO(); context.save(f, 'JPEG')\n"
        "print(llm_query_batched(['x?', 'y?', 'z?'], images=[[a, f.getvalue()], None, [context]]))\n"
        "submit(1)"
    )
    sub = ScriptedModel(images_of, name="scripted:sub")
    run = RLM(ScriptedModel([py(code)]), sub_model=sub, runs=tmp_path).run("?", picture())
    assert run.trace.turns[0].cells[0].output == (
        "png10x8 png40x30 none\n['png10x8 jpeg40x30', 'none', 'png40x30']\n"
    )
    calls = run.trace.turns[0].cells[0].sub_calls
    assert [len(call.images) for call in calls] == [1, 1, 0, 2, 0, 1]
    assert calls[0].images[0].startswith("png 10x8 sha256:")
    sent = [image.data for request in sub.requests for image in request.messages[-1].images]
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for data in sent:
        assert data not in written
        assert base64.b64encode(data)[8:60] not in written
    assert b"sha256:" in written


WRONG = {
    "llm_query('q', images=['a.png'])": "images= takes PIL images or the bytes of image files, not a str",
    "llm_query('q', images=5)": "not a int",
    "llm_query('q', images=[b'no image'])": "no image that is known",
    "llm_query_batched(['a', 'b'], images=[context])": "one list of images for each of the 2 prompts",
}


@pytest.mark.parametrize("code", WRONG)
def test_wrong_images_are_an_error_that_shows_the_right_call(code: str) -> None:
    caught = f"try:\n    {code}\nexcept (TypeError, ValueError) as e:\n    print(e)"
    run = RLM(ScriptedModel([py(caught), py("submit(1)")]), sub_model=ScriptedModel([])).run("?", picture())
    assert WRONG[code] in run.trace.turns[0].cells[0].output


def test_a_model_that_takes_no_images_is_a_typed_failure() -> None:
    code = (
        "r = llm_query_batched(['with', 'without'], images=[[context], None])\n"
        "print(repr(r[0]), r[1])\n"
        "try:\n    llm_query('with', images=[context])\nexcept LLMError as e:\n    print(e.kind, e)\nsubmit(1)"
    )
    run = RLM(ScriptedModel([py(code)]), sub_model=CommandModel("cat")).run("?", picture())
    output = run.trace.turns[0].cells[0].output
    assert "FailedCall(bad_request: command:cat takes no images" in output
    assert "without\n" in output
    assert "bad_request command:cat takes no images: ask a model that does" in output


async def test_a_provider_gets_its_own_image_parts() -> None:
    image = Image.of(picture())
    coded = base64.b64encode(image.data).decode()
    async with FaultyServer(["a cat"]) as server:
        model = RemoteModel(
            PROVIDERS["openai"], "tiny", key="sk-test-0123456789abcdef", base_url=server.base_url
        )
        reply = await model.complete(ModelRequest((Message("user", "What?", (image,)),)))
        await model.close()
    assert reply.text == "a cat"
    (message,) = server.asks[0].body["messages"]  # type: ignore[misc]
    assert message["content"] == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{coded}"}},
        {"type": "text", "text": "What?"},
    ]


def test_the_wire_of_a_run_has_the_bytes_and_the_root_never_sees_them(tmp_path: Path) -> None:
    with FaultyServer(["a red square"]) as server:
        sub = RemoteModel(
            PROVIDERS["openai"], "tiny", key="sk-test-0123456789abcdef", base_url=server.base_url
        )
        root = ScriptedModel(
            [py("print(llm_query('What?', images=[context.crop((0, 0, 4, 4))]))"), py("submit(1)")]
        )
        with RLM(root, sub_model=sub, runs=tmp_path) as rlm:
            run = rlm.run("?", file_of(picture(colour=(255, 0, 0))))
    assert run.status == "answered"
    part = server.asks[0].body["messages"][0]["content"][0]  # type: ignore[index]
    sent = Image.of(base64.b64decode(part["image_url"]["url"].partition("base64,")[2]))
    assert (sent.width, sent.height, sent.pil().getpixel((1, 1))) == (4, 4, (255, 0, 0))
    history = json.dumps([[m.role, m.text] for request in root.requests for m in request.messages])
    assert "base64" not in history
    assert all(not m.images for request in root.requests for m in request.messages)


def test_another_image_is_another_call() -> None:
    def key(*images: Image) -> str:
        return request_key("m", ModelRequest((Message("user", "hi", images),)))

    first, second = Image.of(picture()), Image.of(picture(colour=(1, 1, 1)))
    assert len({key(), key(first), key(second), key(first, second), key(second, first)}) == 5
    assert key() == request_key("m", ModelRequest((Message("user", "hi"),)))
    assert (
        messages_tokens([Message("user", "hi", (first,))]) > messages_tokens([Message("user", "hi")]) + 1_000
    )


def test_a_budget_holds_room_for_an_image() -> None:
    code = "r = llm_query_batched(['q'], images=[[context]])\nprint(repr(r[0]))"
    run = RLM(
        ScriptedModel([py(code), py("submit(1)")], usage="estimate"),
        sub_model=ScriptedModel(lambda m: "seen"),
        budget=Budget(tokens=12_000),
    ).run("?", picture(2_000, 2_000))
    assert "FailedCall(budget" in run.trace.turns[0].cells[0].output


def test_a_resumed_run_sends_no_image_again() -> None:
    store = MemoryStore()
    ask = py("seen = llm_query('What?', images=[context.crop((0, 0, 5, 5))])\nprint(seen)")
    engine = {"store": store, "max_turns": 1}
    first = RLM(
        ScriptedModel([ask], name="scripted:root"),
        sub_model=ScriptedModel(["a cat"], name="scripted:sub"),
        **engine,
    )  # type: ignore[arg-type]
    run = first.run("?", picture())
    assert run.status == "budget"
    again = RLM(
        ScriptedModel([py("submit(seen)")], name="scripted:root"),
        sub_model=ScriptedModel([], name="scripted:sub"),
        store=store,
    )
    with pytest.raises(ContextError, match="not the one"):
        again.resume(run.id, picture(colour=(9, 9, 9)))
    assert again.resume(run.id, picture()).answer == "a cat"


def test_a_child_is_given_an_image_and_where_no_depth_is_left_the_sub_model_is() -> None:
    def reply(messages: tuple[Message, ...]) -> str:
        return next(text for word, text in scripts.items() if word in messages[1].text)

    scripts = {
        "crop?": py("print(context.size)\nsubmit(context.size)"),
        "root?": py("print(1)\nsubmit(rlm_query('crop?', context.crop((0, 0, 6, 5))))"),
    }
    assert RLM(ScriptedModel(reply)).run("root?", picture()).answer == (6, 5)
    code = (
        "print(rlm_query('crop?', context.crop((0, 0, 6, 5))), rlm_query('two?', [context] * 2))\nsubmit(1)"
    )
    run = RLM(ScriptedModel([py(code)]), sub_model=ScriptedModel(images_of), max_depth=0).run("?", picture())
    assert run.trace.turns[0].cells[0].output == "png6x5 png40x30 png40x30\n"


@pytest.mark.parametrize("name", ["anthropic", "gemini"])
async def test_other_dialects_have_image_parts_of_their_own(name: str) -> None:
    from ..models.test_traffic import Replay

    image = Image.of(picture())
    coded = base64.b64encode(image.data).decode()
    replay = Replay(body=b"{}")
    server = await asyncio.start_server(replay.serve, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        model = RemoteModel(PROVIDERS[name], "tiny", key="key-0123456789abcdef", base_url=url)
        with pytest.raises(ModelError):  # the reply is none
            await model.complete(ModelRequest((Message("user", "What?", (image,)),)))
        await model.close()
    body = replay.sent[0].body
    if name == "anthropic":
        part = body["messages"][0]["content"][0]  # type: ignore[index]
        assert part["type"] == "image"
        assert part["source"] == {"type": "base64", "media_type": "image/png", "data": coded}
    else:
        part = body["contents"][0]["parts"][0]  # type: ignore[index]
        (data,) = part.values()
        assert coded in data.values()
        assert "image/png" in data.values()


def test_a_run_that_keeps_its_image_goes_on_without_it() -> None:
    store = MemoryStore()
    first = RLM(
        ScriptedModel([py("print(1)")], name="scripted:m"), store=store, keep_context=True, max_turns=1
    )
    run = first.run("?", [picture(colour=(7, 8, 9)), "text"])
    again = RLM(ScriptedModel([py("submit(context[0].getpixel((1, 1)))")], name="scripted:m"), store=store)
    assert again.resume(run.id).answer == (7, 8, 9)


def test_a_journal_keeps_an_image_as_a_file(tmp_path: Path) -> None:
    first = RLM(
        ScriptedModel([py("print(1)")], name="scripted:m"), runs=tmp_path, keep_context=True, max_turns=1
    )
    run = first.run("?", picture(colour=(7, 8, 9)))
    again = RLM(ScriptedModel([py("submit(context.getpixel((1, 1)))")], name="scripted:m"), runs=tmp_path)
    assert again.resume(run.id).answer == (7, 8, 9)


# Answers


def test_an_image_is_an_answer(tmp_path: Path) -> None:
    code = "print(1)\nsubmit({'crop': context.crop((0, 0, 12, 7)), 'n': 1})"
    engine = RLM(ScriptedModel([py(code)]), runs=tmp_path)
    run = engine.run("?", picture(colour=(7, 8, 9)))
    assert isinstance(run.answer, dict)
    answer = run.answer["crop"]
    assert isinstance(answer, Image)
    assert (answer.format, answer.width, answer.height, answer.mode) == ("png", 12, 7, "RGB")
    assert answer.pil().getpixel((5, 5)) == (7, 8, 9)
    assert engine.resume(run.id).answer == run.answer
    journal = Journal(tmp_path)
    lines = (journal.path(run.id) / "events.jsonl").read_bytes()
    assert base64.b64encode(answer.data)[:40] not in lines
    assert answer.hash.encode() in lines
    assert (journal.path(run.id) / "values" / answer.hash).read_bytes() == answer.data
    answer.save(tmp_path / "copy.png")
    assert Image.read(tmp_path / "copy.png") == answer


def test_every_mode_comes_back_as_a_file() -> None:
    modes = ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "HSV", "I", "F"]
    code = f"import PIL.Image\nprint(1)\nsubmit([PIL.Image.new(m, (3, 2)) for m in {modes}])"
    run = RLM(ScriptedModel([py(code)])).run("?", "c")
    assert isinstance(run.answer, list)
    assert [(i.format, i.width, i.height) for i in run.answer] == [("png", 3, 2)] * len(modes)


def test_a_tool_takes_and_gives_images() -> None:
    def grey(image: object) -> object:
        """Makes it grey."""
        assert isinstance(image, Image)
        return image.pil().convert("L")

    code = "g = grey(context)\nprint(g.mode, g.size)\nsubmit(g)"
    run = RLM(ScriptedModel([py(code)]), tools=[grey]).run("?", picture())
    assert run.trace.turns[0].cells[0].output == "L (40, 30)\n"
    assert isinstance(run.answer, Image)


def test_a_command_line_writes_the_image_to_a_file(tmp_path: Path) -> None:
    script = tmp_path / "ask.py"
    script.write_text(
        "import sys\nfrom tests.engine.test_images import told\nsys.exit(told(sys.argv[1:] == ['--json']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    for more in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, str(script), *more],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done
        name = json.loads(done.stdout)["answer"]["file"] if more else done.stdout.strip()
        assert name == "answer-r1.png"
        assert Image.read(tmp_path / name).width == 40


def told(as_object: bool) -> int:
    """Runs in a process of its own: an answer that is an image, as the command line delivers it."""
    from unspool.cli.deliver import deliver
    from unspool.cli.story import Story
    from unspool.events import RunEnded
    from unspool.types import Usage

    ended = RunEnded(
        run="r1", status="answered", reason="", answer=Image.of(picture()), draft=None, usage=Usage(), cost=None,
        ledger=(), turns=1, sub_calls=0, seconds=0.0,
    )  # fmt: skip
    story = Story()
    story.ended = ended
    return deliver(story, as_object=as_object)


def test_without_pillow_an_image_is_its_file() -> None:
    from unspool.reach.pictures import Picture, file_of

    image = Picture(b"data", "png", 3, 2)
    assert (image.size, file_of(image)) == ((3, 2), b"data")


def test_a_failed_image_is_no_crash_of_the_engine() -> None:
    model = ScriptedModel(
        lambda m: ModelError("bad_request", "no images here", model="m"), name="scripted:sub"
    )  # type: ignore[arg-type,return-value]
    code = "print(repr(llm_query_batched(['q'], images=[[context]])[0]))\nsubmit(1)"
    run = asyncio.run(RLM(ScriptedModel([py(code)]), sub_model=model).arun("?", picture()))
    assert "no images here" in run.trace.turns[0].cells[0].output


def test_the_hash_of_an_image_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    image = Image.of(b"GIF89a\x02\x00\x03\x00" + bytes(20))
    first = image.hash
    assert first == hashlib.sha256(image.data).hexdigest()
    monkeypatch.setattr(hashlib, "sha256", None)
    assert image.hash == first
    assert image == Image.of(image.data)
