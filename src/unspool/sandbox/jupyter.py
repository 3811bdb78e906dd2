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

import os
import sys
from collections.abc import Mapping

from ..contexts.notebook import InKernel
from ..errors import ConfigError, ContextError, SandboxUnavailable
from ..reach.extras import how_to_add
from ._kernels import Kernel
from ._processes import Maker
from .process import Home, ProcessRepl
from .protocol import OnCall, ReplSpec

__all__ = ["InKernel", "JupyterSandbox"]


class JupyterSandbox(Home):
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
            raise ConfigError(
                f"sandbox='jupyter' needs its extra ({error}): {how_to_add('jupyter')}"
            ) from None
        if sys.platform != "linux":
            raise SandboxUnavailable("the sandbox 'jupyter' needs Linux: pass a copy to sandbox='command:…'")
        self._file = os.fspath(connection_file)
        if self._file and not os.path.isfile(self._file):
            raise ConfigError(f"connection_file={self._file!r}: there is no such file")
        super().__init__()
        self._kernel = kernel

    async def open(self, spec: ReplSpec, on_call: OnCall) -> ProcessRepl:
        if _is_live(spec.context) and not self._file:
            raise ContextError(
                f"{spec.context!r} is in no kernel: JupyterSandbox(connection_file) says which"
            )
        return await super().open(spec, on_call)

    def maker(self, spec: ReplSpec) -> Maker:
        return Kernel(self._file if _is_live(spec.context) else "", self._kernel)


def _is_live(context: object) -> bool:
    """Whether it is a live object of a notebook, or has one among its values."""
    values = context.values() if isinstance(context, Mapping) else (context,)
    return any(isinstance(value, InKernel) for value in values)
