"""`vernal explain`: what the task says, in words, before anybody computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from vernal.cli.options import Asked, Settings, Specs, TaskFile, overrides

if TYPE_CHECKING:
    from vernal.logic.task import Task

EXAMPLES = """\b
Examples:
  vernal explain vcas.toml
  vernal explain vcas.toml --spec "h > 0 U[0,5] adv == COC"
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", short_help="Say in words what a task says.", epilog=EXAMPLES)(explain)


def explain(task: TaskFile, spec: Specs = None, set: Settings = None) -> None:
    """Describe the system, and say what each property asks: fully bracketed, in words, and who can answer it."""
    from vernal.engines.check import engines, parse_formula
    from vernal.formats.task import load
    from vernal.report.explain import explain_system

    loaded = load(task, overrides(set))
    asked = [Asked(None, parse_formula(loaded, text)) for text in spec or ()]
    if not asked:
        asked = [Asked(name, formula) for name, formula in loaded.properties.items()]
    typer.echo(explain_system(loaded))
    for question in asked:
        typer.echo("\n" + _property(loaded, question))
    listed = "\n".join(f"  {entry.name:8} {entry.about}" for entry in engines())
    typer.echo(f"\nengines\n{listed}")


def _property(task: Task, question: Asked) -> str:
    """A formula three times: as written, without any doubt about its brackets, and in words."""
    from vernal.logic.printing import text
    from vernal.logic.words import bracketed, words
    from vernal.report.explain import who_decides

    head = f"property {question.name}" if question.name else "formula"
    rows = {
        "written": text(question.formula),
        "bracketed": bracketed(question.formula),
        "in words": words(question.formula, task.system),
        "engines": who_decides(question.formula),
    }
    return "\n".join([head, *(f"  {name:10} {content}" for name, content in rows.items())])
