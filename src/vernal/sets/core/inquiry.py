"""The query core as a service: can this be so somewhere in this box?

A claim about initial states, or about paths that take no draw, becomes clauses: what a state has to satisfy to refute
it. One search bounds boxes of the initial set until every one excludes that, or a state is found that satisfies it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from math import inf

import numpy as np

from vernal.evidence.trace import TraceValue, components
from vernal.interpret.interval import evaluate
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.forms import MAX_INPUTS
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.interpret.value_sets import Truth, Value
from vernal.logic.claim import is_small
from vernal.logic.formula import Atom, Formula
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.closed_graph import ClosedStep
from vernal.model.expr import Expr, Var
from vernal.model.graph import variables
from vernal.model.initial import Box, Ends, Init, Span, Valuation
from vernal.model.system import Model, System, Variable
from vernal.model.tick import Tick, idle
from vernal.run.budget import Budget
from vernal.sets.core.box_search import BoxSearch
from vernal.sets.core.clauses import Clauses, compiled, stacked
from vernal.sets.core.open_boxes import DomainFrame
from vernal.sets.core.race import Race
from vernal.sets.core.witness import Replays
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import MAX_SHARED_STEPS, abstract_box
from vernal.sets.refutation import refuting_condition

MAX_KNOWN = 64  # claims about one graph whose clauses are kept
MAX_BOXES, MAX_SECONDS = 4096, 1.0  # for a condition that somebody asks about in passing


@dataclass(frozen=True, slots=True)
class Possibility:
    """Whether something is so somewhere: at this point, nowhere, or (None) perhaps, and then perhaps near it."""

    truth: bool | None
    point: Valuation


@dataclass
class TickingBudget(Budget):
    """A budget whose only limit is a tick."""

    tick: Tick = idle

    def check(self) -> None:
        self.tick()


def somewhere(condition: Expr, box: Mapping[Var, Ends], tick: Tick) -> Possibility:
    """Where in a box of numbers a condition is true."""
    state = tuple(Variable(var.name, var.sort) for var in box)
    init = Init({var.name: Span(*ends) for var, ends in box.items()})
    return _possibility(condition, System("box", state, init, {}), TickingBudget(tick=tick))


def possible(condition: Expr, model: Model, budget: Budget) -> bool | None:
    """Whether a condition on the state is true where a model may start, constraints aside; None where that stays open.

    True rests on a state that satisfies it exactly, False on bounds that exclude it in every box.
    """
    if len(model.state) > MAX_INPUTS:
        return None
    at_rest = System(model.name, model.state, replace(model.init, where=()), {})
    return _possibility(condition, at_rest, budget, MAX_SECONDS).truth


def _possibility(condition: Expr, system: System, budget: Budget, seconds: float = inf) -> Possibility:
    question, anywhere = Question(system, Atom(build.negate(condition))), system.initial.hull.middle()
    clauses = refuted_by(question, budget)
    if clauses is None:
        return Possibility(None, anywhere)
    if _excludes(condition, abstract_box([system.initial.hull], tuple(system.initial.starts))):
        return Possibility(False, anywhere)  # a square is never negative, which linear bounds do not say
    race = search_for([question], [clauses], budget, MAX_BOXES)
    ended = race.run(seconds)
    if race.traces:
        state = race.traces[0].steps[0].state
        return Possibility(True, {var: _rationals(state[var.name]) for var in system.step.state})
    search = race.search_of()
    touching = [part for part in search.tally.left if not _excludes(condition, search.frame.abstract(part))]
    if ended and not touching and not search.tally.given_up:
        return Possibility(False, anywhere)
    return Possibility(None, search.frame.box(touching[0], 0).middle() if touching else anywhere)


def _rationals(value: TraceValue) -> tuple[Fraction, ...]:
    """A value of an initial state, which is always rational."""
    return tuple(x if isinstance(x, Fraction) else x.middle for x in components(value))


def _excludes(condition: Expr, boxes: dict[Expr, Value]) -> bool:
    """Whether intervals say that a condition is false in boxes: at a margin of zero they often have exact ends."""
    if not boxes.keys() >= set(variables([condition])):
        return False
    (truth,) = evaluate([condition], boxes)
    assert isinstance(truth, Truth)
    return not np.any(truth.may)


class KnownRefutations:
    """What states of one graph have to satisfy to refute claims, made once for those that are asked again."""

    def __init__(self, step: ClosedStep) -> None:
        self._unrolling = step.once(Unrolling)
        self._made: dict[tuple[Formula, tuple[Expr, ...]], Clauses] = {}

    def clauses(self, system: System, path: Formula, tick: Tick) -> Clauses:
        """The clauses of a claim about a system with this graph; the claim is read along a single path."""
        key = path, system.init.where
        if key not in self._made:
            if len(self._made) >= MAX_KNOWN:
                self._made.clear()
            self._made[key] = compiled(refuting_condition(system, path, tick, self._unrolling), system.init.where)
        return self._made[key]


def refuted_by(question: Question, budget: Budget) -> Clauses | None:
    """What a state has to satisfy to refute a claim of all paths; None where a draw is to be decided."""
    system, claim = question.system, question.claim
    if (claim.horizon or 0) > MAX_SHARED_STEPS or not is_small(claim.path):
        clauses = compiled(refuting_condition(system, claim.path, budget.check), system.init.where)
    else:
        clauses = system.step.once(KnownRefutations).clauses(system, claim.path, budget.check)
    return None if clauses.has_draws else clauses


def search_for(
    questions: Sequence[Question],
    clauses: Sequence[Clauses],
    budget: Budget,
    most: float = inf,
    first: Linear | None = None,
    inside: Sequence[Box] | None = None,
) -> Race:
    """Searches for states that refute these claims, whose clauses differ in numbers only.

    `first` has bounds of the whole initial set of a single question, where there are some; `inside` are boxes of it,
    where only these are searched.
    """
    common = clauses[0]
    boxes = [initial_boxes(question.system).boxes if inside is None else inside for question in questions]
    owners = np.repeat(np.arange(len(boxes)), list(map(len, boxes)))
    columns = tuple(var for var in questions[0].system.initial.starts if var in common.variables)
    whole = tuple(chain.from_iterable(boxes))
    frame = DomainFrame(columns, whole, owners, common.inner, common.leaves, common.cases)
    replays = Replays(questions, common, frame, budget.check)
    numbers, neurons = stacked(clauses), common.cases.size

    def search(neurons_first: bool) -> BoxSearch:
        return BoxSearch(common, numbers, frame, replays, budget, most, first, neurons_first)

    return Race(search, len(frame.columns), neurons)


def glance(question: Question, clauses: Clauses, budget: Budget) -> Linear | None:
    """Bounds over the whole initial set that take few calls; None where it is no single box, or a margin is wanted.

    One small box mostly is closed by them, and then no search has to be set up.
    """
    initial = question.system.initial
    if clauses.measured or clauses.outside or not initial.is_convex:
        return None
    columns = [var for var in initial.starts if var in clauses.variables]
    return Linear(abstract_box([initial.hull], columns), mode="interval", tick=budget.check)


def is_closed(linear: Linear, clauses: Clauses) -> bool:
    """Whether bounds over one box exclude every state that would refute the claim."""
    found, _ = clauses.bounded(linear, clauses.numbers)
    return bool(clauses.impossible(found)[0, clauses.root])
