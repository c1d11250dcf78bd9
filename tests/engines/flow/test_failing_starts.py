"""What flowpipes know to be false becomes a counterexample; trajectories that begin on a side of their region."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import vernal as vn
from tests.sampled_loops import LOOPS
from vernal.evidence.result import Verdict

HOLDS, VIOLATED, UNKNOWN = vn.HOLDS, vn.VIOLATED, vn.UNKNOWN


def flow(rate: Callable[[Any], Any], start: Any, low: Any = 0, high: Any = 8) -> vn.Flow:
    return vn.Flow(state={"x": vn.real(low, high)}, init={"x": start}, rates=lambda s: {"x": rate(s)})


BORDER: dict[str, tuple[Callable[[], vn.Flow], str, Verdict]] = {
    # x = e^t - 1 passes 1 at t = 0.693
    "fails": (lambda: flow(lambda s: 1 + s.x, 0), "G[0,1] x <= 1", VIOLATED),
    "holds": (lambda: flow(lambda s: 1 + s.x, 0), "G[0,1] x <= 2", HOLDS),
    "comes": (lambda: flow(lambda s: 1 + s.x, 0), "F[0,1] x >= 1.7", HOLDS),
    "comes too late": (lambda: flow(lambda s: 1 + s.x, 0), "F[0,1] x >= 1.8", VIOLATED),
    # from a side that is no float, upwards and downwards: x = 0.1 e^t passes 0.2 at t = 0.693, x = 0.7 e^-t 0.4 at 0.56
    "no float": (lambda: flow(lambda s: s.x, "0.1", low="0.1"), "G[0,1] x <= 0.2", VIOLATED),
    "no float, above": (lambda: flow(lambda s: -s.x, "0.7", high="0.7"), "G[0,1] x >= 0.4", VIOLATED),
    # it leaves the region at once, so that nothing afterwards counts: x <= 0 is true as long as it is followed
    "leaves": (lambda: flow(lambda s: -1 - s.x, 0), "G[0,1] x >= 1", VIOLATED),
    "leaves at once": (lambda: flow(lambda s: -1 - s.x, 0), "F[0,1] x >= 1", VIOLATED),
    "only at first": (lambda: flow(lambda s: -1 - s.x, 0), "G[0.5,1] x >= 1", HOLDS),
}


@pytest.mark.parametrize("engine", ["falsify", "flowpipe", "auto"])
@pytest.mark.parametrize("name", BORDER)
def test_a_start_on_the_border_is_a_start_like_any_other(name: str, engine: str) -> None:
    make, formula, verdict = BORDER[name]
    result = vn.check(make(), formula, engine=engine, timeout=10 if engine == "auto" else 2)
    assert result.verdict in {verdict, UNKNOWN}, result
    if engine == "auto" and not name.startswith(("leaves", "only")):
        assert result.verdict is verdict, result


@pytest.mark.parametrize(
    ("loop", "formula"),
    [
        ("decay", "G[1, 1] (x <= 0.03)"),  # from 1 it is 0.0347 then, from 2 twice that
        ("bang", "G[0, 0.25] (v >= -0.2)"),
        ("leaky", "F[0, 0.4] (n == 1)"),
    ],
)
def test_what_all_trajectories_of_a_part_break_is_violated_by_one(loop: str, formula: str) -> None:
    system = LOOPS[loop]().system
    result = vn.check(system, formula, engine="flowpipe", timeout=30)
    assert result.verdict is VIOLATED, result
    assert result.engine == "flowpipe"
    assert result.trace is not None


def test_constraints_on_starts_are_kept_where_a_part_fails() -> None:
    system = vn.Flow(
        state={"x": vn.real(-4, 4), "y": vn.real(-4, 4)},
        init={"x": vn.interval(0, 1), "y": vn.interval(0, 1)},
        rates=lambda s: {"x": -s.x, "y": s.x},
        where=lambda s: [s.x + s.y >= 1.5],
    )
    result = vn.check(system, "G[0,1] x + y <= 1.4", engine="flowpipe", timeout=30)
    assert result.verdict is VIOLATED, result
    assert result.trace is not None
    first = result.trace.steps[0].state
    assert first["x"] + first["y"] >= 1.5


def test_a_trajectory_is_followed_only_until_it_fails() -> None:
    result = vn.check(LOOPS["decay"]().system, "G[0, 50] (x >= 0.5)", engine="falsify", timeout=30)
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert result.trace.times is not None
    assert result.trace.times[-1] <= 2
