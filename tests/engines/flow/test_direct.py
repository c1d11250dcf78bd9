"""The engine that follows the flow itself: proofs of the known models, splits, constraints, and honest ends."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.interpret.flow.models import exponential, flow_of, jet, state, steam
from tests.work import budget_of_looks, processor
from vernal.engines.flow.direct import DirectFlowpipe
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.knowledge import Counterexample, Known, Open, Proof
from vernal.evidence.pipe_judge import judge
from vernal.evidence.result import Assurance
from vernal.evidence.trajectory import trajectory_truth
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.direction import Direction
from vernal.logic.elaboration import formula
from vernal.logic.formula import Always, Atom, Bound
from vernal.logic.question import Question
from vernal.logic.scope import Scope
from vernal.model import build
from vernal.model.flow import Flow
from vernal.model.functions import sin, sqrt
from vernal.sets.flow_starts import cut, start_boxes
from vernal.simulate.trajectories import simulate_flow

X, Y = state("x", "y")


def asked(flow: Flow, text: str) -> Question:
    scope = Scope({variable.name: variable.var for variable in flow.state})
    return Question(flow, formula(text, scope, discrete=False))


def attempt(flow: Flow, text: str, timeout: float = 60.0) -> Known:
    return DirectFlowpipe().attempt(asked(flow, text), processor(timeout))


def cut_short(flow: Flow, text: str, looks: int) -> Known:
    return DirectFlowpipe().attempt(asked(flow, text), budget_of_looks(looks)[0])


def pipe_of(known: Known) -> Flowpipe:
    assert isinstance(known, Proof), known
    assert (known.direction, known.assurance) == (Direction.OVER, Assurance.RIGOROUS)
    assert isinstance(known.evidence, Flowpipe)
    return known.evidence


def water_tank() -> Flow:
    return flow_of({X: Fraction(3, 2) - sqrt(X)}, [(0, "0.01")], [(0, 2)])


def root() -> Flow:
    return flow_of({X: build.power(X**2, Fraction(1, 3)) * 2}, [(0, 0)], [(-1, 1)])


@pytest.mark.parametrize(
    ("flow", "bad", "horizon"),
    [
        (jet(), "x >= 0.3 & x <= 0.35 & y >= 0.5 & y <= 0.6", "1.5"),
        (steam(), "x >= 0.5 & x <= 0.6 & y >= -0.4 & y <= -0.3 & z >= 0.7 & z <= 0.8", "2"),
        (exponential(), "x >= 0.3 & x <= 0.4 & y >= 0.5 & y <= 0.6", "1"),
        (water_tank(), "x >= 2", "2"),
    ],
    ids=["jet", "steam", "exponential", "water tank"],
)
def test_known_models_are_proven(flow: Flow, bad: str, horizon: str) -> None:
    text = f"G[0, {horizon}] !({bad})"
    pipe = pipe_of(attempt(flow, text))
    assert judge(asked(flow, text), pipe) is True
    assert pipe.until >= float(horizon)
    assert np.array_equal(pipe.directions[: len(flow.state)], np.eye(len(flow.state)))
    assert (pipe.lower <= pipe.upper).all()


def test_until_when_all_are_inside_is_told() -> None:
    """The first trajectories of the steam governor leave at about 0.98."""
    pipe = pipe_of(attempt(steam(), "G[0,2] z <= 1"))
    assert 0.8 < pipe.inside_until < 0.99
    inside = pipe_of(attempt(jet(), "G[0,1] x <= 1"))
    assert inside.inside_until >= 1.0


@pytest.mark.parametrize(
    ("flow", "text"),
    [
        (jet(), "G[0,1.5] x <= 0.45"),  # false at once
        (jet(), "G[0,1.5] x >= -0.1"),  # false of some, later: -0.103
        (steam(), "G[0,2] z <= 0.75"),
        (exponential(), "G[0,1] y >= 0.6"),
        (water_tank(), "G[0,2] x <= 1"),
        (jet(), "F[0,1.5] (x >= 0.3 & x <= 0.35 & y >= 0.5 & y <= 0.6)"),
        (root(), "G[0,2] x <= 0.1"),  # true of the solution that stays, not of (2t/3)^3
    ],
)
def test_what_is_false_is_never_proven(flow: Flow, text: str) -> None:
    known = attempt(flow, text, timeout=0.5)
    assert isinstance(known, Open | Counterexample)
    if isinstance(known, Counterexample):  # what all trajectories of a part break
        assert trajectory_truth(known.trace, asked(flow, text).formula, flow) is False


def test_cuts_decide_what_one_box_does_not() -> None:
    """The right bound is nearly met, so that the whole box leaves it open."""
    known = attempt(exponential(), "G[0,1] y <= 0.912")
    pipe_of(known)
    assert known.statistics["rounds"] in range(1, 10)
    eventually = attempt(jet(), "F[0,1.5] x <= 0.1")
    pipe_of(eventually)


def test_segments_know_the_box_they_come_from() -> None:
    """The segments of each box follow one another without a gap, from a box of its own to the horizon."""
    pipe = pipe_of(attempt(jet(), "G[0,1] x <= 0.501"))
    assert len(pipe.starts) > 1
    first = pipe.times[:, 1] == 0
    assert sorted(pipe.sets.trail[first]) == list(range(len(pipe.starts)))
    for box in range(len(pipe.starts)):
        times = pipe.times[pipe.sets.trail == box]
        assert (times[1:, 0] == times[:-1, 1]).all()
        assert times[-1, 1] >= 1


def test_steps_follow_the_field_and_not_the_horizon() -> None:
    """A circle, 48 times: a step is a share of a turn, however long the time; one box is enough."""
    circle = flow_of({X: Y, Y: -X}, [("0.9", 1), (0, "0.1")], [(-2, 2), (-2, 2)])
    known = attempt(circle, "G[0,300] (x <= 1.01 & x >= -1.01)")
    pipe = pipe_of(known)
    assert (known.statistics["rounds"], len(pipe.starts)) == (1, 1)
    last = pipe.times[:, 1] >= 300
    assert (pipe.upper[last] - pipe.lower[last])[:, :2].max() < 0.5


def laub_loomis() -> Flow:
    """Seven concentrations in a cell (M. T. Laub, W. F. Loomis, 1998), from a box of width 0.02."""
    a, b, c, d, e, f, g = variables = state(*"abcdefg")
    rates = [
        Fraction("1.4") * c - Fraction("0.9") * a,
        Fraction("2.5") * e - Fraction("1.5") * b,
        Fraction("0.6") * g - Fraction("0.8") * b * c,
        2 - Fraction("1.3") * c * d,
        Fraction("0.7") * a - d * e,
        Fraction("0.3") * a - Fraction("3.1") * f,
        Fraction("1.8") * f - Fraction("1.5") * b * g,
    ]
    init = [(x - 0.01, x + 0.01) for x in LAUB_LOOMIS_START]
    return flow_of(dict(zip(variables, rates, strict=True)), init, [(-5, 10)] * 7)


LAUB_LOOMIS_START = (1.2, 1.05, 1.5, 2.4, 1.0, 0.1, 0.45)


def test_sets_that_keep_their_dependencies_are_followed_far() -> None:
    """Boxes, and boxes that turn with the flow, are lost before t = 9.2."""
    pipe = pipe_of(attempt(laub_loomis(), "G[0,10] d <= 4.5"))
    assert len(pipe.starts) == 1
    last = pipe.times[:, 1] >= 10
    assert (pipe.upper[last] - pipe.lower[last])[:, :7].max() < 0.05

    def rates(t: float, x: Floats) -> list[float]:
        a, b, c, d, e, f, g = x
        first = [1.4 * c - 0.9 * a, 2.5 * e - 1.5 * b, 0.6 * g - 0.8 * b * c, 2 - 1.3 * c * d]
        return [*first, 0.7 * a - d * e, 0.3 * a - 3.1 * f, 1.8 * f - 1.5 * b * g]

    times, rng = np.linspace(0, 10, 41), np.random.default_rng(1)
    for _ in range(6):
        start = np.array(LAUB_LOOMIS_START) + rng.choice([-0.01, 0.01], 7)
        run = solve_ivp(rates, (0, 10), start, "DOP853", times, rtol=1e-12, atol=1e-12)
        for time, x in zip(run.t, run.y.T, strict=True):
            there = (pipe.times[:, 0] <= time) & (time <= pipe.times[:, 1])
            inside = (pipe.lower[there, :7] <= x + 1e-9) & (x - 1e-9 <= pipe.upper[there, :7])
            assert inside.all(1).any(), time


def test_disturbances_widen_the_pipe_and_no_more_than_they_can() -> None:
    """x' = d - x with d in [-1, 1]: |x| <= 1 - e^-t from 0, and that is reached."""
    flow = flow_of({X: build.between(-1, 1) - X}, [(0, 0)], [(-2, 2)])
    pipe_of(attempt(flow, "G[0,1] x <= 0.66 & G[0,1] x >= -0.66"))  # 0.632
    assert isinstance(attempt(flow, "G[0,1] x <= 0.63", timeout=0.5), Open)


