"""Points that move stay in their box and come nearer; what a stopped search says is true."""

from __future__ import annotations

import random
import re
from fractions import Fraction

import numpy as np
import pytest

from tests.engines.split.test_split import corners, over_a_box, random_box
from tests.polygons import least, random_network
from tests.searches import branch_and_bound
from vernal.engines.check import asked_of
from vernal.engines.composition import split
from vernal.engines.split.engine import so_far
from vernal.engines.weaker_claims import in_words, rounded
from vernal.evidence.result import VIOLATED
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import And, Atom, Bound, Eventually, Formula
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Init
from vernal.run.budget import Budget
from vernal.sets.core.clauses import Clauses
from vernal.sets.core.descent import Descent, pressing
from vernal.sets.core.requirement import requirement

X, Y = build.var("x"), build.var("y")


@pytest.mark.parametrize("seed", range(5))
def test_points_come_near_the_least_value(seed: int) -> None:
    """From random points to within a hundredth of what lies between them and the least value, and never outside."""
    draw = random.Random(seed)
    network, box = random_network(draw, (8, 8), "relu"), random_box(draw)
    value, _ = least(network, corners(box))
    system, output = over_a_box(network, box)
    search = branch_and_bound(Question(system, Atom(build.compare("<=", value - 1, output))), Budget())
    assert search is not None
    descent = Descent(search.clauses, search.numbers, search.frame, Budget().check)
    rng = np.random.default_rng(seed)
    lower, upper = descent.whole.lower[0], descent.whole.upper[0]
    points = rng.uniform(lower, upper, (64, 2))
    moved, origin = descent.moved(points, np.zeros(64, np.intp))
    assert ((lower <= moved) & (moved <= upper)).all()
    before, after = (descent._value(some, origin[:64]).min() for some in (points, moved))
    assert 1 - 1e-9 <= after <= 1 + 0.01 * (before - 1) + 1e-9


def test_rows_that_are_followed() -> None:
    """Of a conjunction those above zero, of a disjunction the nearest."""
    either = build.disj(build.compare("<=", X, 0), build.compare("<=", Y, 0))
    clauses = Clauses(requirement(build.conj(either, build.compare("<=", X + Y, 1))))
    points: dict[Expr, Floats] = {X: np.array([1.0, 3.0, -1.0]), Y: np.array([2.0, 1.0, -1.0])}
    followed = pressing(clauses, clauses.values(clauses.at(points, 3)))
    rows = {frozenset(node for node, _ in leaf.terms): number for number, leaf in enumerate(clauses.differences)}
    first, second, total = rows[frozenset({X})], rows[frozenset({Y})], rows[frozenset({X, Y})]
    assert followed[0].nonzero()[0].tolist() == sorted([first, total])
    assert followed[1].nonzero()[0].tolist() == sorted([second, total])
    assert not followed[2, total]


def stopped_after(question: Question, batches: int) -> tuple[str, ...]:
    search = branch_and_bound(question, Budget())
    assert search is not None
    search.size = 4
    for _ in range(batches):
        if search.stack:
            search.step()
    said = in_words(question, so_far(search) or 0.0) if search.stack else None
    return () if said is None else (said,)


@pytest.mark.parametrize("seed", range(4))
def test_a_comparison_is_proven_as_far_as_it_is(seed: int) -> None:
    """The number in `d >= 9.189 is proven, d >= 10 was asked` is not above the least value."""
    draw = random.Random(seed)
    network, box = random_network(draw, (12, 12), "relu"), random_box(draw)
    value, _ = least(network, corners(box))
    system, output = over_a_box(network, box)
    said = []
    for batches in range(1, 6):
        for claim, sign in ((build.compare("<=", value, output), 1), (build.compare("<", -output, -value), -1)):
            for note in stopped_after(Question(system, Atom(claim)), batches):
                found = re.search(r"([<>]=) (\S+) is proven, .* was asked", note)
                assert found is not None, note
                assert found[1] == (">=" if sign > 0 else "<=")
                assert sign * Fraction(found[2]) <= value
                said.append(note)
    assert said


def test_other_claims_have_a_margin() -> None:
    draw = random.Random(1)
    network, box = random_network(draw, (12, 12), "relu"), random_box(draw)
    value, _ = least(network, corners(box))
    system, output = over_a_box(network, box)
    below: Formula = Atom(build.compare("<=", value, output))
    at_once = Bound(Fraction(0), Fraction(0))
    for claim in (And((below, Atom(build.compare("<=", value - 1, output)))), Eventually(below, at_once)):
        (note,) = stopped_after(Question(system, claim), 2)
        found = re.fullmatch(r"the margin is at least (\S+)", note)
        assert found is not None
        assert Fraction(found[1]) <= 0


def test_nothing_is_said_of_a_part_of_the_box() -> None:
    """Rows on the inputs are rows of the search: its bound may be theirs."""
    draw = random.Random(1)
    network, box = random_network(draw, (12, 12), "relu"), random_box(draw)
    value, _ = least(network, corners(box))
    whole, output = over_a_box(network, box)
    x, y = (variable.var for variable in whole.state)
    middle = sum((low + high for low, high in box), Fraction(0)) / 2
    system = whole.starting(Init(whole.init.starts, (build.compare("<=", x + y, middle),)))
    assert stopped_after(Question(system, Atom(build.compare("<=", value, output))), 1) == ()


@pytest.mark.parametrize("value", ["1/3", "-1/3", "123456789", "-123456789", "0", "1/1000000007"])
def test_numbers_are_rounded_to_one_side(value: str) -> None:
    number = Fraction(value)
    assert rounded(number, up=False) <= number <= rounded(number, up=True)
    assert abs(rounded(number, up=True) - number) <= abs(number) / 10**5


def test_states_are_bred_in_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search does not find a state, simulations may."""
    monkeypatch.setattr("vernal.sets.core.witness.Replays.found", lambda *_: {})
    monkeypatch.setattr("vernal.engines.split.engine.PAUSES", (0.3,))
    draw = random.Random(2)
    network, box = random_network(draw, (8, 8), "relu"), random_box(draw)
    value, _ = least(network, corners(box))
    system, output = over_a_box(network, box)
    question = Question(system, Atom(build.compare("<", value + 1, output)))
    result = asked_of(split(), question, Budget(20))
    assert (result.verdict, result.engine) == (VIOLATED, "split")
    assert "runs" in result.statistics
