"""The sandbox, attacked: ways out, crashes and hogs, really tried in the cells of a REPL.

``unspool doctor --attack`` and the tests run this one suite. :mod:`.ways` says what an attack is and why
none does harm where it works, :mod:`.catalogue` and :mod:`.raw` list them, :mod:`.targets` plants what
they go for, :mod:`.crashes` has what breaks or hogs, :mod:`.suite` runs all of it and reports by protection.
"""
