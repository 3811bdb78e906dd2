"""Suites: samples that follow from a seed alone, as long as they say, with golds that can be had."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from unspool.errors import ConfigError
from unspool.evals import SUITES, Sample, score
from unspool.evals.data import SMS_LABELS, TREC_LABELS, Data
from unspool.evals.sample import parse_size, size_words
from unspool.evals.suites import chosen

DATA = Path(__file__).parents[2] / "examples" / "data"
NAMES = list(SUITES)
SIZE = 8_000


def made(suite: str, task: str = "", *, size: int = SIZE, seed: int = 1) -> Sample:
    samples = SUITES[suite].make(size, seed=seed)
    return next(sample for sample in samples if task in ("", sample.task))


def lines(sample: Sample) -> list[str]:
    assert isinstance(sample.context, str)
    return sample.context.split("\n")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_samples_are_whole(name: str, seed: int) -> None:
    samples = SUITES[name].make(SIZE, seed=seed)
    assert [sample.task for sample in samples] == list(SUITES[name].tasks)
    for sample in samples:
        assert (sample.suite, sample.size, sample.seed) == (name, SIZE, seed)
        assert score(sample, sample.gold).value == 1
        assert 0.8 < sample.characters / (4 * SIZE) <= 1, sample.name
        assert len(sample.question) < 1_500
        assert sample.scorer != "name" or not sample.among or sample.gold in sample.among


@pytest.mark.parametrize("name", NAMES)
def test_the_smallest_size_has_every_task_and_a_smaller_one_is_refused(name: str) -> None:
    suite = SUITES[name]
    for seed in range(1, 6):
        assert len(suite.make(suite.smallest, seed=seed)) == len(suite.tasks)
    with pytest.raises(ConfigError, match=f"{name} cannot be made of .* at least"):
        suite.make(suite.smallest - 1, seed=1)


@pytest.mark.parametrize("name", NAMES)
def test_seeds_and_sizes_make_different_contexts(name: str) -> None:
    suite = SUITES[name]
    digests = [suite.make(size, seed=seed)[0].digest for size in (SIZE, 2 * SIZE) for seed in (1, 2)]
    assert len(set(digests)) == 4


def test_another_process_makes_the_same_samples() -> None:
    code = (
        "import json\nfrom unspool.evals import SUITES\n"
        "print(json.dumps([[s.digest, s.question, s.gold] for suite in SUITES.values() for s in suite.make(8000, seed=7)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    here = [[s.digest, s.question, s.gold] for suite in SUITES.values() for s in suite.make(SIZE, seed=7)]
    assert json.loads(done.stdout) == here


# Golds, computed here in another way


def labels_of(sample: Sample) -> list[tuple[str, str, str]]:
    """(date, user, label) of each entry, the label as it stands in the file of the data."""
    trec = {
        " ".join(q.split()): TREC_LABELS[label.partition(":")[0]][0]
        for label, _, q in (
            row.partition(" ") for row in (DATA / "trec_questions.label").read_text().splitlines()
        )
    }
    sms = {
        " ".join(text.split()): label
        for label, _, text in (
            row.partition("\t") for row in (DATA / "sms_spam.tsv").read_text("utf-8").split("\n")
        )
    }
    rows = [line.split(" | ", 2) for line in lines(sample)]
    return [(day, user, (trec if sample.task.startswith("trec") else sms)[text]) for day, user, text in rows]


def test_counts_of_labels_are_those_of_the_data() -> None:
    for seed in (1, 2, 3):
        sample = made("oolong", "trec-count", seed=seed)
        found = re.search(r"have the label (\w+)\?", sample.question)
        assert found is not None
        assert Counter(label for *_, label in labels_of(sample))[found[1]] == sample.gold
        spam = made("oolong", "sms-count", seed=seed)
        assert Counter(label for *_, label in labels_of(spam))["spam"] == spam.gold
        assert isinstance(spam.gold, int)
        assert spam.gold > 0


def test_the_labels_are_not_written_in_the_context() -> None:
    for task in ("trec-count", "sms-count"):
        for day, user, text in (line.split(" | ", 2) for line in lines(made("oolong", task))):
            assert re.fullmatch(r"2023-\d\d-\d\d", day)
            assert user.isdigit()
            assert not text.startswith((*TREC_LABELS, *SMS_LABELS))


def test_dates_and_users_are_counted_as_asked() -> None:
    sample = made("oolong", "trec-date", seed=2)
    found = re.search(r"from (\S+) to (\S+), both days included, have the label (\w+)", sample.question)
    assert found is not None
    wanted = [1 for day, _, label in labels_of(sample) if found[1] <= day <= found[2] and label == found[3]]
    assert len(wanted) == sample.gold
    sample = made("oolong", "sms-user", seed=2)
    found = re.search(r"entries of user (\d+) have the label (\w+)", sample.question)
    assert found is not None
    assert [(user, label) for _, user, label in labels_of(sample)].count((found[1], found[2])) == sample.gold


def test_pairs_are_some_and_not_all_of_the_users() -> None:
    for sample in SUITES["pairs"].make(SIZE, seed=3):
        users = {line.split(" | ")[1] for line in lines(sample)}
        assert isinstance(sample.gold, list)
        assert 0 < len(sample.gold) < len(users) * (len(users) - 1) / 2
        assert all(a < b for a, b in sample.gold)


def test_needles_are_there_once_and_in_different_places() -> None:
    places = []
    for seed in range(1, 21):
        sample = made("needle", "number", size=2_000, seed=seed)
        assert isinstance(sample.context, str)
        assert sample.context.count(str(sample.gold)) == 1
        places.append(sample.context.index(str(sample.gold)) / len(sample.context))
    assert min(places) < 0.4
    assert max(places) > 0.6


def test_words_are_counted_as_the_question_says() -> None:
    sample = made("words", "times")
    found = re.search(r'the word "(\w+)"', sample.question)
    assert found is not None
    assert isinstance(sample.context, str)
    assert re.split(r"[^a-z]+", sample.context.lower()).count(found[1]) == sample.gold


def test_a_history_is_replayed_by_git(tmp_path: Path) -> None:
    """The commits are real patches: git itself makes the gold file of them."""
    sample = made("history")
    assert isinstance(sample.context, str)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)
    for number, commit in enumerate(re.split(r"(?m)^commit [0-9a-f]{40}$", sample.context)[1:]):
        patch = tmp_path / f"{number}.patch"
        patch.write_text(commit[commit.index("diff --git") :].rstrip("\n") + "\n", "utf-8")
        apply = ["git", "apply", "--whitespace=nowarn", patch.name]
        done = subprocess.run(apply, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (number, done.stderr)
    path = re.search(r"diff --git a/(\S+) ", sample.context)
    assert path is not None
    assert (tmp_path / path[1]).read_text("utf-8") == sample.gold


def test_code_has_what_is_asked_for_once() -> None:
    for seed in (1, 2, 3):
        sample = made("code", "where", seed=seed)
        name = sample.question.split('"')[1]
        assert isinstance(sample.context, dict)
        holders = [
            path for path, source in sample.context.items() if re.search(rf"\b(def|class) {name}\b", source)
        ]
        assert holders == [sample.gold]


# What is asked for, and what is not there


def test_names_of_suites() -> None:
    assert [suite.name for suite in chosen(" logs,needle, logs ")] == ["logs", "needle"]
    assert len(chosen("all")) == len(SUITES)
    for wrong in ("nope", "logs,nope", "", ","):
        with pytest.raises(ConfigError, match="needle, needles"):
            chosen(wrong)


@pytest.mark.parametrize("text", ["8k", "131k", "1m", "1.5m", "500"])
def test_sizes_are_said_as_they_are_read(text: str) -> None:
    assert size_words(parse_size(text)) == text
    assert parse_size(f" {text.upper()} ") == parse_size(text)


@pytest.mark.parametrize("text", ["", "0", "-8k", "8kb", "8 000", "1g", "inf", "1e9", "99999m", "499", "٨k"])
def test_wrong_sizes_are_told(text: str) -> None:
    with pytest.raises(ConfigError, match="give tokens such as 8k"):
        parse_size(text)


def test_data_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"trec_questions.label cannot be read .* --data DIR"):
        SUITES["oolong"].make(SIZE, seed=1, data=Data(tmp_path))


def test_where_it_is_installed_the_data_of_a_checkout_that_one_is_in_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The README's own command, after the README's own installation."""
    code = (
        "import shutil, sys, pathlib, unspool\n"
        "here = pathlib.Path(sys.argv[1])\n"
        "shutil.copytree(pathlib.Path(unspool.__file__).parent, here / 'lib/python3/site-packages/unspool')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)
    folder = tmp_path / "work" / "examples" / "data"
    folder.mkdir(parents=True)
    told = (
        "from unspool.evals.data import Data\nfrom unspool.errors import ConfigError\n"
        "try: print(Data().messages())\nexcept ConfigError as error: print(error)\n"
    )

    def said(where: Path) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "lib/python3/site-packages")}
        done = subprocess.run(
            [sys.executable, "-c", told], cwd=where, env=environment, capture_output=True, text=True, timeout=60
        )  # fmt: skip
        return done.stdout + done.stderr

    (folder / "sms_spam.tsv").write_text("label\ttext\nham\tSee you at ten\nspam\tWin a prize\n")
    assert said(tmp_path / "work") == "(('See you at ten', 'ham'), ('Win a prize', 'spam'))\n"
    assert said(tmp_path).startswith(
        "sms_spam.tsv cannot be read: this suite is made of the files in examples"
    )
