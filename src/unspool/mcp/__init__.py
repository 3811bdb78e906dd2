"""``unspool mcp``: a context, its REPL and whole runs over it, as tools of the Model Context Protocol.

Contract: nothing here is imported by the rest of the package but by the command line, and the SDK (extra
``mcp``) by :mod:`~unspool.mcp.sdk`, :mod:`~unspool.mcp.stdio` and :mod:`~unspool.mcp.http` alone, inside
functions. The tools are :mod:`~unspool.mcp.desk`; what a client gets of any of them is at most
``bounds.MOST`` characters.
"""
