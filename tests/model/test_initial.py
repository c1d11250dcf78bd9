"""The initial set against brute force: a grid of candidate values, each looked at by itself."""

from __future__ import annotations

import itertools
import math
import random
import sys
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.portion import seeds
from tests.recurrent import recurrent_loop
from tests.systems import accumulator, make
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Box, Init, InitialSet, OneOf, Span, Start, Valuation, represented, start_between
from vernal.model.sorts import BOOL, INT, REAL, Sort, enum
from vernal.model.system import System, Variable

X, N, M = build.var("x"), build.var("n", INT), build.var("m", shape=(2,))
GRID = tuple(Fraction(value, 2) for value in range(-5, 6))
ends_of_grid = st.tuples(st.sampled_from(GRID), st.sampled_from(GRID)).map(lambda pair: (min(pair), max(pair)))
spans = ends_of_grid.map(lambda ends: Span(*ends))


def one_of(values: Sequence[Fraction]) -> st.SearchStrategy[OneOf]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=3).map(lambda drawn: OneOf(tuple(drawn)))


reals = st.one_of(spans, one_of(GRID))
integers = st.one_of(spans.filter(lambda span: len(span.integers) > 0), one_of([v for v in GRID if v.denominator == 1]))
initial_sets = st.builds(
    lambda x, n, m: InitialSet({X: (x,), N: (n,), M: tuple(m)}), reals, integers, st.tuples(reals, reals)
)
boxes = st.builds(
    lambda x, n, m: Box({X: (x,), N: (n,), M: tuple(m)}),
    ends_of_grid,
    ends_of_grid,
    st.tuples(ends_of_grid, ends_of_grid),
)


def has(start: Start, value: Fraction, sort: Sort = REAL) -> bool:
    """The meaning of a start, written down once more."""
    if sort == INT and value.denominator != 1:
        return False
    return value in start.values if isinstance(start, OneOf) else start.lower <= value <= start.upper


def grid(initial: InitialSet) -> set[tuple[Fraction, ...]]:
    """The points of the grid in the starts of X, N and M, flat."""
    kept = [[v for v in GRID if has(start, v, var.sort)] for var, entry in initial.starts.items() for start in entry]
    return set(itertools.product(*kept))


def inside(box: Box, point: tuple[Fraction, ...]) -> bool:
    ends = [pair for entry in box.ends.values() for pair in entry]
    return all(low <= value <= high for value, (low, high) in zip(point, ends, strict=True))


def valuation(point: tuple[Fraction, ...]) -> Valuation:
    return {X: point[:1], N: point[1:2], M: point[2:]}


# Sets -----------------------------------------------------------------------------------------------------------------


@given(initial_sets, st.tuples(*[st.sampled_from(GRID)] * 4))
def test_contains(initial: InitialSet, point: tuple[Fraction, ...]) -> None:
    values = valuation(point)
    wrong = [
        (var, i)
        for var, entry in initial.starts.items()
        for i, start in enumerate(entry)
        if not has(start, values[var][i], var.sort)
    ]
    assert [(var, i) for var, i, _ in initial.outside(values)] == wrong
    assert initial.contains(values) == (not wrong)


@given(initial_sets)
def test_its_first_values_are_in_it(initial: InitialSet) -> None:
    assert all(has(s, v) for var, e in initial.starts.items() for s, v in zip(e, initial.first[var], strict=True))


@given(initial_sets)
def test_the_hull_is_the_smallest_box(initial: InitialSet) -> None:
    for var, component, start in initial.components():
        low, high = initial.hull.ends[var][component]
        assert has(start, low)
        assert has(start, high)
        assert all(low <= value <= high for value in GRID if has(start, value))


@given(initial_sets)
def test_alternatives_divide_the_set(initial: InitialSet) -> None:
    parts = list(initial.alternatives())
    assert len(parts) == initial.count
    covered = [grid(part) for part in parts]
    assert set().union(*covered) == grid(initial)
    assert sum(map(len, covered)) == len(grid(initial))
    for part in parts:
        assert all(start.is_point or var.sort == REAL for var, _, start in part.components())
        assert all(isinstance(start, Span) or start.is_point for _, _, start in part.components())