def test_constraints_on_the_start_leave_out_what_they_exclude() -> None:
    flow = flow_of({X: build.const(0), Y: build.const(1)}, [(0, 1), (0, 1)], [(0, 3), (0, 3)])
    half = replace(flow, init=replace(flow.init, where=(build.compare("<=", X + Y, Fraction(1, 2)),)))
    pipe_of(attempt(half, "G[0,1] x + y <= 1.9"))
    assert isinstance(attempt(flow, "G[0,1] x + y <= 1.9"), Counterexample)
    nothing = replace(flow, init=replace(flow.init, where=(X + Y <= -1,)))
    known = attempt(nothing, "G[0,1] x <= 0")
    assert isinstance(known, Proof)
    assert known.empty


def test_cut_boxes_cover_the_box() -> None:
    flow = jet()
    whole = start_boxes(flow)
    pieces = cut(flow, whole, np.array([[1.0, 0.9]]))
    assert len(pieces) == 4
    assert np.isclose((pieces.upper - pieces.lower).prod(1).sum(), (whole.upper - whole.lower).prod(1).sum())
    assert len(cut(flow, whole, np.array([[1.0, 0.1]]))) == 2  # what does not matter stays whole


def test_an_explosion_is_left_open_with_its_time() -> None:
    flow = flow_of({X: X**2}, [(1, "1.1")], [("-1e9", "1e9")])
    known = cut_short(flow, "G[0,2] x >= 0", looks=10_000)
    assert isinstance(known, Open)
    assert "followed up to time 0." in known.reason
    assert known.proven_time is not None
    assert 0.88 < known.proven_time < 1 / 1.1


