"""Reachable sets of flows: known extremes, every simulated trajectory inside, and honest ends."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import count
from math import cos, exp, inf, sin

import numpy as np
import pytest

from tests.interpret.flow.models import flow_of, jet, state, steam
from tests.systems import wanderer
from tests.wild_flows import flow_case
from vernal.engines.check import parse_formula
from vernal.engines.reach import ask
from vernal.engines.reach.ask import reach
from vernal.engines.reach.pipe_walk import excess_of, simulated_extents
from vernal.engines.reach.sets import LabelSet, NumberBounds, ReachableSets
from vernal.errors import InputError
from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.task import MAX_ABSTRACTED, AbstractionSettings, Task
from vernal.model import build
from vernal.model.flow import Flow
from vernal.model.functions import sqrt
from vernal.model.initial import Init, Span
from vernal.run.budget import Budget
from vernal.simulate.trajectories import simulate_flow

X, Y = state("x", "y")
ENGINES = ("flowpipe", "abstraction")


def late_after(many: int, looks: Iterator[int]) -> float:
    """A clock that stands still for so many looks at it, and is late from then on."""
    return 0.0 if next(looks) < many else 2.0


def decay() -> Flow:
    return flow_of({X: -X}, [(1, 2)], [(0, 3)])


def rotation() -> Flow:
    return flow_of({X: Y, Y: -X}, [("0.9", "1.1"), ("-0.1", "0.1")], [(-2, 2), (-2, 2)])


def bounds(sets: ReachableSets, name: str) -> Floats:
    """Both ends over every span."""
    return np.array([[one.lower, one.upper] for one in sets.values(name) if isinstance(one, NumberBounds)])


def pipe_of(sets: ReachableSets) -> Flowpipe:
    assert sets.timed is not None
    assert sets.timed.pipe is not None
    return sets.timed.pipe


# Known extremes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_decay_has_known_extremes(engine: str) -> None:
    sets = reach(decay(), of=["x", "1 - 2*x"], time=2, spans=8, engine=engine)
    assert sets.is_complete
    assert sets.spans == [(k / 4, (k + 1) / 4) for k in range(8)]
    for (start, end), (low, high), (least, most) in zip(
        sets.spans, bounds(sets, "x"), bounds(sets, "1 - 2*x"), strict=True
    ):
        truth = exp(-end), 2 * exp(-start)
        assert truth[0] - 0.05 < low <= truth[0]
        assert truth[1] <= high < truth[1] + 0.05
        assert 1 - 2 * truth[1] - 0.1 < least <= 1 - 2 * truth[1]
        assert 1 - 2 * truth[0] <= most < 1 - 2 * truth[0] + 0.1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weights", [(1, 0), (1, 1), (1, -2)])
def test_linear_expressions_are_bounded_along_their_own_direction(engine: str, weights: tuple[int, int]) -> None:
    """Over a box that turns, the extremes of a x + b y are known; bounds of x and y alone would be looser."""
    a, b = weights
    sets = reach(rotation(), of=f"{a}*x + {b}*y", time=3, spans=60, engine=engine)
    for (start, end), (low, high) in zip(sets.spans, bounds(sets, f"{a}*x + {b}*y"), strict=True):
        extremes = []
        for time in np.linspace(start, end, 50):
            across, up = a * cos(time) - b * sin(time), a * sin(time) + b * cos(time)
            extremes.append([across - 0.1 * (abs(across) + abs(up)), across + 0.1 * (abs(across) + abs(up))])
        least, most = np.array(extremes)[:, 0].min(), np.array(extremes)[:, 1].max()
        assert low <= least + 1e-12
        assert high >= most - 1e-12
        assert high - low <= (most - least) * 1.15 + 0.02, (start, end)


def test_a_disturbance_may_go_either_way_all_the_time() -> None:
    flow = flow_of({X: build.between(-1, 1)}, [(0, 0)], [(-3, 3)])
    sets = reach(flow, time=2, spans=10)
    ends = np.array([end for _, end in sets.spans])
    low, high = bounds(sets, "x").T
    assert (low <= -ends).all()
    assert (high >= ends).all()
    assert (high <= ends + 0.05).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_until_when_trajectories_are_inside_is_told(engine: str) -> None:
    """x' = 1 from [0, 0.1]: the first leaves [0, 1] at time 0.9, the last one at time 1."""
    sets = reach(flow_of({X: build.const(1)}, [(0, "0.1")], [(0, 1)]), time=2, spans=4, engine=engine)
    assert sets.timed is not None
    assert 0.85 < sets.timed.inside_until <= 0.9
    assert sets.timed.left is not None
    assert 1.0 <= sets.timed.left < 1.1
    assert sets.is_complete
    assert sets.spans[-1][1] == sets.timed.left
    assert bounds(sets, "x").max() == 1.0


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
def test_all_solutions_are_inside_where_there_are_several(engine: str) -> None:
    """x' = y, y' = sqrt(x) from (0, 0) stays there, and follows t^4/144 as well."""
    flow = flow_of({X: Y, Y: sqrt(X)}, [(0, 0), (0, 0)], [(0, 1), (-1, 1)])
    sets = reach(flow, time=2, spans=8, engine=engine, timeout=60)
    for (_, end), (low, high) in zip(sets.spans, bounds(sets, "x"), strict=True):
        assert low <= 0
        assert high >= end**4 / 144


