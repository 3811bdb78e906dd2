"""What the viewer's page may ask: who may, what comes back, and what does not."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unspool import RLM, Budget
from unspool.journal import EVENTS_FILE, Journal
from unspool.testing import ScriptedModel
from unspool.viewer.beside import beside_told
from unspool.viewer.followed import Seen
from unspool.viewer.texts import Texts
from unspool.viewer.told import PAGE, as_body, calls_told, run_told

from .. import stories
from .conftest import MAILS, TOKEN, Kept, Up, with_map

BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "é"])
def test_nothing_of_a_run_is_told_without_the_token(up: Up, kept: Kept, token: str | None) -> None:
    token = token.encode().decode("latin-1") if token else token
    for path in ("/api/runs", f"/api/runs/{kept['map']}", "/api/runs/no-such-run", "/api/live"):
        reply = up.ask(path, token=token)
        assert reply.status == 401
        assert "token" in reply.json["error"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost"]
)
@pytest.mark.parametrize("path", ["/", "/app/page.js", "/api/runs", "/nothing"])
def test_another_host_is_refused(up: Up, host: str, path: str) -> None:
    assert up.ask(path, host=host.format(port=up.port)).status == 403


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}"])
def test_this_machine_is_served_by_its_names(up: Up, host: str) -> None:
    assert up.ask("/api/runs", host=host.format(port=up.port)).status == 200


def test_the_page_is_told_to_keep_to_itself(up: Up) -> None:
    for path in ("/", "/app/page.js", "/api/runs"):
        reply = up.ask(path)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
    page = up.ask("/", token=None).body.decode()
    assert re.findall(r"<script[^>]*>([^<]*)</script>", page) == [""]
    assert "style=" not in page
    assert "http" not in page


@pytest.mark.parametrize(
    "path",
    [
        "/app/../__init__.py",
        "/app/..%2f__init__.py",
        "/app/%2e%2e/app.py",
        "/app/",
        "/app//etc/passwd",
        "/app/page.js%00",
        "/../../etc/passwd",
        "/api",
        "/api/runs/",
    ],
)
def test_paths_lead_nowhere_else(up: Up, path: str) -> None:
    reply = up.ask(path)
    assert reply.status == 404
    assert b"import" not in reply.body


@pytest.mark.parametrize(
    "run", ["no-such-run", "..", "%2e%2e", "..%2f..", ".", "%00", "index.sqlite", "x" * 4000, "%C3%A9"]
)
def test_a_run_that_is_not_there(up: Up, run: str) -> None:
    for path in (
        f"/api/runs/{run}",
        f"/api/runs/{run}/calls",
        f"/api/runs/{run}/map",
        f"/api/live?run={run}",
    ):
        reply = up.ask(path)
        assert reply.status == 404, path
        assert reply.json["error"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("turns/0/99", 404),
        ("turns/0.9/1", 404),
        ("turns/0/x", 404),
        ("nodes/9", 404),
        ("calls/999999", 404),
        ("calls/-1", 404),
        ("calls?since=-1", 400),
        ("calls?since=x", 400),
        ("calls?since=99999999999999999999", 400),
        ("text/call/1", 404),
        ("text/call/x/prompt", 404),
        ("text/cell/0/99/code", 404),
        ("text/../../x", 404),
        ("text/query?from=x", 400),
        ("input?part=x", 400),
    ],
)
def test_a_part_that_is_not_there(up: Up, kept: Kept, path: str, status: int) -> None:
    reply = up.ask(f"/api/runs/{kept['map']}/{path}")
    assert reply.status == status
    assert reply.json["error"]


@pytest.mark.parametrize("what", ["calls/{}", "turns/0/{}"])
@pytest.mark.parametrize("number", ["9" * 400, "9" * 5_000, "1e3", "-1", "%D9%A1", "0x1", "+1", "1_0"])
def test_a_number_that_is_none(up: Up, kept: Kept, what: str, number: str) -> None:
    got = up.ask(f"/api/runs/{kept['children']}/{what.format(number)}")
    assert got.status == 404
    assert got.json["error"]
    assert "content-security-policy" in got.headers
    assert not up.logged


def test_only_questions_are_taken(up: Up, kept: Kept) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert up.ask(f"/api/runs/{kept['map']}", method=method).status == 405


def test_the_list_has_the_runs(up: Up, kept: Kept) -> None:
    runs = {run["id"]: run for run in up.ask("/api/runs").json["runs"]}
    assert runs.keys() == set(kept.ids.values())
    told = runs[kept["children"]]
    assert (told["query"], told["state"], told["turns"], told["sub_calls"]) == (
        "How much spam is in these mails?",
        "answered",
        3,
        4,
    )


def test_a_run_is_told_with_its_nodes(up: Up, kept: Kept) -> None:
    told = up.ask(f"/api/runs/{kept['children']}").json
    assert (told["status"], told["turns"], told["sub_calls"], told["failed_calls"]) == ("answered", 3, 4, 1)
    assert told["answer"] == {"text": '{"spam": 400}'}
    nodes = {node["id"]: node for node in told["nodes"]}
    assert list(nodes) == ["0", "0.1", "0.2"]
    assert [nodes[name]["turn"] for name in nodes] == [None, 3, 3]
    assert nodes["0"]["cost"] == pytest.approx(told["cost"])
    assert sum(line["cost"] for line in told["ledger"]) == pytest.approx(told["cost"])
    assert [(turn["calls"], turn["failed"]) for turn in nodes["0"]["turns"]] == [(4, 1), (0, 0), (0, 0)]
    assert nodes["0"]["turns"][1]["cells"][0][3:] == ["error", "ValueError"]


def test_a_turn_is_told_in_full(up: Up, kept: Kept) -> None:
    turn = up.ask(f"/api/runs/{kept['children']}/turns/0/1").json
    (cell,) = turn["cells"]
    assert turn["words"] == {"text": "Let me look first."}
    assert cell["code"]["text"].startswith("print(context[:20])")
    assert cell["batches"] == [4]
    last = up.ask(f"/api/runs/{kept['children']}/turns/0/3").json
    assert last["accepted"]["via"] == "submit"
    assert last["cells"][0]["children"] == ["0.1", "0.2"]


def test_sub_calls_are_rows_and_each_is_told_in_full(up: Up, kept: Kept) -> None:
    told = up.ask(f"/api/runs/{kept['children']}/calls").json
    rows = [dict(zip(told["columns"], row, strict=True)) for row in told["rows"]]
    assert sorted(row["state"] for row in rows) == ["failed: bad_request", "ok", "ok", "ok"]
    assert not told["more"]
    assert up.ask(f"/api/runs/{kept['children']}/calls?since={told['seq']}").json["rows"] == []
    (bad,) = (row["id"] for row in rows if row["state"].startswith("failed"))
    call = up.ask(f"/api/runs/{kept['children']}/calls/{bad}").json
    assert call["error"] == {"kind": "bad_request", "message": "the server said 400"}
    assert call["prompt"] == {"text": "is it spam? fail"}


def test_what_a_limit_refused_is_no_sub_call(tmp_path: Path) -> None:
    code = "llm_query_batched(['one', 'two', 'three', 'four', 'five'])\nsubmit(1)"
    engine = RLM(
        ScriptedModel([stories.py(f"print(1)\n{code}")]),
        sub_model=ScriptedModel(lambda messages: "yes"),
        runs=tmp_path,
        budget=Budget(calls=2),
    )
    run = engine.run("How many?", "a text")
    seen = Seen.of(run.id, list(Journal(tmp_path).read(run.id)))
    told = run_told(seen, Texts(seen))
    assert (told["sub_calls"], told["failed_calls"], told["refused"][0]["count"]) == (2, 0, 3)  # type: ignore[arg-type]
    (turn,) = told["nodes"][0]["turns"]  # type: ignore[index]
    assert (turn["calls"], turn["failed"], turn["refused"]) == (2, 0, 3)
    beside = beside_told(seen, seen)
    assert [each["calls"] for each in beside["turns"]] == [[2, 2]]  # type: ignore[attr-defined]


def test_many_sub_calls_come_in_pages(kept: Kept) -> None:
    seen = Seen.of(kept["map"], list(Journal(kept.folder).read(kept["map"])))
    whole = calls_told(seen, 0)
    assert 5 < len(whole["rows"]) < PAGE  # type: ignore[arg-type]
    found, since, more = [], 0, True
    while more:
        page = calls_told(seen, since, most=2)
        assert len(page["rows"]) <= 2  # type: ignore[arg-type]
        found += page["rows"]  # type: ignore[operator]
        since, more = page["seq"], page["more"]  # type: ignore[assignment]
    assert found == whole["rows"]


def test_a_long_text_comes_in_pieces(make_up: Callable[[Path], Up], tmp_path: Path) -> None:
    text = "".join(f"{number} 🙂\n" for number in range(60_000))
    replies = [stories.py("print(1)\nllm_query(context)\nsubmit(context)")]
    run = RLM(ScriptedModel(replies), sub_model=ScriptedModel(["ok"]), runs=tmp_path).run("?", text)
    up = make_up(tmp_path)
    prompt = up.ask(f"/api/runs/{run.id}/calls/1").json["prompt"]
    assert prompt["size"] == len(text)
    found, at = prompt["text"], prompt["next"]
    while at < prompt["size"]:
        piece = up.ask(f"/api/runs/{run.id}/text/{prompt['name']}?from={at}").json
        assert 0 < len(piece["text"]) <= 200_000
        found, at = found + piece["text"], piece["next"]
    assert found == text
    assert up.ask(f"/api/runs/{run.id}/text/{prompt['name']}?from=999999999").json["text"] == ""


def test_the_map_says_who_read_what(up: Up, kept: Kept) -> None:
    told = up.ask(f"/api/runs/{kept['map']}/map").json
    assert told["parts"] == [{"number": 0, "size": len(MAILS), "name": None}]
    kinds = {(kind, node) for kind, node, *_ in told["readers"]}
    assert {("description", "0"), ("sub-call", "0"), ("print", "0"), ("print", "0.1")} <= kinds
    inside = [ranges for kind, node, *_, ranges in told["readers"] if (kind, node) == ("print", "0.1")]
    assert [ranges[0][1] for ranges in inside] == [12_000]  # of the child's text, mapped to the root's
    read = sorted((start, end) for *_, ranges in told["readers"] for _, start, end in ranges)
    union, at = 0, 0
    for start, end in read:
        union += max(0, end - max(at, start))
        at = max(at, end)
    assert union == told["coverage"]["read"]
    (quote,) = told["citations"]
    assert (quote["part"], quote["line"], quote["end"] - quote["offset"]) == (0, 8, len(quote["quote"]))


def test_quotes_from_files_lead_to_their_bytes_also_those_of_a_child(
    make_up: Callable[[Path], Up], tmp_path: Path
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "a.txt").write_text("nothing here\n", "utf-8")
    (folder / "b.txt").write_text("Zoë wrote a letter.\nNobody, not even Zoë, read it.\n" * 3, "utf-8")

    def root(messages: Any) -> str:
        if "Who?" in messages[1].text:
            return stories.py("print(cite('not even Zoë').line)\nsubmit(1)")
        return stories.py(
            "print(cite('wrote a letter'), cite('no such words'))\nrlm_query('Who?', context)\nsubmit(2)"
        )

    run = RLM(ScriptedModel(root), runs=tmp_path / "runs").run("What?", folder)
    assert run.answer == 2, run
    up = make_up(tmp_path / "runs")
    told = up.ask(f"/api/runs/{run.id}/map").json
    quotes = {each["quote"]: each for each in told["citations"]}
    assert quotes["no such words"]["part"] is None
    for quote in ("wrote a letter", "not even Zoë"):
        place = quotes[quote]
        assert told["parts"][place["part"]]["name"] == "b.txt"
        query = f"part={place['part']}&start={place['start']}&end={place['end']}"
        assert up.ask(f"/api/runs/{run.id}/input?{query}").json["text"] == quote
    assert quotes["not even Zoë"]["node"] == "0.1"


def test_what_is_no_plain_text_is_not_shown_as_if_it_were(
    make_up: Callable[[Path], Up], tmp_path: Path
) -> None:
    """Places in documents, and in what is packed, are of the text that the sandbox makes of them."""
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "a.txt").write_text("some words of a text", "utf-8")
    for name in ("b.docx", "c.pdf", "d.log.gz"):
        (folder / name).write_bytes(b"bytes that are no text")
    model = ScriptedModel([stories.py("print(context['a.txt'][:10])\nsubmit(1)")])
    run = RLM(model, runs=tmp_path / "runs").run("What?", folder)
    assert run.status == "answered", run
    up = make_up(tmp_path / "runs")
    told = [up.ask(f"/api/runs/{run.id}/input?part={part}&start=0&end=5").json for part in range(4)]
    assert told[0]["text"] == "some "
    assert all("is no plain text" in each["why"] for each in told[1:]), told


def test_the_text_of_a_range_is_shown_where_it_was_kept(up: Up, kept: Kept) -> None:
    piece = up.ask(f"/api/runs/{kept['map']}/input?part=0&start=100&end=200").json
    assert piece["text"] == MAILS[100:200]
    assert piece["before"] + piece["text"] + piece["after"] == MAILS[:600]
    assert piece["line"] == MAILS[:100].count("\n") + 1
    for query in ("part=1&start=0&end=1", "part=0&start=0&end=99999999", "part=0&start=9&end=1"):
        assert "why" in up.ask(f"/api/runs/{kept['map']}/input?{query}").json
    forgotten = up.ask(f"/api/runs/{kept['forgotten']}/input?part=0&start=0&end=9").json
    assert "did not keep" in forgotten["why"]


def test_the_text_of_a_file_is_shown_while_it_is_the_same(
    make_up: Callable[[Path], Up], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mails, runs = tmp_path / "mails.txt", tmp_path / "runs"
    mails.write_text(MAILS, "utf-8")
    monkeypatch.chdir(tmp_path)
    engine = RLM(ScriptedModel([stories.py("print(context[:90])\nsubmit(1)")]), runs=runs)
    run = engine.run("?", mails.read_text("utf-8"))
    path = runs / run.id / EVENTS_FILE
    lines = path.read_text("utf-8").splitlines()
    first = json.loads(lines[0]) | {"sources": ["mails.txt"], "folder": str(tmp_path)}
    path.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n", "utf-8")  # as the command keeps it
    question = f"/api/runs/{run.id}/input?part=0&start=0&end=90"
    assert make_up(runs).ask(question).json["text"] == MAILS[:90]
    mails.write_text(MAILS.replace("spam", "ham"), "utf-8")
    assert "not what it was" in make_up(runs).ask(question).json["why"]
    mails.unlink()
    assert "mails.txt" in make_up(runs).ask(question).json["why"]


def test_the_text_of_files_by_path_is_shown_by_bytes(make_up: Callable[[Path], Up], tmp_path: Path) -> None:
    folder, runs = tmp_path / "logs", tmp_path / "runs"
    folder.mkdir()
    (folder / "a.txt").write_text("é" * 500 + "\n" + MAILS, "utf-8")
    (folder / "b.txt").write_text(MAILS[::-1], "utf-8")
    replies = [stories.py("print(context['a.txt'][501:701])\nsubmit(1)")]
    run = RLM(ScriptedModel(replies), runs=runs).run("?", folder)
    up = make_up(runs)
    told = up.ask(f"/api/runs/{run.id}/map").json
    assert [part["name"] for part in told["parts"]] == ["a.txt", "b.txt"]
    ((part, start, end),) = next(ranges for kind, *_, ranges in told["readers"] if kind == "print")
    assert (part, told["coverage"]["unit"]) == (0, "bytes")
    piece = up.ask(f"/api/runs/{run.id}/input?part=0&start={start}&end={end}").json
    assert piece["text"] == "\n" + MAILS[:200]  # white space next to what was read counts as read
    assert piece["line"] == 1
    with (folder / "b.txt").open("a") as file:
        file.write("more")
    question = f"/api/runs/{run.id}/input?part=1&start=0&end=9"
    assert make_up(runs).ask(question).json["text"] == MAILS[::-1][:9]  # it has only grown
    (folder / "b.txt").write_text("another", "utf-8")
    changed = make_up(runs).ask(f"/api/runs/{run.id}/input?part=0&start=0&end=9").json
    assert "not what it was" in changed["why"]


def test_hostile_text_only_shows(up: Up, kept: Kept) -> None:
    run = kept["hostile"]
    told = up.ask(f"/api/runs/{run}").json
    questions = [f"turns/0/{turn['number']}" for turn in told["nodes"][0]["turns"]]
    for question in ("", "calls", "calls/1", "map", "nodes/0", *questions):
        reply = up.ask(f"/api/runs/{run}/{question}".rstrip("/"))
        assert reply.status == 200
        assert not BAD.search(reply.body.decode())
        assert not BAD.search(json.dumps(reply.json, ensure_ascii=False))
    assert "<script>alert(1)</script>" in told["query"]["text"]
    assert not BAD.search(up.ask("/api/runs").body.decode())


def test_a_damaged_journal_is_told(make_up: Callable[[Path], Up], tmp_path: Path) -> None:
    run = stories.with_children(tmp_path)
    up = make_up(tmp_path)
    path = tmp_path / run.id / EVENTS_FILE
    whole = path.read_bytes().splitlines(keepends=True)
    for damage in (b"".join([*whole[:5], b'{"kind":"call.ended"}\n']), b"".join(whole[5:]), b"nonsense\n"):
        path.write_bytes(damage)
        run_id = tmp_path / f"copy-{len(damage)}"  # one that was not looked at yet
        run_id.mkdir()
        (run_id / EVENTS_FILE).write_bytes(damage)
        reply = up.ask(f"/api/runs/{run_id.name}")
        assert reply.status == 422, reply.body
        assert reply.json["error"]
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / EVENTS_FILE).write_bytes(b"")
    assert up.ask("/api/runs/empty").json["nodes"] == []
    assert up.ask("/api/runs/empty/map").status == 200
    assert up.ask("/api/runs").status == 200
    assert up.logged == []


def test_a_first_look_of_one_run_stands_beside_nothing(tmp_path: Path) -> None:
    replies = [stories.py("print(1)"), stories.py("submit(1)")]
    models = [ScriptedModel(replies), ScriptedModel(replies, profile="small")]
    runs = [RLM(model, runs=tmp_path).run("How many doors?", "a door\n" * 9).id for model in models]
    told = beside_told(*(Seen.of(run, list(Journal(tmp_path).read(run))) for run in runs))
    rows = [(row["number"], row["there"]) for row in told["turns"]]  # type: ignore[attr-defined]
    assert rows == [(0, [False, True]), (1, [True, True]), (2, [True, True])]
    assert told["parting"]["turn"] == 0  # type: ignore[index]


def test_two_runs_are_put_side_by_side(up: Up, kept: Kept) -> None:
    told = up.ask(f"/api/beside/{kept['map']}/{kept['forgotten']}").json
    assert told["parting"] is None
    assert (told["same_question"], told["same_input"], told["same_answer"]) == (True, True, True)
    other = up.ask(f"/api/beside/{kept['map']}/{kept['children']}").json
    assert (other["parting"]["turn"], other["parting"]["what"]) == (1, "code")
    assert {sign for sign, _ in other["turns"][0]["code"]} == {"-", "+"}
    assert len(other["turns"]) == 3
    assert up.ask(f"/api/beside/{kept['map']}/nothing").status == 404


def test_news_come_as_they_are_written(make_up: Callable[[Path], Up], tmp_path: Path) -> None:
    up = make_up(tmp_path)
    run = with_map(tmp_path)
    path = tmp_path / run.id / EVENTS_FILE
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    with socket.create_connection(("127.0.0.1", up.port), timeout=30) as line:
        head = f"GET /api/live?run={run.id} HTTP/1.1\r\nHost: 127.0.0.1:{up.port}\r\n"
        line.sendall(f"{head}Authorization: Bearer {TOKEN}\r\n\r\n".encode())
        news = line.makefile("rb")
        until_data(news)
        assert up.ask(f"/api/runs/{run.id}").json["status"] == "interrupted"
        path.write_bytes(whole)
        until_data(news)
        assert up.ask(f"/api/runs/{run.id}").json["status"] == "answered"


def until_data(news: object) -> None:
    for said in news:  # type: ignore[attr-defined]
        if said.startswith(b"data:"):
            return
    raise AssertionError("the stream has ended")


def test_a_session_is_told_as_code_without_a_model(make_up: Callable[[Path], Up], tmp_path: Path) -> None:
    with RLM(ScriptedModel([]), runs=tmp_path).session("some text") as session:
        session.execute("print(len(context))")
    up = make_up(tmp_path)
    (run,) = up.ask("/api/runs").json["runs"]
    told = up.ask(f"/api/runs/{run['id']}").json
    turns = told["nodes"][0]["turns"]
    assert [(turn["replied"], turn["lines"]) for turn in turns] == [(True, 1)]
    cell = up.ask(f"/api/runs/{run['id']}/turns/0/{turns[0]['number']}").json["cells"][0]
    assert cell["output"] == {"text": "9\n"}


def test_figures_that_no_json_has_are_not_known() -> None:
    told = as_body({"cost": float("nan"), "seconds": [float("inf"), 1.5, -float("inf")]})
    assert told == b'{"cost":null,"seconds":[null,1.5,null]}'


def test_a_run_that_was_resumed_is_told_with_the_time_it_lay_still(
    make_up: Callable[[Path], Up], tmp_path: Path
) -> None:
    model = ScriptedModel([stories.py("print(1)"), stories.py("print(2)"), stories.py("submit(1)")])
    run = RLM(model, runs=tmp_path, max_turns=1).run("?", "text")
    up = make_up(tmp_path)
    go_on = up.ask(f"/api/runs/{run.id}").json["go_on"]
    assert go_on.startswith(f"to go on with a higher limit: rlm.resume('{run.id}') in Python")
    done = RLM(model, runs=tmp_path, max_turns=5).resume(run.id, "text")
    told = up.ask(f"/api/runs/{run.id}").json
    ((start, end),) = told["gaps"]
    assert told["started"] < start < end < told["last"]
    assert told["seconds"] == done.seconds
    assert told["lasted"] == pytest.approx(told["last"] - told["started"] - (end - start))
    (row,) = up.ask("/api/runs").json["runs"]
    assert row["seconds"] == done.seconds
