"""The finder of cells: a table of odd replies, and properties over generated ones."""

from __future__ import annotations

import ast
import json
import textwrap
import threading
import time
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from unspool.cells import Cell, Found, find_cells


@dataclass(frozen=True)
class Case:
    """One reply and its right reading. ``skipped`` are the tags, ``hint`` a part of the hint."""

    name: str
    reply: str
    cells: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    hint: str = ""
    code: tuple[str, ...] = ()
    thinking: str = ""


def runs(
    name: str, reply: str, *cells: str, skipped: tuple[str, ...] = (), code: tuple[str, ...] = ()
) -> Case:
    return Case(name, reply, cells, skipped, code=code)


def nothing(name: str, reply: str, hint: str, *, skipped: tuple[str, ...] = (), thinking: str = "") -> Case:
    return Case(name, reply, (), skipped, hint, (), thinking)


X = "x = 1\nprint(x)"

FENCES = [
    runs("python", f"```python\n{X}\n```", X),
    runs("py", f"```py\n{X}\n```", X),
    runs("repl", f"```repl\n{X}\n```", X),
    runs("capital", f"```Python\n{X}\n```", X),
    runs("all capitals", f"```PYTHON\n{X}\n```", X),
    runs("trailing spaces", f"```Python   \n{X}\n```   ", X),
    runs("space before the tag", f"``` python\n{X}\n```", X),
    runs("no tag", f"```\n{X}\n```", X),
    runs("python3", f"```python3\n{X}\n```", X),
    runs("python3.11", f"```python3.11\n{X}\n```", X),
    runs("python 3", f"```python 3\n{X}\n```", X),
    runs("ipython", f"```ipython\n{X}\n```", X),
    runs("tool_code", f"```tool_code\n{X}\n```", X),
    runs("title", f'```py title="count.py"\n{X}\n```', X),
    runs("line numbers", f"```python linenums=1\n{X}\n```", X),
    runs("file name behind the tag", f"```python:count.py\n{X}\n```", X),
    runs("file name as tag", f"```count.py\n{X}\n```", X),
    runs("braces", f"```{{.python}}\n{X}\n```", X),
    runs("braces with more", f"```{{.python .numberLines #a}}\n{X}\n```", X),
    runs("notebook braces", f"```{{python}}\n{X}\n```", X),
    runs("tag code", f"```code\n{X}\n```", X),
    runs("tildes", f"~~~python\n{X}\n~~~", X),
    runs("tildes without a tag", f"~~~\n{X}\n~~~", X),
    runs("tildes closed with backticks", f"~~~python\n{X}\n```\nDone.", X),
    runs("tildes in tilde code", "~~~python\ny = (\n~~~x)\n~~~", "y = (\n~~~x)"),
    runs("tilde fences not closed", "~~~python\na = 1\n~~~python\nb = 2\n~~~", "a = 1", "b = 2"),
    runs("four backticks", f"````python\n{X}\n````", X),
    runs("six backticks", f"``````python\n{X}\n``````", X),
    runs("closed by more", f"```python\n{X}\n`````", X),
    runs("opened with four, closed with three", f"````python\n{X}\n```\nSo that is it.", X),
    runs("text on the line before", f"Let me look:\n```python\n{X}\n```", X),
    runs("text on the same line", f"Let me look: ```python\n{X}\n```", X),
    runs("text behind the end", f"```python\n{X}\n``` and then we see.", X),
    runs("end behind the last line", f"```python\n{X}```", X),
    runs("on one line", "```python print(len(context))```", "print(len(context))"),
    runs("code behind the tag", "```python import re\nprint(re)\n```", "import re\nprint(re)"),
    runs("code behind the backticks", "```print(1)\nprint(2)\n```", "print(1)\nprint(2)"),
    runs("CRLF", "Look:\r\n```python\r\nx = 1\r\nprint(x)\r\n```\r\n", X),
    runs("blank lines are kept", "```python\n\n\nx = 1\n\nprint(x)\n\n```", "\n\nx = 1\n\nprint(x)\n"),
    runs("tabs are kept", "```python\nif x:\n\tprint(x)\n```", "if x:\n\tprint(x)"),
    runs("indented", "  ```python\n  x = 1\n  print(x)\n  ```", X),
    runs("indented by a tab", "\t```python\n\tx = 1\n\tprint(x)\n\t```", X),
    runs("in a list", "1. First:\n   ```python\n   x = 1\n   print(x)\n   ```\n2. Then stop.", X),
    runs("on a list marker", "- ```python\n  x = 1\n  print(x)\n  ```", X),
    runs("indented deeper than its fence", "```python\n    x = 1\n    print(x)\n```", X),
    runs("fence indented, code not", f"   ```python\n{X}\n   ```", X),
    runs("first line indented alone", "```python\n x = 1\nprint(x)\n```", X),
    runs("indented string", '  ```python\n  s = """\n  a\n  """\n  ```', 's = """\na\n"""'),
    runs("comment at the margin", "   ```python\n# go\n   x = 1\n   print(x)\n   ```", f"# go\n{X}"),
    runs("never closed", f"Look:\n```python\n{X}", X),
    runs("never closed, last line cut", "```python\nx = 1\nprint(x", "x = 1\nprint(x"),
    runs("opened twice", f"```\n```python\n{X}\n```\n```", X),
    runs("closed twice", f"```python\n{X}\n```\n```\nNow we wait.", X),
    runs("next fence ends the last", "```python\na = 1\n\n```python\nb = 2\n```", "a = 1\n", "b = 2"),
    runs("leaked end of turn", f"```python\n{X}\n<|im_end|>", X),
    runs("leaked end of text", f"```python\n{X}\n</s>", X),
    runs("two cells", "```python\na = 1\n```\nthen\n```python\nb = 2\n```", "a = 1", "b = 2"),
    runs("two cells of two kinds", "~~~py\na = 1\n~~~\n```repl\nb = 2\n```", "a = 1", "b = 2"),
    runs("three cells, no gap", "```py\na=1\n```\n```py\nb=2\n```\n```py\nc=3\n```", "a=1", "b=2", "c=3"),
    runs("empty one among them", "```python\n```\n```python\nb = 2\n```", "b = 2"),
    runs("syntax error is still a cell", "```python\nfor x in\n```", "for x in"),
    runs("prose tagged python is a cell", "```python\nLet me think about it.\n```", "Let me think about it."),
    runs("a tagged word is a cell", "```python\nresult\n```", "result"),
    runs("a tagged number is a cell", "```python\n42\n```", "42"),
    runs("top-level await", "```python\nr = await f()\n```", "r = await f()"),
    runs("vertical tab and form feed stay", "```python\nx = 'a\x0bb\x0cc'\n```", "x = 'a\x0bb\x0cc'"),
    runs("line separator in a string stays", "```python\nx = 'a\u2028b'\n```", "x = 'a\u2028b'"),
    runs("warning-prone code is silent", "```python\nr'\\d'; x = '\\d'\n```", "r'\\d'; x = '\\d'"),
]