# Simulated trajectories -----------------------------------------------------------------------------------------------


def outside(sets: ReachableSets, runs: int = 1000, seed: int = 1) -> list[str]:
    """Expressions and spans at which a simulated trajectory is not in the sets; rounding of floats is forgiven."""
    assert sets.timed is not None
    made = simulate_flow(sets.task.flow, runs, sets.timed.until, np.random.default_rng(seed), corners=True)
    assert made.times is not None
    found = []
    values = made.values(sets.expressions)
    for t, (start, end) in enumerate(sets.spans):
        here = (made.times >= start) & (made.times <= end)
        columns = [value[:, here][np.isfinite(value[:, here])] for value in values]
        for name, one, seen in zip(sets.of, sets.steps[t].values, columns, strict=True):
            if isinstance(one, LabelSet):
                good = np.isin(seen, [("false", "true").index(label) for label in one.labels])
            else:
                good = (seen >= one.lower - 1e-6) & (seen <= one.upper + 1e-6)
            found += [] if good.all() else [f"{name} from {start} to {end}"]
        corners = sets.steps[t].polygon
        if corners is not None and not _all_in(np.array(corners), *columns):
            found.append(f"the polygon from {start} to {end}")
    if sets.timed.left is not None:
        last = np.array([made.times[length - 1] for length in made.lengths])
        found += ["after the last has left"] if (last > sets.timed.left + 1e-6).any() else []
    ended = made.lengths[made.lengths < len(made.times)]  # outside from that position on
    if (made.times[ended] <= sets.timed.inside_until).any():
        found.append("until when all are inside")
    return found


def _all_in(corners: Floats, xs: Floats, ys: Floats) -> bool:
    """Whether points are in a convex polygon whose corners go counterclockwise."""
    turns = []
    for (x, y), (u, v) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        length = np.hypot(u - x, v - y)
        turns.append(((u - x) * (ys - y) - (v - y) * (xs - x)) / max(length, 1e-300))
    return bool((np.array(turns) >= -1e-6).all())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("of", [["x - y", "x*y"], ["x^2", "x > y", "2*x + y"]], ids=str)
def test_a_thousand_trajectories_of_the_jet_are_inside(engine: str, of: Sequence[str]) -> None:
    sets = reach(jet(), of=of, time=1.5, engine=engine, timeout=60)
    assert sets.is_complete
    assert len(sets.steps) == 20
    assert outside(sets) == []


def test_a_thousand_trajectories_of_the_steam_governor_are_inside() -> None:
    """They leave the region, one after the other."""
    sets = reach(steam(), time=2, spans=30)
    assert outside(sets) == []
    assert sets.timed is not None
    assert sets.timed.left is not None
    assert 0.9 < sets.timed.inside_until < 0.99


@pytest.mark.parametrize("seed", range(5))
def test_trajectories_of_random_flows_are_inside(seed: int) -> None:
    flow = flow_case(seed).flow
    names = [variable.name for variable in flow.state]
    of = [*names[:1], " - ".join(names), f"{names[-1]}^2"][: 2 + seed % 2]
    sets = reach(flow, of=of, time=Fraction(1, 4), spans=7, engine="flowpipe", sets=1 + seed % 8)
    assert outside(sets, 300, seed) == []


