"""What constraints leave of discrete initial sets, against all combinations of values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from tests.portion import seeds
from vernal.errors import Stopped
from vernal.interpret import exact
from vernal.interpret.discrete import initial_states
from vernal.interpret.discrete.initial_states import has_start, is_solvable, narrowed, start_boxes, start_stream
from vernal.interpret.discrete.solutions import ValueBoxes, ValueSearch
from vernal.interpret.discrete.state_tables import listed_states
from vernal.model import build
from vernal.model.expr import Const, Expr, Role
from vernal.model.initial import InitialSet, OneOf, Span, Start
from vernal.model.sorts import BOOL, INT, REAL, enum
from vernal.model.tick import idle

LIGHT = enum("RED", "GREEN", "BLUE")
x, y = (build.var(name, INT, role=Role.STATE) for name in "xy")
p = build.var("p", BOOL, role=Role.STATE)
light = build.var("light", LIGHT, role=Role.STATE)
STARTS: dict[Expr, Start] = {
    x: Span(Fraction(-3), Fraction(4)),
    y: OneOf(tuple(map(Fraction, (-5, 0, 1, 7)))),
    p: OneOf((Fraction(0), Fraction(1))),
    light: OneOf(tuple(map(Fraction, range(3)))),
}


def condition(random: Random, depth: int = 3) -> Expr:
    kind = random.choice(("compare", "compare", "p", "light", "and", "or", "not"))
    if depth == 0 or kind == "compare":
        left = random.choice((x, y, x + y, 2 * x - y, build.absolute(x)))
        return build.compare(random.choice(("<", "<=", "==", "!=")), left, random.randint(-4, 6))
    match kind:
        case "p":
            return p
        case "light":
            return build.eq(light, Const((), LIGHT, (), (Fraction(random.randint(0, 2)),)))
        case "not":
            return build.negate(condition(random, depth - 1))
    join = build.conj if kind == "and" else build.disj
    return join(condition(random, depth - 1), condition(random, depth - 1), condition(random, depth - 1))


def initial(*where: Expr) -> InitialSet:
    return InitialSet({var: (start,) for var, start in STARTS.items()}, where)


def satisfying(where: Expr, variables: tuple[Expr, ...]) -> set[tuple[int, ...]]:
    """All combinations of values, one by one."""
    found: set[tuple[int, ...]] = set()
    for values in itertools.product(*map(values_of, variables)):
        given = {var: bool(v) if var is p else Fraction(v) for var, v in zip(variables, values, strict=True)}
        if exact.evaluate([where], given)[0] is True:
            found.add(values)
    return found


def values_of(var: Expr) -> list[int]:
    start = STARTS[var]
    return list(start.integers) if isinstance(start, Span) else [int(value) for value in start.values]


def rows(made: InitialSet) -> Iterator[tuple[int, ...]]:
    boxes = start_boxes(made)
    assert boxes is not None
    found = [tuple(row) for row in boxes.rows().tolist()]
    assert len(found) == boxes.count
    yield from found


@pytest.mark.parametrize("seed", seeds(150))
def test_solved_like_brute_force(seed: int) -> None:
    where = condition(Random(seed))
    if isinstance(where, Const):
        return
    boxes = start_boxes(initial(where))
    assert boxes is not None
    expected = satisfying(where, boxes.variables)
    found = list(rows(initial(where)))
    assert len(found) == len(set(found)), "boxes overlap"
    assert set(found) == expected
    assert has_start(initial(where)) == bool(expected)


@pytest.mark.parametrize("seed", seeds(30))
def test_narrowed_starts_lose_no_state(seed: int) -> None:
    where = condition(Random(seed))
    if isinstance(where, Const):
        return
    left = narrowed([where], STARTS)
    variables = tuple(STARTS)
    for values in satisfying(where, variables):
        assert all(left[var].contains(Fraction(value)) for var, value in zip(variables, values, strict=True))


def test_alternatives_are_sets_without_constraints() -> None:
    made = initial(build.compare("<=", x, -2), p)
    boxes = start_boxes(made)
    assert boxes is not None
    parts = list(boxes.alternatives(made))
    assert sum(part.count for part in parts) == 2 * 4 * 3
    assert all(not part.where for part in parts)


def test_reals_are_left_alone() -> None:
    z = build.var("z", REAL, role=Role.STATE)
    made = InitialSet({z: (Span(Fraction(0), Fraction(1)),)}, (build.compare("<", z, x),))
    assert not is_solvable(made)
    assert start_boxes(made) is None


def test_limits_end_the_search() -> None:
    where = build.compare("!=", x + y, 2)
    assert start_boxes(initial(where), most=3) is None
    assert start_boxes(initial(where), effort=2) is None

    def stop() -> None:
        raise Stopped("time is up")

    with pytest.raises(Stopped):
        start_boxes(initial(build.compare("!=", x + y, 3)), stop)


def test_a_wide_range_is_cut_in_parts() -> None:
    wide = build.var("wide", INT, role=Role.STATE)
    middle = build.conj(build.compare("<=", 10**9, wide), build.compare("<=", wide, 10**9 + 5))
    made = InitialSet({wide: (Span(Fraction(0), Fraction(2 * 10**9)),)}, (middle,))
    boxes = start_boxes(made)
    assert boxes is not None
    assert sorted(boxes.rows()[:, 0].tolist()) == list(range(10**9, 10**9 + 6))


def test_a_list_of_states_is_a_table() -> None:
    random = Random(1)
    states = [(random.randint(-5, 5), random.choice((-5, 0, 1, 7, 8)), random.randint(0, 1)) for _ in range(200)]
    parts = [
        build.conj(build.eq(x, a), build.eq(y, b), build.eq(p, bool(c)) if c else build.eq(p, False))
        for a, b, c in states
    ]
    where = build.disj(*parts)
    assert listed_states(where) is not None
    boxes = start_boxes(initial(where))
    assert boxes is not None
    kept = {state for state in states if -3 <= state[0] <= 4 and state[1] != 8}
    order = [boxes.variables.index(var) for var in (x, y, p)]
    assert {tuple(row) for row in boxes.rows()[:, order].tolist()} == kept
    further = initial(where, build.compare("<", x, 0))
    assert {row[boxes.variables.index(x)] for row in rows(further)} == {state[0] for state in kept if state[0] < 0}


def test_a_list_with_another_condition_in_it_is_no_table() -> None:
    parts = [build.conj(build.eq(x, a), build.eq(y, a)) for a in range(100)]
    assert listed_states(build.disj(*parts, build.conj(build.eq(x, 1), build.compare("<", y, 2)))) is None
    assert listed_states(build.disj(*parts, build.eq(x, 1))) is None
    assert listed_states(build.disj(*parts, build.conj(build.eq(x, 1), build.eq(x, 2)))) is None


def test_many_thousand_listed_states() -> None:
    names = [build.var(f"v{number}", INT, role=Role.STATE) for number in range(6)]
    values = np.random.default_rng(0).integers(0, 10, (20_000, 6))
    equations = [[build.eq(var, value) for value in range(10)] for var in names]
    where = build.disj(*(build.conj(*(equations[n][v] for n, v in enumerate(row))) for row in values.tolist()))
    made = InitialSet({var: (Span(Fraction(0), Fraction(9)),) for var in names}, (where,))
    boxes = start_boxes(made)
    assert boxes is not None
    assert boxes.count == len(np.unique(values, axis=0))


# Sums -----------------------------------------------------------------------------------------------------------------

a, b, c = (build.var(name, INT, role=Role.STATE) for name in "abc")
SUMS: dict[Expr, Start] = {
    a: Span(Fraction(-2), Fraction(5)),
    b: Span(Fraction(0), Fraction(6)),
    c: OneOf(tuple(map(Fraction, (-3, 1, 2, 8)))),
}


def sums(random: Random) -> Expr:
    """A few linear comparisons at once, with fractions among the factors, and now and then a disjunction."""
    parts = []
    for _ in range(random.randint(1, 3)):
        left = random.choice((a + b + c, 2 * a - b, a - 3 * c, a / 2 + b, b - c))
        parts.append(build.compare(random.choice(("<", "<=", "==")), left, random.choice((a, 0, 3, Fraction(5, 2)))))
    return build.conj(*parts) if random.random() < 0.8 else build.conj(parts[0], build.disj(*parts, c >= 2))


@pytest.mark.parametrize("seed", seeds(120))
def test_sums_are_solved_like_brute_force_however_they_are_asked_for(seed: int) -> None:
    random = Random(seed)
    where = sums(random)
    made = InitialSet({var: (start,) for var, start in SUMS.items()}, (where,))
    values = [list(s.integers) if isinstance(s, Span) else [int(v) for v in s.values] for s in SUMS.values()]
    expected = {
        row
        for row in itertools.product(*values)
        if exact.evaluate([where], dict(zip(SUMS, map(Fraction, row), strict=True)))[0] is True
    }
    assert has_start(made) == bool(expected)
    for size in (2, 1000):
        portions = list(start_stream(made, size))
        assert all(portion.count <= size for portion in portions)
        found = [row for portion in portions for row in in_order(portion)]
        assert len(found) == len(set(found))
        assert set(found) == expected
    drawn = initial_states._search(made, idle).sample(5, np.random.default_rng(seed))
    assert set(in_order(drawn)) <= expected
    assert len(drawn) or not expected


def in_order(boxes: ValueBoxes) -> list[tuple[int, ...]]:
    places = [boxes.variables.index(var) for var in SUMS]
    return [tuple(row) for row in boxes.rows()[:, places].tolist()]


def test_a_sum_needs_no_search() -> None:
    """Six numbers that are five together: cut along five of them, and the last follows."""
    packages = [build.var(f"at {i}", INT, role=Role.STATE) for i in range(6)]
    where = build.compare("==", sum(packages[1:], packages[0]), 5)
    search = ValueSearch((where,), tuple(packages), [range(6) for _ in packages], idle)
    assert search.run().count == 252  # 5 among 6 places
    assert search.looked_at < 2 * 252
