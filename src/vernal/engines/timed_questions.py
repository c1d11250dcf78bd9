"""What is refused of a question about a flow, and what the region alone decides of it."""

from __future__ import annotations

from dataclasses import replace

from vernal.errors import InputError, TypeClash, UnsupportedFormula
from vernal.interpret.sampled.held_questions import about, flow_of
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.logic.times import NO_END, Time, refuse_untimed
from vernal.model.clock import clocked, refuse_late
from vernal.model.expr import Expr
from vernal.model.flow import constraint_problem, rate_problem, region_problem
from vernal.model.graph import draws
from vernal.model.held_loop import loop_of
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.sets.operator_domains import first_gap
from vernal.sets.wider_region import asked_model


def refuse_unasked(question: Question) -> None:
    """An error for a question about a flow that makes no sense: whoever wrote it, a file or Python."""
    flow, formula = question.model, question.formula
    if question.time is Time.SECONDS:
        refuse_untimed(formula)
    if question.claim.is_endless and flow.motion.automaton is not None:
        raise UnsupportedFormula(NO_END.format("G", "G[0, 1.5] p"))
    question.claim.logic  # noqa: B018 - a formula that is neither LTL nor CTL is refused
    refuse_flow(flow)
    refuse_late(flow, question.claim.last_time if question.time is Time.SECONDS else None)
    refuse_disturbed(flow, formula)
    refuse_undefined(flow, [*flow.vector_field, *map(flow.resolve, atoms(formula))])


def timed_question(task: Task, formula: Formula, name: str | None = None, time: Time = Time.SECONDS) -> Question:
    """The question in seconds, or about the samples of a loop: one about its flow, where held actions are variables."""
    if time is Time.SECONDS:
        refuse_untimed(formula)
    asked = about(flow_of(asked_model(clocked(task.model, atoms(formula)), name)), formula, name)
    question = replace(asked, settings=task.settings, counts=None if time is Time.SECONDS else time)
    refuse_unasked(question)
    return question


def refuse_flow(flow: Model) -> None:
    """An error for a flow of which nothing can be asked; that of a loop was looked at when it was made."""
    if loop_of(flow) is not None:
        return
    problems = [
        *map(region_problem, flow.state),
        *map(rate_problem, flow.vector_field),
        *map(constraint_problem, flow.init.where),
    ]
    for problem in problems:
        if problem is not None:
            raise TypeClash(problem)


def refuse_disturbed(flow: Model, formula: Formula) -> None:
    """An error for a property or a constraint that speaks of disturbances, which are no part of a state."""
    for expression in [*atoms(formula), *flow.init.where]:
        for node in draws([flow.resolve(expression)]):
            name = node.occurrence.name
            raise InputError(f"{name!r} is a disturbance; properties and initial states are about the variables alone")


def refuse_undefined(flow: Model, roots: list[Expr]) -> None:
    """An error for expressions that are not defined in the whole region, of reals."""
    if any(var.sort != REAL for var in flow.vars):
        return
    gap = first_gap(roots, flow.vars, flow.region)
    if gap is not None:
        raise InputError(str(gap))
