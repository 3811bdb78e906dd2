"""The sandbox ``jupyter``: kernels of its own, and live objects of a kernel that runs already."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from unspool import RLM
from unspool.contexts.notebook import InKernel
from unspool.errors import ConfigError, ContextError, SandboxLost, SandboxUnavailable
from unspool.sandbox.process import ProcessSandbox
from unspool.sandbox.protocol import HostReply, ReplSpec
from unspool.testing import ScriptedModel
from unspool.testing.sandbox_conformance import as_test

from .conftest import Host, Session
from .test_lifecycle import below, settled

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from jupyter_client.manager import KernelManager

from unspool.sandbox.jupyter import JupyterSandbox

if TYPE_CHECKING:
    from jupyter_client.blocking.client import BlockingKernelClient

test_conforms = as_test(
    lambda: JupyterSandbox(), lacks={"rollback": "a kernel cannot be forked", "forks": "for the same reason"}
)


@dataclass
class Notebook:
    """A kernel of somebody, with what its user runs in it."""

    file: str
    client: BlockingKernelClient

    def run(self, code: str) -> str:
        """What a cell of the user's prints."""
        said: list[str] = []

        def hear(message: dict[str, object]) -> None:
            content = message["content"]
            assert isinstance(content, dict)
            said.append(
                str(
                    content.get("text")
                    or content.get("data", {}).get("text/plain")
                    or content.get("ename")
                    or ""
                )
            )

        self.client.execute_interactive(code, output_hook=hear, timeout=60)
        return "".join(said).strip()


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    folder = tmp_path_factory.mktemp("kernel")
    manager = KernelManager(connection_file=str(folder / "kernel.json"), transport="ipc")
    manager.start_kernel(
        cwd=str(folder), env={**os.environ, "IPYTHONDIR": str(folder), "PYTHONHASHSEED": "1"}
    )
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield Notebook(manager.connection_file, client)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@dataclass
class Attached:
    """Opens REPLs in the notebook."""

    sandbox: JupyterSandbox
    opened: list[Session]

    async def open(self, expression: str, host: Host | None = None, **spec: object) -> Session:
        host = host or Host()
        repl = await self.sandbox.open(ReplSpec(InKernel(expression), **spec), host)  # type: ignore[arg-type]
        self.opened.append(Session(repl, host))
        return self.opened[-1]


@pytest.fixture
async def attached(notebook: Notebook) -> AsyncIterator[Attached]:
    sandbox = JupyterSandbox(notebook.file)
    yield Attached(sandbox, [])
    await sandbox.close()


# ------------------------------------------------------------------------------ a notebook's objects


async def test_live_objects_are_the_context_and_not_copies(notebook: Notebook, attached: Attached) -> None:
    notebook.run(
        "class Odd:\n    n = 41\nodd, rows = Odd(), [{'a': 1}, {'a': 2}]\nlock = __import__('threading').Lock()"
    )
    repl = await attached.open("odd")
    assert await repl.show("context.n += 1\ntype(context).__name__, context.n") == "('Odd', 42)"
    assert notebook.run("odd.n") == "42"
    assert await (await attached.open("[r['a'] for r in rows]")).show("sum(context)") == "3"
    several = {"odd": InKernel("odd"), "plain": [1, 2]}
    repl = Session(await attached.sandbox.open(ReplSpec(several), Host()), Host())
    assert await repl.show("context['odd'].n, context['plain']") == "(42, [1, 2])"
    assert await (await attached.open("lock")).show("context.locked()") == "False"


async def test_the_notebook_sees_nothing_of_us(notebook: Notebook, attached: Attached) -> None:
    watch = (
        "import sys, builtins, signal, threading, asyncio\n"
        "async def _loop():\n    return asyncio.get_running_loop()\n"
        "[id(x) for x in (sys.stdout, sys.stderr, sys.stdin, sys.__stdout__, sys.modules['__main__'], builtins.input, "
        "builtins.exit, builtins.help, threading.excepthook, await _loop())], sorted(k for k in globals() if k[0] != '_'), "
        "signal.getsignal(signal.SIGINT)"
    )
    text = "x = [1]"
    notebook.run(text)
    before = notebook.run(watch)
    names = notebook.run("sorted(sys.modules)").count("unspool.")
    repl = await attached.open("x", tools=("tool",), imports=("import re",))
    assert notebook.run(watch) == before
    assert (
        await repl.show("mine = 5\nprint('ours')\nimport asyncio\nawait asyncio.sleep(0)\ntool(1)") == "ours"
    )
    assert notebook.run(watch) == before
    assert (await repl.run("1 / 0")).outcome == "error"
    assert (await repl.run("while True: pass", 0.3)).outcome == "interrupted"
    assert (await repl.run("asyncio.run(asyncio.sleep(60))", 0.3)).outcome == "interrupted"
    assert notebook.run(watch) == before
    assert notebook.run("'mine' in globals(), 'llm_query' in globals()") == "(False, False)"
    assert notebook.run("print('still theirs')\nawait asyncio.sleep(0.01)\n1 + 1") == "still theirs\n2"
    assert await repl.show("mine") == "5"
    await attached.sandbox.close()
    assert notebook.run(watch) == before
    assert notebook.run("sorted(sys.modules)").count("unspool.") == names


