"""The same scenarios for unspool and for other RLM engines, each in an environment of its own.

``scripts/bench peers [--json FILE] [--only NAMES] [--rounds N] [--seconds N]`` installs each from PyPI by
name, once, into the user's folder for caches, asks it the same of the same scripted server, and prints a
table. One that does not install or run is left out with its reason. Engines take turns in every scenario, and
each measures the same floor in the same minute, because machines are shared and noisy. Exit code 1: another
engine did better somewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryFile

sys.path.insert(0, str(Path(__file__).parent))  # run as a file

import environments
from drivers.driver import Figures
from environments import Environment
from floors import timed
from measure import Unit, runs_apart, served, show

HERE = Path(__file__).parent
MUCH_LONGER = 8  # times the seconds of a scenario, after which it is given up


@dataclass(frozen=True)
class Scenario:
    """``rounds``: how often at most, after a first one that does not count."""

    name: str
    what: str
    floor: str
    rounds: int
    unit: Unit = "s"


SCENARIOS = (
    Scenario("import", "import of the package", "`python -c pass`", 7),
    Scenario("cold", "two turns, from the start of Python to its end", "`python -c pass`", 5),
    Scenario("two_turns", "two turns, a fresh engine", "two bare HTTP calls", 20),
    Scenario(
        "twenty_turns",
        "20 turns that print 2,000 characters: prompts sent",
        "what was printed",
        1,
        "characters",
    ),
    Scenario(
        "thousand", "1,000 sub-calls of 50 ms, 64 at a time or as wide as it goes", "a bare client, 64", 2
    ),
    Scenario("ten_thousand", "10,000 sub-calls that take no time", "a bare client, 64", 1),
    Scenario("eight_children", "8 children × 2 turns at 50 ms a call", "four calls in a row", 5),
    Scenario("large_text", "100 MB text: to the first request of the root", "encoded into a memfd", 3),
)


@dataclass(frozen=True)
class Engine:
    """One column: ``figures`` by scenario."""

    environment: Environment
    figures: dict[str, Figures] = field(default_factory=dict)

    def of(self, scenario: Scenario) -> Figures:
        return self.figures.get(scenario.name, Figures(wrong="not measured"))


@dataclass(frozen=True)
class Effort:
    """``rounds`` of a scenario at most, and no new one after so many ``seconds``."""

    rounds: int
    seconds: float

    @property
    def limit(self) -> float:
        return self.seconds * MUCH_LONGER


def drive(environment: Environment, scenario: str, url: str, effort: Effort) -> Figures:
    """The driver's figures; what kept it from giving any is in ``wrong``."""
    command = [environment.python, environment.driver, scenario, url, effort.rounds, effort.seconds]
    return ran(list(map(str, command)), effort.limit)


def ran(command: Sequence[str], limit: float) -> Figures:
    """What a command has printed on its last line, if anything. What it has left running is ended."""
    with (
        TemporaryFile("w+") as out,
        TemporaryFile("w+") as told,
    ):  # no pipes: what is left running would hold them
        process = subprocess.Popen(command, stdout=out, stderr=told, env=quiet(), start_new_session=True)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            return Figures(wrong=f"not done after {limit:g} s")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        told.seek(0)
        if status:
            return Figures(wrong=f"ended with {status}: {told.read().strip()[-200:]}")
        lines = out.read().strip().splitlines()
        return Figures(**json.loads(lines[-1])) if lines else Figures()


