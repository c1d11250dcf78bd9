"""Exact values of expressions at thousands of states at once.

Interval arithmetic is given points. Its operations round outward unless they are exact, so that an interval of one
number, a truth value that must be what it may be, and a score above all others are known for certain. What is left in
doubt (a tie of scores that are no short floats, a comparison close to equality, an argument next to a jump of `floor`)
is evaluated in rational arithmetic, state by state, but once for all states that do not differ in what it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from flint import ctx
from numpy.typing import NDArray

from vernal.evidence.replay import PRECISIONS
from vernal.interpret import exact
from vernal.interpret.choice import merge
from vernal.interpret.exact import ExactValue, Given
from vernal.interpret.interval import apply, demand, repeated, required
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.reals import Undefined
from vernal.interpret.numbers.rounding import Backend, Floats, Mask
from vernal.interpret.value_sets import Finite, Range, Truth, Value, as_range, first_array, indices
from vernal.logic.direction import Direction
from vernal.model import build
from vernal.model.expr import Affine, Argmax, Choose, Const, Expr, Pi, Role, Var
from vernal.model.graph import order, substitute
from vernal.model.sorts import BOOL, REAL
from vernal.model.tick import Tick
from vernal.sets.finite.columns import Columns, NotFinite, checked_integer
from vernal.sets.finite.layers import layer
from vernal.sets.finite.observations import Observations
from vernal.sets.finite.table import Codes, Numbers

OptionNumbers = Mapping[Expr, Numbers]  # the option of a choice, or the winner of an argmax, in each row
ValueReader = Callable[[ExactValue], Any]  # what is wanted of an exact value; None asks for more precision

UNDECIDED = -1  # in the place of an option, where a decision is not taken
MAX_REMEMBERED = 200_000  # exact values kept for states that come later


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Some states, one in each row, with what has been decided at them."""

    rows: Codes
    taken: OptionNumbers
    done: dict[Expr, Value] = field(default_factory=dict)  # what is known of nodes in these rows

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: Any) -> RowBatch:
        """Some of the rows, perhaps several times."""
        if isinstance(which, np.ndarray) and len(which) == len(self) and (which == np.arange(len(self))).all():
            return self
        return RowBatch(self.rows[which], {node: numbers[which] for node, numbers in self.taken.items()})

    def deciding(self, node: Expr, numbers: Numbers) -> RowBatch:
        """The same rows with one more decision."""
        return RowBatch(self.rows, {**self.taken, node: numbers})


