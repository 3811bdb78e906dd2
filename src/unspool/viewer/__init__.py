"""The viewer: runs in a browser, from their journals alone.

What the page asks for is made here from events. The page itself is built from ``viewer/`` beside ``src/``,
and what is built is kept in ``built/``: who installs or runs unspool needs no Node. The same page, with all
that it would ask for inside, is what ``unspool runs export --html`` writes.
"""
