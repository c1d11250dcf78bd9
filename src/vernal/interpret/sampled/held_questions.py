"""Questions about loops that sample as questions about their flows, in which what agents hold are variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vernal.errors import InputError, Stopped, TypeClash
from vernal.interpret.sampled.plant import Plant, plant_of
from vernal.logic.formula import Atom, Formula
from vernal.logic.normal import fold, rebuild
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.model.expr import Expr
from vernal.model.flow import constraint_problem, rate_problem
from vernal.model.graph import decisions, order
from vernal.model.held_loop import loop_of
from vernal.model.system import Model


def about(flow: Model, formula: Formula, name: str | None = None) -> Question:
    """A question about a flow; where it is that of a loop, held actions are its variables."""
    return Question(flow, formula if loop_of(flow) is None else with_held(plant_of(flow), formula), name)


def held_expressions(flow: Model, asked: Sequence[tuple[str, Expr]]) -> list[tuple[str, Expr]]:
    """Named expressions over the variables of a flow; where it is that of a loop, held actions are some."""
    if loop_of(flow) is None:
        return list(asked)
    plant = plant_of(flow)
    return [(name, plant.with_held([node])[0]) for name, node in asked]


def timed_properties(task: Task) -> dict[str, Formula]:
    """The properties of a task that count seconds."""
    return {name: formula for name, formula in task.properties.items() if task.time_of(name) is Time.SECONDS}


def flow_of(model: Model) -> Model:
    """The flow of a model; of a loop that samples that over what is held, or an error that says why there is none."""
    if model.grid is None:
        return model
    problems = [*map(rate_problem, model.vector_field), *map(constraint_problem, model.init.where)]
    for problem in problems:
        if problem is not None:
            raise TypeClash(problem)
    try:
        return plant_of(model).flow
    except Stopped as stop:
        raise InputError(stop.reason) from None


def asks_open_actions(flow: Model, asked: Iterable[Expr]) -> bool:
    """Whether expressions over the variables of a loop's flow are about an action that draws or ties leave open.

    A position of a loop is a state with the actions in force: such a start has several of them.
    """
    plant, inside = plant_of(flow), set(order(list(asked)))
    step = plant.model.step
    held = [step.actions[name] for name, own in plant.held.items() if inside.intersection(own)]
    return bool(decisions([*held, step.enabled]))


def with_held(plant: Plant, formula: Formula) -> Formula:
    """A formula over state, actions and lets, with what agents hold as variables."""

    def rule(node: Formula, args: tuple[Formula, ...]) -> Formula:
        return Atom(plant.with_held([node.expr])[0]) if isinstance(node, Atom) else rebuild(node, args)

    return fold(formula, rule)
