"""Mixed-integer rows: every exact execution is a point of the program, and little else is."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.interpret.sets import Ends, abstract, boxes, samples
from tests.strategies import expressions, networks
from vernal.engines.programs.program import program
from vernal.interpret import exact
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.milp.curves import next_cut
from vernal.interpret.milp.encode import Encoder
from vernal.interpret.milp.rows import LARGEST_VALUE, ROBUST, TOLERANCE, ColumnForm, Sheet, Unsuitable, constant
from vernal.interpret.symbolic.affine import Forms
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.sorts import INT, enum
from vernal.model.system import OneOf, Span, Start
from vernal.solvers.base import MilpProblem, Solved, SolveStatus
from vernal.solvers.highs import Highs

X, Y, N = build.var("x"), build.var("y"), build.var("n", INT)
MODE = enum("A", "B", "C")
M = build.var("m", MODE)


def encoder_of(ends: Ends) -> Encoder:
    """The program of a box."""
    starts: dict[Expr, tuple[Start, ...]] = {
        var: tuple(
            Span(low, high)
            if var.sort.kind.value == "real"
            else OneOf(tuple(Fraction(value) for value in range(int(low), int(high) + 1)))
            for low, high in pairs
        )
        for var, pairs in ends.items()
    }
    linear = Linear(abstract([ends]))
    return Encoder(starts, linear, Forms(ends, linear))


def solve(sheet: Sheet, objective: ColumnForm | None = None) -> Solved:
    """A point of the sheet, or the best one for a form."""
    problem = program(sheet)
    if objective is not None:
        problem.objective[:] = 0.0
        for column, value in objective.terms.items():
            problem.objective[column] = value
        problem.lower[sheet.margin] = 0.0  # decisions as they are, not relaxed
        problem.upper[sheet.equality] = 0.0
    return Highs().solve(problem, 10.0)


def best(encoder: Encoder, form: ColumnForm) -> float:
    """The largest value of a form."""
    if form.is_constant:
        return form.constant
    outcome = solve(encoder.sheet, form)
    assert outcome.status is SolveStatus.OPTIMAL, outcome.said
    assert outcome.objective is not None
    return outcome.objective + form.constant


def extremes(node: Expr, **ranges: tuple[float, float]) -> tuple[float, float]:
    """The least and the largest value of a scalar over a box, by the solver."""
    ends: Ends = {var: [] for var in (X, Y, N, M)}
    for var in ends:
        assert isinstance(var, e.Var)
        low, high = ranges.get(var.name, (0, 0))
        ends[var] = [(Fraction(low), Fraction(high))]
    encoder = encoder_of(ends)
    (form,) = encoder.need(node)
    minus = encoder.sheet.combine([(-1.0, form)])
    return -best(encoder, minus), best(encoder, form)


# Every execution is a point -------------------------------------------------------------------------------------------


def pin(encoder: Encoder, forms: Sequence[ColumnForm], values: Sequence[Any]) -> None:
    """Fix forms to exact values, up to what a solver can meet."""
    for form, value in zip(forms, values, strict=True):
        slack = 1e-7 * max(1.0, abs(float(value)), form.size)
        for sign in (1.0, -1.0):
            gap = encoder.sheet.combine([(sign, form), (-sign, constant(Fraction(value)))])
            encoder.sheet.at_most(gap, slack)


def pin_all(encoder: Encoder, node: Expr, value: Any) -> bool:
    """Fix a node to an exact value; not where it has none."""
    items = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(item, Fraction | bool) for item in items):
        return False
    if node.sort.labels:
        items = tuple(item == label for item in items for label in range(len(node.sort.labels)))
    pin(encoder, encoder.values[node], items)
    return True


def pin_decisions(encoder: Encoder, taken: Mapping[Expr, Any]) -> None:
    for node, value in taken.items():
        if isinstance(node, e.Argmax) and node in encoder.values and isinstance(value, Fraction):
            picks = encoder.picks[node.occurrence]
            pin(encoder, picks, [index == value for index in range(len(picks))])
        elif isinstance(node, e.Var | e.Between) and node in encoder.values:
            pin_all(encoder, node, value)


@given(data=st.data())
def test_every_exact_sample_is_a_point(data: st.DataObject) -> None:
    roots = data.draw(expressions(smooth=False, undefined=False))
    ends = data.draw(boxes())
    values, given_values = data.draw(samples(ends, roots))
    encoder = encoder_of(ends)
    encoded = 0
    for root, value in zip(roots, values, strict=True):
        try:
            encoder.need(root)
        except Unsuitable:
            continue
        encoded += pin_all(encoder, root, value)
    pin_decisions(encoder, given_values)
    assert encoded or len(roots) < 8
    assert not encoder.sheet.infeasible
    assert solve(encoder.sheet).status is SolveStatus.OPTIMAL


# And little else is ---------------------------------------------------------------------------------------------------

CHOICE = build.choose(-1, build.mul(2, X), 3)
NOISE = build.between(X, build.add(X, 1))
SCORES = build.concat(X, Y, build.sub(1, X))
WINNERS = [Fraction(0), Fraction(1), None]

OPERATORS: dict[str, tuple[Expr, tuple[float, float]]] = {
    "add": (build.add(X, Y, 1), (-2, 5)),
    "scaled": (build.mul(-3, X), (-6, 3)),
    "divided": (build.div(X, 4), (-0.25, 0.5)),
    "relu": (build.relu(X), (0, 2)),
    "relu of a difference": (build.sub(build.relu(X), X), (0, 1)),
    "leaky": (build.leaky_relu(X, [Fraction(1, 2)]), (-0.5, 2)),
    "abs": (build.absolute(X), (0, 2)),
    "max": (build.maximum(X, Y, build.neg(X)), (-0.0, 2)),
    "min": (build.minimum(X, build.neg(X)), (-2, 0)),
    "clip": (build.clip(build.mul(5, X), -1, 1), (-1, 1)),
    "sign": (build.sign(X), (-1, 1)),
    "floor": (build.floor(X), (-1, 2)),
    "fraction": (build.sub(X, build.floor(X)), (0, 1)),
    "if": (build.if_(build.compare("<", X, 1), X, build.neg(X)), (-2, 1)),
    "nested if": (build.if_((X > 0) & (Y > 1), 5, build.if_((X < 0) | (Y < -1), 7, 1)), (1, 7)),
    "not": (build.if_(build.negate(build.compare("<=", X, 0)), X, 0), (0, 2)),
    "equal integers": (build.if_(build.eq(N, 2), 10, N), (0, 10)),
    "different integers": (build.if_(build.compare("!=", N, 2), N, 10), (0, 10)),
    "less": (build.if_(build.compare("<", N, 2), N, -1), (-1, 1)),
    "match": (build.switch(N, [Fraction(1), Fraction(2), None], [X, 5, -4]), (-4, 5)),
    "label": (build.switch(M, [Fraction(0), Fraction(1), Fraction(2)], [X, build.mul(2, X), -7]), (-7, 4)),
    "choose": (CHOICE, (-2, 4)),
    "a shared choice": (build.sub(CHOICE, CHOICE), (0, 0)),
    "between": (build.sub(NOISE, X), (0, 1)),
    "argmax": (build.argmax(SCORES), (0, 2)),
    "the winning score": (
        build.switch(build.argmax(SCORES), [Fraction(0), Fraction(1), None], [X, Y, 1 - X]),
        (0.5, 2),
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_reach_their_extremes(name: str) -> None:
    node, expected = OPERATORS[name]
    assert extremes(node, x=(-1, 2), y=(-2, 2), n=(0, 3), m=(0, 2)) == pytest.approx(expected, abs=1e-6)


@given(networks(smooth=False, inputs=1, outputs=1))
def test_networks_reach_their_extremes(net: Any) -> None:
    """Brute force over a fine grid, exact at its points; hard shrink jumps, so its closure may be a little more."""
    node = net(X)[0]
    low, high = extremes(node, x=(-2, 2))
    grid = [Fraction(i, 64) for i in range(-128, 129)]
    values = [float(exact.evaluate([node], {X: point})[0]) for point in grid]  # type: ignore[arg-type]
    assert low <= min(values) + 1e-6
    assert high >= max(values) - 1e-6
    steep = 4 * 2 * 2 * 2 * 3 / 64  # hidden units, weights, the steepest activation (3 for a jump), grid
    jumps = any(isinstance(part, e.If) for part in _parts(node))
    assert jumps or (low >= min(values) - steep and high <= max(values) + steep)


def _parts(node: Expr) -> list[Expr]:
    from vernal.model.graph import order

    return order([node])


def test_stable_phases_cost_nothing() -> None:
    encoder = encoder_of({X: [(Fraction(1), Fraction(2))]})
    encoder.need(build.absolute(build.relu(build.if_(build.compare("<", X, 3), X, build.neg(X)))))
    assert len(encoder.sheet.lower) == 3  # the margin, the equality slack, and x
    assert not encoder.sheet.rows


def test_a_branch_that_is_not_taken_is_not_looked_at() -> None:
    encoder = encoder_of({X: [(Fraction(1), Fraction(2))]})
    sine = build.apply(Function.SIN, X)
    (form,) = encoder.need(build.if_(build.compare("<", X, 3), X, sine))
    assert form is encoder.values[X][0]
    assert sine not in encoder.values
    assert not encoder.sheet.rows


BENT = [
    build.apply(Function.TANH, X - 1),
    build.apply(Function.SIN, 3 * X),
    build.mul(X, Y - 1),
    build.div(X, build.add(3, Y)),
    build.power(X, 2),
    build.power(X - Y, 3),
    build.atan2(X, Y + 1),
    build.atan2(Y, X - 3),
]


def nonlinear_encoder(cuts: dict[Any, list[float]] | None = None) -> Encoder:
    plain = encoder_of({X: [(Fraction(-1), Fraction(2))], Y: [(Fraction(0), Fraction(1))]})
    return Encoder(plain.starts, plain.linear, plain.exact, cuts=cuts)


@pytest.mark.parametrize("node", BENT, ids=str)
@pytest.mark.parametrize("count", [0, 1, 4])
def test_nonlinear_operators_are_enclosed(node: Expr, count: int) -> None:
    """At any point of the box the value is between the rows, the nearer the more cuts there are."""
    first = nonlinear_encoder()
    first.need(node)
    cuts = {
        node.site: [node.lower + (node.upper - node.lower) * (i + 1) / (count + 1) for i in range(count)]
        for node in first.nonlinear
    }
    for x, y in ((-1, 0), (2, 1), (Fraction(1, 3), Fraction(1, 4)), (Fraction(9, 5), Fraction(1, 2))):
        encoder = nonlinear_encoder(cuts)
        (form,) = encoder.need(node)
        for var, value in ((X, x), (Y, y)):
            encoder.need(var)
            pin(encoder, encoder.values[var], [value])
        low, high = -best(encoder, encoder.sheet.combine([(-1.0, form)])), best(encoder, form)
        (true,) = exact.evaluate([node], {X: Fraction(x), Y: Fraction(y)})
        number = float(true) if isinstance(true, Fraction) else float(true.mid())  # type: ignore[union-attr]
        assert low - 1e-5 <= number <= high + 1e-5
        assert high - low <= 12.0 / (count + 1) ** 1.5


@pytest.mark.parametrize("cuts", [[], [-0.5, 0.0], [0.3]])
def test_an_angle_that_jumps_is_enclosed_on_both_sides(cuts: list[float]) -> None:
    node = build.atan2(X, Y - 2)
    for x in (Fraction(-1, 2), Fraction(-1, 1000), Fraction(0), Fraction(1, 1000), Fraction(1, 3)):
        encoder = nonlinear_encoder({(node, 0, 0): cuts})
        (form,) = encoder.need(node)
        for var, value in ((X, x), (Y, Fraction(1, 2))):
            encoder.need(var)
            pin(encoder, encoder.values[var], [value])
        low, high = -best(encoder, encoder.sheet.combine([(-1.0, form)])), best(encoder, form)
        assert low - 1e-6 <= np.arctan2(float(x), -1.5) <= high + 1e-6


def test_a_quotient_needs_a_denominator_that_is_not_0() -> None:
    with pytest.raises(Unsuitable):
        nonlinear_encoder().need(build.div(Y, X))


def test_cuts_are_set_where_an_envelope_is_widest() -> None:
    encoder = nonlinear_encoder()
    (form,) = encoder.need(build.power(X, 2) + build.apply(Function.TANH, X / 100))
    outcome = solve(encoder.sheet, form)
    assert outcome.point is not None
    found = next_cut(encoder.nonlinear, outcome.point.tolist(), {})
    assert found is not None
    assert found[0][0] is build.power(X, 2)
    assert -1 < found[1] < 2


def test_a_function_of_a_constant_is_a_constant() -> None:
    (form,) = encoder_of({X: [(Fraction(1), Fraction(1))]}).need(build.apply(Function.SIN, X))
    assert form.is_constant
    assert form.constant == pytest.approx(np.sin(1.0), abs=1e-12)


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(Unsuitable, match="too large"):
        encoder_of({X: [(Fraction(0), Fraction(10) * Fraction(LARGEST_VALUE))]}).need(X)


# Requirements ---------------------------------------------------------------------------------------------------------


def feasible(condition: Expr, wanted: bool = True, **ranges: tuple[float, float]) -> bool:
    ends: Ends = {}
    for name, (low, high) in ranges.items():
        ends[build.var(name, INT if name == "n" else X.sort)] = [(Fraction(low), Fraction(high))]
    encoder = encoder_of(ends)
    encoder.require(condition, wanted)
    return not encoder.sheet.infeasible and solve(encoder.sheet).status is SolveStatus.OPTIMAL


CONDITIONS: list[tuple[Expr, bool, bool]] = [
    (build.conj(X < 1, X > 2), True, False),
    (build.conj(build.add(X, Y) < 1, build.sub(X, Y) > Fraction(1, 2)), True, True),
    (build.conj(build.add(X, Y) < 1, build.add(X, Y) > 2), True, False),
    (build.disj(build.add(X, Y) < 1, build.add(X, Y) > 2), False, True),
    (build.disj(build.add(X, Y) < 3, build.add(X, Y) > 2), False, False),
    (build.conj(build.eq(build.add(X, Y), 1), build.sub(X, Y) > Fraction("3.5")), True, False),
    (build.conj(build.compare("!=", N, 1), build.compare("<", N, 2), build.compare("<", 0, N)), True, False),
    (build.conj(build.eq(N, 1), build.compare("!=", X, Y)), True, True),
    (build.if_(X < 1, build.add(X, Y) > 5, Y > X), True, True),
    (build.if_(X < 1, build.add(X, Y) > 5, build.sub(Y, X) > 3), True, False),
]


@pytest.mark.parametrize(("condition", "wanted", "expected"), CONDITIONS)
def test_conditions_are_met_or_not(condition: Expr, wanted: bool, expected: bool) -> None:
    assert feasible(condition, wanted, x=(0, 3), y=(0, 3), n=(0, 2)) is expected


def test_closed_at_the_boundary_and_not_beyond_the_tolerance() -> None:
    """Both sides of x + y = 1 are closed, and what lies between them may be as wide as the tolerance."""
    both = build.add(X, Y)

    def apart(by: Fraction) -> bool:
        return feasible(build.conj(both < 1, both > 1 + by), x=(0, 1), y=(0, 1))

    assert apart(Fraction(0))
    assert apart(Fraction(1, 10**8))
    assert not apart(Fraction(1, 10**6))


# The sheet ------------------------------------------------------------------------------------------------------------


def test_forms_know_their_rounding() -> None:
    sheet = Sheet()
    x = sheet.column(-1.0, 1.0)
    third = constant(Fraction(1, 3))
    total = sheet.combine([(0.1, x)] * 10 + [(1.0, third)])
    assert abs(Fraction(total.constant) - Fraction(1, 3)) <= Fraction(total.error)
    assert abs(Fraction(total.terms[2]) - 1) <= Fraction(total.error)
    assert total.error < 1e-14


def test_tiny_coefficients_become_their_range() -> None:
    sheet = Sheet()
    x, y = sheet.column(0.0, 1.0), sheet.column(-1.0, 1.0)
    sheet.at_most(sheet.combine([(1.0, x), (1e-13, y)]))
    ((terms, bound),) = sheet.rows
    assert set(terms) == {2}
    assert 1e-13 <= bound < 1e-12


def test_large_rows_are_scaled_down() -> None:
    sheet = Sheet()
    x = sheet.column(0.0, 1e6)
    sheet.at_most(sheet.combine([(100.0, x)]), 1e7)
    ((terms, bound),) = sheet.rows
    assert terms[2] * 1e6 <= 1024
    assert bound / terms[2] == pytest.approx(1e5)


def test_the_margin_is_what_decisions_have_left() -> None:
    sheet = Sheet()
    x = sheet.column(0.0, 1.0)
    sheet.decide(sheet.combine([(1.0, x)], -0.5e-5))  # x <= 0.5e-5
    sheet.decide(sheet.combine([(-1.0, x)]))  # x >= 0
    outcome = solve(sheet)
    assert outcome.point is not None
    assert outcome.point[sheet.margin] == pytest.approx(0.25e-5)
    assert -TOLERANCE <= outcome.point[sheet.margin] <= ROBUST


@pytest.mark.parametrize("truths", list(itertools.product((0, 1), repeat=3)))
def test_connectives_of_forms(truths: tuple[int, ...]) -> None:
    sheet = Sheet()
    columns = [sheet.binary() for _ in truths]
    both, either = sheet.both(columns), sheet.either(columns)
    for column, truth in zip(columns, truths, strict=True):
        sheet.equal(column, constant(float(truth)))
    outcome = solve(sheet)
    assert outcome.point is not None
    (place,) = both.terms
    assert outcome.point[place] == pytest.approx(float(all(truths)))
    (place,) = either.terms
    assert 1 - outcome.point[place] == pytest.approx(float(any(truths)))


def test_programs_are_data() -> None:
    sheet = Sheet()
    sheet.at_most(sheet.combine([(1.0, sheet.binary()), (2.0, sheet.column(0.0, 1.0))]), 1.0)
    problem: MilpProblem = program(sheet)
    assert (problem.columns, problem.rows, problem.binaries) == (4, 1, 1)
    assert problem.starts.tolist() == [0, 2]


def test_scores_that_are_selected_are_not_copied() -> None:
    """Two networks, one argmax: as right as the copy, and the same where the selected scores are constants."""
    first, second = build.concat(X, Y, 0), build.concat(Y, 0, X)
    chosen = build.argmax(build.if_(build.compare("<", X, Y), first, second))
    assert extremes(chosen, x=(-2, -1), y=(-1, 1)) == pytest.approx((1, 2), abs=1e-6)
    assert extremes(chosen, x=(2, 3), y=(-1, 1)) == pytest.approx((2, 2), abs=1e-6)
    constants = build.if_(build.compare("<", X, Y), build.concat(0, 1, 1), build.concat(0, 1, 1))
    assert extremes(build.argmax(constants), x=(0, 1), y=(0, 1)) == pytest.approx((1, 2), abs=1e-6)


def test_at_an_end_of_two_segments_the_wider_one_is_cut() -> None:
    encoder = nonlinear_encoder()
    encoder.need(build.power(X, 2))
    (square,) = encoder.nonlinear
    point = [0.0] * len(encoder.sheet.lower)
    (column,) = square.args[0].terms
    point[column] = 0.5 + 1e-12  # between a narrow and a wide segment, and far from the curve
    found = next_cut([square], point, {square.site: [0.5, 0.6]})
    assert found is not None
    assert found[1] == -0.25