STRINGS = [
    runs(
        "fence in a triple-quoted string",
        '```python\np = """\n```\nhello\n```\n"""\nprint(p)\n```\nDone.',
        'p = """\n```\nhello\n```\n"""\nprint(p)',
    ),
    runs(
        "one lone fence in a string",
        "```python\np = '''\n```\n'''\nprint(p)\n```",
        "p = '''\n```\n'''\nprint(p)",
    ),
    runs(
        "tagged fence in an f-string",
        '```python\np = f"""Fix:\n```python\n{x}\n```\n"""\nprint(llm_query(p))\n```\nWe will see.',
        'p = f"""Fix:\n```python\n{x}\n```\n"""\nprint(llm_query(p))',
    ),
    runs(
        "quotes inside an f-string's field",
        "```python\np = f'''\n```\n{d[\"k\"]}\n```\n'''\n```\n",
        "p = f'''\n```\n{d[\"k\"]}\n```\n'''",
    ),
    runs("fence in a short string", "```python\ns = '```'\nprint(s)\n```", "s = '```'\nprint(s)"),
    runs("fence in a comment", "```python\n# ends with ```\nx = 1\nprint(x)\n```", f"# ends with ```\n{X}"),
    runs("apostrophe in a comment", f"```python\n# it's\n{X}\n```\nIt's done.", f"# it's\n{X}"),
    runs(
        "triple quotes in a comment",
        '```python\n# a """ here\nx = 1\n```\nNo """ more.',
        '# a """ here\nx = 1',
    ),
    runs("raw string", "```python\nr = r'\\''\nprint(1)\n```\nIt's it.", "r = r'\\''\nprint(1)"),
    runs(
        "fence in a string, then an error elsewhere",
        '```python\np = """\n```\na\n```\n"""\nfor x in\n```\nSo.',
        'p = """\n```\na\n```\n"""\nfor x in',
    ),
    runs("string never closed", '```python\np = """abc\nprint(p)\n```\nSo it ends.', 'p = """abc\nprint(p)'),
    runs(
        "broken string before another cell",
        '```python\np = """abc\n```\nNow:\n```python\nq = """def"""\nprint(q)\n```',
        'p = """abc',
        'q = """def"""\nprint(q)',
    ),
    runs(
        "broken string before a cell with one more",
        '```python\np = """abc\n```\nNow:\n```python\nq = """def\n```\n',
        'p = """abc',
        'q = """def',
    ),
    runs("cut inside a string", '```python\np = """abc\nde', 'p = """abc\nde'),
    runs(
        "continued short string",
        "```python\ns = 'a\\\n```\\\nb'\nprint(s)\n```",
        "s = 'a\\\n```\\\nb'\nprint(s)",
    ),
    runs(
        "four backticks around three",
        '````python\np = """\n```\n"""\n````\n',
        'p = """\n```\n"""',
    ),
    runs(
        "nested call to a model with fences",
        "```python\nr = llm_query('''Answer in\n```json\n{}\n```\n''')\nprint(r)\n```",
        "r = llm_query('''Answer in\n```json\n{}\n```\n''')\nprint(r)",
    ),
    runs("FINAL in a string is printed", "```python\nprint('FINAL(1)')\n```", "print('FINAL(1)')"),
    runs("parentheses nested in FINAL", "```python\nFINAL(f((1), (2)))\n```", "FINAL(f((1), (2)))"),
]

DRAFT = "```python\nimport os\n```"

