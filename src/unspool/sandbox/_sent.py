"""What `command` sends to an interpreter, so that nothing has to be installed where it runs.

Contract: :func:`first_line` is one line of Python that any interpreter since 2.6 can read at its prompt; it
says which version is there and, from :data:`LEAST` on, starts that interpreter again on what comes next, with
a fixed environment. :func:`parcel` is that: our own modules that are standard library only, as text.

>>> first_line(b"token").count(b"\\n"), len(parcel()) < 300_000
(1, True)
"""

from __future__ import annotations

import base64
import functools
import zlib
from collections.abc import Sequence
from pathlib import Path

from ._launch import ENVIRONMENT

LEAST = (3, 11)
_HERE = Path(__file__).parent
_WORKER = (
    "worker", "_repl", "_functions", "_arguments", "_calls", "_screen", "_failure", "_shown", "_frames",
    "_values", "_reach",
)  # fmt: skip
_MODULES = (
    "_far", "_wire", "_birth", "keeper", "_descent", "_wards", "_branching", "_forks", "linux",
    "_parcel", "_texts", "_memory", "_node", "_identity", "_landlock", "_namespaces", "_seccomp", "_syscalls",
    "_request", "_warm", *_WORKER,
)  # fmt: skip
# Of the environment that the command gives: what finds the interpreter's own libraries.
KEPT = (
    "PATH", "HOME", "TMPDIR", "TZ", "PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV",
    "CONDA_PREFIX",
)  # fmt: skip

_AGAIN = """
import os, zlib
def take(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data
exec(zlib.decompress(take(int(take(8), 16))))
"""

_FINDER = '''
import importlib.abc, importlib.util, sys
class Sent(importlib.abc.ExecutionLoader, importlib.abc.MetaPathFinder):
    """Imports what the host has sent."""
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name in SENT else None
    def is_package(self, name):
        return any(other.startswith(name + ".") for other in SENT)
    def get_filename(self, name):
        return "/unspool/%s.py" % (name.replace(".", "/") + "/__init__" * self.is_package(name))
    def get_source(self, name):
        return SENT[name]
sys.meta_path.insert(0, Sent())
'''
_ROOT = "_unspool_sent"  # in a kernel, where nothing of ours may stand in the place of a module of somebody


def first_line(token: bytes) -> bytes:
    """See the module docstring. ``token`` comes back before the version: what is printed before is noise."""
    code = base64.b64encode(_AGAIN.encode()).decode()
    fixed = {**ENVIRONMENT}
    fixed.pop("PATH")
    kept = f"dict([(k,os.environ[k]) for k in {KEPT!r} if k in os.environ],**{fixed!r})"
    again = (
        f"os.execve(sys.executable,[sys.executable,'-P','-c',"
        f"__import__('base64').b64decode('{code}').decode()],{kept})"
    )
    hello = f"_=os.write(1,('\\n{token.decode()} %d.%d\\n'%tuple(sys.version_info[:2])).encode())"
    return f"import os,sys;{hello};sys.version_info>={LEAST} and {again}\n".encode()


def _packed(modules: Sequence[str], root: str, sandbox: str, start: str) -> bytes:
    """Modules and what makes them importable, as a program. ``root``, ``sandbox`` stand before names."""
    reach = sorted((_HERE.parent / "reach").glob("*.py"))
    sources = {sandbox + name: (_HERE / f"{name}.py").read_text(encoding="utf-8") for name in modules}
    sources |= {
        f"{root}reach" + ("" if path.stem == "__init__" else f".{path.stem}"): path.read_text(
            encoding="utf-8"
        )
        for path in reach
    }
    sources |= {name.rstrip("."): "" for name in (root, sandbox) if name}
    return zlib.compress(f"SENT = {sources!r}\n{_FINDER}\n{start}".encode(), 6)


@functools.cache
def parcel() -> bytes:
    """The length, and the modules behind it."""
    packed = _packed(_MODULES, "", "", "import _far\n_far.serve()\n")
    return b"%08x" % len(packed) + packed


@functools.cache
def _kernel_parcel() -> str:
    packed = _packed(("_kernel", "_parcel", "_texts", *_WORKER), f"{_ROOT}.", f"{_ROOT}.sandbox.", "")
    return base64.b64encode(packed).decode()


def for_kernel(path: str, token: str, own: bool) -> str:
    """A cell for a kernel, which leaves no name behind: it begins a REPL there."""
    return f"""
def _unspool(names):
    import sys
    if {_ROOT!r} not in sys.modules:
        import base64, zlib
        exec(zlib.decompress(base64.b64decode({_kernel_parcel()!r})), {{"__name__": {_ROOT!r}}})
    from {_ROOT}.sandbox import _kernel
    _kernel.begin({path!r}, {token!r}, {own!r}, names)
try:
    _unspool(globals())
finally:
    del _unspool
"""
