"""Points that satisfy a query: every assignment is checked twice before it is reported.

An engine's counterexample is moved to numbers the network's own float format holds, inside the bounds as stated. Then
it has to satisfy the query in rational arithmetic, and again with the outputs onnxruntime computes for it. Where the
two disagree, other points are tried; where none satisfies both, the answer is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, Context
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
from flint import arb

from vernal.engines.check import ask
from vernal.errors import Stopped
from vernal.evidence import confirm
from vernal.evidence.replay import NotAPath, run
from vernal.evidence.result import VIOLATED, Result
from vernal.formats.vnnlib.query import Query
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.expr import Expr
from vernal.model.numbers import nearest
from vernal.queries.answer import Answer, Assignment, QueryStatus
from vernal.queries.model import NetworkModel
from vernal.queries.question import Conjunction, QueryQuestions
from vernal.run.budget import Budget

MAX_BITS = 10_000  # of a number that is printed to the unit
NEIGHBOURS = 60  # points tried around a counterexample, for each radius
RADII = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)  # of the width of the box
SLACKS = tuple(Fraction(1, 10**digits) for digits in (4, 6))  # to spare, where the first counterexample is too tight


def asked_of_engine(asked: Question, engine: str, budget: Budget) -> Result:
    """The result of the engine of this name."""
    return ask(Task(asked.system), asked.formula, None, engine, budget)


@dataclass
class PointSearch:
    """The search for an assignment, near a counterexample, that passes both checks."""

    query: Query
    case: Conjunction
    model: NetworkModel
    budget: Budget
    engine: str
    questions: QueryQuestions

    def __post_init__(self) -> None:
        self.asked = self.questions.question(self.case)
        self.random = np.random.default_rng(self.budget.seed)

    def confirmed(self, result: Result) -> Answer:
        """Sat with its values, or unknown: the point found, its neighbourhood, then points with something to spare."""
        try:
            start = self._first(result)
            if start is None:
                return Answer(
                    QueryStatus.UNKNOWN, reason=f"{result.engine} refutes the negation, but shows no exact input"
                )
            return self._confirmed(start)
        except Stopped as stop:
            return Answer(QueryStatus.UNKNOWN, reason=stop.reason)

    def _confirmed(self, start: Assignment) -> Answer:
        for point in chain(self._roundings(start), self._around(start)):
            if (values := self._accepted(point)) is not None:
                return self._sat(values)
        for slack in SLACKS:
            tight = asked_of_engine(self.questions.question(self.case, slack), self.engine, self.budget)
            roomier = self._first(tight) if tight.verdict is VIOLATED else None
            if roomier is not None:
                for point in self._roundings(roomier):
                    if (values := self._accepted(point)) is not None:
                        return self._sat(values)
        what = ", ".join(f"{n} = {_short(v)}" for n, v in zip(self.query.names, start, strict=False))
        reason = (
            "satisfied over the reals, but at no point that decimals can write was the float network found to agree"
        )
        return Answer(QueryStatus.UNKNOWN, reason=f"{reason}; over the reals: {what[:300]}")

    def _sat(self, values: Assignment) -> Answer:
        notes = () if self.model.runtime else (f"not replayed in floating point: {self.model.why_none}",)
        return Answer(QueryStatus.SAT, values, notes=notes)

    def _first(self, result: Result) -> Assignment | None:
        """The input a counterexample begins with; None where the engine gives no exact one."""
        if result.trace is None:
            return None
        state = result.trace.steps[0].state
        values = tuple(value for name in self.query.input.elements() if isinstance(value := state[name], Fraction))
        return values if len(values) == self.query.input.size else None

    # Candidates -------------------------------------------------------------------------------------------------------

    def _roundings(self, point: Assignment) -> Iterator[Assignment]:
        """The point in the network's floats, in doubles, and as it is."""
        yield self._rounded(point, self.model.float)
        yield self._rounded(point, np.float64)
        yield point

    def _rounded(self, point: Sequence[Fraction], kind: type[np.floating[Any]]) -> Assignment:
        pairs = zip(point, self.case.box, strict=True)
        return tuple(inside(value, low, high, kind) for value, (low, high) in pairs)

    def _around(self, point: Assignment) -> Iterator[Assignment]:
        """Random neighbours, far ones last."""
        widths = np.array([nearest(high - low) for low, high in self.case.box])
        centre = np.array([nearest(value) for value in point])
        for radius in RADII:
            for _ in range(NEIGHBOURS):
                self.budget.check()
                moved = centre + self.random.uniform(-radius, radius, len(point)) * widths
                clipped = [
                    min(max(Fraction(float(value)), low), high)
                    for value, (low, high) in zip(moved, self.case.box, strict=True)
                ]
                yield self._rounded(clipped, self.model.float)

    # Checks -----------------------------------------------------------------------------------------------------------

    def _accepted(self, point: Assignment) -> Assignment | None:
        """Values of all elements, if the point can be written down and satisfies the query in both checks."""
        if not all(is_decimal(value) for value in point):
            return None
        computed = None
        if self.model.runtime is not None:
            computed = self.model.runtime(point)
            if computed is None or not self.query.satisfied((*point, *computed)):
                return None
        exactly = self._exactly(point)
        return None if exactly is None else (*point, *(exactly if computed is None else computed))

    def _exactly(self, point: Assignment) -> Assignment | None:
        """The outputs over the reals, as near as a double is where they are no decimals; None if they do not do."""
        names = self.query.input.elements()
        try:
            trace = run(self.asked.system, dict(zip(names, point, strict=True)), [{}], 0)
        except NotAPath:
            return None
        if confirm.truth(trace, self.asked.formula, self.asked.system) is not False:
            return None
        outputs = self._outputs(point)
        rational = [value for value in outputs if isinstance(value, Fraction)]
        if len(rational) == len(outputs) and not self.query.satisfied((*point, *rational)):
            return None
        return tuple(value if isinstance(value, Fraction) else Fraction(repr(float(value.mid()))) for value in outputs)

    def _outputs(self, point: Assignment) -> list[Fraction | arb]:
        system = self.asked.system
        given: dict[Expr, Given] = {variable.var: value for variable, value in zip(system.state, point, strict=True)}
        (output,) = exact.evaluate([system.step.lets[self.query.output.name]], given)
        assert isinstance(output, tuple)
        return [value for value in output if isinstance(value, Fraction | arb)]