REASONING = [
    runs("think", f"<think>\nMaybe\n{DRAFT}\n</think>\n```python\n{X}\n```", X),
    runs("thinking", f"<thinking>{DRAFT}\n</thinking>\n```python\n{X}\n```", X),
    runs("reasoning", f"<reasoning>\n{DRAFT}\n</reasoning>\n```python\n{X}\n```", X),
    runs("thought", f"<thought>\n{DRAFT}\n</thought>\n```python\n{X}\n```", X),
    runs("scratchpad", f"<scratchpad>\n{DRAFT}\n</scratchpad>\n```python\n{X}\n```", X),
    runs("capitals", f"<THINK>\n{DRAFT}\n</Think>\n```python\n{X}\n```", X),
    runs("prefixed", f"<seed:think>\n{DRAFT}\n</seed:think>\n```python\n{X}\n```", X),
    runs("square brackets", f"[THINK]\n{DRAFT}\n[/THINK]\n```python\n{X}\n```", X),
    runs("triangles", f"◁think▷\n{DRAFT}\n◁/think▷\n```python\n{X}\n```", X),
    runs("thought tokens", f"<|begin_of_thought|>\n{DRAFT}\n<|end_of_thought|>\n```python\n{X}\n```", X),
    runs("unfinished draft", f"<think>\n```python\nimport os\n</think>\n```python\n{X}\n```", X),
    runs("nested", f"<think>a<think>b</think>{DRAFT}</think>\n```python\n{X}\n```", X),
    runs("mention inside", f"<think>no <think> tag {DRAFT}</think>\n```python\n{X}\n```", X),
    runs(
        "two of them",
        f"<think>a</think>\n```py\na=1\n```\n<think>\n{DRAFT}\n</think>\n```py\nb=2\n```",
        "a=1",
        "b=2",
    ),
    runs("stray end", f"Maybe\n{DRAFT}\nno.\n</think>\n\n```python\n{X}\n```", X),
    runs("stray end behind an open draft", f"Maybe\n```python\nimport os\n</think>\n```python\n{X}\n```", X),
    runs("stray end after a proper pair", f"<think>a</think>\n```python\n{X}\n```\n</think>", X),
    runs("empty", f"<think>\n\n</think>\n\n```python\n{X}\n```", X),
    runs(
        "tag in a string",
        "```python\nprint(t.split('<think>')[0])\n```\nand\n```python\nb = 2\n```",
        "print(t.split('<think>')[0])",
        "b = 2",
    ),
    runs("end tag in a string", "```python\ns = '</think>'\nprint(s)\n```", "s = '</think>'\nprint(s)"),
    runs(
        "end tag in a string after reasoning",
        "<think>a</think>\n```python\nt = r.split('</think>')[-1]\n```",
        "t = r.split('</think>')[-1]",
    ),
    runs(
        "tag at the start of a line in a string",
        '```python\np = """\n<think>\nstep by step\n"""\nprint(p)\n```',
        'p = """\n<think>\nstep by step\n"""\nprint(p)',
    ),
    runs("mention in prose", f"I will not use the <think> tag.\n```python\n{X}\n```", X),
    runs("mention in backticks", f"No `</think>` is needed.\n```python\n{X}\n```\nNo `<think>`.", X),
    runs("bare code after it", "<think>\nhm\n</think>\nprint(len(context))", "print(len(context))"),
    runs(
        "harmony",
        f"<|channel|>analysis<|message|>Try\n{DRAFT}\n<|end|><|start|>assistant<|channel|>final<|message|>\n"
        f"```python\n{X}\n```<|return|>",
        X,
    ),
    runs(
        "harmony calls python",
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=python "
        "<|constrain|>code<|message|>print(len(context))<|call|>",
        "print(len(context))",
    ),
    runs(
        "harmony calls with JSON",
        "<|start|>assistant to=functions.python<|channel|>commentary<|constrain|>json<|message|>"
        '{"code": "print(1)"}<|call|>',
        "print(1)",
    ),
    runs("harmony, tokens stripped", f"analysisWe try\n{DRAFT}\nassistantfinal```python\n{X}\n```", X),
    nothing("never closed", f"<think>\nMaybe\n{DRAFT}\n", "<think>, which was never closed"),
    nothing("never closed, no code", "<think>\nI wonder how to", "only reasoning"),
    nothing("only reasoning beside the text", "", "only reasoning", thinking="Hm."),
    nothing("only in reasoning", f"<think>\n{DRAFT}\n</think>\nLet me run it.", "inside your reasoning"),
    nothing("only before a stray end", f"{DRAFT}\n</think>\nLet me run it.", "inside your reasoning"),
    nothing("only beside the text", "", "inside your reasoning", thinking=f"Hm.\n{DRAFT}"),
    nothing(
        "only in harmony's analysis", f"<|channel|>analysis<|message|>\n{DRAFT}", "inside your reasoning"
    ),
]

