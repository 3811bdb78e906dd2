"""Counts of what a server did, as Prometheus reads them.

Contract: a price that is not known is in no sum; how many runs that was is a count of its own. Labels are
of small closed sets: a client cannot make the page grow.

>>> metrics = Metrics()
>>> metrics.requests.add("/v1/models", "200")
>>> [line for line in metrics.text(running=2).splitlines() if line.startswith("unspool_requests")]
['unspool_requests_total{route="/v1/models",status="200"} 1']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..events import RunEnded

TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0)  # seconds


class Count:
    """A counter with labels."""

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        self._name, self._help, self._labels = name, help, tuple(labels)
        self._counts: Counter[tuple[str, ...]] = Counter()

    def add(self, *labels: str, by: float = 1) -> None:
        self._counts[labels] += by  # type: ignore[assignment]  # dollars are counted, too

    def lines(self) -> Iterable[str]:
        yield f"# HELP {self._name} {self._help}"
        yield f"# TYPE {self._name} counter"
        if not self._labels:
            yield f"{self._name} {_number(self._counts[()])}"
        for values, count in sorted(self._counts.items()):
            if values:
                pairs = ",".join(f'{n}="{v}"' for n, v in zip(self._labels, values, strict=True))
                yield f"{self._name}{{{pairs}}} {_number(count)}"


class Durations:
    """A histogram of seconds."""

    def __init__(self, name: str, help: str) -> None:
        self._name, self._help = name, help
        self._buckets = [0] * len(BOUNDS)
        self.sum = 0.0
        self.count = 0

    def add(self, seconds: float) -> None:
        self.sum += seconds
        self.count += 1
        for place, bound in enumerate(BOUNDS):
            if seconds <= bound:
                self._buckets[place] += 1

    def lines(self) -> Iterable[str]:
        yield f"# HELP {self._name} {self._help}"
        yield f"# TYPE {self._name} histogram"
        for bound, count in zip(BOUNDS, self._buckets, strict=True):
            yield f'{self._name}_bucket{{le="{bound:g}"}} {count}'
        yield f'{self._name}_bucket{{le="+Inf"}} {self.count}'
        yield f"{self._name}_sum {self.sum:.6f}"
        yield f"{self._name}_count {self.count}"


class Metrics:
    """All that a server counts."""

    def __init__(self) -> None:
        self.requests = Count("unspool_requests_total", "Requests by route and status.", ("route", "status"))
        self.runs = Count("unspool_runs_total", "Runs that ended, by status.", ("status",))
        self.seconds = Durations("unspool_run_seconds", "Duration of runs.")
        self.tokens = Count("unspool_tokens_total", "Tokens of the whole tree, as reported.", ("kind",))
        self.dollars = Count("unspool_cost_usd_total", "Cost of runs whose prices are known.")
        self.unpriced = Count("unspool_runs_of_unknown_cost_total", "Runs with a price that is not known.")
        self.sub_calls = Count("unspool_sub_calls_total", "Model calls made from code.")
        self.gone = Count(
            "unspool_clients_gone_total", "Clients that left before their reply, or read too slowly."
        )

    def ended(self, event: RunEnded) -> None:
        self.runs.add(event.status)
        self.seconds.add(event.seconds)
        usage = event.usage
        for kind, count in (
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cached", usage.cached_tokens),
            ("reasoning", usage.reasoning_tokens),
        ):
            if count is not None:
                self.tokens.add(kind, by=count)
        if event.cost is None:
            self.unpriced.add()
        else:
            self.dollars.add(by=event.cost)
        self.sub_calls.add(by=event.sub_calls)

    def text(self, *, running: int) -> str:
        lines = ["# HELP unspool_runs_running Runs that go on now.", "# TYPE unspool_runs_running gauge"]
        lines.append(f"unspool_runs_running {running}")
        for each in (self.requests, self.runs, self.seconds, self.tokens, self.dollars, self.unpriced,
                     self.sub_calls, self.gone):  # fmt: skip
            lines += each.lines()
        return "\n".join(lines) + "\n"


def _number(count: float) -> str:
    """All its digits: a count of tokens goes over what ``:g`` shows."""
    return str(count) if isinstance(count, int) else f"{count:.9f}".rstrip("0").rstrip(".")
