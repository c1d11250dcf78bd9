"""What the policy may say in a box of states: bounds that exclude it, and exact answers at integer points.

What an operator needs of the policy is a *selection*: rows over the scores that have to be at most zero, one for each
rival of the winner, each with a condition on the state under which it need not be (a rival that is not applicable).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vernal.engines.predicates.atoms import NEVER, AtomTable, Condition, NotLinear, connected
from vernal.engines.predicates.boxes import BoxJudge, IntegerBoxes
from vernal.engines.predicates.relations import Relations
from vernal.interpret.linear.bounds import InputBox, Linear
from vernal.interpret.linear.constrained_bounds import LinearUnderRows
from vernal.interpret.linear.device_bounds import bounds_over
from vernal.interpret.linear.planes import InputSums, PlaneBoxes, meeting
from vernal.interpret.numbers.rounding import Floats, Mask, float_below
from vernal.interpret.value_sets import Finite, Range, Truth, Value, indices
from vernal.model import build
from vernal.model.expr import Argmax, Expr, Var
from vernal.model.graph import variables
from vernal.model.lazy import cached_property
from vernal.model.sorts import Kind
from vernal.model.tick import Tick
from vernal.reduce.operators import StepOperator, disjuncts, mentions_network
from vernal.sets.core.requirement import ALWAYS, Combined, Difference, Requirement, requirement
from vernal.sets.finite.columns import Columns, NotFinite
from vernal.sets.finite.points import Points, RowBatch


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRow:
    """A sum over the policy's outputs that has to be at most zero, unless a condition on the state is true."""

    said: Expr  # the comparison the sum stands for
    sum: Difference
    unless: Condition


@dataclass(frozen=True, eq=False)
class Selection:
    """What the policy has to say for an operator to be taken: winners of an argmax, or any comparisons of outputs."""

    winners: tuple[tuple[Argmax, int], ...]
    compared: tuple[ScoreRow, ...]
    rows: tuple[ScoreRow, ...]  # of both

    @cached_property
    def nodes(self) -> tuple[Expr, ...]:
        """The outputs that are compared."""
        return tuple(dict.fromkeys(node for entry in self.rows for node, _ in entry.sum.terms))

    @cached_property
    def inputs(self) -> tuple[Var, ...]:
        """The variables of the state that the outputs depend on."""
        return tuple(variables(self.nodes))

    @cached_property
    def matrices(self) -> tuple[Mapping[Expr, Floats], Floats]:
        """The factors of each output, (rows, components), and the constants of the rows."""
        found = {node: np.zeros((len(self.rows), node.size)) for node in self.nodes}
        for number, entry in enumerate(self.rows):
            for (node, index), factor in entry.sum.terms.items():
                found[node][number, index] = factor
        return found, np.array([float_below(entry.sum.constant) for entry in self.rows])


def selection_of(operator: StepOperator, table: AtomTable) -> Selection | None:
    """The selection of an operator; None where the policy is not asked."""
    won = [row for node, winner in operator.winners for row in _of_winner(node, winner)]
    compared = [row for said in operator.comparisons for row in _of_comparison(said, table)]
    return Selection(operator.winners, tuple(compared), (*won, *compared)) if won or compared else None


def _of_winner(node: Argmax, winner: int) -> Iterator[ScoreRow]:
    """No rival of the winner has a larger score."""
    scores = node.args[0]
    for rival in range(scores.size):
        if rival != winner:
            yield from _rows(build.component(scores, rival) <= build.component(scores, winner), NEVER)


def _of_comparison(said: Expr, table: AtomTable) -> Iterator[ScoreRow]:
    """One comparison of outputs, perhaps with conditions on the state as alternatives."""
    about = [part for part in disjuncts(said) if mentions_network(part)]
    if len(about) > 1:
        raise NotLinear("a guard compares the policy's outputs in more than one way at once")
    others = [table.condition(part) for part in disjuncts(said) if part not in about]
    yield from _rows(about[0], connected(False, others))


def _rows(said: Expr, unless: Condition) -> Iterator[ScoreRow]:
    for difference in _differences(requirement(said)):
        yield ScoreRow(said, difference, unless)


def _differences(required: Requirement) -> Iterator[Difference]:
    if isinstance(required, Difference):
        yield required
    elif isinstance(required, Combined) and required.every:
        for part in required.parts:
            yield from _differences(part)
    elif required is not ALWAYS:
        raise NotLinear("a guard compares the policy's outputs otherwise than by <=, < or ==")