class Points:
    """Evaluates expressions over the states and decisions of a batch."""

    direction = Direction.EXACT  # every state by itself, in numbers that are exact

    def __init__(self, columns: Columns, tick: Tick) -> None:
        self.columns = columns
        self.tick = tick
        self.doubts = 0  # values that took rational arithmetic
        self._backend = Backend()
        self._constants: dict[Expr, Value] = {}
        self._remembered: dict[object, Any] = {}
        self._observations: dict[Argmax, Observations] = {}

    # What is asked ----------------------------------------------------------------------------------------------------

    def truths(self, conditions: Sequence[Expr], batch: RowBatch) -> list[Mask]:
        """Which conditions are true in which rows; one that has no truth value is an error."""
        found = []
        for must, may in self.kleene(conditions, batch):
            if must is not may and (must != may).any():
                raise NotFinite("a condition is undefined at a reachable state, by a division by zero, say")
            found.append(must)
        return found

    def kleene(self, conditions: Sequence[Expr], batch: RowBatch) -> list[tuple[Mask, Mask]]:
        """In which rows conditions are true, and in which they are true or undefined."""
        found = []
        for condition, value in zip(conditions, self._values(conditions, batch), strict=True):
            assert isinstance(value, Truth)
            must, may = (np.array(np.broadcast_to(end, (len(batch), 1))[:, 0]) for end in (value.must, value.may))
            doubtful = np.flatnonzero(must != may)
            if not len(doubtful):
                found.append((must, must))
                continue
            known = self._exactly(condition, batch.take(doubtful), _truth, BOOL)
            must[doubtful] = [truth is True for truth in known]
            may[doubtful] = [truth is not False for truth in known]
            found.append((must, must) if (must == may).all() else (must, may))
        return found

    def codes(self, following: Sequence[Expr], variables: Sequence[Expr], batch: RowBatch) -> Codes:
        """The values of expressions as entries of the columns of these variables."""
        rows: Codes = np.empty((len(batch), self.columns.count), np.int64)
        for expr, var, value in zip(following, variables, self._values(following, batch), strict=True):
            place = self.columns.places[var]
            codes, known = self._certain(value, var)
            rows[:, place.start : place.stop] = codes
            doubtful = np.flatnonzero(~np.broadcast_to(known, (len(batch),)))
            if len(doubtful):
                found = self._exactly(expr, batch.take(doubtful), partial(self._coded, var=var), var.sort)
                rows[doubtful, place.start : place.stop] = _known(found)
        return rows

    def least(self, expr: Expr, batch: RowBatch) -> float:
        """A number below all values of an expression."""
        (value,) = self._values([expr], batch)
        return float(as_range(self._backend, value).lower.min())

    def winners(self, node: Argmax, batch: RowBatch) -> Mask:
        """Which components are largest ones, in every row: all of those that tie."""
        if node not in self._observations:
            self._observations[node] = Observations(node, self.columns)
        return self._observations[node].winners(batch.rows, lambda which: self._winners(node, batch.take(which)))

    def _winners(self, node: Argmax, batch: RowBatch) -> Mask:
        scores = self._values(node.args, batch)[0]
        assert isinstance(scores, Range)
        lower, upper = (np.broadcast_to(end, (len(batch), node.args[0].size)) for end in (scores.lower, scores.upper))
        best = lower.max(axis=1, keepdims=True)
        winning: Mask = upper >= best
        vague = (winning & (lower != upper)).any(axis=1) & (winning.sum(axis=1) > 1)
        doubtful = np.flatnonzero(vague | ~np.isfinite(best[:, 0]))
        if len(doubtful):
            winning[doubtful] = _known(self._exactly(node.args[0], batch.take(doubtful), _largest, node))
        return winning

    # Intervals --------------------------------------------------------------------------------------------------------

    def _values(self, roots: Sequence[Expr], batch: RowBatch) -> list[Value]:
        done, taken = batch.done, batch.taken
        if not done:
            done |= self._constants

        def needs(node: Expr, known: Mapping[Expr, Value]) -> Sequence[Expr]:
            if node not in taken:
                return required(node, known)
            return () if isinstance(node, Argmax) else _options_taken(node, taken[node])

        def compute(node: Expr) -> None:
            self.tick()
            if isinstance(node, Const | Pi):
                done[node] = self._constants[node] = apply(self._backend, node, ())
            elif node in self.columns.places:
                done[node] = self.columns.value(node, batch.rows)
            elif node in taken:
                done[node] = self._decided(node, taken[node], done)
            elif isinstance(node, Affine):
                done[node] = layer(self._backend, node, done[node.args[0]])
            else:
                done[node] = apply(self._backend, node, [done.get(arg) for arg in node.args])

        with np.errstate(all="ignore"):
            demand(roots, done, compute, needs)
        return [done[root] for root in roots]

    def _decided(self, node: Expr, numbers: Numbers, done: Mapping[Expr, Value]) -> Value:
        """The value of a decision that was taken."""
        if isinstance(node, Argmax):
            count = node.args[0].size
            return Finite(np.maximum(numbers, 0)[:, None, None] == np.arange(count), indices(count))
        assert isinstance(node, Choose)
        masks = [(np.maximum(numbers, 0) == number)[:, None] for number in range(len(node.options))]
        value = merge(self._backend, masks, [done.get(option) for option in node.options])
        scalar = node.size > 1 and first_array(value).shape[1] == 1
        return repeated(self._backend, value, node.size) if scalar else value

    def _certain(self, value: Value, var: Expr) -> tuple[Codes, Mask]:
        """Entries of columns, and in which rows they are certain."""
        match value:
            case Truth(must, may):
                return must.astype(np.int64), (must == may).all(axis=1)
            case Finite(mask, values):
                coded = var.sort == REAL  # an index may be the next value of a real
                numbers = np.array([self.columns.code(v, REAL) if coded else int(v) for v in values])
                return numbers[mask.argmax(axis=2)], (mask.sum(axis=2) == 1).all(axis=1)
        point = (value.lower == value.upper) & np.isfinite(value.lower)
        floats: Floats = np.where(point, value.lower, 0.0)
        if var.sort == REAL:
            return self.columns.rationals.numbers(floats.reshape(-1)).reshape(floats.shape), point.all(axis=1)
        whole = point & (floats == np.floor(floats))
        checked_integer(int(np.abs(floats).max(initial=0.0)))
        return np.where(whole, floats, 0.0).astype(np.int64), whole.all(axis=1)

    # Rationals --------------------------------------------------------------------------------------------------------

    def _exactly(self, expr: Expr, batch: RowBatch, read: ValueReader, reader: object) -> list[Any]:
        """What is read from the exact value of an expression, in every row; `reader` tells readers apart."""
        closed = _closed(expr, frozenset(batch.taken))
        columns = self.columns.of(var for var in closed.variables if var in self.columns.places)
        decided = [*closed.choices, *closed.winners]
        parts = [batch.rows[:, columns], *(batch.taken[node][:, None] for node in decided)]
        keys, first, which = np.unique(np.concatenate(parts, axis=1), axis=0, return_index=True, return_inverse=True)
        answers = [
            self._once((closed.expr, reader, *decided, key.tobytes()), closed, batch.take(slice(row, row + 1)), read)
            for key, row in zip(keys, first, strict=True)
        ]
        return [answers[number] for number in which.reshape(-1)]

    def _once(self, name: object, closed: ClosedExpr, row: RowBatch, read: ValueReader) -> Any:
        """The answer for one row, computed where it is not remembered."""
        if name in self._remembered:
            return self._remembered[name]
        self.doubts += 1
        inputs = self._inputs(row.rows[0])
        inputs |= {var: max(int(row.taken[node][0]), 0) for node, var in closed.winners.items()}
        decisions: dict[Expr, Given] = {var: max(int(row.taken[node][0]), 0) for node, var in closed.choices.items()}
        answer = self._read(closed.expr, inputs, decisions, read)
        if len(self._remembered) < MAX_REMEMBERED:
            self._remembered[name] = answer
        return answer

    def _read(
        self, expr: Expr, inputs: Mapping[Expr, Given], decisions: Mapping[Expr, Given], read: ValueReader
    ) -> Any | None:
        """What is read from the value; None where even the highest precision leaves it undecided."""
        for precision in PRECISIONS:
            with ctx.workprec(precision):
                (value,) = exact.evaluate([expr], inputs, decisions, precision, tick=self.tick)
                undecided = value is None or (isinstance(value, tuple) and None in value)
                answer = None if undecided else read(value)
            if answer is not None:
                return answer
        return None

    def _inputs(self, row: NDArray[np.int64]) -> dict[Expr, Given]:
        values = self.columns.valuation(row.tolist())
        return {var: entry if var.shape else entry[0] for var, entry in values.items()}

    def _coded(self, value: ExactValue, var: Expr) -> list[int]:
        """An exact value as entries of the columns of a variable."""
        items = value if isinstance(value, tuple) else (value,)
        return [self.columns.code(_rational(item), var.sort) for item in items]


