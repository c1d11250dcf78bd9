"""Cuts at the cases of branchings: right against exact enumeration, and an end where cutting inputs has none."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from tests.engines.split.test_split import EPSILON, ask, corners, over_a_box, random_box
from tests.polygons import CONTINUOUS, JUMPING, least, random_network
from tests.portion import some
from tests.searches import branch_and_bound, cut_neurons_only
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED
from vernal.interpret import concrete
from vernal.logic.formula import Atom
from vernal.logic.question import Question
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL
from vernal.model.system import System, Variable
from vernal.run.budget import Budget
from vernal.sets.core import improvement
from vernal.sets.core.cases import CaseFinder, by_pivots, winners_by_phases

X, Y = build.var("x"), build.var("y")
START = Init(dict.fromkeys("xy", Span(Fraction(-1), Fraction(1))))
SUM = X + Fraction(37, 100) * Y


@pytest.fixture(params=["sooner", "only"])
def cutting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases are cut from the first box on; or neurons and cases before all inputs."""
    monkeypatch.setattr(improvement, "BRANCHING", 0)
    monkeypatch.setattr(improvement, "SHARE_OF_CASE", 0.0)
    if request.param == "only":
        cut_neurons_only(monkeypatch)


@pytest.mark.usefixtures("cutting")
@pytest.mark.parametrize(
    ("activation", "widths"),
    [
        *((name, (6, 6)) for name in CONTINUOUS),
        *((name, (6,)) for name in JUMPING),
        ("if", (6, 4)),
        ("argmax", (6, 6)),
    ],
    ids=str,
)
def test_the_least_value(activation: str, widths: tuple[int, ...]) -> None:
    """A little below it the claim holds, a little above it is refuted."""
    draw = random.Random(f"{activation} {widths}")
    for _ in range(some(2, 1)):
        network, box = random_network(draw, widths, activation), random_box(draw)
        value, _ = least(network, corners(box))
        system, output = over_a_box(network, box)
        for claim, expected in (
            (build.compare("<=", value - EPSILON, output), HOLDS),
            (build.compare("<", value + EPSILON, output), VIOLATED),
        ):
            result = ask(system, claim)
            assert result.verdict in (expected, UNKNOWN), (network, box, claim)
            assert result.verdict is expected, (result.reason, network, box)


JUMP = build.if_(build.compare("<", Fraction(1, 10), SUM), 1 + SUM, Fraction(1, 2) - 2 * SUM)
MIRRORED = build.if_(build.compare("<", Fraction(1, 10), SUM), 10 * SUM - 1, 1 - 10 * SUM)
SIGNED = build.sign(SUM) * SUM
SCORES = (SUM, Y - X, Fraction(1, 2) * X)
WINNING = build.switch(build.argmax(build.concat(*SCORES)), [Fraction(0), Fraction(1), None], SCORES)


@pytest.mark.parametrize(
    ("node", "bound"),
    [
        (JUMP, Fraction(29, 100)),
        (MIRRORED, -EPSILON),
        (SIGNED, -EPSILON),
        (WINNING - build.maximum(*SCORES), -EPSILON),
    ],
    ids=["jump", "mirrored", "sign", "argmax"],
)
def test_a_branch_across_the_box_is_cut(node: Expr, bound: Fraction) -> None:
    """Along a slanted line the cases differ: no cut across an input separates them."""
    system = System("slanted", (Variable("x", REAL), Variable("y", REAL)), START, {})
    question = Question(system, Atom(build.compare("<=", bound, node)))
    search = branch_and_bound(question, Budget(60))
    assert search is not None
    assert search.run()
    assert not search.tally.traces
    assert search.tally.bounded[0] < 1500
    assert ask(system, build.compare("<=", bound, node)).verdict is HOLDS


def test_what_decides_a_branch() -> None:
    """Comparisons and argmax in a condition have pivots; equations, and what may be undefined, have none."""
    below, winner = build.compare("<", X, Y), build.argmax(build.concat(X, Y, SUM))
    fine = build.if_(build.conj(below, build.negate(build.eq(winner, 2))), X, Y)
    broken = build.if_(build.disj(build.compare("<", 1 / X, Y), build.eq(X, Y)), X, Y)
    cases = CaseFinder([fine, broken]).cases
    assert set(cases.comparisons) == {below}
    assert set(cases.winners) == {winner}
    assert set(cases.deciding[fine]) == {below, winner}
    assert cases.deciding[broken] == ()
    phases = np.array([[1, 0, 0], [0, 1, -1], [1, -1, 1]], np.int8)  # pairs 0-1, 0-2, 1-2
    mask = winners_by_phases(cases.winners[winner], 3, phases).mask[:, 0]
    assert mask.tolist() == [[True, False, True], [True, False, False], [False, False, False]]


def test_the_graph_written_by_pivots_is_the_same() -> None:
    draw = np.random.default_rng(0)
    points: dict[Expr, np.ndarray] = {X: draw.integers(-3, 4, 500) / 2.0, Y: draw.integers(-3, 4, 500) / 2.0}
    node = build.compare("<=", build.sign(X - Y) + build.maximum(X, Y, SUM, 1), build.minimum(X, 0, -Y) + 3)
    written = by_pivots(node)
    assert not any(isinstance(part, e.Sign) for part in CaseFinder([written]).graph)
    before, after = concrete.compile([node, written])(points, 500)
    assert (before == after).all()
    assert 0 < before.sum() < 500
