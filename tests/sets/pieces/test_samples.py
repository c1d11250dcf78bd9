"""Where a suspicion is looked at first, and atoms that are decided as a whole."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests import systems
from vernal.engines.check import asked_of
from vernal.engines.paths.engine import Paths
from vernal.evidence.result import HOLDS, VIOLATED
from vernal.logic.formula import Atom, Not
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Expr, Matrix
from vernal.model.network import Network, network_input
from vernal.model.system import Init, Span, System
from vernal.run.budget import Budget
from vernal.sets.pieces.batches import Pieces
from vernal.sets.pieces.decisions import Layout
from vernal.sets.pieces.samples import likely

X, Y = build.var("x"), build.var("y")


def square(count: int) -> Pieces:
    """Pieces that are the unit square, shifted to the right by 0, 1, 2, ..."""
    shift = np.stack([np.arange(count, dtype=float), np.zeros(count)], axis=1)
    zero = np.zeros((count, 2))
    return Pieces(zero, zero + 1, np.eye(2)[None], shift, zero, np.arange(count))


def test_points_are_where_the_conditions_are_as_assumed() -> None:
    conditions = ((build.compare("<", X, build.const(Fraction(1, 4))), 1), (build.compare("<", Y, X), 0))
    for row, points in likely(conditions, Layout((X, Y)), square(300), np.array([0, 299, 1])):
        x, y = points.T + np.array([[row], [0.0]])
        assert ((x < 0.25) & (y >= x)).all()
        assert bool(len(points)) == (row == 0)


def test_conditions_on_draws_are_not_looked_at() -> None:
    drawn = build.compare("<", X, build.between(0, 1, name="noise"))
    ((_, points),) = likely(((drawn, 0),), Layout((X, Y)), square(1), np.array([0]))
    assert len(points) > 16


def chooser(*rows: tuple[float, float, float]) -> System:
    """An agent that sees a point of the unit square, with the scores a x + b y + c."""
    seen = network_input(2)
    W, b = Matrix(np.array([row[:2] for row in rows])), Matrix(np.array([row[2] for row in rows]))
    agent = make_agent("agent", [Network("net", seen, build.affine(seen, W, b))], [X, Y])
    system = systems.make({"x": 0, "y": 0}, {})
    side = Span(Fraction(0), Fraction(1))
    return System("chooser", system.state, Init({"x": side, "y": side}), {}, (agent,))


def says(system: System, index: int) -> Expr:
    return build.eq(system.agents[0].var, index)


def test_what_an_agent_can_say_somewhere() -> None:
    """Scores x, 0.4, y - 0.5 and something that is never largest."""
    system = chooser((1, 0, 0), (0, 0, 0.4), (0, 1, -0.5), (0.5, 0, -0.1))
    for index, possible in enumerate((True, True, True, False)):
        result = asked_of(Paths(), Question(system, Not(Atom(says(system, index)))), Budget())
        assert result.verdict is (VIOLATED if possible else HOLDS), index


def test_other_starts_share_the_step() -> None:
    system = chooser((1, 0, 0), (0, 0, 0.5))
    corner = Init({"x": Span(Fraction(3, 4), Fraction(1)), "y": Span(Fraction(0), Fraction(1))})
    there = system.starting(corner)
    assert there.step is system.step
    assert there.init is corner
    assert asked_of(Paths(), Question(there, Not(Atom(says(there, 1)))), Budget()).verdict is HOLDS
