"""Questions that a weak model's code asks: of a reader of some sentences, and of a child.

``read`` is for what was found in prose, ``ask`` for a step of a question. The source runs in the REPL (see
:mod:`unspool.prompts.small_tools`), so it is standard library only, in one file.

>>> _about("In which street does this owner live?", "Ann Bell")
'In which street does Ann Bell live?'
>>> _about("How many orders did this customer create?", "eve")
'How many orders did this customer eve create?'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .small_look import groups_for, prose_now
from .small_prose import FULL_NAME
from .small_several import each_of
from .small_split import nested_of
from .small_words import FORM, asked_now

MOST_SENT = 4_000  # characters that ``read`` shows


def read(question: str, *groups: Sequence[str]) -> str:
    """The answer of a reader, a model that is shown these sentences alone: prose is not for code to judge.

    Of a question about several things each is read by itself, over the sentences that fit it.
    """
    if prose_now and (each := each_of(question)):
        return ", ".join(read(one, *(groups_for(one, prose_now) or groups)) for one in each)
    told = _of_the_named(
        question, [each for group in groups for each in ([group] if isinstance(group, str) else group)]
    )
    text = "\n".join(dict.fromkeys(told))[:MOST_SENT]
    ask_reader = globals().get("llm_query")
    if ask_reader is None:  # the strategy does without sub-calls
        raise RuntimeError(
            "read needs a sub-call, and there are none here: read A, B and C, then submit the answer"
        )
    reply = ask_reader(f"Text:\n{text}\n\n{question} Answer from the text, in a few words.")
    return _without_echo(question, str(reply).strip().removesuffix("."))


def _of_the_named(question: str, told: Sequence[str]) -> Sequence[str]:
    """These without those about others, where some are about those whom the question names.

    >>> told = ["Ann Bell is old.", "Bo Cox was born in Rye.", "Rye is far."]
    >>> _of_the_named("Where was Ann Bell born?", told)
    ['Ann Bell is old.', 'Rye is far.']
    """
    names = FULL_NAME.findall(question)
    if not names or not any(name in line for name in names for line in told):
        return told
    return [line for line in told if any(name in line for name in names) or not FULL_NAME.search(line)]


_ASKED = re.compile(r"\b(?:which|what) (\w+)", re.IGNORECASE)


def _without_echo(question: str, answer: str) -> str:
    """The answer without the word that the question asks for before it.

    >>> _without_echo("In which version was it added?", "In version 3.9")
    '3.9'
    >>> _without_echo("Which version was it?", "The first one")
    'The first one'
    """
    if not (asked := _ASKED.search(question)):
        return answer
    echo = re.match(rf"(?:(?:in|at|on|of|by|from|to|for) )?(?:the )?{asked[1]} (?=\S)", answer, re.IGNORECASE)
    return answer[echo.end() :] if echo else answer


_THIS = re.compile(r"\b(?:this|that|these|those|the same) (?:IP )?\w+", re.IGNORECASE)
_IT = re.compile(r"\b(?:it|them)(?=\W*$|\W+in all\b)", re.IGNORECASE)
_THIS_ALONE = re.compile(r"\b(?:this|that|these|those|it|they|them)\b", re.IGNORECASE)
_IN_ALL = re.compile(r",? in all(?=\W*$)", re.IGNORECASE)
_answered: list[object] = []  # what ``ask`` has answered
_whole: list[str] = []  # the node's own question, where ``ask`` was given that


def ask(question: str) -> object:
    """The answer of one like you to a simpler question about all the data.

    A weak model asks for "this customer" and forgets to say which: what was answered last is put behind it,
    and behind a first step what the question says before it speaks of "this". One that asks for all of it as
    the first step has its answer: there is no second one.
    """
    if _whole and _answered:
        return _answered[-1]
    if _is_asked(question):
        _whole.append(question)
    if not _answered and _THIS_ALONE.search(question):
        question += "".join(f" ({said})" for said in [_said_before(asked_now)] if said)
    elif _answered:
        question = _about(question, _answered[-1])
    _answered.append(_of_child(_IN_ALL.sub("", question)))  # "in all" is taken for "in all lines"
    return _answered[-1]


def _about(question: str, answer: object) -> str:
    """The question with what was answered behind "this customer", or in its place."""
    name = str(answer)
    if name not in question:
        what = _IT if _IT.search(question) else _THIS
        question = what.sub(lambda found: f"{found[0]} {name}", question, count=1)
    if FULL_NAME.fullmatch(name):
        # Who has a name of two words is found by it; "this owner" finds what is said of other owners.
        question = re.sub(rf"{_THIS.pattern},? (?={re.escape(name)}(?!\w))", "", question, flags=_THIS.flags)
    return question


def _of_child(question: str) -> object:
    """A child's answer; of a question that has another one in it, whose answer comes first, two of them."""
    if steps := nested_of(question):
        return _of_child(_about(steps[1], _of_child(steps[0])))
    return globals()["rlm_query"](question, globals()["context"])


def _is_asked(question: str) -> bool:
    """Whether this is the node's own question, but for the form of the answer."""
    asked, own = (re.findall(r"\w+", FORM.sub(" ", text).casefold()) for text in (question, asked_now))
    return asked == own != []


def _said_before(question: str) -> str:
    """The first sentence of a question that goes on about "this" or "it".

    >>> _said_before("Somebody asks for tea. Which kind is this?")
    'Somebody asks for tea'
    >>> _said_before("Which kind is this?")
    ''
    """
    first, _, more = question.partition(". ")
    return first if _THIS_ALONE.search(more) and not _THIS_ALONE.search(first) else ""