async def test_calls_work_from_the_kernel(notebook: Notebook, attached: Attached) -> None:
    notebook.run("texts = ['a', 'b', 'c']")

    async def batch(call: object) -> object:
        await asyncio.sleep(0.05)
        return [p.upper() for p in call.args[0]]  # type: ignore[attr-defined]

    repl = await attached.open("texts", Host(llm_query_batched=batch))
    assert await repl.show("llm_query_batched(context)") == "['A', 'B', 'C']"
    result = await repl.run("submit(context)")
    assert result.outcome == "submitted"
    assert repl.host.named("submit")[0].args == (["a", "b", "c"],)


async def test_a_cell_of_the_user_is_never_interrupted(notebook: Notebook, attached: Attached) -> None:
    """Ours waits for theirs, and is given up when its time is over; theirs goes on."""
    notebook.run("x = 1")
    repl = await attached.open("x")
    asked = notebook.client.execute("import time\nfor _ in range(30): time.sleep(0.1)\nfinished = True")
    await asyncio.sleep(0.5)
    result = await asyncio.wait_for(repl.run("1", 0.3), 120)
    assert result.outcome == "interrupted"
    reply = await asyncio.to_thread(notebook.client.get_shell_msg, timeout=60)
    while reply["parent_header"]["msg_id"] != asked:
        reply = await asyncio.to_thread(notebook.client.get_shell_msg, timeout=60)
    assert reply["content"]["status"] == "ok"
    assert notebook.run("finished") == "True"


async def test_what_has_no_value_is_refused(notebook: Notebook, attached: Attached) -> None:
    for expression, why in (("no_such_name", "NameError"), ("1 / 0", "ZeroDivisionError")):
        with pytest.raises(ContextError, match=f"has no value in the notebook: {why}"):
            await attached.open(expression)
    for wrong in ("", "x =", "import os", 5):
        with pytest.raises(ConfigError, match="InKernel"):
            InKernel(wrong)  # type: ignore[arg-type]
    assert notebook.run("1") == "1"


async def test_other_sandboxes_refuse_live_objects() -> None:
    async def on_call(call: object) -> HostReply:
        return HostReply()

    sandbox = ProcessSandbox("none")
    with pytest.raises(ContextError, match="'df' is a value of a notebook, and this REPL is not in one"):
        await sandbox.open(ReplSpec(InKernel("df")), on_call)
    await sandbox.close()
    with pytest.raises(ContextError, match="in no kernel: JupyterSandbox"):
        await JupyterSandbox().open(ReplSpec(InKernel("df")), on_call)


def test_a_run_over_a_live_table_with_a_child(notebook: Notebook, tmp_path: Path) -> None:
    notebook.run(
        "import pandas as pd\ndf = pd.DataFrame({'name': ['ann', 'bob'], 'age': [31, 45]})\ndf.attrs['live'] = True"
    )

    def reply(messages: tuple[object, ...]) -> str:
        asked = str(messages[1])
        if "The question:\\nwho?" in asked:
            return "```python\nprint(context)\nsubmit(context.upper())\n```"
        assert "live DataFrame, 2 × 2: df of a notebook" in asked
        assert "name (" in asked
        assert "age (int64)" in asked
        return (
            "```python\nprint(context.attrs)\noldest = context.loc[context.age.idxmax(), 'name']\n"
            "submit([rlm_query('who?', oldest), int(context.age.sum())])\n```"
        )

    sandbox = JupyterSandbox(notebook.file)
    with RLM(ScriptedModel(reply), sandbox=sandbox, max_depth=2, runs=tmp_path) as rlm:
        run = rlm.run("Who is the oldest?", InKernel("df"))
        assert run.status == "answered", run.reason
        assert run.answer == ["BOB", 76]
        with pytest.raises(ContextError, match="no_such_table"):
            rlm.run("Who?", InKernel("no_such_table"))
    assert notebook.run("df.shape") == "(2, 2)"


# ------------------------------------------------------------------------------ kernels of its own


async def test_nothing_is_left_of_our_own_kernels(tmp_path: Path) -> None:
    before = below(os.getpid())
    sandbox = JupyterSandbox()
    repl = await sandbox.open(ReplSpec("x"), Host())
    assert (await repl.execute("import os\nos.getcwd()", seconds=20)).output.startswith("'/tmp")
    assert below(os.getpid()) > before
    await sandbox.close()
    assert await settled(lambda: below(os.getpid()) <= before), below(os.getpid()) - before


async def test_a_kernel_that_does_not_exist_is_named() -> None:
    with pytest.raises(SandboxUnavailable, match="there is no kernel 'no-such-kernel'"):
        await JupyterSandbox(kernel="no-such-kernel").open(ReplSpec("x"), Host())
    with pytest.raises(ConfigError, match="there is no such file"):
        JupyterSandbox("/no/such/kernel.json")


async def test_a_kernel_that_is_no_more(tmp_path: Path) -> None:
    manager = KernelManager(connection_file=str(tmp_path / "kernel.json"), transport="ipc")
    manager.start_kernel(env={**os.environ, "IPYTHONDIR": str(tmp_path)})
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    client.execute("x = 1", reply=True, timeout=60)
    client.stop_channels()
    sandbox = JupyterSandbox(manager.connection_file)
    repl = await sandbox.open(ReplSpec(InKernel("x")), Host())
    manager.shutdown_kernel(now=True)
    began = time.monotonic()
    with pytest.raises(SandboxLost, match="the kernel"):
        await repl.execute("1", seconds=5)
    assert time.monotonic() - began < 100
    await sandbox.close()
