"""``unspool doctor``: what is protected on this machine, which models are found, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from .exits import FAILED, errors_as_exits
from .terminal import Output, is_terminal, page_width, safe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from ..models.discover import Found
    from ..sandbox.attack.suite import AttackReport
    from ..sandbox.protocol import Protection, SandboxReport

_PIPED_WIDTH = 100
_TIERS = {
    "namespaces": "full: namespaces, Landlock and a system call filter",
    "landlock": "without namespaces: Landlock and a system call filter",
    "seatbelt": "by macOS, with a profile that no Mac of ours has seen",
    "none": "none",
    "other": "as safe as where it leads",
    None: "cannot run here",
}
_EXTRA = "separate world"  # what only the stronger kind has; the others must hold in both


def doctor(
    name: Annotated[
        str,
        typer.Option(
            "--sandbox",
            metavar="NAME",
            help="The sandbox to look at: auto (process; on macOS seatbelt), none, jupyter, command:CMD. "
            "[default: auto]",
            show_default=False,
        ),
    ] = "auto",
    as_object: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    attack: Annotated[
        bool, typer.Option("--attack", help="Really attack the sandbox, too: half a minute, no harm.")
    ] = False,
) -> None:
    """Show what is protected here, which models are found, and why.

    Exit code: 0 if the sandbox works on this machine and there is a model, else 1.
    """
    with errors_as_exits():
        from ..models.discover import discover
        from ..sandbox._visit import visit

        sandbox = visit(name)
        attacks = _attack() if attack and sandbox.tier in ("namespaces", "landlock") else None
        models = discover()
        if as_object:
            from .plain import as_json

            told = as_json(_object(sandbox, models, attacks), indent=2) + "\n"
        else:
            told = _page(sandbox, models, attacks)
        Output(sys.stdout).write(told)
    held = attacks is None or attacks.held
    raise typer.Exit(0 if _runs(sandbox) and held and models.model is not None else FAILED)


def _attack() -> AttackReport:
    from ..sandbox.attack.suite import in_a_process

    if is_terminal(sys.stderr):
        sys.stderr.write("attacking the sandbox: about half a minute …\n")
    return in_a_process()


def works(report: SandboxReport) -> bool:
    """Whether code that is not trusted may run in it."""
    held = all(p.holds for p in report.protections if p.name != _EXTRA)
    return report.tier in ("namespaces", "landlock", "seatbelt") and held


def _runs(report: SandboxReport) -> bool:
    """What a command leads to is for its owner to judge."""
    return report.tier == "other" or works(report)


def _object(sandbox: SandboxReport, models: Found, attacks: AttackReport | None) -> dict[str, object]:
    told: dict[str, object] = {
        **_machine(),
        "sandbox": {**asdict(sandbox), "works": works(sandbox)},
        "models": asdict(models),
    }
    if attacks is not None:
        told["attacks"] = {**asdict(attacks), "held": attacks.held}
    return told


def _machine() -> dict[str, str]:
    import platform

    from .. import __version__

    return {
        "unspool": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def _page(sandbox: SandboxReport, models: Found, attacks: AttackReport | None) -> str:
    """The whole report as a person reads it: plain text, coloured on a terminal."""
    from rich.console import Console

    width = page_width(sys.stdout) or _PIPED_WIDTH
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=width)
    with console.capture() as got:
        for name, value in _machine().items():
            console.print(f"{name}: {value}", soft_wrap=True)
        console.print()
        _print_sandbox(console, sandbox)
        console.print()
        if attacks is not None:
            _print_attacks(console, attacks)
            console.print()
        _print_models(console, models)
    return "\n".join(line.rstrip() for line in got.get().split("\n"))


def _print_sandbox(console: Console, sandbox: SandboxReport) -> None:
    verdict = "works" if _runs(sandbox) else "DOES NOT WORK"
    console.print(f"sandbox {sandbox.name}: {verdict} ({_TIERS[sandbox.tier]})", style="bold")
    console.print(_table([(p.holds, _said(p), f"\n{p.how}") for p in sandbox.protections]))
    if sandbox.advice:
        console.print(f"\n{safe(sandbox.advice)}")


def _said(protection: Protection) -> str:
    """One that does not hold is told as that: "no, code does not see" would be read as that it does not."""
    held = "" if protection.holds else "NOT PROTECTED. Where it is: "
    return f"{protection.name}: {held}{protection.meaning}"


def _print_attacks(console: Console, attacks: AttackReport) -> None:
    from ..sandbox.attack.suite import PROTECTIONS
    from .report import count

    tried = sum(line.tried - line.absent for line in attacks.lines)
    through = sum(len(line.through) for line in attacks.lines)
    verdict = "all were refused" if attacks.held else f"{through} GOT THROUGH"
    console.print(f"attacks on the sandbox: {tried} tried, {verdict}", style="bold")
    rows = []
    for line in attacks.lines:
        got = "".join(f"\n{name}: {what}" for name, what in line.through.items())
        more = f"\n{count(line.tried - line.absent, 'attack')}" + (got and f", got through:{got}")
        rows.append((line.held, f"{line.protection}: code {PROTECTIONS[line.protection].code}", more))
    console.print(_table(rows))


def _print_models(console: Console, models: Found) -> None:
    if models.model is None:
        why = models.reason.partition(" A name is ")[0].rstrip(".")  # the row of it says the names, too
        console.print(f"model: none ({safe(why)})", style="bold")
    else:
        other = f", sub-calls: {models.sub_model}" if models.sub_model != models.model else ""
        console.print(f"model: {safe(models.model + other)} ({safe(models.reason)})", style="bold")
    rows = []
    for candidate in models.candidates:
        place = candidate.place + (f": {candidate.model}" if candidate.model else "")
        rows.append((candidate.model is not None, place, f", {candidate.detail}"))
    console.print(_table(rows))


def _table(rows: Sequence[tuple[bool, str, str]]) -> RenderableType:
    """Rows of yes or no, a text, and more of it in the background."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for holds, text, more in rows:
        mark = Text("yes", "green") if holds else Text("no", "red")
        table.add_row(mark, Text.assemble(safe(text), (safe(more), "dim")))
    return table