# Numbers --------------------------------------------------------------------------------------------------------------


def inside(value: Fraction, low: Fraction, high: Fraction, kind: type[np.floating[Any]]) -> Fraction:
    """The decimal that stands for the float nearest to the value within [low, high]; the value where there is none."""
    with np.errstate(over="ignore"):
        number = kind(nearest(value))
        for _ in range(2):  # the nearest float, or its neighbour towards the inside
            if not np.isfinite(number):
                return value
            found = Fraction(str(number))
            if low <= found <= high:
                return found
            number = np.nextafter(number, kind(np.inf if found < low else -np.inf))
    return value


def is_decimal(value: Fraction) -> bool:
    """Whether finitely many digits write it, and not too many."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1 and value.denominator.bit_length() <= 4000


def decimal(value: Fraction) -> str:
    """A number as digits: exactly where that is possible, else as the nearest double."""
    near = nearest(value)
    if not math.isfinite(near):
        return _beyond_floats(value)
    return repr(near) if not is_decimal(value) or Fraction(repr(near)) == value else _digits(value)


def _beyond_floats(value: Fraction) -> str:
    """A number larger than all floats: to the unit, or where that has too many digits, its first ones."""
    if value.numerator.bit_length() <= MAX_BITS:
        return _digits(value) if is_decimal(value) else str(round(value))
    context = Context(prec=17, Emax=MAX_EMAX, Emin=-MAX_EMAX)
    return str(context.divide(context.create_decimal(value.numerator), context.create_decimal(value.denominator)))


def _digits(value: Fraction) -> str:
    """All digits of a decimal number."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    whole = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{whole[:-places]}.{whole[-places:]}" if places else whole)


def _short(value: Fraction) -> str:
    return f"{nearest(value):.6g}"