def test_cutting_the_initial_set_makes_bounds_tighter() -> None:
    flow = flow_of({X: Y * Y, Y: X - Y}, [(0, "0.5"), ("-0.5", "0.5")], [(-2, 2), (-2, 2)])
    whole, parts = (reach(flow, time=1, sets=count, engine="flowpipe") for count in (1, 64))
    runs = simulated_extents(flow, 1.0)
    assert excess_of(pipe_of(parts), runs, 1.0) < excess_of(pipe_of(whole), runs, 1.0)
    assert outside(parts) == outside(whole) == []


# What is said, and what is refused ------------------------------------------------------------------------------------


def test_every_variable_as_far_as_the_properties_look() -> None:
    task = Task(decay(), {"claim": parse_formula(Task(decay()), "G[0, 0.5] x <= 3")})
    sets = reach(task, spans=2)
    assert sets.of == ("x",)
    assert sets.spans == [(0.0, 0.25), (0.25, 0.5)]
    assert reach(decay(), spans=1).spans == [(0.0, 1.0)]


def test_truth_values_are_sets_of_labels() -> None:
    values = reach(decay(), of="x > 0.5", time=1.5, spans=4).values("x > 0.5")
    assert values[0] == LabelSet(("true",))
    assert values[-1] == LabelSet(("false", "true"))


def test_the_direct_road_comes_first_and_the_abstraction_where_it_is_asked() -> None:
    task = Task(decay(), settings=AbstractionSettings(widths=(4,)))
    first = reach(task, time=1)
    assert first.timed is not None
    assert first.timed.engine == "flowpipe"
    sets = reach(task, time=1, engine="abstraction")
    assert sets.timed is not None
    assert sets.timed.engine == "abstraction"
    assert sets.timed.abstraction is not None
    assert sets.timed.abstraction.automaton is not None


def test_no_initial_state_is_said() -> None:
    flow = decay().starting(Init({"x": Span(Fraction(1), Fraction(2))}, (build.compare(">=", X, 3),)))
    sets = reach(flow, time=1)
    assert (sets.steps, sets.ended, sets.reason) == ((), 0, None)


def test_the_time_limit_leaves_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = partial(late_after, 400, count())  # of some 600 looks in all
    monkeypatch.setattr(ask, "Budget", partial(Budget, started=0.0, clock=clock))
    sets = reach(flow_of({X: Y, Y: sqrt(X)}, [(0, "0.5"), (0, "0.5")], [(0, 9), (-9, 9)]), time=40, timeout=1)
    assert not sets.is_complete
    assert sets.reason == "timeout after 1 s"
    assert sets.timed is not None
    assert sets.timed.until < 40


def test_sets_travel_with_their_flowpipe() -> None:
    sets = reach(decay(), time=1, spans=3)
    back = pickle.loads(pickle.dumps(sets))
    assert back == sets
    assert back.timed is not None
    assert back.timed.until == 1.0
    assert repr(back) == "<ReachableSets of x: until time 1>"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"steps": 3}, "there is no steps; say how far with time"),
        ({"time": 0}, "time has to be a number above 0"),
        ({"time": inf}, "time has to be a number above 0"),
        ({"spans": 0}, "spans has to be from 1 to 10,000, not 0"),
        ({"engine": "falsify"}, "no engine 'falsify' bounds flows; there are auto, flowpipe, abstraction"),
        ({"of": "z"}, "'z'"),
        ({"device": "tpu"}, "device"),
    ],
)
def test_senseless_questions_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        reach(decay(), **options)  # type: ignore[arg-type]


def test_systems_have_no_time() -> None:
    with pytest.raises(InputError, match="moves in steps, for which there is no time; say how far with steps"):
        reach(wanderer(), time=1.0)


def test_a_flow_of_many_variables_is_followed_itself() -> None:
    count = MAX_ABSTRACTED + 1
    many = state(*(f"x{k}" for k in range(count)))
    flow = flow_of({var: -var for var in many}, [("0.4", "0.5")] * count, [(-1, 1)] * count)
    sets = reach(flow, of="x0 + x7", time=1, spans=2)
    assert sets.timed is not None
    assert sets.timed.engine == "flowpipe"
    with pytest.raises(InputError, match=f"takes at most {MAX_ABSTRACTED} variables"):
        reach(flow, time=1, engine="abstraction")
