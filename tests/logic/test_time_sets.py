"""Sets of times and formulas over them: against brute force on a grid that is finer than all ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vernal.errors import UnsupportedFormula
from vernal.logic.elaboration import formula as formula_of
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Next, Not, Or, Release, Until
from vernal.logic.normal import fold, nnf
from vernal.logic.scope import Scope
from vernal.logic.time_sets import ALWAYS, NEVER, TimeSet, closed_span, union
from vernal.logic.timed_truth import Lifetimes, TimedTruth, is_closed, timed_truth
from vernal.logic.times import last_time
from vernal.model import build
from vernal.model.sorts import INT

LAST = 8  # of whole times: all ends are whole, so that halves stand for all times between them
GRID = [Fraction(k, 2) for k in range(2 * 3 * LAST)]
P, Q = (Atom(build.floor(build.var(name)) < 0) for name in ("p", "q"))  # whose times need not have a first one
CLOSED = Atom(build.var("c") <= 0)


@st.composite
def time_sets(draw: st.DrawFn) -> TimeSet:
    """A union of spans with whole ends, some of which belong to them."""
    made = NEVER
    for _ in range(draw(st.integers(0, 3))):
        low, high = sorted(draw(st.lists(st.integers(0, LAST), min_size=2, max_size=2)))
        first, last = (Fraction(low), draw(st.integers(0, 1))), (Fraction(high), draw(st.integers(0, 1)))
        made |= TimeSet(((first, last),)) if first < last else NEVER
    return made


BOUNDS = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda ends: Bound(*map(Fraction, sorted(ends))))


@given(time_sets(), time_sets())
@settings(max_examples=60)
def test_sets_are_sets(one: TimeSet, other: TimeSet) -> None:
    for time in GRID:
        assert (time in one | other) == (time in one or time in other)
        assert (time in one & other) == (time in one and time in other)
        assert (time in ~one) == (time not in one)
    assert ~~one == one
    assert union([one, other]) == one | other
    assert (one | ~one, one & ~one) == (ALWAYS, NEVER)


@given(time_sets(), time_sets(), BOUNDS)
@settings(max_examples=60)
def test_operators_look_forward(one: TimeSet, other: TimeSet, bound: Bound) -> None:
    assert bound.upper is not None
    fine = [Fraction(k, 4) for k in range(4 * 3 * LAST)]  # between two halves there is one
    found, until = one.before(bound.lower, bound.upper), one.until(other, bound.lower, bound.upper)
    for time in GRID[: 2 * LAST]:
        window = [later for later in fine if time + bound.lower <= later <= time + bound.upper]
        assert (time in found) == any(later in one for later in window), time
        ends = [end for end in window if end in other and all(t in one for t in fine if time <= t < end)]
        assert (time in until) == bool(ends), time


@st.composite
def formulas(draw: st.DrawFn, depth: int = 3) -> Formula:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from([P, Q, Not(P)]))
    args = draw(formulas(depth - 1)), draw(formulas(depth - 1))
    bound = draw(BOUNDS)
    return draw(
        st.sampled_from(
            [
                Not(args[0]),
                And(args),
                Or(args),
                Always(args[0], bound),
                Eventually(args[0], bound),
                Until(*args, bound),
                Release(*args, bound),
            ]
        )
    )


def truth(formula: Formula, known: Callable[[Formula, Fraction], bool], time: Fraction, end: int) -> bool:
    """On one trajectory that is followed until `end`, by brute force; times are quarters."""
    values: dict[tuple[int, Fraction], bool] = {}

    def rule(node: Formula, args: tuple[Callable[[Fraction], bool], ...]) -> Callable[[Fraction], bool]:
        def at(now: Fraction) -> bool:
            key = id(node), now
            if key not in values:
                values[key] = _at(node, args, now)
            return values[key]

        return at

    def _at(node: Formula, args: tuple[Callable[[Fraction], bool], ...], now: Fraction) -> bool:
        def window(bound: Bound) -> list[Fraction]:
            assert bound.upper is not None
            count = int((bound.upper - bound.lower) * 4)
            times = [now + bound.lower + Fraction(k, 4) for k in range(count + 1)]
            return [later for later in times if later <= end]

        match node:
            case Not():
                return not args[0](now)
            case And():
                return all(arg(now) for arg in args)
            case Or():
                return any(arg(now) for arg in args)
            case Always(bound=bound):
                return all(args[0](later) for later in window(bound))
            case Eventually(bound=bound):
                return any(args[0](later) for later in window(bound))
            case Until(bound=bound):
                return any(
                    args[1](later) and all(args[0](now + Fraction(k, 4)) for k in range(int((later - now) * 4)))
                    for later in window(bound)
                )
            case Release(bound=bound):
                return all(
                    args[1](later) or any(args[0](now + Fraction(k, 4)) for k in range(int((later - now) * 4)))
                    for later in window(bound)
                )
        return known(node, now)

    return fold(formula, rule)(time)


@given(formulas(), st.lists(time_sets(), min_size=4, max_size=4), st.integers(0, LAST), st.integers(0, LAST))
@settings(max_examples=120, deadline=None)
def test_what_is_true_or_false_of_all_is_so_of_each(formula: Formula, drawn: list[TimeSet], one: int, two: int) -> None:
    """Two trajectories with their own ends; what is known of conditions is what they have in common."""
    first: dict[Formula, TimeSet] = dict(zip((P, Q), drawn[:2], strict=True))
    second: dict[Formula, TimeSet] = dict(zip((P, Q), drawn[2:], strict=True))
    ends = sorted((one, two))
    alive = [closed_span(Fraction(0), Fraction(end)) for end in (one, two)]

    def known(condition: Formula) -> TimedTruth:
        both = [(sets, lives) for sets, lives in ((first, alive[0]), (second, alive[1]))]
        true = [fold(condition, partial(_times, sets)) for sets, _ in both]
        every = ~union(~where & lives for where, (_, lives) in zip(true, both, strict=True))
        none = ~union(where & lives for where, (_, lives) in zip(true, both, strict=True))
        return TimedTruth(every, none)

    lives = Lifetimes(closed_span(Fraction(0), Fraction(ends[0])), ~closed_span(Fraction(0), Fraction(ends[1])))
    found = timed_truth(nnf(formula, total=True), known, lives).at(Fraction(0))
    if found is not None:
        for sets, end in ((first, one), (second, two)):
            assert truth(formula, partial(_told, sets), Fraction(0), end) is found


@given(st.lists(time_sets(), min_size=4, max_size=4), BOUNDS, st.integers(0, LAST), st.integers(0, LAST))
@settings(max_examples=120, deadline=None)
def test_until_something_that_has_a_first_time(drawn: list[TimeSet], bound: Bound, one: int, two: int) -> None:
    """Where p or q is true all along, q comes first at some time, until which p is."""
    closed = [union(closed_span(low[0], high and high[0]) for low, high in sets.spans if low) for sets in drawn[2:]]
    formula = Until(P, CLOSED, Bound(Fraction(0), bound.upper))
    tables: list[dict[Formula, TimeSet]] = [{P: drawn[k], CLOSED: closed[k]} for k in range(2)]
    alive = [closed_span(Fraction(0), Fraction(end)) for end in (one, two)]

    def known(condition: Formula) -> TimedTruth:
        true = [fold(condition, partial(_times, table)) for table in tables]
        every = ~union(~where & lives for where, lives in zip(true, alive, strict=True))
        return TimedTruth(every, ~union(where & lives for where, lives in zip(true, alive, strict=True)))

    lives = Lifetimes(alive[0] & alive[1], ~(alive[0] | alive[1]))
    found = timed_truth(formula, known, lives).at(Fraction(0))
    if found is not None:
        for table, end in zip(tables, (one, two), strict=True):
            assert truth(formula, partial(_told, table), Fraction(0), end) is found


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("x <= 1", True),
        ("x >= 1 & sin(x) == 0", True),
        ("!(x < 1) | n > 2", True),
        ("x < 1", False),
        ("x != 1", False),
        ("floor(x) <= 1", False),
        ("x <= 1 & x > 0", False),
    ],
)
def test_which_conditions_have_a_first_time(text: str, closed: bool) -> None:
    scope = Scope({"x": build.var("x"), "n": build.var("n", INT)})
    assert is_closed(nnf(formula_of(text, scope))) is closed


def _told(sets: Mapping[Formula, TimeSet], node: Formula, now: Fraction) -> bool:
    return now in sets[node]


def _times(sets: Mapping[Formula, TimeSet], node: Formula, args: tuple[TimeSet, ...]) -> TimeSet:
    match node:
        case Not():
            return ~args[0]
        case And():
            return ~union(~arg for arg in args)
        case Or():
            return union(args)
    return sets[node]


def test_of_one_trajectory_everything_is_known() -> None:
    p, q = closed_span(Fraction(0), Fraction(2)), closed_span(Fraction(2), None)
    known = {P: TimedTruth(p, ~p), Q: TimedTruth(q, ~q)}
    lives = Lifetimes(closed_span(Fraction(0), Fraction(9)), ~closed_span(Fraction(0), Fraction(9)))
    asked = {
        Until(P, Q, Bound(Fraction(0), Fraction(3))): True,
        Until(P, Q, Bound(Fraction(0), Fraction(1))): False,  # q only from 2 on
        Until(P, Not(P), Bound(Fraction(0), Fraction(3))): False,  # which begins where p is not true any more
        Always(Or((Not(P), Eventually(Q, Bound(Fraction(0), Fraction(3))))), Bound(Fraction(0), Fraction(4))): True,
        Always(Or((Not(P), Eventually(Q, Bound(Fraction(0), Fraction(1))))), Bound(Fraction(0), Fraction(4))): False,
        Eventually(Always(Q, Bound(Fraction(0), Fraction(3))), Bound(Fraction(0), Fraction(4))): True,
        Eventually(Q, Bound(Fraction(10), Fraction(11))): False,  # nobody gets there
        Always(P, Bound(Fraction(10), Fraction(11))): True,
    }
    for formula, value in asked.items():
        found = timed_truth(nnf(formula, total=True), partial(_of, known), lives)
        assert found.at(Fraction(0)) is value, formula


def _of(known: dict[Atom, TimedTruth], condition: Formula) -> TimedTruth:
    """A literal, or a disjunction of literals."""
    match condition:
        case Not():
            return _of(known, condition.arg).negated()
        case Or(args):
            parts = [_of(known, arg) for arg in args]
            return TimedTruth(union(part.true for part in parts), ~union(~part.false for part in parts))
    assert isinstance(condition, Atom)
    return known[condition]


def test_windows_add_up() -> None:
    inner = Eventually(P, Bound(Fraction(0), Fraction(1, 2)))
    assert last_time([Always(inner, Bound(Fraction(0), Fraction(10)))]) == Fraction(21, 2)
    assert last_time([Until(inner, P, Bound(Fraction(0), Fraction(2))), P]) == Fraction(5, 2)


def test_steps_have_no_place_in_seconds() -> None:
    with pytest.raises(UnsupportedFormula):
        timed_truth(Next(P), lambda condition: TimedTruth(), Lifetimes(ALWAYS))
