"""`vernal compare` and `vernal draft`: a task beside the environment of Gymnasium that it is written after."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vernal.cli import exits
from vernal.cli.options import Json, Seed, Timeout, option
from vernal.cli.stream import put, show
from vernal.cli.time_limit import time_for, unfinished

EXAMPLES = """\b
Examples:
  vernal compare cartpole.toml --gym CartPole-v1
  vernal compare mine.toml --gym mypackage:Drone-v0 --agent pilot --runs 60 --report drone.html

\b
At every step the task is put into the state of the environment, both take the same action, and what is observed then is
compared; a third of the runs takes random actions, a third holds extreme ones, a third always takes the action after
which both differ most. Needs the extra gym.
Exit code: 0 where rounding explains every difference, 10 where it does not, 5 when --timeout was over, 2 on bad input.
"""
DRAFT_EXAMPLES = """\b
Examples:
  vernal draft CartPole-v1                     print it
  vernal draft CartPole-v1 pole.toml           write it; then fill in [environment.next], and
  vernal compare pole.toml --gym CartPole-v1
"""
Environment = Annotated[str, option("--gym ENV", "The environment's id in Gymnasium, as MODULE:ID if it is your own.")]


def compare(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A task file, or a world by name.", show_default=False)],
    gym: Environment,
    agent: Annotated[str | None, option("--agent NAME", "Which agent acts, of several.")] = None,
    runs: Annotated[int, option("--runs N", "How many runs.")] = 30,
    steps: Annotated[int, option("--steps N", "How many steps each, at most.")] = 100,
    seed: Seed = 0,
    timeout: Timeout = None,
    json: Json = None,
    report: Annotated[
        Path | None, option("--report FILE.html", "Write a report: tables, and how differences grow.")
    ] = None,
) -> None:
    """Compare a task with an environment of Gymnasium, step by step, and say what rounding explains."""
    from vernal.cli.stream import writable
    from vernal.report.document import dump
    from vernal.run.output import write_text
    from vernal.worlds.comparison import compare as compared
    from vernal.worlds.comparison_page import comparison_page

    writable(json, report)
    with unfinished("the runs were finished"):
        found = compared(model, gym, runs=runs, steps=steps, seed=seed, agent=agent, budget=time_for(timeout))
    if json != "-":
        show(str(found))
    if json is not None:
        put(json, dump(found.data()))
    if report is not None:
        write_text(report, comparison_page(found))
        show(f"report written to {report}")
    raise typer.Exit(exits.OK if found.agrees else exits.REFUTED)


def draft(
    env: Annotated[str, typer.Argument(metavar="ENV", help="The environment's id in Gymnasium.", show_default=False)],
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Where to write it.", show_default=False)] = None,
) -> None:
    """Write the skeleton of a task file for an environment of Gymnasium: spaces, ranges, starts, the agent."""
    from vernal.errors import InputError
    from vernal.run.output import write_text
    from vernal.worlds.drafts import draft as drafted

    if file is not None and file.exists():
        raise InputError(f"{file} is there; name another file")
    text = drafted(env)
    if file is None:
        typer.echo(text, nl=False)
        return
    write_text(file, text)
    show(f"draft written to {file}    compare: vernal compare {file} --gym {env}")
