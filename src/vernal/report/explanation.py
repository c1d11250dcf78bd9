"""What a task says, in words: the system, every property three times, and the engines there are."""

from __future__ import annotations

from collections.abc import Sequence

from vernal.engines.check import parse_formula
from vernal.engines.registry import engines_for
from vernal.logic.formula import Formula
from vernal.logic.normal import TRUTH
from vernal.logic.printing import text
from vernal.logic.question import Question
from vernal.logic.task import GivenTask, Task, as_task
from vernal.logic.words import bracketed, words
from vernal.model.motion import Modes, Sampled, Step
from vernal.report.engine_choice import who_decides
from vernal.report.explain import explain_system
from vernal.report.explain_flow import explain_automaton, explain_flow, rates_table, timing

NamedFormula = tuple[str | None, Formula]


def explain(subject: GivenTask, formula: str | Formula | None = None) -> str:
    """The system in words, and a formula, or every property: as written, fully bracketed, in words, and who decides it.

    It is what `vernal explain` prints.

    Example: `print(vn.explain("room.toml", "G[0,20] (T <= 22)"))`
    """
    task = as_task(subject)
    if formula is None:
        return explained(task, list(task.properties.items()))
    return explained(task, [(None, parse_formula(task, formula) if isinstance(formula, str) else formula)])


def explained(task: Task, asked: Sequence[NamedFormula]) -> str:
    """The same, of formulas with their names."""
    entries = engines_for(Question(task.model, TRUTH))
    width = max(len(entry.name) for entry in entries)
    listed = "\n".join(f"  {entry.name:{width}} {entry.about}" for entry in entries)
    whole = _explain_model(task)
    parts = [whole, *(_property(task, name, formula) for name, formula in asked), f"engines\n{listed}"]
    return "\n\n".join(parts)


def _explain_model(task: Task) -> str:
    """The model in words, by its motion; a loop that samples has a step and a flow."""
    match task.model.motion:
        case Step():
            return explain_system(task)
        case Sampled():
            return "\n\n".join([explain_system(task), timing(task.model), rates_table(task.model)])
        case Modes(automaton):
            return explain_automaton(task, automaton)
    return explain_flow(task)


def _property(task: Task, name: str | None, formula: Formula) -> str:
    """A formula three times: as written, without any doubt about its brackets, and in words."""
    rows = {
        "written": text(formula),
        "bracketed": bracketed(formula),
        "in words": words(formula, task.model, task.time_of(name)),
        "engines": who_decides(Question(task.model, formula, name, counts=task.times.get(name))),
    }
    below = "\n" + " " * 13  # what follows on a line of its own stands below what it belongs to
    lines = [f"  {title:10} {below.join(said.splitlines())}" for title, said in rows.items()]
    return "\n".join([f"property {name}" if name else "formula", *lines])
