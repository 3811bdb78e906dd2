"""Questions about a real repository: modules of the standard library, as many as the size has room for.

>>> samples = CODE.make(16_000, seed=1)
>>> [sample.task for sample in samples]
['where', 'default', 'imports', 'classes', 'subclasses']
>>> samples[0].gold in samples[0].context
True
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ...errors import ConfigError
from ...strategies.protocol import CHARACTERS_PER_TOKEN
from ..data import Data, modules
from ..sample import Sample
from .suite import Redraw, Suite

READ = """import ast
trees = {path: ast.parse(source) for path, source in context.items()}
print(len(trees), list(trees)[:5])
nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree)]
"""
END = "\nprint(result)\nsubmit(result)"
FILES = "The context is a dict of Python files: path to source."


def code(room: int, chance: random.Random, data: Data) -> list[Sample]:
    """Five questions over one choice of modules."""
    files = _choose(room, chance)
    facts = {path: _facts(source) for path, source in files.items()}
    return [
        _where(files, facts, chance),
        _default(files, facts, chance),
        _imports(files, facts, chance),
        _classes(files, facts),
        _subclasses(files, facts, chance),
    ]


def _choose(room: int, chance: random.Random) -> dict[str, str]:
    """Modules by chance until there is no room for one more."""
    order = list(modules())
    there = sum(len(source) for _, source in order) // CHARACTERS_PER_TOKEN
    if room // CHARACTERS_PER_TOKEN > there:
        raise ConfigError(f"code cannot be made of so much: the standard library has {there:,} tokens")
    chance.shuffle(order)
    chosen: dict[str, str] = {}
    for path, source in order:
        if len(source) <= room:
            chosen[path] = source
            room -= len(source)
    return dict(sorted(chosen.items()))


@dataclass(frozen=True, slots=True)
class Facts:
    """What is asked of one file. The tree that it is read from is not kept: it is large."""

    defined: tuple[str, ...]  # functions, methods and classes, by name
    defaults: tuple[tuple[str, str, str], ...]  # function, parameter, value
    functions: tuple[str, ...]
    imported: frozenset[str]  # top-level names
    bases: tuple[tuple[str, tuple[str, ...]], ...]  # each class with the bases that are plain names


@cache
def _facts(source: str) -> Facts:
    nodes = list(ast.walk(ast.parse(source)))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    coroutines = [node.name for node in nodes if isinstance(node, ast.AsyncFunctionDef)]
    imports = {
        alias.name.partition(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names
    }
    froms = {
        node.module.partition(".")[0]
        for node in nodes
        if isinstance(node, ast.ImportFrom) and not node.level and node.module
    }
    return Facts(
        tuple([node.name for node in functions] + [node.name for node in classes] + coroutines),
        tuple(default for node in functions for default in _defaults(node)),
        tuple(node.name for node in functions),
        frozenset(imports | froms),
        tuple(
            (node.name, tuple(base.id for base in node.bases if isinstance(base, ast.Name)))
            for node in classes
        ),
    )


def _defaults(node: ast.FunctionDef) -> list[tuple[str, str, str]]:
    """The defaults that are numbers or words."""
    arguments = node.args.args
    pairs = zip(reversed(arguments), reversed(node.args.defaults), strict=False)
    return [
        (node.name, argument.arg, str(default.value))
        for argument, default in pairs
        if isinstance(default, ast.Constant)
        and isinstance(default.value, int | str)
        and str(default.value).isalnum()
    ]


AllFacts = Mapping[str, Facts]


def _where(files: dict[str, str], facts: AllFacts, chance: random.Random) -> Sample:
    """In which file something is defined that is defined once."""
    times = Counter(name for each in facts.values() for name in each.defined)
    alone = [(n, path) for path, each in facts.items() for n in each.defined if times[n] == 1 and len(n) > 5]
    if not alone:
        raise Redraw("nothing here is defined once")
    name, path = chance.choice(alone)
    return Sample(
        "where",
        f'{FILES} In which file is "{name}" defined, a function, a method or a class? Answer with the '
        "path alone.",
        files,
        path,
        "name",
        f"{READ}result = next(path for path, node in nodes if getattr(node, 'name', '') == {name!r} and "
        f"isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))){END}",
        tuple(files),
    )


def _default(files: dict[str, str], facts: AllFacts, chance: random.Random) -> Sample:
    """The default of a parameter of a function whose name is there once."""
    times = Counter(name for each in facts.values() for name in each.functions)
    found = [
        (path, *default)
        for path, each in facts.items()
        for default in each.defaults
        if times[default[0]] == 1
    ]
    if not found:
        raise Redraw("no function here has a default to ask for")
    path, function, argument, value = chance.choice(found)
    return Sample(
        "default",
        f'{FILES} What is the default value of the parameter "{argument}" of the function '
        f'"{function}" in {path}? '
        "Answer with the value alone.",
        files,
        value,
        "name",
        f"{READ}f = next(n for p, n in nodes if isinstance(n, ast.FunctionDef) and n.name == {function!r})\n"
        "defaults = dict(zip([a.arg for a in reversed(f.args.args)], reversed(f.args.defaults)))\n"
        f"result = defaults[{argument!r}].value{END}",
    )


def _imports(files: dict[str, str], facts: AllFacts, chance: random.Random) -> Sample:
    """How many files import a module."""
    counts = Counter(name for each in facts.values() for name in sorted(each.imported))
    name = chance.choice([name for name, _ in counts.most_common(8)])
    return Sample(
        "imports",
        f'{FILES} How many of the files import the module "{name}" or something from it (or from a '
        "module below it), "
        "anywhere in the file? Answer with the number alone.",
        files,
        counts[name],
        "close",
        f"""{READ}def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    return [node.module.split(".")[0]] if isinstance(node, ast.ImportFrom) and not node.level else []
result = len({{path for path, node in nodes if {name!r} in imported(node)}}){END}""",
    )


def _classes(files: dict[str, str], facts: AllFacts) -> Sample:
    """How many classes there are."""
    return Sample(
        "classes",
        f"{FILES} How many classes are defined in all files together, those inside of functions and classes "
        "included? Answer with the number alone.",
        files,
        sum(len(each.bases) for each in facts.values()),
        "close",
        f"{READ}result = sum(isinstance(node, ast.ClassDef) for _, node in nodes){END}",
    )


def _subclasses(files: dict[str, str], facts: AllFacts, chance: random.Random) -> Sample:
    """The classes that name another as their direct base."""
    classes: dict[str, set[str]] = {}
    for name, bases in (pair for each in facts.values() for pair in each.bases):
        for base in bases:
            classes.setdefault(base, set()).add(name)
    some = sorted(base for base, names in classes.items() if 2 <= len(names) <= 12) or sorted(classes)
    if not some:
        raise Redraw("no class here has a base")
    base = chance.choice(some)
    return Sample(
        "subclasses",
        f'{FILES} Which classes name "{base}" as one of their direct base classes? List their names, '
        "in any order.",
        files,
        sorted(classes[base]),
        "set",
        f"{READ}result = sorted({{n.name for _, n in nodes if isinstance(n, ast.ClassDef) for b in n.bases "
        f"if isinstance(b, ast.Name) and b.id == {base!r}}}){END}",
    )


CODE = Suite(
    "code",
    "questions about a real repository (modules of the standard library)",
    ("where", "default", "imports", "classes", "subclasses"),
    code,
    aggregates=True,
    smallest=8_000,
)
