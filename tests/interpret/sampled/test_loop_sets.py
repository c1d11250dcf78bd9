"""Sets of states of loops that sample contain what is simulated, and little more."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from tests.sampled_loops import LOOPS, Loop, decay, simulated
from vernal.interpret.flow.integration import Pace, Segments
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.interpret.sampled.loop_sets import LoopFollower
from vernal.interpret.sampled.plant import Plant, plant_of
from vernal.model.timetable import first_instants

HORIZON = Fraction(6, 5)


def followed(plant: Plant, horizon: Fraction) -> Segments:
    starts = [plant.flow.initial.starts[var][0].ends for var in plant.flow.vars]
    lower, upper = (
        np.array([[end(pair[side]) for pair in starts]]) for side, end in ((0, float_below), (1, float_above))
    )
    loop = LoopFollower(plant, np.eye(len(starts)), lambda flow, rows: TaylorStepper(flow, rows, 8, 4))
    return loop.follow(lower, upper, horizon, lambda length: Pace(length, length / 64, 1e-9, length * 2.0**-18, 400))


def there(segments: Segments, time: float) -> tuple[Floats, Floats]:
    """The segments at a time."""
    rows = (segments.times[:, 0] <= time) & (time <= segments.times[:, 1])
    return segments.lower[rows], segments.upper[rows]


@pytest.mark.parametrize("name", LOOPS)
def test_sets_contain_what_is_simulated(name: str) -> None:
    loop: Loop = LOOPS[name]()
    plant = plant_of(loop.system)
    segments = followed(plant, HORIZON)
    assert segments.until.min() == np.inf
    names = [var.name for var in plant.flow.vars if not var.name.endswith("'")]
    for first in loop.corners:
        for time, state in simulated(loop, first, HORIZON, Fraction(1, 100)):
            lower, upper = there(segments, time)
            point = np.array([state[one] for one in names])
            inside = (lower[:, : len(names)] <= point + 1e-9) & (point - 1e-9 <= upper[:, : len(names)])
            assert inside.all(axis=1).any(), (time, state)


def test_a_linear_loop_is_followed_tightly() -> None:
    segments = followed(plant_of(decay().system), HORIZON)
    factor = 3 * exp(-0.1) - 2
    for k in range(13):
        lower, upper = there(segments, k / 10)
        least, most = sorted((factor**k, 2 * factor**k))
        assert lower[:, 0].max() <= least + 1e-12
        assert upper[:, 0].min() == pytest.approx(most, abs=1e-6)


def test_what_happens_when() -> None:
    seen = first_instants(LOOPS["late"]().system, 4)
    assert [one.time for one in seen] == [Fraction(0), Fraction(1, 25), Fraction(1, 10), Fraction(7, 50)]
    assert [one.acting for one in seen] == [("u",), (), ("u",), ()]
    assert [one.arriving for one in seen] == [(), ("u",), (), ("u",)]
    jumping = first_instants(LOOPS["leaky"]().system, 7)
    assert [one.time for one in jumping if one.jumps] == [Fraction(1, 2)]
    both = first_instants(LOOPS["pair"]().system, 7)
    assert [one.acting for one in both] == [("a", "b"), (), ("a",), ("b",), ("a",), (), ("a", "b")]