SKIPPED = [
    nothing("bash", "```bash\nls -la\n```", "tagged bash", skipped=("bash",)),
    nothing("sh", "```sh\ncat log.txt\n```", "tagged sh", skipped=("sh",)),
    nothing("json", '```json\n{"a": 1}\n```', "tagged json", skipped=("json",)),
    nothing("text", "```text\nprint(1)\n```", "tagged text", skipped=("text",)),
    nothing("output", "```output\n42\n```", "tagged output", skipped=("output",)),
    nothing("markdown", "```markdown\n# Report\n```", "tagged markdown", skipped=("markdown",)),
    nothing("sql", "```sql\nSELECT 1\n```", "tagged sql", skipped=("sql",)),
    nothing("javascript", "```javascript\nlet x = 1;\n```", "tagged javascript", skipped=("javascript",)),
    nothing("pytb is a traceback", "```pytb\nTraceback\n```", "tagged pytb", skipped=("pytb",)),
    nothing("unknown tag", "```flurb\nx = 1\n```", "tagged flurb", skipped=("flurb",)),
    nothing(
        "python inside markdown",
        f"````markdown\n```python\n{X}\n```\n````",
        "markdown",
        skipped=("markdown",),
    ),
    runs("bash before python", f"```bash\nls\n```\n```python\n{X}\n```", X, skipped=("bash",)),
    runs("output behind python", f"```python\n{X}\n```\n```text\n1\n```", X, skipped=("text",)),
    nothing(
        "prose without a tag",
        "```\nThe log has many lines, and some fail.\n```",
        "not read as",
        skipped=("",),
    ),
    nothing("JSON without a tag", '```\n{"a": [1, 2], "b": true}\n```', "JSON", skipped=("",)),
    nothing("broken JSON without a tag", '```\n{"a": [1, 2,\n  ...\n```', "JSON", skipped=("",)),
    nothing("JSON list without a tag", '```\n[{"a": null}]\n```', "JSON", skipped=("",)),
    nothing("shell prompt", "```\n$ ls -la\nfoo\n```", "shell", skipped=("",)),
    nothing("shell with a host", "```\nuser@host:~/x$ grep -c a b\n```", "shell", skipped=("",)),
    nothing("shell without a prompt", "```\npip install pandas\n```", "shell", skipped=("",)),
    nothing(
        "traceback",
        '```\nTraceback (most recent call last):\n  File "<cell>", line 1, in <module>\nNameError: x\n```',
        "traceback",
        skipped=("",),
    ),
    nothing("one word without a tag", "```\nparis\n```", "output", skipped=("",)),
    nothing("a number without a tag", "```\n42\n```", "output", skipped=("",)),
    nothing("a string without a tag", "```\n'the answer'\n```", "output", skipped=("",)),
    nothing("a list without a tag", "```\n[1, 2, 3]\n```", "output", skipped=("",)),
    nothing("a dict without a tag", "```\n{'a': 3, 'b': None}\n```", "output", skipped=("",)),
    nothing("a Counter without a tag", "```\nCounter({'a': 3})\n```", "output", skipped=("",)),
    nothing("words that parse", "```\nyes or no\n```", "output", skipped=("",)),
    nothing("a labelled value", "```\nAnswer: 42\n```", "output", skipped=("",)),
    nothing("a file name", "```\nlog.txt\n```", "output", skipped=("",)),
    nothing("several values", "```\n1\n2\n3\n```", "output", skipped=("",)),
    nothing("a place in brackets", "```\nParis (France)\n```", "output", skipped=("",)),
    nothing("a table", "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```", "not read as", skipped=("",)),
    nothing("HTML", "```\n<div>\nx = 1\n</div>\n```", "not read as", skipped=("",)),
    nothing(
        "JavaScript without a tag", "```\nconst x = 1;\nconsole.log(x);\n```", "not read as", skipped=("",)
    ),
    nothing("SQL without a tag", "```\nSELECT a FROM b WHERE c = 1\n```", "not read as", skipped=("",)),
    nothing(
        "log lines", "```\n2024-01-01 12:00 sshd failed\n2024-01-02 ok\n```", "not read as", skipped=("",)
    ),
    runs(
        "output without a tag behind a cell",
        f"```python\n{X}\n```\nOutput:\n```\n{{'a': 3}}\n```",
        X,
        skipped=("",),
    ),
    runs("assignment shown as output", f"```py\n{X}\n```\n**Output:**\n```\nx = 1\n```", X, skipped=("",)),
    runs("values stated behind a cell", f"```py\n{X}\n```\nI expect\n```\nx = 1\n```", X, skipped=("",)),
    runs("work without a tag behind a cell", f"```py\n{X}\n```\nand\n```\ny = f(x)\n```", X, "y = f(x)"),
    runs("values without a tag are set", "```\nx = 1\n```", "x = 1"),
    runs("a call under Output: is a call", "Output:\n```\nsubmit(x)\n```", "submit(x)"),
    runs("call without a tag", "```\nlen(context)\n```", "len(context)"),
    runs("slice without a tag", "```\ncontext[:500]\n```", "context[:500]"),
    runs("comprehension without a tag", "```\n[l for l in lines]\n```", "[l for l in lines]"),
    runs("FINAL without a tag", "```\nFINAL(42)\n```", "FINAL(42)"),
    runs("FINAL_VAR without a tag", '```\nFINAL_VAR("x")\n```', 'FINAL_VAR("x")'),
    runs("syntax error without a tag", "```\nfor x in y\n    print(x)\n```", "for x in y\n    print(x)"),
    runs("one more syntax error", "```\nimport re\nprint(len(context)\n```", "import re\nprint(len(context)"),
    runs(
        "prose in a string is no prose",
        '```\np = """\nDo it well.\nAnd then go.\nAnd stop there.\n"""\nprint(p\n```',
        'p = """\nDo it well.\nAnd then go.\nAnd stop there.\n"""\nprint(p',
    ),
    nothing("magics", "```python\n%pip install pandas\n!ls\n```", "notebook commands", skipped=("python",)),
    nothing("cell magic", "```python\n%%bash\nls\n```", "notebook commands", skipped=("python",)),
]

PROSE = [
    nothing("empty", "", "was empty"),
    nothing("blank", " \n\t\n", "was empty"),
    nothing("plain", "I would first look at the log.", "no code in your reply"),
    nothing("Yes", "Yes", "no code"),
    nothing("number", "42", "no code"),
    nothing("letter", "x", "no code"),
    nothing("sentence", "The answer is 42.", "no code"),
    nothing("word list", "apple\nbanana\ncherry", "no code"),
    nothing("tuple of words", "red, green, blue", "no code"),
    nothing("yes or no", "yes or no", "no code"),
    nothing("comparison of words", "answer is correct", "no code"),
    nothing("label", "Answer: 42", "no code"),
    nothing("label with a word", "Note: done", "no code"),
    nothing("place", "Paris (France)", "no code"),
    nothing("citation", "Smith (2020)", "no code"),
    nothing("two places", "Paris (France), Rome (Italy)", "no code"),
    nothing("big O", "O(n)", "no code"),
    nothing("quoted", '"The answer is 42"', "no code"),
    nothing("heading", "# Answer\n42", "no code"),
    nothing("only a heading", "# Plan", "no code"),
    nothing("bullets", "- one\n- two", "no code"),
    nothing("bullets with calls", "- count(x)\n- total(y)", "no code"),
    nothing("subtraction of words", "well-known", "no code"),
    nothing("address", "10.0.0.1", "no code"),
    nothing("condition", "if ready: go", "no code"),
    nothing("class action", "class action: lawsuit", "no code"),
    nothing("raise", "raise concerns", "no code"),
    nothing("list of names", "['a', 'b']", "no code"),
    nothing("JSON", '{"answer": 42}', "no code"),
    nothing("JSON with prose as code", '{"code": "hello"}', "no code"),
    nothing("word before a call", "Sure\nprint(x)", "not in a block"),
    nothing("prose before code", "Let me look:\nprint(context[:100])", "not in a block"),
    nothing("block quote", "> ```python\n> x = 1\n> ```", "not in a block"),
    nothing("inline code", "Use `print(len(context))` to see.", "no code"),
    nothing("inline triple", "Use ```x = 1``` to set it.", "no code"),
    nothing("inline triple with a tag", "Write ```python print(1)``` and see.", "no code"),
    nothing("backticks in front of a sentence", "``` So this is what I think.\nAnd more.", "no code"),
    nothing("HTML code in prose", "Use <code>len(x)</code> for that.", "no code"),
    nothing("HTML code starts a line", "<code>len(x)</code> gives the length.", "no code"),
    nothing("tool tag in prose", "I have no <tool_call> at hand.", "no code"),
    nothing("python tag in prose", "Put it in <python>print(1)</python> tags.", "no code"),
    nothing("FINAL in prose", "My plan is to FINAL(the count)", "answer in prose"),
    nothing("FINAL with more behind", "I would say FINAL(42), since f((1)) holds.", "answer in prose"),
    nothing("submit in prose", "Then I call submit(answer) and stop.", "answer in prose"),
    nothing("three dots", "...", "no code"),
    nothing("emoji", "👍", "no code"),
]

