"""Clouds as commands: programs that give stdin and stdout of an interpreter in somebody's sandbox.

``sandbox="command:python -m unspool.sandbox.adapters.modal"``, and ``e2b`` and ``daytona`` likewise. Each is
one file over the SDK of that name, which has to be installed. They were tested against stand-ins of the SDKs
alone.
"""
