"""A measurement as logs of inspect-ai, which ``inspect view`` and ``inspect_ai.log.read_eval_log`` read.

Contract: :func:`write` makes one log for each suite, size, strategy and pair of models, in the folder
``inspect`` beside the report, of the lines of the measurement alone; written again, the same samples are the
same files. What is not known (tokens that a provider did not report, a price) is left out, never 0. A sample
that no model replied to is one with an error.

>>> name_of("needle", 8_000, "rlm", "openai:gpt-5 + openai:gpt-5-mini")
'needle_8k_rlm_openai-gpt-5-openai-gpt-5-mini.eval'
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError
from ..reach.extras import how_to_add
from .intervals import mean_of
from .kept import Setting, read_samples, read_settings
from .readings import plain_text
from .record import Record
from .rows import by_seed
from .sample import size_words

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalResults, EvalSample, EvalSpec, EvalStats
    from inspect_ai.model import ModelUsage

FOLDER, SCORER = "inspect", "unspool"
LONGEST = 120  # characters of models in the name of a file
# What has a place of its own in a log, or is the same in all of one.
_ELSEWHERE = {"question", "gold", "answer", "score", "kind", "suite", "strategy", "model", "sub_model"}


def write(folder: Path) -> list[Path]:
    """Writes them; their paths. Raises :class:`ConfigError`."""
    try:
        from inspect_ai.log import write_eval_log
    except ImportError:
        raise ConfigError(f"logs of inspect-ai need inspect-ai: {how_to_add('eval')}") from None
    records, (settings, commands) = read_samples(folder), read_settings(folder)
    groups: dict[tuple[str, int, str, str], list[Record]] = {}
    for record in records:
        key = (record.suite, record.size, record.strategy, record.asked.models)
        groups.setdefault(key, []).append(record)
    if not groups:
        raise ConfigError(f"{folder} holds no sample yet: unspool eval SUITE --out {folder} asks some")
    paths = []
    often = Counter(name_of(*key) for key in groups)
    for key, group in groups.items():
        name = name_of(*key, apart=often[name_of(*key)] > 1)
        path = folder / FOLDER / name
        try:
            path.parent.mkdir(exist_ok=True)
            log = _log(name, group, settings, commands)
            with ThreadPoolExecutor(1) as apart:  # under a running loop it would patch asyncio for good
                apart.submit(write_eval_log, log, path, format="eval").result()
        except OSError as error:
            raise ConfigError(f"{path} cannot be written ({error.strerror})") from None
        paths.append(path)
    return paths


def name_of(suite: str, size: int, strategy: str, models: str, *, apart: bool = False) -> str:
    """Of a log's file; ``apart``: other models would have the same."""
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", models).strip("-")
    if apart or len(plain) > LONGEST:
        plain = f"{plain[:LONGEST]}-{hashlib.sha256(models.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return f"{suite}_{size_words(size)}_{strategy}_{plain}.eval"


def _log(
    name: str, records: Sequence[Record], settings: Mapping[str, Setting], commands: Sequence[str]
) -> EvalLog:
    from inspect_ai.log import EvalLog

    ordered = sorted(records, key=lambda record: (record.seed, record.task))
    return EvalLog(
        status="success",
        eval=_spec(name, ordered, settings, commands),
        results=_results(ordered),
        stats=_stats(ordered),
        samples=[_sample(record) for record in ordered],
    )


def _spec(
    name: str, records: Sequence[Record], settings: Mapping[str, Setting], commands: Sequence[str]
) -> EvalSpec:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec

    first = records[0]
    known = hashlib.sha256(name.encode()).hexdigest()[:22]
    return EvalSpec(
        created=_time(min(_began(record) for record in records)),
        eval_id=known,
        run_id=known,
        task=f"unspool/{first.suite}",
        task_id=known,
        task_args={"sizes": size_words(first.size), "strategy": first.strategy},
        solver=first.strategy,
        dataset=EvalDataset(
            name=first.suite, samples=len(records), sample_ids=[_id(record) for record in records]
        ),
        model=first.model,
        config=EvalConfig(),
        packages={"unspool": str(settings.get("unspool"))},
        metadata={"sub_model": first.sub_model, "settings": dict(settings), "commands": list(commands)},
    )


def _results(records: Sequence[Record]) -> EvalResults:
    """The score with its interval, as the report has it."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    paid = sum(record.paid for record in records)
    mean = mean_of(by_seed((record.seed, record.score) for record in records))
    figures = {"mean": mean.value, "low": mean.low, "high": mean.high}
    metrics = {name: EvalMetric(name=name, value=value) for name, value in figures.items()}
    told = EvalScore(name=SCORER, scorer=SCORER, scored_samples=len(records), metrics=metrics)
    return EvalResults(total_samples=len(records), completed_samples=paid, scores=[told])


def _stats(records: Sequence[Record]) -> EvalStats:
    from inspect_ai.log import EvalStats

    total: dict[str, ModelUsage] = {}
    for record in records:
        for model, usage in _usage(record).items():
            total[model] = total[model] + usage if model in total else usage
    return EvalStats(
        started_at=_time(min(_began(record) for record in records)),
        completed_at=_time(max(record.ended for record in records)),
        model_usage=total,
    )


def _sample(record: Record) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score

    answer = plain_text(_value(record.answer))
    error = None if record.paid else EvalError(message=record.reason, traceback="", traceback_ansi="")
    kept = {name: value for name, value in asdict(record).items() if name not in _ELSEWHERE}
    return EvalSample(
        id=_id(record),
        epoch=1,
        input=record.question,
        target=plain_text(_value(record.gold)),
        messages=[ChatMessageUser(content=record.question), ChatMessageAssistant(content=answer)],
        output=ModelOutput.from_content(record.model, answer),
        scores={
            SCORER: Score(value=record.score, answer=answer, explanation=record.failure or "right"),
        },
        metadata=kept | {"notes": list(record.notes)},
        model_usage=_usage(record),
        role_usage=_by_role(record),
        started_at=_time(_began(record)),
        completed_at=_time(record.ended),
        total_time=record.seconds,
        working_time=record.seconds,
        error=error,
        turn_count=record.turns,
    )


def _by_role(record: Record) -> dict[str, ModelUsage]:
    """Tokens of root and sub-calls, where they are known."""
    from inspect_ai.model import ModelUsage

    found = {
        "root": (record.root_input, record.root_output),
        "sub": (record.sub_input, record.sub_output),
    }
    return {
        role: ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)
        for role, (read, written) in found.items()
        if read is not None and written is not None and read + written
    }


def _usage(record: Record) -> dict[str, ModelUsage]:
    """The same by model. The cost is the whole sample's, so it stands where one model had all calls."""
    total: dict[str, ModelUsage] = {}
    for role, usage in _by_role(record).items():
        model = record.model if role == "root" else record.sub_model
        total[model] = total[model] + usage if model in total else usage
    if len(total) == 1 and record.cost is not None:
        (usage,) = total.values()
        usage.total_cost = record.cost
    return total


def _id(record: Record) -> str:
    return f"{record.task}-{record.size}-{record.seed}"


def _value(text: str) -> object:
    return json.loads(text)


def _began(record: Record) -> float:
    return record.ended - record.seconds


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
