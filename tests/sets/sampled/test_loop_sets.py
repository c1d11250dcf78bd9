"""Sets of states of loops that sample contain what is simulated, and little more."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import exp

import numpy as np
import pytest

import vernal as vn
from tests.sampled_loops import LOOPS, Loop, decay, linear_network, simulated
from vernal.interpret.flow.integration import Pace, Segments
from vernal.interpret.flow.steps import TaylorStepper
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.interpret.sampled.plant import Plant, plant_of
from vernal.logic.elaboration import formula, system_scope
from vernal.logic.syntax import Source
from vernal.model.tick import idle
from vernal.model.timetable import instants
from vernal.sets.sampled.loop_space import LoopFollower, LoopSpace, LoopStates
from vernal.sets.search import Search, Stage

HORIZON = Fraction(6, 5)


def pace(length: float) -> Pace:
    return Pace(length, length / 64, 1e-9, length * 2.0**-18, 400)


def started(plant: Plant) -> tuple[LoopFollower, Floats, Floats]:
    starts = [plant.flow.initial.starts[var][0].ends for var in plant.flow.vars]
    lower, upper = (
        np.array([[end(pair[side]) for pair in starts]]) for side, end in ((0, float_below), (1, float_above))
    )
    loop = LoopFollower(plant, np.eye(len(starts)), lambda flow, rows: TaylorStepper(flow, rows, 8, 4))
    return loop, lower, upper


def followed(plant: Plant, horizon: Fraction, *, curved: bool = False) -> Segments:
    loop, lower, upper = started(plant)
    return loop.follow(lower, upper, horizon, pace, curved=curved)


@dataclass
class Failures:
    """Hears at which positions a claim may fail."""

    at: list[int] = field(default_factory=list)
    done = False

    def reached(self, stage: Stage, states: LoopStates) -> None: ...

    def kept(self, stage: Stage, states: LoopStates) -> None: ...

    def failed(self, stage: Stage, states: LoopStates) -> None:
        self.at.append(stage.t)

    def passed(self, t: int) -> None: ...


def failures(loop: Loop, claim: str, steps: int) -> list[int]:
    """Where a claim over samples may fail."""
    plant, heard = plant_of(loop.system), Failures()
    assert loop.system.grid is not None
    space = LoopSpace(*started(plant), loop.system.grid * steps, pace)
    path = formula(Source(claim, "claim"), system_scope(loop.system))
    Search(path, space, heard, total=False, tick=idle).levels(steps)
    return heard.at


def there(segments: Segments, time: float) -> tuple[Floats, Floats]:
    """The segments at a time."""
    rows = (segments.times[:, 0] <= time) & (time <= segments.times[:, 1])
    return segments.sets.lower[rows], segments.sets.upper[rows]


@pytest.mark.parametrize("curved", [False, True], ids=["zonotopes", "polynomials"])
@pytest.mark.parametrize("name", LOOPS)
def test_sets_contain_what_is_simulated(name: str, curved: bool) -> None:
    loop: Loop = LOOPS[name]()
    plant = plant_of(loop.system)
    segments = followed(plant, HORIZON, curved=curved)
    assert segments.until.min() == float_below(HORIZON)
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
    seen = list(islice(instants(LOOPS["late"]().system), 4))
    assert [one.time for one in seen] == [Fraction(0), Fraction(1, 25), Fraction(1, 10), Fraction(7, 50)]
    assert [one.acting for one in seen] == [("u",), (), ("u",), ()]
    assert [one.arriving for one in seen] == [(), ("u",), (), ("u",)]
    jumping = list(islice(instants(LOOPS["leaky"]().system), 7))
    assert [one.time for one in jumping if one.jumps] == [Fraction(1, 2)]
    both = list(islice(instants(LOOPS["pair"]().system), 7))
    assert [one.acting for one in both] == [("a", "b"), (), ("a",), ("b",), ("a",), (), ("a", "b")]


@pytest.mark.parametrize(
    ("claim", "at"),
    [
        ("G[0,6] x > 0", []),  # x at sample k is 0.7145^k times what it was
        ("F[0,4] x < 0.6", []),
        ("F[0,3] x < 0.6", [3]),
        ("G[0,6] x < 1.9", [0]),
        ("G[1,6] x < 1.9", []),
        ("(x < 1.5) | X X x < 1.1", []),
        ("G[0,6] u < 0", []),
    ],
)
def test_formulas_over_samples_are_asked_of_the_same_sets(claim: str, at: list[int]) -> None:
    assert sorted(set(failures(decay(), claim, 6))) == at


def test_what_was_promised_of_a_path_that_leaves_the_region_is_not_kept() -> None:
    runaway = vn.System(
        "runaway",
        state={"x": vn.real(-4, 4)},
        init={"x": vn.interval(1, 2)},
        agents={"u": vn.agent(linear_network("one", (1.0,)), observe=lambda s: [s.x], act="raw", every="1")},
        rates=lambda s: {"x": s.u},
    )
    loop = Loop(runaway, lambda s: {"x": s["u"]}, {})
    assert failures(loop, "F[0,3] x < 0", 3)
    assert not failures(loop, "G[0,3] x > 0", 3)


def test_a_box_that_is_spoilt_is_followed_no_further() -> None:
    loop, lower, upper = started(plant_of(decay().system))
    whole = loop.follow(lower, upper, HORIZON, pace)
    part = loop.follow(lower, upper, HORIZON, pace, spoils=lambda sets, times: np.asarray(times[:, 1] > 0.55))
    assert 0.5 < part.until[0] < 0.55
    assert part.times[:, 1].max() < 0.61  # up to the instant after it
    count = len(part.times)
    assert count < len(whole.times)
    assert (part.times == whole.times[:count]).all()
    assert (part.sets.lower == whole.sets.lower[:count]).all()
