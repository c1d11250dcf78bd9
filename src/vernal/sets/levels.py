"""Levels: what is true of every state that can be reached at a step, for a batch of initial boxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vernal.errors import Stopped
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.device_bounds import bounds_over
from vernal.interpret.numbers.rounding import Mask, float_above, float_below
from vernal.interpret.symbolic.affine import Forms
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.interpret.value_sets import Value, between
from vernal.logic.direction import Direction
from vernal.logic.formula import Atom, Formula, Not
from vernal.logic.margin import atom_margin
from vernal.logic.normal import fold, nnf, rebuild
from vernal.logic.ranges import range_atoms
from vernal.logic.semantics import evaluate_levels, margins
from vernal.model import build
from vernal.model.expr import Argmax, Compare, Const, Expr
from vernal.model.initial import Box
from vernal.model.system import Model, Variable
from vernal.run.budget import Budget
from vernal.sets.halving import ComponentWeights
from vernal.sets.influence import open_shares
from vernal.sets.pieces.decisions import mask_of
from vernal.sets.winners import Doubt

EXACT_BELOW = 1e-9  # relative; a margin this close to zero is asked of exact arithmetic
MAX_UNROLLED_STEPS = 50_000  # a question further ahead is none for an unrolling
NOTHING_PUT_OFF: Mapping[Argmax, Mask] = {}
MAX_SHARED_STEPS = 100  # steps; a longer unrolling is memory, and not kept for the next question


def abstract_box(boxes: Sequence[Box], only: Sequence[Expr] | None = None) -> dict[Expr, Value]:
    """Boxes as a batch of abstract values, ends rounded outward once; of all variables, or of some."""
    return {var: _abstract(var, [box.ends[var] for box in boxes]) for var in (only or boxes[0].ends)}


def _abstract(var: Expr, ends: Sequence[Sequence[tuple[Fraction, Fraction]]]) -> Value:
    lower = np.array([[float_below(low) for low, _ in entry] for entry in ends])
    upper = np.array([[float_above(high) for _, high in entry] for entry in ends])
    return between(var, lower, upper)


@dataclass(frozen=True, slots=True)
class Fact:
    """An atom at a position: true of all, false of all, or (neither) mixed; one entry for each box."""

    must: NDArray[np.bool_]
    may: NDArray[np.bool_]

    def at(self, index: int) -> bool | None:
        return True if self.must[index] else None if self.may[index] else False


class Levels:
    """Answers about atoms at positions, computed when first asked and remembered.

    When the budget runs out nothing more is computed: what is not known then stays open, and `raise_if_stopped` raises.
    """

    direction = Direction.TWO_SIDED

    def __init__(
        self,
        system: Model,
        boxes: Sequence[Box],
        budget: Budget,
        horizon: int,
        method: type[Linear] = Linear,
        winners: Mapping[Argmax, Mask] = NOTHING_PUT_OFF,
    ) -> None:
        """`winners`: those of an argmax that are known to be the only possible ones, and not to be asked for again."""
        self.system = system
        self.boxes = list(boxes)
        self.horizon = horizon
        self.exact = True  # whether every fact used so far is exact
        self._budget = budget
        self._unrolling = system.step.once(Unrolling) if horizon <= MAX_SHARED_STEPS else Unrolling(system.step)
        self._linear = bounds_over(abstract_box(self.boxes), method, tick=budget.check, steps=horizon)
        self._put_off = winners
        for node, possible in winners.items():
            self._linear.suppose(node, possible)
        self._facts: dict[Expr, Fact] = {}
        self._forms: dict[int, Forms] = {}
        self._stopped: Stopped | None = None

    def raise_if_stopped(self) -> None:
        if self._stopped is not None:
            raise self._stopped

    def truth(self, atom: Expr, t: int, index: int) -> bool | None:
        """What is known of an atom at position t, of one box."""
        return self._in_time(lambda: self._fact(self._unrolling.at(atom, t, self._budget.check), index))

    def enabled(self, t: int, index: int) -> bool | None:
        """Whether the system can move on from position t."""
        if self.system.step.enabled is build.TRUE:
            return True
        return self._in_time(lambda: self._fact(self._unrolling.enabled(t, self._budget.check), index))

    def value(self, expression: Expr, t: int) -> Value:
        """What an expression over state, actions and lets can be at position t, for each box; `Stopped` at a limit."""
        self._budget.check()
        node = self._unrolling.at(expression, t, self._budget.check)
        return self._linear.range(node) if node.sort.is_number else self._linear.value(node)

    def _in_time(self, ask: Callable[[], bool | None]) -> bool | None:
        """The answer, or None once a limit is reached, before or on the way."""
        if self._stopped is None:
            try:
                self._budget.check()
                return ask()
            except Stopped as stop:
                self._stopped = stop
        return None

    def evaluate(self, formula: Formula, index: int) -> bool | None:
        """The formula at every state of one box."""
        return evaluate_levels(
            formula,
            lambda atom, t: self.truth(atom, t, index),
            lambda t: self.enabled(t, index),
            self.horizon,
        )

    def is_empty(self, index: int) -> bool:
        """Whether the constraints on the initial states exclude the whole box."""
        return any(
            self._in_time(partial(self._fact, constraint, index)) is False for constraint in self.system.init.where
        )

    def _fact(self, node: Expr, index: int) -> bool | None:
        if isinstance(node, Const):
            return bool(node.value)
        if node not in self._facts:
            truth = self._linear.truth(node)
            self._facts[node] = Fact(np.asarray(truth.must), np.asarray(truth.may))
        known = self._facts[node].at(index)
        if known is not None:
            self.exact = False
            return known
        return self._exactly(node, index)

    def _exactly(self, node: Expr, index: int) -> bool | None:
        """What floating point leaves open at margin zero, from exact affine forms."""
        if not self._is_close(node, index):
            return None
        if index not in self._forms:
            self._forms[index] = Forms(self.boxes[index].ends, self._linear, index, self._budget.check)
        forms = self._forms[index]
        known = forms.truth(node)
        self.exact &= not forms.leans
        return known

    def _is_close(self, node: Expr, index: int) -> bool:
        """Whether rounding may be all that keeps a comparison open."""
        if not isinstance(node, Compare) or not node.args[0].sort.is_number:
            return True
        gap = self._linear.margin(node)
        low, high = float(gap.lower[index]), float(gap.upper[index])
        return min(abs(low), abs(high)) <= EXACT_BELOW * (1 + max(abs(low), abs(high)))

    def margin(self, formula: Formula, index: int) -> float:
        """A certified lower bound of the formula's margin over one box; minus infinity where there is none."""
        if self.system.step.enabled is not build.TRUE:  # where paths may end, a margin beyond the end means nothing
            return -np.inf

        def bound(atom: Expr, t: int) -> NDArray[np.float64]:
            return np.array([self._lower(self._unrolling.at(atom_margin(atom), t, self._budget.check), index)])

        return float(margins(literals(formula), bound, self.horizon + 1)[0])

    def _lower(self, node: Expr, index: int) -> float:
        if isinstance(node, Const):
            return float_below(node.value)
        return float(np.asarray(self._linear.range(node).lower)[index])

    def weights(self, indices: Sequence[int]) -> list[ComponentWeights]:
        """How much the components of these boxes have to do with what is open, one table for each box."""
        shares = open_shares(self._linear, np.array(indices, dtype=np.intp))
        names = {place: column for column, place in enumerate(self._linear.inputs.names)}
        return [{place: float(row[column]) for place, column in names.items()} for row in shares]

    def doubts(self, indices: Sequence[int]) -> dict[Argmax, Doubt]:
        """What all boxes know of the winners that were asked for; how much they lack is known of these boxes only.

        Of an unrolling that is not shared nothing is told: its nodes are not met again.
        """
        if self.horizon > MAX_SHARED_STEPS:
            return {}
        rows, found = np.array(indices, dtype=np.intp), dict[Argmax, Doubt]()
        for node in list(self._linear.values):
            if isinstance(node, Argmax) and not node.shape and node not in self._put_off:
                lack = np.full(len(self.boxes), np.inf)
                lack[rows] = self._linear.lack(node, rows)
                found[node] = Doubt(np.asarray(mask_of(self._linear, node)), lack)
        return found

    def range_exits(self, variables: Sequence[Variable]) -> dict[str, int]:
        """The variables whose declared range may be left within the horizon, with the first step at which it may."""
        exits: dict[str, int] = {}
        for variable in variables:
            for atom in range_atoms(variable):
                step = self._first_doubt(atom)
                if step is not None:
                    exits[variable.name] = min(step, exits.get(variable.name, step))
        return exits

    def _first_doubt(self, atom: Expr) -> int | None:
        """The first step at which an atom may be false; boxes whose paths have ended have no further steps."""
        boxes = list(range(len(self.boxes)))
        for t in range(self.horizon + 1):
            if not all(self.truth(atom, t, index) for index in boxes):
                return t
            boxes = [index for index in boxes if self.enabled(t, index) is not False]
        return None


@dataclass(frozen=True, eq=False)
class OpenRows:
    """Those boxes of some levels that stay open."""

    levels: Levels
    rows: list[int]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def boxes(self) -> list[Box]:
        return [self.levels.boxes[row] for row in self.rows]

    def weights(self) -> list[ComponentWeights]:
        """How much the components of each have to do with what is open."""
        return self.levels.weights(self.rows)


def literals(formula: Formula) -> Formula:
    """Negation normal form with negations inside the atoms, so that a lower bound of each bounds the whole."""

    def rule(node: Formula, args: tuple[Formula, ...]) -> Formula:
        if isinstance(node, Not):
            (atom,) = args
            assert isinstance(atom, Atom)
            return Atom(_opposite(atom.expr))
        return rebuild(node, args)

    return fold(nnf(formula), rule)


def _opposite(atom: Expr) -> Expr:
    if not isinstance(atom, Compare):
        return build.negate(atom)
    a, b = atom.args
    match atom.op:
        case "<":
            return build.compare("<=", b, a)
        case "<=":
            return build.compare("<", b, a)
    return build.compare("!=" if atom.op == "==" else "==", a, b)