@given(initial_sets, st.integers(0, 20))
def test_too_many_alternatives_are_one_part(initial: InitialSet, limit: int) -> None:
    parts = initial.split(limit)
    assert parts == (list(initial.alternatives()) if initial.count <= limit else [initial])


@given(initial_sets, boxes)
def test_cut_is_the_intersection(initial: InitialSet, box: Box) -> None:
    part = initial.cut(box)
    expected = {point for point in grid(initial) if inside(box, point)}
    assert (set() if part is None else grid(part)) == expected
    for var, i, start in part.components() if part is not None else ():
        assert all(has(initial.starts[var][i], end) for end in start.ends)


@given(initial_sets)
def test_a_point_has_one_value(initial: InitialSet) -> None:
    values = [{start.first, *start.ends, *(v for v in GRID if has(start, v))} for _, _, start in initial.components()]
    assert initial.is_point == all(len(found) == 1 for found in values)


def test_constraints_stay_with_every_part() -> None:
    where = (X >= 0,)
    initial = InitialSet({X: (OneOf((Fraction(0), Fraction(1))),)}, where)
    cut = initial.cut(Box({X: ((Fraction(0), Fraction(0)),)}))
    assert cut == InitialSet({X: (OneOf((Fraction(0),)),)}, where)
    assert all(part.where == where for part in initial.alternatives())


def test_many_integers_are_counted_without_listing_them() -> None:
    far = InitialSet({N: (Span(Fraction(1, 2), Fraction(10**30)),)})
    assert far.count == 10**30
    assert far.split(256) == [far]


# Nearest values -------------------------------------------------------------------------------------------------------


@given(reals, st.sampled_from(GRID) | st.fractions(-4, 4))
def test_nearest(start: Start, value: Fraction) -> None:
    found = start.nearest(value)
    assert has(start, found)
    assert all(abs(found - value) <= abs(other - value) for other in (*GRID, value) if has(start, other))


@given(reals, st.floats(), st.sampled_from([None, 3, 6]), st.sampled_from([0.0, 1e-9]))
def test_a_float_represents_a_value_of_the_start(start: Start, number: float, digits: int | None, slack: float) -> None:
    assert has(start, represented(start, number, digits, slack))


@given(st.fractions(-100, 100), st.fractions(0, 100), st.booleans())
def test_a_rounded_end_represents_the_end(lower: Fraction, width: Fraction, up: bool) -> None:
    start = start_between(lower, lower + width)
    end = start.ends[up]
    assert represented(start, float(end), 3) in [other for other in start.ends if float(other) == float(end)]


@pytest.mark.parametrize(
    ("number", "digits", "slack", "value"),
    [
        (0.1, None, 0.0, Fraction(1, 10)),
        (1 / 3, None, 0.0, Fraction("0.3333333333333333")),
        (1 / 3, 3, 0.0, Fraction("0.333")),
        (1e-10, None, 0.0, Fraction("1e-10")),
        (1e-10, None, 1e-9, Fraction(0)),
        (1 - 1e-10, 6, 1e-9, Fraction(1)),
        (-7.5, 3, 0.0, Fraction(0)),
        (math.nan, 3, 0.0, Fraction(0)),
        (math.inf, 3, 0.0, Fraction(0)),
    ],
)
def test_floats_in_an_interval(number: float, digits: int | None, slack: float, value: Fraction) -> None:
    assert represented(Span(Fraction(0), Fraction(1)), number, digits, slack) == value


@pytest.mark.parametrize("digits", [None, 3])
def test_a_start_beyond_all_floats(digits: int | None) -> None:
    """Neither its ends nor its width are floats."""
    far, tiny = Fraction(10**400), Fraction(1, 10**400)
    assert represented(Span(-far, far), math.inf, digits, 1e-9) == far
    assert represented(Span(-far, far), 0.5, digits, 1e-9) == Fraction(1, 2)
    assert represented(Span(Fraction(0), tiny), 0.5, digits, 1e-9) == tiny
    assert represented(OneOf((Fraction(1), far)), math.inf, digits) == far