WHOLE = [
    runs("call", "print(len(context))", "print(len(context))"),
    runs("assignment", "n = context.count('x')", "n = context.count('x')"),
    runs(
        "several lines",
        "import re\nm = re.findall('a', context)\nprint(m)\n",
        "import re\nm = re.findall('a', context)\nprint(m)",
    ),
    runs("loop", "for x in context:\n    print(x)", "for x in context:\n    print(x)"),
    runs("definition", "def f(x):\n    return x", "def f(x):\n    return x"),
    runs("submit", "submit(42)", "submit(42)"),
    runs("FINAL", "FINAL(total)", "FINAL(total)"),
    runs("method", "context.splitlines()", "context.splitlines()"),
    runs("await", "await work()", "await work()"),
    runs("last word is a result", "total = 3\ntotal", "total = 3\ntotal"),
    runs("in backticks", "`print(context[:100])`", "print(context[:100])"),
    runs("with end token", "print(len(context))<|im_end|>", "print(len(context))"),
    runs("smart quotes", "print(“hi”)", 'print("hi")'),
    runs("JSON call", '{"name": "python", "arguments": {"code": "print(1)"}}', "print(1)"),
]

CALLS = [
    runs("provider call alone", "", "print(1)", code=("print(1)",)),
    runs("two of them", "Now.", "a = 1", "b = 2", code=("a = 1", "b = 2")),
    runs("text and call", f"```python\n{X}\n```", X, "b = 2", code=("b = 2",)),
    runs("the same code twice", f"```python\n{X}\n```", X, code=(f"{X}\n",)),
    runs("fenced in the call", "", X, code=(f"```python\n{X}\n```",)),
    runs("broken code in the call", "", "for x in", code=("for x in",)),
    runs("CRLF in the call", "", X, code=("x = 1\r\nprint(x)",)),
    runs("code tag", f"Thought: look.\n<code>\n{X}\n</code>", X),
    runs("code tag on one line", "<code>print(len(context))</code>", "print(len(context))"),
    runs("code tag not closed", f"<code>\n{X}", X),
    runs("code tag around a fence", f"<code>\n```python\n{X}\n```\n</code>", X),
    runs(
        "code tag with end tag in a string",
        "<code>\ns = '</code>'\nprint(s)\n</code>",
        "s = '</code>'\nprint(s)",
    ),
    runs("python tag", f"<python>\n{X}\n</python>", X),
    runs("python tag on one line", "<python>print(1)</python>", "print(1)"),
    runs("execute tag", f"<execute>\n{X}\n</execute>", X),
    runs("tool call", '<tool_call>{"code": "print(1)"}</tool_call>', "print(1)"),
    runs("tool call with input", '<tool_call>\n{"input": "print(1)"}\n</tool_call>', "print(1)"),
    runs(
        "tool call with name and arguments",
        '<tool_call>\n{"name": "python", "arguments": {"code": "x = 1\\nprint(x)"}}\n</tool_call>',
        X,
    ),
    runs(
        "arguments as text",
        '<tool_call>{"name": "run_python", "arguments": "{\\"code\\": \\"print(1)\\"}"}</tool_call>',
        "print(1)",
    ),
    runs("raw line ends in JSON", '<tool_call>{"code": "x = 1\nprint(x)"}</tool_call>', X),
    runs(
        "tool call not closed",
        '<tool_call>\n{"name": "python", "arguments": {"code": "print(1)"}}',
        "print(1)",
    ),
    runs("tool call in a fence", '```\n<tool_call>{"code": "print(1)"}</tool_call>\n```', "print(1)"),
    runs(
        "tool call as a tag",
        '```tool_call\n{"name": "python", "arguments": {"code": "print(1)"}}\n```',
        "print(1)",
    ),
    runs("plain code in a tool call", "<tool_call>\nprint(1)\n</tool_call>", "print(1)"),
    runs(
        "tool call in XML",
        f"<tool_call>\n<function=python>\n<parameter=code>\n{X}\n</parameter>\n</function>\n</tool_call>",
        X,
    ),
    runs("invoke", '<invoke name="python"><parameter name="code">print(1)</parameter></invoke>', "print(1)"),
    runs("python token", "<|python_tag|>print(1)<|eom_id|>", "print(1)"),
    runs(
        "marks in JSON",
        '<tool_call>{"code": "s = \'</think> </tool_call>\'"}</tool_call>',
        "s = '</think> </tool_call>'",
    ),
    runs(
        "two calls",
        '<tool_call>{"code": "a=1"}</tool_call><tool_call>{"code": "b=2"}</tool_call>',
        "a=1",
        "b=2",
    ),
    nothing(
        "another tool",
        '<tool_call>{"name": "search", "arguments": {"input": "cats"}}</tool_call>',
        "no tool “search”",
        skipped=("tool",),
    ),
    nothing(
        "call that is no JSON",
        '<tool_call>{"code": print(1)}</tool_call>',
        "not valid JSON",
        skipped=("tool",),
    ),
    nothing(
        "call without code", '<tool_call>{"name": "python"}</tool_call>', "without code", skipped=("tool",)
    ),
]

NOTHING = [
    nothing("empty block", "```python\n```", "block was empty"),
    nothing("blank block", "```python\n   \n\n```", "block was empty"),
    nothing("only comments", "```python\n# first, look\n# then count\n```", "only comments"),
    nothing("only comments, no tag", "```\n# first, look\n```", "only comments"),
    nothing("nothing after the fence", "```python", "block was empty"),
    nothing("backticks alone", "```", "block was empty"),
    nothing("invisible block", "```python\n\ufeff\u200b\n```", "block was empty"),
]

