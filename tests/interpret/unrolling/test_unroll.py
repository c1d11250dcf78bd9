"""Unrolling and initial boxes: positions share what they can, and boxes cover the starts."""

from __future__ import annotations

from fractions import Fraction

from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.logic.direction import Direction
from vernal.logic.formula import Quantifier
from vernal.model import build as b
from vernal.model.expr import Role
from vernal.model.graph import draws, order, variables
from vernal.model.sorts import INT, REAL
from vernal.model.system import Init, OneOf, Span, System, Variable
from vernal.sets.initial_boxes import initial_boxes

x, n = b.var("x"), b.var("n", INT)
ONE = Fraction(1)


def span(low: int, high: int) -> tuple[Fraction, Fraction]:
    return Fraction(low), Fraction(high)


def walk() -> System:
    step = b.choose(-1, 1, name="step")
    return System(
        "walk",
        (Variable("x", REAL), Variable("n", INT)),
        Init({"x": Span(-ONE, ONE), "n": OneOf((0 * ONE, ONE, 2 * ONE))}),
        {"x": x + b.var("step", INT, role=Role.LET)},
        lets={"step": step},
    )


def test_every_step_takes_its_own_draw() -> None:
    unrolling = Unrolling(walk().step)
    after = unrolling.position(3)[x]
    assert len(draws([after])) == 3
    assert variables([after]) == [x]
    assert unrolling.position(0)[x] is x


def test_an_atom_shares_the_draw_of_its_step() -> None:
    unrolling = Unrolling(walk().step)
    let = b.var("step", INT, role=Role.LET)
    atom = unrolling.at(let > 0, 1)
    assert draws([atom])[0] in order([unrolling.position(2)[x]])
    assert draws([atom])[0] not in order([unrolling.position(1)[x]])


def test_boxes_cover_every_combination_of_discrete_starts() -> None:
    boxes = initial_boxes(walk())
    assert boxes.are_starts
    assert [box.ends[n][0] for box in boxes.boxes] == [span(0, 0), span(1, 1), span(2, 2)]
    assert all(box.ends[x] == (span(-1, 1),) for box in boxes.boxes)


def test_too_many_combinations_become_a_hull() -> None:
    boxes = initial_boxes(walk(), limit=2)
    assert not boxes.are_starts
    assert boxes.boxes[0].ends[n] == (span(0, 2),)


def test_halves_share_the_middle() -> None:
    (box, *_) = initial_boxes(walk()).boxes
    low, high = box.halves(x, 0)
    assert low.ends[x] == (span(-1, 0),)
    assert high.ends[x] == (span(0, 1),)


def test_what_a_direction_may_claim() -> None:
    """Of all paths only EXACT or OVER prove, of some path only EXACT or UNDER; refutations are the duals."""
    every, some = Quantifier.ALL, Quantifier.SOME
    assert [d for d in Direction if d.may_prove(every)] == [Direction.EXACT, Direction.OVER, Direction.TWO_SIDED]
    assert [d for d in Direction if d.may_prove(some)] == [Direction.EXACT, Direction.UNDER, Direction.TWO_SIDED]
    assert all(d.may_refute(every) == d.may_prove(some) and d.may_refute(some) == d.may_prove(every) for d in Direction)