def test_rounding_does_not_leave_the_floats() -> None:
    """The largest float, rounded to digits of a width like its own, is none any more."""
    start = Span(Fraction(0), Fraction(sys.float_info.max) - 1)
    assert has(start, represented(start, math.nextafter(sys.float_info.max, 0), 0))


@given(initial_sets, st.tuples(*[st.floats(-10, 10) | st.fractions(-10, 10)] * 3))
def test_nearest_values_of_a_set(initial: InitialSet, wanted: tuple[float | Fraction, ...]) -> None:
    """Component by component; what is not given has its first value."""
    found = initial.nearest({X: wanted[:1], M: wanted[1:]})
    assert found[N] == initial.first[N]
    for var, numbers in ((X, wanted[:1]), (M, wanted[1:])):
        assert found[var] == tuple(
            start.nearest(v) if isinstance(v, Fraction) else represented(start, v)
            for start, v in zip(initial.starts[var], numbers, strict=True)
        )


# Systems --------------------------------------------------------------------------------------------------------------


def test_the_initial_set_of_a_system_is_state_then_memory() -> None:
    system = accumulator()
    assert list(system.initial.starts) == [*system.step.state, *system.step.memory]
    assert [start for _, _, start in system.initial.components()] == [Span(Fraction(0), Fraction(1))] * 2
    assert system.initial is system.initial


@pytest.mark.parametrize("seed", seeds(10))
def test_memories_are_packed_and_unpacked(seed: int) -> None:
    system = recurrent_loop(random.Random(seed), spans=True, smooth=False)
    numbers = itertools.count()
    values: dict[Expr, tuple[int, ...]] = {
        var: tuple(next(numbers) for _ in range(var.size)) for var in system.step.inputs
    }
    state, memory = system.pack(values)
    assert (list(state), list(memory)) == ([v.name for v in system.state], [a.name for a in system.agents])
    assert [len(memory[agent.name]) for agent in system.agents] == [len(agent.starts) for agent in system.agents]
    assert [*state.values(), *(number for part in memory.values() for number in part)] == list(range(next(numbers)))
    assert system.unpack(state, memory) == values


def test_an_agent_without_memory_has_nothing_to_pack() -> None:
    system = make({"x": 0}, {"x": 1})
    assert system.pack({X: (0,)}) == ({"x": 0}, {})
    assert system.unpack_memory({}) == {}


@pytest.mark.parametrize("seed", seeds(10))
def test_a_system_cut_to_a_box_starts_there(seed: int) -> None:
    """The parts a hull is halved into hold its starts, and no others."""
    system = recurrent_loop(random.Random(seed), spans=True, smooth=False)
    var, component, start = max(system.initial.components(), key=lambda at: at[2].ends[1] - at[2].ends[0])
    for half in system.initial.hull.halves(var, component):
        part, expected = system.cut(half), system.initial.cut(half)
        assert part is not None
        assert expected is not None
        assert part.initial == expected
        assert part.step is system.step
        assert start.contains(part.initial.starts[var][component].first)


def test_nothing_starts_in_a_box_between_the_values() -> None:
    assert make({"x": {0, 2}}, {}).cut(Box({X: ((Fraction(1, 2), Fraction(1)),)})) is None


@pytest.mark.parametrize(
    ("sort", "value", "has_it"),
    [
        (REAL, Fraction(1, 2), True),
        (INT, Fraction(1, 2), False),
        (INT, Fraction(-7), True),
        (BOOL, Fraction(1), True),
        (BOOL, Fraction(2), False),
        (enum("A", "B", "C"), Fraction(2), True),
        (enum("A", "B", "C"), Fraction(3), False),
        (enum("A", "B", "C"), Fraction(-1), False),
    ],
)
def test_a_start_holds_only_values_of_the_sort(sort: Sort, value: Fraction, has_it: bool) -> None:
    span, many = Span(Fraction(-9), Fraction(9)), OneOf(tuple(map(Fraction, range(-9, 10))))
    system = System("s", (Variable("v", sort),), Init({"v": span if sort.is_number else many}), {})
    assert system.initial.contains({build.var("v", sort): (value,)}) is has_it
