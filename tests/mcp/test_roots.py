"""What a client has given as its roots, and what the server was started with: nothing else is opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp_types import ErrorData, ListRootsResult, Root

from unspool.errors import ContextError
from unspool.mcp.places import Places, folders_of

from .helpers import MakeDesk
from .test_tools import ERAS


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """One that is given, and one beside it; a link leads from the first to the second."""
    inside, outside = tmp_path / "in side", tmp_path / "in side too"
    inside.mkdir()
    outside.mkdir()
    (inside / "a.txt").write_text("inside")
    (outside / "b.txt").write_text("outside")
    (inside / "link.txt").symlink_to(outside / "b.txt")
    (inside / "link").symlink_to(outside)
    return inside, outside


def giving(*roots: Path) -> Any:
    async def tell(context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=root.as_uri()) for root in roots])  # type: ignore[arg-type]

    return tell


@pytest.mark.parametrize("mode", ERAS)
async def test_paths_outside_of_the_roots_are_refused(
    make_desk: MakeDesk, folders: tuple[Path, Path], mode: str
) -> None:
    inside, outside = folders
    async with (await make_desk()).agent(mode=mode, list_roots_callback=giving(inside)) as agent:
        for path in (str(inside / "a.txt"), "a.txt", str(inside / "*.txt"), ["a.txt"], str(inside)):
            opened = await agent.call("open_context", path=path)
            assert not opened.error, opened.texts
        for path in (
            str(outside), str(outside / "b.txt"), str(inside / "link.txt"), str(inside / "link" / "*"),
            "../in side too/b.txt", "../*/b.txt", "/", "~", ["a.txt", str(outside / "b.txt")],
        ):  # fmt: skip
            opened = await agent.call("open_context", path=path)
            assert opened.error
            assert f"is outside of what may be opened here: {inside}" in opened.text
        assert not (await agent.call("open_context", text="text is no path")).error


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_gives_no_roots_is_not_bound_by_any(
    make_desk: MakeDesk, folders: tuple[Path, Path], mode: str
) -> None:
    async with (await make_desk()).agent(mode=mode, list_roots_callback=giving()) as agent:
        assert not (await agent.call("open_context", path=str(folders[1]))).error


async def test_roots_that_are_not_told_open_no_path(make_desk: MakeDesk, folders: tuple[Path, Path]) -> None:
    async def refuse(context: object) -> ErrorData:
        return ErrorData(code=-32000, message="no")

    async with (await make_desk()).agent(mode="legacy", list_roots_callback=refuse) as agent:
        got = await agent.call("open_context", path=str(folders[0]))
        assert got.error
        assert "did not tell them" in got.text


async def test_the_servers_folders_hold_beside_the_clients(
    make_desk: MakeDesk, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    inside, outside = folders
    desktop = await make_desk(places=Places().within([str(outside)]))
    async with desktop.agent(list_roots_callback=giving(tmp_path)) as agent:
        assert not (await agent.call("open_context", path=str(outside / "b.txt"))).error
        assert (await agent.call("open_context", path=str(inside / "a.txt"))).error


def test_a_folder_whose_name_begins_the_same_is_another_one(folders: tuple[Path, Path]) -> None:
    places = Places().within([str(folders[0])])
    assert places.full("a.txt") == os.path.join(str(folders[0]), "a.txt")
    with pytest.raises(ContextError, match="is outside"):
        places.full(str(folders[1]))


def test_addresses_of_folders() -> None:
    assert folders_of(["file:///a/b%20c", "https://host/x", "file://localhost/d"]) == ["/a/b c", "/d"]
