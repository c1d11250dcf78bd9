"""A system as predicate abstraction sees it: columns of integers, operators, starts, and what is unsafe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vernal.engines.predicates.atoms import NEVER, AtomTable, Comparison, Condition, NotLinear, conjuncts, connected
from vernal.engines.predicates.boxes import BoxJudge, IntegerBoxes
from vernal.engines.predicates.policy import PointQuestion, Selection, selection_of
from vernal.interpret.discrete.initial_states import start_boxes
from vernal.interpret.discrete.solutions import values_at
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.task import OptionLabels
from vernal.model import build
from vernal.model.expr import Argmax, Choose, Compare, Const, Expr, Var
from vernal.model.graph import substitute, variables
from vernal.model.initial import OneOf, Start
from vernal.model.lazy import cached_property
from vernal.model.sorts import INT, REAL
from vernal.model.system import System, Variable
from vernal.model.tick import Tick, idle
from vernal.reduce.operators import StepOperator, operators, ways_to_fail
from vernal.reduce.operators import conjuncts as expression_conjuncts

LARGEST_END = 2**31  # of a declared range, in magnitude
MAX_KEPT = 16  # relations between variables that are looked at
MAX_START_BOXES, MAX_START_EFFORT = 300_000, 5_000_000  # boxes of initial states found, and looked at for that


@dataclass(frozen=True, eq=False)
class PlanOperator:
    """An operator with its guard as a condition, what the policy has to say, and whether its values stay in range."""

    source: StepOperator
    guard: Condition
    selection: Selection | None
    stays: Condition  # what the guard does not say already of the ranges of the values it assigns
    label: str | None  # the action; None where no policy has a say


class OperatorModel:
    """The system over bounded integers; a variable without a range, or a real one, is refused."""

    def __init__(
        self,
        system: System,
        keep: Expr,
        *,
        with_policy: bool = True,
        labels: OptionLabels | None = None,
        tick: Tick = idle,
    ) -> None:
        """`keep` is claimed of every state. Without the policy an operator is taken wherever its guard is true.

        `labels` are what the options of choices are called; without them operators are called by the action that wins.
        """
        self.system, self.option_labels = system, labels or {}
        self.variables: tuple[Var, ...] = system.step.state
        self.table = AtomTable(self.variables)
        unbounded = unbounded_variable(system)
        if unbounded is not None:
            raise NotLinear(unbounded)
        ends = [_ends(variable) for variable in system.state]
        lower, upper = (np.array([[float(end) for end in side]]) for side in zip(*ends, strict=True))
        self.judge = BoxJudge(self.table, IntegerBoxes(lower, upper))
        self.with_policy = with_policy
        self.unsafe = self._unsafe(system.step.resolve(keep), tick)
        selections: dict[object, Selection | None] = {}
        self.operators = tuple(self._operator(source, selections, tick) for source in operators(system.step, tick))

    def _unsafe(self, keep: Expr, tick: Tick) -> tuple[PointQuestion, ...]:
        """The ways to be unsafe: a condition on the state, for each action where it is one of actions, too."""
        failing = ways_to_fail(keep, tick)
        ways = [PointQuestion((self.table.condition(way.guard),), self._selection(way)) for way in failing]
        return tuple(way for way in ways if way.conditions != (NEVER,))

    def _selection(self, source: StepOperator) -> Selection | None:
        return selection_of(source, self.table) if self.with_policy else None

    def _operator(self, source: StepOperator, selections: dict[object, Selection | None], tick: Tick) -> PlanOperator:
        tick()
        guard = self.table.condition(source.guard)
        if source.says not in selections:
            selections[source.says] = self._selection(source)
        ranges = [self.table.condition(self._in_range(var, value)) for var, value in source.updates.items()]
        said = set(conjuncts(guard))
        beyond = [part for condition in ranges for part in conjuncts(condition) if part not in said]
        return PlanOperator(source, guard, selections[source.says], connected(True, beyond), self._label(source))

    def _label(self, source: StepOperator) -> str | None:
        """What its options are called; else the actions that win, or where scores are compared the choices taken."""
        for node, place in source.decisions.items():
            if isinstance(node, Choose) and node.occurrence.name in self.option_labels:
                return self.option_labels[node.occurrence.name][place]
        names = self.system.step.names
        won = [each for each in source.decisions.items() if isinstance(each[0], Argmax)]
        taken = won or [each for each in source.decisions.items() if source.comparisons]
        parts = [node.sort.labels[place] if node.sort.labels else f"{names[node]} {place}" for node, place in taken]
        return ", ".join(parts) or None

    def _in_range(self, var: Expr, value: Expr) -> Expr:
        if var.sort != INT or not isinstance(var, Var):
            return build.TRUE
        variable = self.system.variable(var.name)
        assert variable.lower is not None
        assert variable.upper is not None
        return build.conj(value >= build.const(variable.lower), value <= build.const(variable.upper))

    def starts(self, tick: Tick) -> tuple[IntegerBoxes, Condition]:
        """Boxes that hold the initial states, and what is true of these besides."""
        initial = self.system.initial
        ends = [initial.starts[var][0].ends for var in self.variables]
        lower, upper = (np.array([[float(end) for end in side]]) for side in zip(*ends, strict=True))
        solved = start_boxes(initial, tick, MAX_START_BOXES, MAX_START_EFFORT)
        values: dict[Expr, Sequence[int]] = {var: _values(initial.starts[var][0]) for var in self.variables}
        if solved is None:
            boxes = IntegerBoxes(np.ceil(lower), np.floor(upper))
        else:
            lower, upper = (np.repeat(np.array(side), len(solved), axis=0) for side in (lower, upper))
            for place, (var, domain) in enumerate(zip(solved.variables, solved.domains, strict=True)):
                column = self.table.columns[var]
                lower[:, column] = values_at(domain, solved.first[:, place])
                upper[:, column] = values_at(domain, solved.last[:, place])
                values[var] = domain
            boxes = IntegerBoxes(np.ceil(lower), np.floor(upper))
        if (boxes.lower < self.judge.domain.lower).any() or (boxes.upper > self.judge.domain.upper).any():
            raise NotLinear("an initial value lies outside the declared range, which this engine takes for granted")
        where = initial.where if solved is None else ()
        listed = [_one_of(var, own) for var, own in values.items()]
        return boxes, connected(True, [self.table.condition(each) for each in (*where, *listed)])

    @cached_property
    def kept(self) -> tuple[Expr, ...]:
        """Comparisons of several variables that are decided at the start and that no operator changes.

        Without them an abstract state has states that no path meets, such as those with other totals.
        """
        said = [part for where in self.system.initial.where for part in expression_conjuncts(where)]
        compared = [part for part in said if isinstance(part, Compare) and len(variables([part])) > 1]
        initial = connected(True, [self.table.condition(part) for part in compared[:MAX_KEPT]])
        related = [part for part in conjuncts(initial) if isinstance(part, Comparison) and self._is_kept(part)]
        return tuple(self.table.comparison(part.atom) for part in related)

    def _is_kept(self, part: Comparison) -> bool:
        if len(self.table.atoms[part.atom][0]) < 2:
            return False
        said = self.table.expression(part)
        return all(self.table.condition(self.after(o, [said])[0]) == part for o in self.operators)

    @cached_property
    def labels(self) -> tuple[Expr, ...]:
        """What tells the labels of variables, such as locations of an automaton, apart: every abstraction does."""
        return tuple(
            build.eq(var, Const((), var.sort, (), (Fraction(place),)))
            for var in self.variables
            for place in range(len(var.sort.labels))
        )

    def exact(self, state: Floats) -> list[Fraction]:
        """The values of a state as rationals."""
        return [Fraction(int(value)) for value in state]

    def after(self, operator: PlanOperator, conditions: Sequence[Expr]) -> list[Expr]:
        """What conditions on the next state say of the present one, if an operator is taken."""
        return substitute(conditions, dict(operator.source.updates))


def unbounded_variable(system: System) -> str | None:
    """Why the variables of a system are no bounded integers, if they are not."""
    if not system.state:
        return "the system has no variables that predicates could tell apart"
    return next((problem for problem in map(_problem, system.state) if problem), None)


def _problem(variable: Variable) -> str | None:
    """Why a variable is no bounded integer, if it is none."""
    if variable.sort.values is not None:
        return None
    if variable.sort == REAL:
        return f"{variable.name!r} is a real variable; this engine is for bounded integers"
    if variable.lower is None or variable.upper is None:
        return f"{variable.name!r} has no declared range; this engine is for bounded integers"
    return f"the range of {variable.name!r} is too wide" if max(map(abs, _ends(variable))) > LARGEST_END else None


def _ends(variable: Variable) -> tuple[Fraction, Fraction]:
    """The ends of a bounded integer."""
    if variable.sort.values is not None:
        return Fraction(0), Fraction(len(variable.sort.values) - 1)
    assert variable.lower is not None
    assert variable.upper is not None
    return variable.lower, variable.upper


def _values(start: Start) -> Sequence[int]:
    """The integers of a start."""
    return sorted({int(value) for value in start.values}) if isinstance(start, OneOf) else start.integers


def _one_of(var: Expr, values: Sequence[int]) -> Expr:
    """That a variable has one of several values; nothing where they are all those between the first and the last."""
    if not values or len(values) == values[-1] - values[0] + 1:
        return build.TRUE
    return build.disj(*(build.eq(var, Const((), var.sort, (), (Fraction(value),))) for value in values))