def quiet() -> Mapping[str, str]:
    """What an engine asks of the network beside its model would be measured as its own slowness."""
    return {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONDONTWRITEBYTECODE": ""}


def measure(environment: Environment, scenario: Scenario, url: str, effort: Effort) -> Figures:
    if scenario.name not in ("import", "cold"):
        return drive(environment, scenario.name, url, effort)
    python = str(environment.python)
    bare = [python, "-c", "pass"]
    command = [python, "-c", f"import {environment.package}"]
    if scenario.name == "cold":
        command = [python, str(environment.driver), "two_turns", url, "0", "0"]
    figures, wrong = Figures(), ""
    until = 0.0
    for number in range(effort.rounds + 1):
        if len(figures.values) and time.monotonic() > until:
            break

        def once(command: Sequence[str] = command) -> None:
            nonlocal wrong
            wrong = wrong or ran(command, effort.limit).wrong

        taken = timed(once)
        if not number:  # it has compiled what was not
            until = time.monotonic() + effort.seconds
        else:
            figures.values.append(taken)
            figures.floors.append(timed(lambda: subprocess.run(bare, check=True, env=quiet())))
    return Figures(figures.values, figures.floors, wrong)


def cell(figures: Figures, unit: Unit) -> str:
    if figures.wrong:
        return figures.wrong.replace("\n", " ").replace("|", "/")
    values = figures.values
    if min(values) == max(values):
        return show(values[0], unit)
    return f"{show(statistics.median(values), unit)} ({show(min(values), unit)} to {show(max(values), unit)})"


def table(engines: Sequence[Engine]) -> str:
    names = [engine.environment.name for engine in engines]
    lines = [f"| | {' | '.join(names)} | floor |", "|---" * (len(names) + 2) + "|"]
    for what in ("version", "packages, MB", "the model's code runs in"):
        told = {
            "version": [engine.environment.version for engine in engines],
            "packages, MB": [f"{e.environment.packages}, {e.environment.megabytes}" for e in engines],
            "the model's code runs in": [engine.environment.where for engine in engines],
        }[what]
        lines.append(f"| {what} | {' | '.join(told)} | |")
    for scenario in SCENARIOS:
        had = [engine.of(scenario) for engine in engines]
        floors = [floor for figures in had for floor in figures.floors]
        floor = f"{scenario.floor}: {show(statistics.median(floors), scenario.unit)}" if floors else ""
        cells = [cell(figures, scenario.unit) for figures in had]
        sound = [(statistics.median(f.values), i) for i, f in enumerate(had) if f.values and not f.wrong]
        if sound:
            best = min(sound)[1]
            cells[best] = f"**{cells[best]}**"
        lines.append(f"| {scenario.what} | {' | '.join(cells)} | {floor} |")
    return "\n".join(lines)


def losses(engines: Sequence[Engine]) -> Iterator[str]:
    """Where another engine did better than the first, in words."""
    ours, *others = engines
    for scenario in SCENARIOS:
        own = ours.of(scenario)
        sound = [
            (statistics.median(figures.values), engine.environment.name)
            for engine in others
            if (figures := engine.of(scenario)).values and not figures.wrong
        ]
        if own.wrong or not own.values:
            yield f"{scenario.what}: {own.wrong or 'nothing measured'}"
        elif sound and min(sound)[0] < statistics.median(own.values):
            best, name = min(sound)
            mine = statistics.median(own.values)
            yield (
                f"{scenario.what}: {show(mine, scenario.unit)}, {name} {show(best, scenario.unit)} "
                f"({mine / best:.2f} ×)"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--only", default="", help="names of engines, with commas between them")
    parser.add_argument("--rounds", type=int, default=100, help="at most so many rounds of each scenario")
    parser.add_argument("--seconds", type=float, default=15.0, help="of a scenario, till no new round begins")
    arguments = parser.parse_args()
    only = [name for name in arguments.only.split(",") if name]
    engines, skipped = list[Engine](), list[str]()
    with served("script_server.py") as url:
        for had in environments.all_of(only):
            if isinstance(had, str):
                skipped.append(had)
            elif wrong := drive(had, "two_turns", url, Effort(0, arguments.seconds)).wrong:
                skipped.append(f"{had.name} {had.version} does not run here: {wrong}".replace("\n", " "))
            else:
                engines.append(Engine(had))
        try:
            for scenario in SCENARIOS:
                effort = Effort(min(scenario.rounds, arguments.rounds), arguments.seconds)
                for engine in engines:
                    print(f"{scenario.name}: {engine.environment.name}", file=sys.stderr, flush=True)
                    engine.figures[scenario.name] = measure(engine.environment, scenario, url, effort)
        except KeyboardInterrupt:
            print("stopped: the table has what was measured until now", file=sys.stderr)
    print(table(engines))
    print(f"\nMedian (least to most). Python {sys.version.split()[0]}, {os.cpu_count()} cores.")
    lost = list(losses(engines))
    print("\nAnother engine did better:" if lost else "\nNo other engine did better in any row.")
    for line in lost:
        print(f"- {line}")
    for line in skipped:
        print(f"\nSkipped: {line}")
    if arguments.json is not None:
        figures = [
            asdict(engine.environment) | {"figures": {n: asdict(f) for n, f in engine.figures.items()}}
            for engine in engines
        ]
        arguments.json.write_text(json.dumps({"engines": figures, "skipped": skipped}, indent=1, default=str))
    return 1 if lost else 0


if __name__ == "__main__":
    with runs_apart():
        status = main()
    sys.exit(status)