def _known(answers: list[Any]) -> list[Any]:
    if None in answers:
        raise NotFinite("numbers could not be compared: they may be equal")
    return answers


def _rational(item: object) -> Fraction:
    if isinstance(item, bool):
        return Fraction(item)
    if isinstance(item, Fraction):
        return item
    if isinstance(item, Undefined):
        raise NotFinite(f"a value is undefined at a reachable state: {item.why}")
    raise NotFinite("a variable takes a value that is not rational")


def _truth(value: ExactValue) -> ExactValue:
    return value


def _largest(scores: ExactValue) -> list[bool] | None:
    """Which scores no other exceeds; None where balls overlap."""
    assert isinstance(scores, tuple)
    for score in scores:
        if isinstance(score, Undefined):
            raise NotFinite(f"a score is undefined at a reachable state: {score.why}")
    numbers: list[Any] = [reals.rational(score) if isinstance(score, Fraction) else score for score in scores]
    beside = [[reals.less_equal(other, number) for other in numbers if other is not number] for number in numbers]
    if any(False not in answers and None in answers for answers in beside):
        return None
    return [False not in answers for answers in beside]


def _options_taken(node: Expr, numbers: Numbers) -> Sequence[Expr]:
    assert isinstance(node, Choose)
    counts = np.bincount(np.maximum(numbers, 0), minlength=len(node.options))
    return [option for option, count in zip(node.options, counts, strict=True) if count]


@dataclass(frozen=True)
class ClosedExpr:
    """An expression in which a variable stands for each decided argmax: decided scores are not computed again.

    `winners` has these variables, `choices` the choices as they are written in it.
    """

    expr: Expr
    variables: tuple[Expr, ...]
    winners: Mapping[Expr, Expr]
    choices: Mapping[Expr, Expr]


@lru_cache(maxsize=4096)
def _closed(expr: Expr, taken: frozenset[Expr]) -> ClosedExpr:
    below = [node for node in order([expr]) if node in taken]
    winners = [node for node in below if isinstance(node, Argmax)]
    choices = [node for node in below if isinstance(node, Choose)]
    standing: dict[Expr, Expr] = {
        node: build.var(f"winner {number}", node.sort, (), Role.INPUT) for number, node in enumerate(winners)
    }
    closed, *written = substitute([expr, *choices], standing)
    used = set(order([closed]))
    return ClosedExpr(
        closed,
        tuple(node for node in used if isinstance(node, Var)),
        {node: var for node, var in standing.items() if var in used},
        {node: new for node, new in zip(choices, written, strict=True) if new in used},
    )
