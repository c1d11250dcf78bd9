"""Loops that sample, by every engine that takes them: claims whose truth is known in closed form, or by hand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from tests.engines.flow.test_contract import broken_promises
from tests.flow_cases import FlowClaim
from tests.sampled_loops import LOOPS, simulated
from vernal.engines.check import parse_formula, question_of
from vernal.errors import InputError
from vernal.evidence.judgement import Judgement
from vernal.evidence.result import Verdict
from vernal.evidence.trajectory import trajectory_truth
from vernal.formats.evidence import replay
from vernal.logic.task import Task
from vernal.model.network import Network, network_input
from vernal.simulate.trajectories import simulate_flow

ROOT = Path(__file__).parents[3]
ENGINES = ("auto", "flowpipe", "falsify")
HOLDS, VIOLATED, UNKNOWN = vn.HOLDS, vn.VIOLATED, vn.UNKNOWN


@dataclass(frozen=True)
class Known:
    """A claim about one of the loops, and what is true of it."""

    loop: str
    formula: str
    verdict: Verdict
    why: str
    decided: bool = True  # by `auto`: not where there is no room, or both sides of a jump are in one segment

    def __str__(self) -> str:
        return f"{self.loop}: {self.formula}"

    @property
    def claim(self) -> FlowClaim:
        """The same as a row of the contract, which every verdict in continuous time keeps."""
        return FlowClaim(self.loop, self.formula, self.verdict, self.why)


CASES = [
    # x(kT) = (3 e^-0.1 - 2)^k x(0) = 0.71451...^k x(0); between instants it falls.
    Known("decay", "G[0, 1] (x <= 2.0001)", HOLDS, "it falls from 2"),
    Known("decay", "G[1, 1] (x <= 0.0694)", HOLDS, "2 * 0.71451^10 = 0.06936", decided=False),
    Known("decay", "G[1, 1] (x <= 0.0693)", VIOLATED, "2 * 0.71451^10 = 0.06936"),
    Known("decay", "F[0, 0.7] (x <= 0.2)", HOLDS, "2 * 0.71451^7 = 0.190"),
    Known("decay", "F[0, 0.6] (x <= 0.2)", VIOLATED, "2 * 0.71451^6 = 0.266"),
    Known("decay", "G[0, 0.1] (u <= -2)", VIOLATED, "u is -2 x(0), and at 0.1 both values count"),
    Known("decay", "G[0, 0.09] (u <= -2)", HOLDS, "u is held: -2 x(0)", decided=False),
    # At 0.5 x jumps from the left value to half of it, less 0.1 times the action held until then.
    Known("leaky", "G[0, 0.49] (n == 0)", HOLDS, "the first jump is at 0.5"),
    Known("leaky", "G[0, 0.5] (n == 0)", VIOLATED, "the right value counts at 0.5"),
    Known("leaky", "G[0.5, 0.5] (n == 1)", VIOLATED, "so does the left one"),
    Known("leaky", "F[0.5, 0.5] (n == 1)", HOLDS, "for F either does", decided=False),
    Known("leaky", "G[0.6, 0.9] (n == 1)", HOLDS, "the next jump is at 1"),
    Known("leaky", "G[0, 0.9] (x <= 2.1)", HOLDS, "x tends to 2 between jumps"),
    # Until 0.04 the first action, 1, is in force: x' = 1 - x.
    Known("late", "G[0, 0.039] (u == 1)", HOLDS, "the start is in force"),
    Known("late", "G[0, 0.05] (u == 1)", VIOLATED, "the first action is in force from 0.04 on"),
    Known("late", "G[0, 0.03] (x >= 1)", HOLDS, "x' = 1 - x is not negative at 1", decided=False),
    Known("late", "G[0, 0.1] (x >= 1)", VIOLATED, "from 0.04 on u = -2 x(0)"),
    # Pushed left from x = 1 at rest: x = 1 - t^2 / 2 until x + 2 v < 0 at an instant, 0.5 at the latest.
    Known("bang", "G[0, 0.25] (push == LEFT)", HOLDS, "x + 2 v > 0 at both instants"),
    Known("bang", "G[0, 0.25] (v >= -0.25)", HOLDS, "v = -t", decided=False),
    Known("bang", "G[0, 0.25] (v >= -0.24)", VIOLATED, "v = -t"),
    Known("bang", "G[0, 1] (x <= 1.11)", HOLDS, "it begins at 1.1 and is pushed left first"),
    Known("pair", "G[0, 1] (x <= 1.3 & x >= -1)", HOLDS, "by the simulation, with room"),
    Known("pair", "G[0, 1] (x >= 1)", VIOLATED, "by the simulation, with room"),
]


NUMBER = network_input(1)
ECHO = Network("echo", NUMBER, 1 * NUMBER)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_engine_is_wrong_about_a_loop(case: Known, engine: str) -> None:
    system = LOOPS[case.loop]().system
    has_to = engine == "auto" and case.decided  # in as much time as a busy machine takes
    result = vn.check(system, case.formula, engine=engine, timeout=30 if has_to else 2)
    assert not list(broken_promises(case.claim, result)), result
    if has_to:
        assert result.verdict is case.verdict, result
    if result.verdict is VIOLATED:
        task = Task(system)
        question = question_of(task, parse_formula(task, case.formula))
        assert result.trace is not None
        assert trajectory_truth(result.trace, question.formula, question.model) is False


@pytest.mark.parametrize("engine", ["abstraction"])
def test_other_engines_say_that_they_take_none(engine: str) -> None:
    result = vn.check(LOOPS["decay"]().system, "G[0, 1] (x <= 3)", engine=engine)
    assert result.verdict is UNKNOWN
    assert "loop that samples" in str(result.reason)


@pytest.mark.parametrize("engine", ["bounds", "paths", "milp", "explicit", "invariants", "split"])
def test_engines_of_steps_refuse_them(engine: str) -> None:
    with pytest.raises(vn.InputError, match="is for systems that move in steps"):
        vn.check(LOOPS["decay"]().system, "G[0, 1] (x <= 3)", engine=engine)


@pytest.mark.parametrize("name", LOOPS)
def test_runs_are_what_another_simulation_finds(name: str) -> None:
    loop = LOOPS[name]()
    task = Task(loop.system)
    flow = question_of(task, parse_formula(task, "G[0, 1.2] (x <= 9)")).model
    runs = simulate_flow(flow, 5, Fraction(6, 5), np.random.default_rng(0), corners=True)
    assert runs.times is not None
    for row in range(5):
        first = {variable.name: float(runs.state[variable.name][row, 0]) for variable in loop.system.state}
        seen = dict(simulated(loop, first, Fraction(6, 5), Fraction(1, 100)))  # of a jump the later value
        times = {round(float(time), 9): k for k, time in enumerate(runs.times)}
        for time, state in seen.items():
            k = times.get(round(time, 9))
            if k is not None and name != "bang":  # whose decisions at the surface are those of rounding
                assert runs.state["x"][row, k] == pytest.approx(state["x"], abs=1e-6), time


def test_sets_that_end_at_a_jump_are_not_read_afterwards() -> None:
    n = vn.integer(0, 1)
    loop = vn.System(
        state={"x": vn.real(0, 3), "n": n},
        init={"x": 1, "n": 0},
        rates=lambda s: {"x": -s.x},
        step=lambda s: {"n": s.n + 1},
        agents={"push": vn.agent(ECHO, observe=lambda s: [s.x], act="raw")},
        every="0.25",
    )
    result = vn.check(loop, "G[0, 1] (x <= 2)", engine="flowpipe")
    assert result.verdict is HOLDS  # n leaves its range at 0.5, where all paths end


@pytest.mark.parametrize("steps", [0, -3])
def test_a_reach_of_no_period_is_refused(steps: int) -> None:
    with pytest.raises(InputError, match="1 or more"):
        vn.reach(LOOPS["decay"]().system, steps=steps)


def test_the_boat_keeps_its_course(tmp_path: Path) -> None:
    task = vn.load(ROOT / "examples" / "boat" / "boat.toml")
    results = vn.check(task, timeout=120)
    assert {name: result.verdict for name, result in results.items()} == {
        "on_course": HOLDS,
        "no_swing": HOLDS,
        "quick": VIOLATED,
    }
    file = tmp_path / "quick.json"
    results["quick"].trace.save(file)  # type: ignore[union-attr]
    assert replay(file).judgement is Judgement.ACCEPTED
    sets = vn.reach(task, time=5)
    assert sets.is_complete


@pytest.mark.data
def test_the_pendulum_over_its_first_ten_periods(data: Path) -> None:
    results = vn.check(vn.load(ROOT / "benchmarks" / "pendulum_sampled" / "pendulum.toml"), timeout=120)
    assert {name: result.verdict for name, result in results.items()} == {
        "swings": HOLDS,
        "settles": HOLDS,
        "settled_at_once": VIOLATED,
    }
