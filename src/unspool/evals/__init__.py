"""Measurements: suites of questions with computed answers, a runner that can be stopped, a report.

Contract: nothing here is known to the engine, and nothing in the engine is shaped by a task. A suite makes
:class:`Sample`\\ s of a size and a seed; :func:`unspool.evals.runner.solve` asks one and
:func:`unspool.evals.scores.score` scores it; the runner keeps one line a sample; the report reads those lines
and nothing else. ``unspool eval`` is all of it from the shell.

>>> from unspool.evals import SUITES, score
>>> sample = SUITES["tracking"].make(2_000, seed=1)[0]
>>> score(sample, sample.gold).value
1.0
"""

from __future__ import annotations

from .sample import Sample
from .scores import Score, score
from .suites import FETCHED, SUITES, Suite

__all__ = ["FETCHED", "SUITES", "Sample", "Score", "Suite", "score"]