@dataclass(frozen=True, slots=True)
class PointQuestion:
    """What a point of a box has to satisfy; without a selection the policy is not asked."""

    conditions: tuple[Condition, ...] = ()
    selection: Selection | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """What bounds know of the points of boxes at which the policy says something."""

    excluded: Mask  # (boxes,): there is none
    left: IntegerBoxes  # where they are
    slopes: Floats  # (boxes, columns): sizes of slopes of rows, added up, with the sign of their sum


class PolicyBounds:
    """Bounds of selections over batches of boxes, and exact answers at points."""

    def __init__(self, variables_of_state: Sequence[Var], judge: BoxJudge, tick: Tick) -> None:
        self.columns: dict[Expr, int] = {var: column for column, var in enumerate(variables_of_state)}
        self.judge, self.tick = judge, tick
        self.points = Points(Columns(variables_of_state), tick)

    def relevant(self, selection: Selection) -> Mask:
        """The columns that a selection depends on, conditions of its rows apart."""
        found = np.zeros(len(self.columns), bool)
        found[[self.columns[var] for var in selection.inputs]] = True
        return found

    def bounded(self, selection: Selection, boxes: IntegerBoxes, asked: Relations | None = None) -> Bounded:
        """What bounds say of the points at which the policy says so, and relations are true that are asked besides."""
        linear = self._linear(selection, boxes, asked)
        for node in selection.nodes:
            linear.need(node)
        matrices, constants = selection.matrices
        seeds = {node: np.broadcast_to(own, (len(boxes), *own.shape)) for node, own in matrices.items()}
        slopes, low = linear.rows(seeds, np.broadcast_to(constants, (len(boxes), len(constants))))
        strict = np.array([entry.sum.strict for entry in selection.rows])
        above = np.where(strict, low >= 0, low > 0)
        _, spared = self.judge.decide([entry.unless for entry in selection.rows], boxes)
        met = meeting(slopes, low, ~spared, PlaneBoxes.of(linear.inputs, len(boxes)))
        usable = np.nan_to_num(slopes, posinf=0.0, neginf=0.0)
        steep = np.copysign(np.abs(usable).sum(axis=1), usable.sum(axis=1))
        names = linear.inputs.names
        left = IntegerBoxes(
            self._by_column(met.lower, names, boxes.lower), self._by_column(met.upper, names, boxes.upper)
        )
        excluded: Mask = np.asarray((above & ~spared).any(axis=1)) | met.nowhere
        return Bounded(excluded, left, self._by_column(steep, names, np.zeros(boxes.lower.shape)))

    def _linear(self, selection: Selection, boxes: IntegerBoxes, asked: Relations | None) -> Linear:
        """Bounds over boxes, or over their points that satisfy relations."""
        inputs = self.inputs(selection, boxes)
        if asked is None:
            return bounds_over(inputs, tick=self.tick, batch=len(boxes))
        columns = [self.columns[var] for var in inputs if var.sort.is_number]
        own = asked.over(np.array(columns, np.int64), boxes)
        return LinearUnderRows(inputs, InputSums(own.factors, own.least, own.most), tick=self.tick)

    def inputs(self, selection: Selection, boxes: IntegerBoxes) -> InputBox:
        """What bounds are given for the variables that a selection depends on."""
        return {var: self._value(var, boxes) for var in selection.inputs}

    def _by_column(self, values: Floats, names: Sequence[tuple[Expr, int]], others: Floats) -> Floats:
        """Values of inputs as values of columns, with others for columns that are no inputs."""
        found = others.copy()
        for place, (node, _) in enumerate(names):
            if node in self.columns:
                found[:, self.columns[node]] = values[:, place]
        return found

    def _value(self, var: Var, boxes: IntegerBoxes) -> Value:
        """What bounds are given for a variable: its range, its truth values or its labels."""
        column = self.columns[var]
        lower, upper = boxes.lower[:, column], boxes.upper[:, column]
        match var.sort.kind:
            case Kind.BOOL:
                return Truth(lower > 0, upper > 0)
            case Kind.ENUM:
                labels = np.arange(len(var.sort.labels))
                return Finite((lower[:, None] <= labels) & (labels <= upper[:, None]), indices(len(labels)))
        return Range(lower, upper)

    def says(self, selection: Selection, points: Floats) -> Mask:
        """At which points the policy says so, exactly: every winner of a tie counts."""
        batch = RowBatch(points.astype(np.int64), {})
        found = np.ones(len(points), bool)
        try:
            for node, winner in selection.winners:
                found &= self.points.winners(node, batch)[:, winner]
            if selection.compared:
                _, spared = self.judge.decide([row.unless for row in selection.compared], IntegerBoxes.points(points))
                truths = self.points.truths([row.said for row in selection.compared], batch)
                found &= (spared | np.stack(truths, axis=1)).all(axis=1)
        except NotFinite as error:
            raise NotLinear(error.reason) from None
        return found
