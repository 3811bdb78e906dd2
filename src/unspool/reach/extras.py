"""How what is missing is installed. Standard library alone: it is said in the sandbox, too.

>>> how_to_add("docs")
"pip install 'unspool[docs]' (in a checkout: pip install '.[docs]')"
"""


def how_to_add(extra: str) -> str:
    """The command that adds an extra, to a package that is installed and in a checkout of it."""
    return f"pip install 'unspool[{extra}]' (in a checkout: pip install '.[{extra}]')"