SESSIONS = [
    runs("doctest", "```python\n>>> x = 1\n>>> print(x)\n1\n```", X),
    runs("doctest without a tag", "```\n>>> print(1)\n1\n```", "print(1)"),
    runs("pycon", "```pycon\n>>> print(1)\n1\n```", "print(1)"),
    runs(
        "continued",
        "```python\n>>> for a in b:\n...     print(a)\n...\n1\n2\n```",
        "for a in b:\n    print(a)\n",
    ),
    runs("bare prompts", "```python\n>>> a = 1\n>>>\n>>> b = 2\n```", "a = 1\n\nb = 2"),
    runs("prompt in a string", "```python\ns = '''\n>>> a\n'''\n```", "s = '''\n>>> a\n'''"),
    runs(
        "magic above code",
        "```python\n%matplotlib inline\nx = 1\n```",
        "pass  # not run: %matplotlib inline\nx = 1",
    ),
    runs("shell line in a block", "```python\nif x:\n    !ls -l\n```", "if x:\n    pass  # not run: !ls -l"),
    runs("timed", "```python\n%%time\nx = 1\n```", "pass  # not run: %%time\nx = 1"),
    runs("percent that continues", "```python\nx = ('%s'\n  % y)\n```", "x = ('%s'\n  % y)"),
    runs("magic in a string", "```python\ns = '''\n!ls\n'''\n```", "s = '''\n!ls\n'''"),
]

TABLE = [
    pytest.param(case, id=f"{kind}: {case.name}")
    for kind, cases in {
        "fence": FENCES,
        "string": STRINGS,
        "reasoning": REASONING,
        "skipped": SKIPPED,
        "prose": PROSE,
        "whole": WHOLE,
        "call": CALLS,
        "nothing": NOTHING,
        "session": SESSIONS,
    }.items()
    for case in cases
]


@pytest.mark.parametrize("case", TABLE)
def test_table(case: Case) -> None:
    found = find_cells(case.reply, code=case.code, thinking=case.thinking)
    assert tuple(cell.code for cell in found.cells) == case.cells
    assert tuple(block.lang for block in found.skipped) == case.skipped
    if case.cells:
        assert found.hint is None
    else:
        assert found.hint is not None
        assert case.hint in found.hint


@pytest.mark.parametrize(
    ("code", "mended", "repair"),
    [
        ("print(“hi”)", 'print("hi")', "smart quotes on line 1"),
        ("x = 1\n\nprint(‘hi’)", "x = 1\n\nprint('hi')", "smart quotes on line 3"),
        ("print(“it’s”)", 'print("it’s")', "smart quotes on line 1"),
        ("print(‘it’s’)", "print('it’s')", "smart quotes on line 1"),
        ("print(f“{d[‘a’]}”)", "print(f\"{d['a']}\")", "smart quotes on line 1"),
        ("print(f'{d[“a”]}')", "print(f'{d[\"a\"]}')", "odd characters in an f-string on line 1"),
        ('print("hi”)', 'print("hi")', "smart quotes on line 1"),
        ("s = “““a\nb”””", 's = """a\nb"""', "smart quotes on line 1"),
        ("a = “x”\nb = “y”", 'a = "x"\nb = "y"', "smart quotes on lines 1, 2"),
        ("x\u00a0=\u00a01", "x = 1", "odd spaces on line 1"),
        ("if x:\n\u00a0\u00a0\u00a0\u00a0y = 1", "if x:\n    y = 1", "odd spaces on line 2"),
        ("\ufeffx = 1", "x = 1", "invisible characters on line 1"),
        ("x\u200b = 1", "x = 1", "invisible characters on line 1"),
        ("x = 1\0", "x = 1", "invisible characters on line 1"),
        ("print（1）", "print(1)", "full-width characters on line 1"),
        ("f(1，2)", "f(1,2)", "full-width characters on line 1"),
        ("print（＂a＂）", 'print("a")', "smart quotes on line 1"),
        ("x = 3 − 1", "x = 3 - 1", "look-alike signs on line 1"),
        ("if a ≤ b: c()", "if a <= b: c()", "look-alike signs on line 1"),
        ("x = 1\u2028y = 2", "x = 1\ny = 2", "odd line ends on line 1"),
        ("s = '\ud800'", "s = '\\ud800'", "unprintable characters escaped on line 1"),
        ("s = 'a\0b'", "s = 'a\\x00b'", "unprintable characters escaped on line 1"),
        ("x = 1  # \ud800", "x = 1  # ", "unprintable characters escaped on line 1"),
        ("  x = 1\ny = 2", "x = 1\ny = 2", "uneven indentation from line 1 on"),
        (">>> x = 1\n1", "x = 1", "prompts (>>>) and the output between them were taken out"),
        ("x = 1\n!ls", "x = 1\npass  # not run: !ls", "notebook command on line 2 not run: !ls"),
        ("print(→)", "print(→)", "invalid character '→' (U+2192) on line 1"),
        ("x = 1\nprint(“a”, →)", 'x = 1\nprint("a", →)', "smart quotes on line 2"),
    ],
)
def test_repairs_are_named_with_their_line(code: str, mended: str, repair: str) -> None:
    (cell,) = find_cells(f"```python\n{code}\n```").cells
    assert cell.code == mended
    assert repair in cell.repairs


@pytest.mark.parametrize(
    "code",
    [
        "s = '“quoted”'",
        "# it’s “fine” here\u00a0too\nx = 1",
        "s = 'a\u00a0b\u200bc'",
        's = """\n“a”，\ufeff\n"""',
        "f'{x}“”'",
        "f\"{d['“']}\"",
        "print('é', 'ｆｕｌｌ')",
        "naïve = 1",
        "x = '''\n\t  \n'''",
        "if x:\n\ty = 1\n\n\n",
        "x = 1;",
        "'a\rb'",
        "async with a as b:\n    await c",
        "match x:\n    case [1, *_]:\n        pass",
        "x = '&lt;'",
        "def f(a, /, *, b): return a @ b",
    ],
)
def test_valid_code_is_never_changed(code: str) -> None:
    (cell,) = find_cells(f"```python\n{code}\n```").cells
    assert cell == Cell(code, "python", True, ())


def test_a_cell_says_how_it_stood_in_the_reply() -> None:
    found = find_cells("```Py\na = 1\n```\n```\nb = f(2)\n```\n```python\nc = 3")
    assert found.cells == (
        Cell("a = 1", "py", True),
        Cell("b = f(2)", "", True),
        Cell("c = 3", "python", False),
    )


