"""The viewer: runs in a browser, from their journals alone.

What the page asks for is made here from events, and the page's own modules are in ``app/``: plain ES modules
that are served as they are, so there is nothing to build. The same modules, with all that they would ask for,
are the page that ``unspool runs export --html`` writes.
"""
