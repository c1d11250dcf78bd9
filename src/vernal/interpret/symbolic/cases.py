"""What can happen where an operator decides: alternatives, each with the rows under which it happens and its value.

A ReLU passes where its input is at least 0 and is 0 elsewhere; `floor` has one case for each integer in range; an
argmax one for each winner. The rows of the cases cover all inputs. They exclude each other, except at the ties of an
argmax, where any winner may be taken. Over a box a value is known only if one alternative is left
(`affine`); over polyhedra all of them are followed (`execute`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq

from vernal.interpret.geometry.affine_form import ONE, ZERO, AffineForm, Extent, Row, above, at_least, equal, rational
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.sorts import BOOL

SymbolicScalar = (
    AffineForm | bool | fmpq | None
)  # a number, a truth value, the index of a label or of a maximum, or open
SymbolicValue = tuple[SymbolicScalar, ...]
Measure = Callable[[AffineForm], Extent]

MAX_INTEGERS = 4096  # cases of one floor that are enumerated at most


@dataclass(frozen=True, slots=True)
class Alternative:
    """The rows under which it happens, and what the value is then."""

    rows: tuple[Row, ...]
    value: SymbolicScalar


@dataclass(frozen=True, slots=True)
class Split:
    """All cases of a decision."""

    cases: tuple[Alternative, ...]
    continuous: bool = False  # the values agree where the closures of two cases meet
    ties: bool = False  # cases overlap, and their values differ there

    def possible(self, measure: Measure) -> tuple[Alternative, ...]:
        """The cases ranges do not exclude, without the rows that ranges make certain; one if one is certain."""
        open_cases = []
        for case in self.cases:
            ranges = [(row, measure(row.form)) for row in case.rows]
            if any(row.is_refuted(over) for row, over in ranges):
                continue
            if not self.ties and all(row.is_certain(over, self.continuous) for row, over in ranges):
                return (Alternative((), case.value),)
            rest = tuple(row for row, over in ranges if not row.is_certain(over))
            open_cases.append(Alternative(rest, case.value))
        if not self.ties and all(_same(case.value, open_cases[0].value) for case in open_cases[1:]):
            open_cases = [Alternative((), case.value) for case in open_cases[:1]]
        return (Alternative((), open_cases[0].value),) if len(open_cases) == 1 else tuple(open_cases)


def _same(a: SymbolicScalar, b: SymbolicScalar) -> bool:
    return type(a) is type(b) and a == b


# Numbers --------------------------------------------------------------------------------------------------------------


def as_form(value: SymbolicScalar) -> AffineForm:
    """A number as a form; truth values and labels by their index."""
    assert value is not None
    return (
        value if isinstance(value, AffineForm) else AffineForm(fmpq(int(value)) if isinstance(value, bool) else value)
    )


def constant(value: Fraction, node: Expr) -> SymbolicScalar:
    """A constant of a node's sort."""
    if node.sort.is_number:
        return AffineForm(rational(value))
    return bool(value) if node.sort == BOOL else rational(value)


def split(node: Expr, args: Sequence[SymbolicScalar], component: int, measure: Measure) -> Split | None:
    """The cases of one component of an elementwise operator; None where it does not decide anything."""
    match node:
        case e.Relu():
            return _kink(as_form(args[0]), ZERO)
        case e.LeakyRelu(slopes=slopes):
            return _kink(as_form(args[0]), rational(slopes[component if len(slopes) > 1 else 0]))
        case e.Abs():
            return _kink(as_form(args[0]), fmpq(-1))
        case e.Max() | e.Min():
            return _extremum([as_form(arg) for arg in args], isinstance(node, e.Max))
        case e.Sign():
            return _sign(as_form(args[0]))
        case e.Floor():
            return _floor(as_form(args[0]), measure)
        case e.Compare(op=op):
            return _compare(op, args)
    return None


def _kink(x: AffineForm, slope: fmpq) -> Split:
    return Split((Alternative((at_least(x),), x), Alternative((above(-x),), x.scale(slope).bounded())), continuous=True)


def _extremum(x: Sequence[AffineForm], largest: bool) -> Split:
    """The first of the best: strictly better than those before, at least as good as those after."""
    cases = []
    for i, best in enumerate(x):
        gaps = [best - other if largest else other - best for other in x]
        rows = [above(gap) if j < i else at_least(gap) for j, gap in enumerate(gaps) if j != i]
        cases.append(Alternative(tuple(rows), best))
    return Split(tuple(cases), continuous=True)


def _sign(x: AffineForm) -> Split:
    values = ((above(x), ONE), (equal(x), ZERO), (above(-x), fmpq(-1)))
    return Split(tuple(Alternative((row,), AffineForm(value)) for row, value in values))


def _floor(x: AffineForm, measure: Measure) -> Split | None:
    over = measure(x)
    low, high = int(over.low.floor()), int(over.high.floor())
    if high - low >= MAX_INTEGERS:
        return None
    values = [AffineForm(fmpq(k)) for k in range(low, high + 1)]
    unit = AffineForm(ONE)
    return Split(tuple(Alternative((at_least(x - value), above(value + unit - x)), value) for value in values))


def _compare(op: str, args: Sequence[SymbolicScalar]) -> Split:
    gap = as_form(args[1]) - as_form(args[0])
    match op:
        case "<":
            return Split((Alternative((above(gap),), True), Alternative((at_least(-gap),), False)))
        case "<=":
            return Split((Alternative((at_least(gap),), True), Alternative((above(-gap),), False)))
    same = op == "=="
    return Split(
        (Alternative((equal(gap),), same), Alternative((above(gap),), not same), Alternative((above(-gap),), not same))
    )


# Alternatives ---------------------------------------------------------------------------------------------------------


def winners(scores: Sequence[AffineForm]) -> Split:
    """Every index that may be the argmax; at a tie, any."""
    cases = []
    for i, best in enumerate(scores):
        others = (best - other for j, other in enumerate(scores) if j != i)
        cases.append(Alternative(tuple(at_least(gap) for gap in others), fmpq(i)))
    return Split(tuple(cases), ties=True)


def branches(node: e.If | e.Switch, subject: SymbolicScalar) -> Split:
    """Which argument a scalar `if` or `match` takes, by its position."""
    if isinstance(node, e.If):
        assert isinstance(subject, bool)
        return Split((Alternative((), fmpq(1 if subject else 2)),))
    x = as_form(subject)
    cases = [Alternative((equal(x - AffineForm(rational(value))),), fmpq(i)) for value, i in _named(node)]
    default = next((i for i, case in enumerate(node.cases, start=1) if case is None), None)
    if default is not None:
        cases += [Alternative(rows, fmpq(default)) for rows in _gaps(x, sorted(value for value, _ in _named(node)))]
    return Split(tuple(cases))


def _named(node: e.Switch) -> list[tuple[Fraction, int]]:
    return [(case, i) for i, case in enumerate(node.cases, start=1) if case is not None]


def _gaps(x: AffineForm, values: Sequence[Fraction]) -> list[tuple[Row, ...]]:
    """The open intervals that the values leave of the line."""
    lows: list[tuple[Row, ...]] = [(), *((above(x - AffineForm(rational(value))),) for value in values)]
    highs: list[tuple[Row, ...]] = [*((above(AffineForm(rational(value)) - x),) for value in values), ()]
    return [(*low, *high) for low, high in zip(lows, highs, strict=True)]