def test_a_skipped_block_is_shown_with_its_code_and_reason() -> None:
    (block,) = find_cells("```bash\nls -l\n```").skipped
    assert (block.lang, block.code) == ("bash", "ls -l")
    assert block.reason == "only Python is run, and this block is tagged bash"


def test_an_uneven_mix_with_more_lines_than_are_named() -> None:
    code = "\n".join(f"x{i} = “a”" for i in range(9))
    (cell,) = find_cells(f"```python\n{code}\n```").cells
    assert cell.repairs == ("smart quotes on lines 1, 2, 3, 4, 5 and 4 more",)


# ---- properties ------------------------------------------------------------------------------------

_PIECES = [
    "```", "```python", "```py\n", "````", "~~~", "~~~python\n", "```bash\n", "\n", "\n\n", " ", "    ", "\t", "\r\n",
    "<think>", "</think>", "<thinking>", "[THINK]", "<code>", "</code>", "<python>", "<tool_call>", "</tool_call>",
    "<|channel|>analysis<|message|>", "<|end|>", "<|python_tag|>", "<function=python>", "<parameter=code>",
    "analysis", "assistantfinal", '{"code": "', '"}', "x = 1", "print(x)", "def f():", "for x in y:", ">>> ", "... ",
    "%pip install x", "!ls", '"""', "'''", "'", '"', "f'{", "}'", "\\", "#", "“", "”", "‘", "’", "\ufeff", "\u00a0", "（",
    "\0", "\ud800", "\u2028", "\x85", "🙂", "Traceback (most recent call last):", "Output:\n", "- ", "1. ", "> ", "`", "word ",
]  # fmt: skip
_SURROGATES = st.characters(codec=None, categories=None)
_ANY = st.text(_SURROGATES, max_size=200)
_REPLY = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(_SURROGATES, max_size=8)), max_size=40).map(
    "".join
)
_MANY = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def _check(found: Found) -> None:
    assert (found.hint is None) == bool(found.cells)
    for cell in found.cells:
        assert cell.code.strip()
    for block in found.skipped:
        assert block.reason


@_MANY
@given(st.one_of(_ANY, _REPLY), st.lists(st.one_of(_ANY, _REPLY), max_size=2), _REPLY)
@example("```python\n" * 3, ["```", "\0"], "```")
@example("```\n'''\n```python\n<code>\\'''", [], "")
def test_any_text_is_read(text: str, code: list[str], thinking: str) -> None:
    _check(find_cells(text))
    _check(find_cells(text, code=code, thinking=thinking))


_TEXT = (
    "the count of lines is not known yet so I will look at it and then decide whether to go on or stop maybe "
    "FINAL(the answer) answer: 42 (about) however, Paris, yes. no! “quoted” it's e.g. print the import class if for "
    "while x = y -> 3.5% #1 & more; a/b [sic] {thing} <tag> </tag> `code` * - 1. > ... $5 @home"
)
_SENTENCE = st.lists(st.sampled_from(_TEXT.split()), min_size=4, max_size=14).map(
    lambda words: "So " + " ".join(words) + " then."
)


_TERSE = (
    "Paris (France) yes no or and not is in 42 3.5 - – , ; . : answer: O(n) #1 'quoted' \"so\" “so” [1] {x} if else "
    "for lambda None True it's ... * Smith (2020) raise global del x y 10.0.0.1 > < <code>x</code> <tag> `code` ~ %"
)


@_MANY
@given(st.lists(_SENTENCE, min_size=1, max_size=6), st.sampled_from([" ", "\n", "\n\n", "\r\n"]))
def test_prose_without_fences_gives_no_cell(sentences: list[str], gap: str) -> None:
    found = find_cells(gap.join(sentences))
    assert found.cells == ()
    assert found.hint


@_MANY
@given(st.lists(st.tuples(st.sampled_from(_TERSE.split()), st.sampled_from([" ", " ", "\n"])), max_size=8))
def test_terse_words_give_no_cell(words: list[tuple[str, str]]) -> None:
    """Short answers parse as Python more often than not, and are none."""
    assert find_cells("".join(word + gap for word, gap in words)).cells == ()


_LINES = [
    "x = 1",
    "print(x)",
    "for i in range(3):\n    print(i)",
    "def f(a):\n    '''doc'''\n    return a\n",
    's = """\n```\ninside\n```\n"""',
    "t = '''\n\n  ~~~\n\tindented ```\n'''",
    "# a comment with ``` in it",
    "u = f'{x!r:>{3}}'",
    "p = f'''\n```python\n{x}\n```\n'''",
    "v = [\n  1,\n  2,\n]",
    "w = 'it\\'s </think> <think>'",
    "z = r'\\''",
    "if x:\n\ty = 2\nelse:\n\ty = 3",
    "",
    "q = '“ ” ‘ ’ \u00a0 \u200b'",
    "b = '<code>' + \"</code>\"",
]
_CODE = (
    st.lists(st.sampled_from(_LINES), min_size=1, max_size=8)
    .map("\n".join)
    .filter(lambda code: ast.parse(code).body)
)
_STYLES = [
    "```python\n{}\n```",
    "```py\n{}\n```",
    "```repl\n{}\n```",
    "```Python \n{}\n``` ",
    '```python title="x"\n{}\n```',
    "```{{.python}}\n{}\n```",
    "````python\n{}\n````",
    "```python3\n{}\n```",
    "```ipython\n{}\n```\n",
    "```python\n{}",
    "Look: ```python\n{}\n```\nAnd it's done.",
    "Don't wait:\n\n```python\n{}\n```\n\nIt'll print \"x\".",
    "<think>draft\n```python\n1/0\n```\n</think>\n```python\n{}\n```",
    "draft\n```python\n1/0\n```\n</think>\n```python\n{}\n```",
    "```python\n{}\n```<|im_end|>",
]


@_MANY
@given(_CODE, st.sampled_from(_STYLES))
def test_code_comes_out_of_any_fence_unchanged(code: str, style: str) -> None:
    (cell,) = find_cells(style.format(code)).cells
    assert cell.code == code
    assert cell.repairs == ()


