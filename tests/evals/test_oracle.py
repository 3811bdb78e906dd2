"""The scripted oracle: where it is always right, the engine has to get everything right."""

from __future__ import annotations

import pytest

from unspool import RLM
from unspool.errors import ConfigError
from unspool.evals import SUITES, Sample, Score, score
from unspool.evals.oracle import Oracle
from unspool.types import Run


def ask(sample: Sample, right: float = 1.0) -> tuple[Score, Run]:
    root, sub = Oracle(right).models(sample)
    with RLM(root, sub_model=sub, runs=False) as engine:
        run = engine.run(sample.question, sample.context)
    return score(sample, run.answer), run


@pytest.mark.parametrize("name", list(SUITES))
def test_nothing_is_lost_by_the_engine(name: str) -> None:
    for sample in SUITES[name].make(8_000, seed=1):
        found, run = ask(sample)
        assert (run.status, found.value) == ("answered", 1.0), (sample.name, run.reason, run.answer)


@pytest.mark.parametrize("name", ["oolong", "pairs"])
def test_nothing_is_lost_over_many_items(name: str) -> None:
    (sample,) = (s for s in SUITES[name].make(131_000, seed=2) if s.task in ("trec-user-most", "differ"))
    found, run = ask(sample)
    assert (run.status, found.value) == ("answered", 1.0)
    assert run.sub_calls > 50


def test_programs_do_not_hold_the_answer() -> None:
    """The oracle's root reads the context: with another context under the same program, it answers that."""
    one, other = (SUITES["oolong"].make(4_000, seed=seed)[0] for seed in (1, 2))
    label = one.program.split(".count(")[1].split(")")[0].strip("'")
    root, _ = Oracle().models(one)
    _, sub = Oracle().models(other)
    with RLM(root, sub_model=sub, runs=False) as engine:
        answer = engine.run(one.question, other.context).answer
    assert answer == sum(
        label == other.labels[line.split(" | ", 2)[2]] for line in str(other.context).split("\n")
    )


def test_an_oracle_that_errs_loses_what_it_errs() -> None:
    """Its mistakes are the same each time, about as many as said, and show in the score."""
    sample = next(s for s in SUITES["oolong"].make(8_000, seed=1) if s.task == "sms-count")
    found, run = ask(sample, 0.8)
    again, _ = ask(sample, 0.8)
    assert found == again
    assert found.value < 0.5
    assert isinstance(sample.gold, int)
    assert isinstance(run.answer, int)
    entries = len(str(sample.context).split("\n"))
    expected = 0.8 * sample.gold + 0.2 * (entries - sample.gold)
    assert abs(run.answer - expected) < 0.1 * entries


@pytest.mark.parametrize("name", ["oracle:2", "oracle:x", "oracle:-1", "oracle:nan", "oracle:"])
def test_wrong_shares_are_told(name: str) -> None:
    with pytest.raises(ConfigError, match="from 0 to 1"):
        Oracle.of(name)


def test_names() -> None:
    assert Oracle.of("openai:gpt-5") is None
    assert Oracle.of("local") is None
    for name in ("oracle", "oracle:0.5"):
        oracle = Oracle.of(name)
        assert oracle is not None
        assert oracle.name == name