def test_a_field_without_slopes_says_where() -> None:
    known = cut_short(root(), "G[0,2] x <= 0.1", looks=10_000)
    assert isinstance(known, Open)
    assert "no smooth step was found where x in [" in known.reason
    assert "--engine abstraction" in known.reason


def test_operators_without_slopes_and_endless_times_are_refused() -> None:
    jumps = flow_of({X: build.if_(X < 0, build.const(1), build.const(2))}, [(0, 1)], [(-9, 9)])
    known = attempt(jumps, "G[0,1] x >= 0")
    assert isinstance(known, Open)
    assert "not supported by this engine" in known.reason
    long = attempt(flow_of({X: -X}, [(0, 1)], [(-9, 9)]), "G[0,9999999] x >= -1")
    assert isinstance(long, Open)
    assert "try other units" in long.reason


def test_the_time_is_kept() -> None:
    budget, clock = budget_of_looks(100)
    known = DirectFlowpipe().attempt(asked(exponential(), "G[0,1] y >= 0.6"), budget)
    assert isinstance(known, Open)
    assert 100 <= clock.count < 110


@pytest.mark.parametrize("scale", [Fraction(1, 10**12), Fraction(1, 10**3), Fraction(10**4)])
def test_times_of_any_size(scale: Fraction) -> None:
    """A pendulum whose second is another time: what is known of it is the same, in that time."""
    flow = flow_of({X: Y / scale, Y: -sin(X) / scale}, [("0.9", "1.1"), ("-0.1", "0.1")], [(-4, 4), (-4, 4)])
    kept = Always(Atom(build.compare("<=", X, Fraction(6, 5))), Bound(Fraction(0), 3 * scale))
    question = Question(flow, kept)
    known = DirectFlowpipe().attempt(question, processor(20))
    pipe = pipe_of(known)
    assert pipe.until == pytest.approx(3 * float(scale))
    assert isinstance(known, Proof)
    assert known.margin == pytest.approx(0.094, abs=0.002)
    runs = simulate_flow(flow, 200, 3 * scale, np.random.default_rng(0), corners=True)
    states = np.stack([runs.state["x"], runs.state["y"]], axis=2)
    assert runs.times is not None
    for time, now in zip(runs.times, np.moveaxis(states, 1, 0), strict=True):
        there = (pipe.times[:, 0] <= time) & (time <= pipe.times[:, 1])
        low, high = (end[there][:, :2] for end in (pipe.lower, pipe.upper))
        within = (now[:, None] >= low - 1e-7) & (now[:, None] <= high + 1e-7)
        assert within.all(2).any(1).all()