@_MANY
@given(_CODE, st.sampled_from(["  ", "   ", "    ", "\t"]))
def test_an_indented_fence_gives_back_the_code(code: str, margin: str) -> None:
    reply = textwrap.indent(f"```python\n{code}\n```", margin, lambda line: True)
    (cell,) = find_cells(f"1. Look:\n{reply}\n2. Stop.").cells
    assert cell.code == code


@_MANY
@given(_CODE, st.sampled_from(_STYLES[:9]))
def test_line_ends_of_windows_make_no_difference(code: str, style: str) -> None:
    reply = style.format(code)
    assert find_cells(reply.replace("\n", "\r\n")) == find_cells(reply)


@_MANY
@given(st.lists(_CODE, min_size=1, max_size=4))
def test_cells_stand_in_order(codes: list[str]) -> None:
    reply = "\nThen, if that's fine:\n".join(f"```python\n{code}\n```" for code in codes)
    assert [cell.code for cell in find_cells(reply).cells] == codes


@_MANY
@given(_CODE)
def test_code_in_a_tool_call_comes_out_unchanged(code: str) -> None:
    assert [cell.code for cell in find_cells("", code=[code]).cells] == [code]
    call = json.dumps({"name": "python", "arguments": {"code": code}})
    assert [cell.code for cell in find_cells(f"<tool_call>\n{call}\n</tool_call>").cells] == [code]


@_MANY
@given(_REPLY)
def test_a_cell_found_once_is_found_again(text: str) -> None:
    for cell in find_cells(text).cells:
        try:
            ast.parse(cell.code)
        except (SyntaxError, ValueError):
            continue
        assert [again.code for again in find_cells("", code=[cell.code]).cells] == [cell.code]


def test_threads_find_the_same() -> None:
    reply = "```python\nx = '\\d'\n```\n```\nprint(“a”)\n```"
    wanted = find_cells(reply)
    seen: list[Found] = []
    threads = [
        threading.Thread(target=lambda: seen.extend(find_cells(reply) for _ in range(20))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [wanted] * 80


# ---- size --------------------------------------------------------------------------------------------

_UNITS = {
    "backticks": "`",
    "tildes": "~",
    "spaces": " ",
    "quotes": "'",
    "smart quotes": "“",
    "single smart quotes": "‘a",
    "backslashes": "\\",
    "unclosed fences": "```python\n",
    "unclosed fences with code": "```python\nx = 1\n",
    "fences that shrink and grow": "````python\n```\n",
    "untagged prose": "```\nlet us see\n",
    "tildes in front of words": "so it is\n~~~“ ”\n",
    "tildes with a sentence": "~~~ so it is\n",
    "unclosed tildes": "~~~python\nx = 1\n",
    "escaped triple quotes": "```python\n\\'''\n```\n",
    "two kinds of triple quotes": "```python\n\"\"\"\n```\n'''\n",
    "broken code": "```python\nfor x in\n```\n",
    "think": "<think>",
    "think in a sentence": "a <think> ",
    "think on a line": "\n<think>\n",
    "end of think": "</think>",
    "think and end": "<think>a</think>",
    "code tags": "<code>",
    "code tags on lines": "\n<code>\nx y\n",
    "code tags with quotes": "\n<code>\\'''\n",
    "python tags": "<python>x ",
    "tool calls": "<tool_call>{",
    "tool calls with strings": '<tool_call>{"a": "\\',
    "tool calls with deep lists": "<tool_call>[[[[",
    "harmony": "<|channel|>analysis<|message|>a",
    "python token": "<|python_tag|>x y",
    "list markers": "- 1. ",
    "prompts": ">>> x\n",
    "magics": "%pip x\n",
    "brackets": "(",
    "prose": "So it goes and goes. ",
    "calls in prose": "f(x) ",
    "bash": "```bash\nls\n",
    "output": "Output:\n```\n1\n```\n",
}


@pytest.mark.parametrize("unit", _UNITS.values(), ids=_UNITS.keys())
@pytest.mark.parametrize("head", ["", "```python\n", "```\n"], ids=["bare", "in python", "in a fence"])
def test_time_is_linear(unit: str, head: str) -> None:
    """Eight times the text takes about eight times as long: a square would take 64 times."""

    def seconds(size: int) -> float:
        text = head + unit * (size // len(unit))
        started = time.process_time()
        _check(find_cells(text))
        return time.process_time() - started

    find_cells(head + unit)
    # Best of three: a collection of what all other tests left behind takes 0.3 s by itself.
    small, large = (min(seconds(size) for _ in range(3)) for size in (5_000, 40_000))
    assert large < 0.3 or large < small * 40


def test_a_megabyte_of_backticks_and_many_fences() -> None:
    started = time.process_time()
    for text in ("`" * 1_000_000, "```python\n" * 100_000, "\n".join(["```"] * 100_000), "~" * 1_000_000):
        assert find_cells(text).cells == ()
    assert time.process_time() - started < 60


def test_a_cell_too_long_to_be_parsed_is_run_as_it_stands() -> None:
    long = "x = [\n" + "    “1”,\n" * 10_000 + "]"
    (cell,) = find_cells(f"Here:\n```python\n{long}\n```\nDone.").cells
    assert (cell.code, cell.repairs) == (long, ())
    (mended,) = find_cells("```python\nx = [“1”]\n```").cells
    assert mended.code == 'x = ["1"]'


def test_a_long_cell_that_a_tool_call_brings_is_run_with_the_fences_in_its_strings() -> None:
    code = 'page = """\n```python\nprint(1)\n```\n"""\n' + "y = 2\n" * 20_000
    (cell,) = find_cells("", code=[code]).cells
    assert cell.code.strip() == code.strip()


def test_a_reply_too_long_to_be_read_is_told_so() -> None:
    found = find_cells("```python\nprint(1)\n```\n" + "more " * 250_000)
    assert found.cells == ()
    assert found.hint is not None
    assert "your reply has 1,250,023 characters" in found.hint
