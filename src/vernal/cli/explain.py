"""`vernal explain`: what the task says, in words, before anything is computed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from vernal.cli.options import (
    OUTPUT,
    AllowOutside,
    Asked,
    CountedTime,
    Properties,
    Settings,
    Specs,
    TaskFile,
    Timeout,
    counted,
    option,
    questions,
)
from vernal.cli.planning import Planning, asked_names, planned
from vernal.cli.stream import show
from vernal.cli.time_limit import finished, time_for
from vernal.errors import InputError

if TYPE_CHECKING:
    from vernal.logic.task import Task
    from vernal.model.tick import Tick

EXAMPLES = """\b
Examples:
  vernal explain vcas.toml
  vernal explain vcas.toml --property safe
  vernal explain vcas.toml --spec "h > 0 U[0,5] adv == COC"
  vernal explain vcas.toml --spec "AG[1,6] (h > 110 | h < -110)" --tree tree.svg --depth 2

\b
Exit code: 0, 5 when --timeout was over before, 2 on bad input.
"""


TreeFile = Annotated[
    Path | None,
    option(
        "--tree FILE",
        "Draw the decisions that the engine paths explores for one formula (svg, pdf, png).",
        rich_help_panel=OUTPUT,
    ),
]
Depth = Annotated[int | None, option("--depth N", "How many steps of the tree; 3.", rich_help_panel=OUTPUT)]
DEFAULT_TREE_STEPS = 3  # of a tree, where nothing is said


@planned
def explain(
    task: TaskFile,
    property: Properties = None,
    spec: Specs = None,
    time: CountedTime = None,
    set: Settings = None,
    *,
    planning: Planning,
    tree: TreeFile = None,
    depth: Depth = None,
    timeout: Timeout = None,
    allow_outside: AllowOutside = False,
) -> None:
    """Describe the system, and say what each property asks: fully bracketed, in words, and who can answer it.

    With --tree, draw the sets of states that the engine paths explores in the first steps, and the decisions between.
    """
    budget = time_for(timeout)

    def made() -> str:
        opened = planning.open(task, property, budget.check, allow_outside=allow_outside)
        loaded = counted(opened.task(planning.constants(set)), spec, time)
        asked = questions(loaded, asked_names(loaded, property), spec) if property or spec or loaded.properties else []
        if tree is not None:
            return _draw(loaded, asked, tree, DEFAULT_TREE_STEPS if depth is None else depth, budget.check)
        if depth is not None:
            raise InputError("--depth goes with --tree FILE")
        return _explained(loaded, asked)

    show(finished(made, budget, "the task was explained" if tree is None else f"{tree} was drawn"))


def _explained(task: Task, asked: list[Asked]) -> str:
    from vernal.report.explanation import explained

    return explained(task, [(question.name, question.formula) for question in asked])


def _draw(task: Task, asked: list[Asked], file: Path, depth: int, tick: Tick) -> str:
    """One tree of one formula."""
    from vernal.logic.printing import text
    from vernal.report.tree import plot_tree

    if len(asked) != 1:
        names = ", ".join(question.name or text(question.formula) for question in asked)
        here = f"and here are {len(asked)} ({names}); choose with --property or" if asked else "and here is none; ask"
        raise InputError(f"--tree draws one formula, {here} with --spec")
    plot_tree(task.system, asked[0].formula, depth, file, tick)
    return f"tree written to {file}"
