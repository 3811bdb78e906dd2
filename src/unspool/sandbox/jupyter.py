"""The sandbox ``jupyter``: a REPL in an ipykernel, of its own or one that runs already.

Contract: :class:`Sandbox` and :class:`Repl` of :mod:`unspool.sandbox.protocol`; the extra ``jupyter``.
Without a connection file each REPL gets a kernel of its own. With one, a context that is an
:class:`InKernel` is a live object of that kernel, and its REPL runs there, with names of its own; everything
else, such as the children of a run, gets a kernel of its own, so that a cell that waits for them does not
stand in their way. It is **not isolated**: code can do what you can. A cell that cannot be interrupted, or
crashes, costs a kernel of our own (``restarted``); a kernel of yours is never ended, and the REPL is lost
with it (:class:`SandboxLost`).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping

from ..contexts.notebook import InKernel
from ..errors import ConfigError, ContextError, SandboxUnavailable
from ._handover import Handed
from ._kernels import Kernel
from ._memory import free_memory
from ._processes import Maker
from .process import ProcessRepl
from .protocol import OnCall, ReplSpec

__all__ = ["InKernel", "JupyterSandbox"]

_LEAST_MEMORY = 64 << 20


class JupyterSandbox:
    """A maker of REPLs in kernels.

    :param connection_file: of a kernel that runs on this machine (in the notebook: ``%connect_info``, or
        ``ipykernel.get_connection_file()``), for :class:`InKernel` contexts.
    :param kernel: the kernelspec of those that are started.
    """

    def __init__(self, connection_file: str | os.PathLike[str] = "", *, kernel: str = "python3") -> None:
        try:
            import ipykernel  # noqa: F401
            import jupyter_client  # noqa: F401
        except ImportError as error:
            raise SandboxUnavailable(
                f"sandbox='jupyter' needs its extra ({error}): pip install 'unspool[jupyter]'"
            ) from None
        if sys.platform != "linux":
            raise SandboxUnavailable("the sandbox 'jupyter' needs Linux: pass a copy to sandbox='command:…'")
        self._file = os.fspath(connection_file)
        if self._file and not os.path.isfile(self._file):
            raise ConfigError(f"connection_file={self._file!r}: there is no such file")
        self._kernel = kernel
        self.proven = False  # until a kernel has started once
        self._repls: set[ProcessRepl] = set()

    async def open(self, spec: ReplSpec, on_call: OnCall) -> ProcessRepl:
        live = _is_live(spec.context)
        if live and not self._file:
            raise ContextError(
                f"{spec.context!r} is in no kernel: JupyterSandbox(connection_file) says which"
            )
        repl = ProcessRepl(_Home(self, self._file if live else ""), spec, on_call)
        self._repls.add(repl)
        try:
            await repl.start()
        except BaseException:  # cancelled too: no process is left of a REPL that nobody has
            await repl.close()
            raise
        self.proven = True
        return repl

    async def close(self) -> None:
        if self._repls:
            await asyncio.gather(*[repl.close() for repl in self._repls])

    def maker(self, connection_file: str) -> Maker:
        return Kernel(connection_file, self._kernel)

    def default_memory(self) -> int:
        return max(_LEAST_MEMORY, free_memory() // 2 // max(1, len(self._repls)))

    def forget(self, repl: ProcessRepl) -> None:
        self._repls.discard(repl)


class _Home:
    """What one REPL needs of the sandbox."""

    def __init__(self, sandbox: JupyterSandbox, connection_file: str) -> None:
        self._sandbox, self._file = sandbox, connection_file

    def maker(self) -> Maker:
        return self._sandbox.maker(self._file)

    def default_memory(self) -> int:
        return self._sandbox.default_memory()

    def handed_on(self, context: object) -> Handed | None:
        return None

    def forget(self, repl: ProcessRepl) -> None:
        self._sandbox.forget(repl)


def _is_live(context: object) -> bool:
    """Whether it is a live object of a notebook, or has one among its values."""
    values = context.values() if isinstance(context, Mapping) else (context,)
    return any(isinstance(value, InKernel) for value in values)
