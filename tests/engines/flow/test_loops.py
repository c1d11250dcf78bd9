"""Loops that sample, by every engine that takes them: claims whose truth is known in closed form, or by hand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from benchmarks.archcomp.__main__ import PROBLEMS
from benchmarks.loop_tables import decided
from tests.engines.flow.test_contract import broken_promises
from tests.flow_cases import FlowClaim
from tests.portion import pairs
from tests.sampled_loops import LOOPS, linear_network, simulated
from tests.work import processor
from vernal.cli.main import main
from vernal.engines.check import ask, parse_formula, question_of
from vernal.errors import InputError
from vernal.evidence.judgement import Judgement
from vernal.evidence.result import Verdict
from vernal.evidence.trajectory import trajectory_truth
from vernal.formats.evidence import replay
from vernal.formats.onnx.writer import write_onnx
from vernal.interpret import concrete
from vernal.logic.semantics import evaluate
from vernal.logic.task import Task
from vernal.model.expr import Expr
from vernal.model.network import Network, network_input
from vernal.run.budget import Budget
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
    # Until, and windows within windows: decay passes 0.5 from 1 at 0.203, from 2 at 0.413
    Known("decay", "(x >= 0.5) U[0, 0.5] (x <= 0.5)", HOLDS, "it is continuous, and gets there from 2 at 0.413"),
    Known("decay", "(x >= 0.5) U[0, 0.4] (x <= 0.5)", VIOLATED, "from 2 it gets there at 0.413"),
    Known("decay", "(x >= 0.6) U[0, 1] (x <= 0.5)", VIOLATED, "it is in between for a while"),
    Known("decay", "G[0, 1] (x >= 0.5 -> F[0, 0.5] x <= 0.5)", HOLDS, "wherever it is, 0.413 suffice"),
    Known("decay", "G[0, 1] (x >= 0.5 -> F[0, 0.1] x <= 0.5)", VIOLATED, "from 2 at the start they do not"),
    Known("decay", "F[0, 1] G[0, 0.5] x <= 0.3", HOLDS, "2 * 0.71451^6 = 0.266, and it falls"),
    Known("decay", "F[0, 0.5] G[0, 0.5] x <= 0.3", VIOLATED, "2 * 0.71451^5 = 0.372 at 0.5"),
    Known("leaky", "(n == 0) U[0, 0.6] (n == 1)", HOLDS, "the jump at 0.5"),
    Known("leaky", "(n == 0) U[0, 0.4] (n == 1)", VIOLATED, "the jump at 0.5"),
    Known("leaky", "G[0, 1] (n == 0 -> F[0, 0.6] n == 1)", HOLDS, "the jump at 0.5"),
    Known("bang", "(push == LEFT) U[0, 0.6] (push == RIGHT)", HOLDS, "at 0.5 v = -0.5, and x is 0.975 at most"),
    Known("bang", "(push == LEFT) U[0, 0.4] (push == RIGHT)", VIOLATED, "at 0.25 x is 0.96 at least"),
]


NUMBER = network_input(1)
ECHO = Network("echo", NUMBER, 1 * NUMBER)


@pytest.mark.parametrize(("case", "engine"), pairs(3, CASES, ENGINES), ids=str)
def test_no_engine_is_wrong_about_a_loop(case: Known, engine: str) -> None:
    system = LOOPS[case.loop]().system
    task, has_to = Task(system), engine == "auto" and case.decided
    result = ask(task, parse_formula(task, case.formula), None, engine, Budget(30) if has_to else processor(0.4))
    assert not list(broken_promises(case.claim, result)), result
    if has_to:
        assert result.verdict is case.verdict, result
    if result.verdict is VIOLATED:
        question = question_of(task, parse_formula(task, case.formula))
        assert result.trace is not None
        assert trajectory_truth(result.trace, question.formula, question.model) is False


def test_no_network_stands_for_one() -> None:
    with pytest.raises(vn.InputError, match="for loops that sample there are auto, falsify, flowpipe"):
        vn.check(LOOPS["decay"]().system, "G[0, 1] (x <= 3)", engine="abstraction")
    assert "abstraction" not in vn.explain(LOOPS["decay"]().system, "G[0, 1] (x <= 3)")


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


def test_a_period_longer_than_a_claim_looks_is_noted() -> None:
    system = LOOPS["decay"]().system
    (note,) = vn.check(system, "G[0, 0.05] (x <= 3)", engine="flowpipe").notes
    assert "u acts at time 0 only" in note
    assert not vn.check(system, "G[0, 0.1] (x <= 3)", engine="flowpipe").notes
    (note,) = vn.check(system, "G[0, 0.05] (x <= 1.5)", engine="falsify").notes
    assert "u acts at time 0 only" in note


def test_periods_have_a_grid_that_is_practical() -> None:
    agent = vn.agent(ECHO, observe=lambda s: [s.x], act="raw", every="0.001")
    with pytest.raises(InputError, match="more than 10,000 instants"):
        vn.System(
            state={"x": vn.real(0, 3)},
            init={"x": 1},
            rates=lambda s: {"x": s.a},
            agents={"a": agent, "b": vn.agent(ECHO, observe=lambda s: [s.x], act="raw", every="100.0001")},
        )


def test_the_boat_keeps_its_course(tmp_path: Path) -> None:
    task = vn.load(ROOT / "examples" / "boat" / "boat.toml")
    results = vn.check(task, timeout=120)
    assert {name: result.verdict for name, result in results.items()} == {
        "on_course": HOLDS,
        "no_swing": HOLDS,
        "quick": VIOLATED,
    }
    file = tmp_path / "quick.json"
    results["quick"].trace.save(file)
    assert replay(file).judgement is Judgement.ACCEPTED
    sets = vn.reach(task, time=5)
    assert sets.is_complete


@pytest.mark.data
def test_the_pendulum_of_the_competition(data: Path) -> None:
    results = vn.check(vn.load(ROOT / "benchmarks" / "archcomp" / "pendulum.toml"), timeout=120)
    assert {name: result.verdict for name, result in results.items()} == {
        "settles": HOLDS,
        "bad": VIOLATED,
        "vacuous": HOLDS,
    }
    assert results["vacuous"].vacuous
    assert not results["settles"].vacuous


@pytest.mark.data
def test_each_of_the_competitions_problems_is_read(data: Path) -> None:
    for file in sorted({problem.file for problem in PROBLEMS}):
        asked = {problem.claim for problem in PROBLEMS if problem.file == file}
        assert vn.load(file).properties.keys() == asked
    (encounter,) = (one for one in PROBLEMS if one.parameters == {"v0": -25.5, "freedom": 1})
    outcome = decided(encounter, 60, 10)
    assert outcome.result.verdict is VIOLATED
    assert not outcome.wrong


def test_no_network_stands_for_a_loop_that_is_reached() -> None:
    with pytest.raises(InputError, match="no network stands for a loop that samples"):
        vn.reach(LOOPS["decay"]().system, steps=1, engine="abstraction")
    with pytest.raises(InputError, match="not both"):
        vn.reach(LOOPS["decay"]().system, steps=1, time=1)


# Claims over samples --------------------------------------------------------------------------------------------------

SAMPLED = [
    # x at sample k is 0.71451^k x(0), with x(0) in [1, 2]; u is -2 x there.
    Known("decay", "G[0,6] x > 0", HOLDS, "all powers are positive"),
    Known("decay", "F[0,4] x < 0.6", HOLDS, "2 * 0.71451^4 = 0.521"),
    Known("decay", "F[0,3] x < 0.6", VIOLATED, "2 * 0.71451^3 = 0.7296"),
    Known("decay", "X[3] x < 0.73", HOLDS, "2 * 0.71451^3 = 0.7296"),
    Known("decay", "(x < 1.5) | X X x < 1.1", HOLDS, "2 * 0.71451^2 = 1.021"),
    Known("decay", "(u < -1.1) U[0,4] (x < 0.6)", HOLDS, "u is -2 x: at least -1.1 only where x is below 0.6"),
    Known("decay", "(u < -1.46) U[0,4] (x < 0.6)", VIOLATED, "from 2, at sample 3: x is 0.7296"),
    Known("decay", "G x < 2", VIOLATED, "it begins at 2"),
    Known("decay", "G x < 3", HOLDS, "for ever; only a bound is proven", decided=False),
    Known("decay", "AG[0,3] x < 2.1", HOLDS, "a claim of all paths"),
    Known("decay", "EF[0,3] x < 1", HOLDS, "from 2 all paths get to 0.73, but some path is not asked", decided=False),
    # The jump at 0.5 is sample 5, and position 5 is what holds after it; u is then -x, of the value after the jump.
    Known("leaky", "G[0,4] n == 0", HOLDS, "the first jump is at sample 5"),
    Known("leaky", "X[5] n == 1", HOLDS, "the right value counts alone"),
    Known("leaky", "G[0,5] n == 0", VIOLATED, "it does"),
    Known("leaky", "X[5] (u + x < 0.1 & u + x > -0.1)", HOLDS, "the agent reads after the jump", decided=False),
    # An action is in force 0.04 s after what it reads: at sample 1 that of sample 0.
    Known("late", "u == 1", HOLDS, "the start is in force"),
    Known("late", "X (u <= -1.999 & u >= -4.001)", HOLDS, "-2 x(0)"),
    Known("late", "X u == 1", VIOLATED, "-2 x(0)"),
    Known("bang", "G[0,1] push == LEFT", HOLDS, "x + 2 v > 0 at both instants"),
    Known("bang", "F[0,2] push == RIGHT", HOLDS, "at 0.5 v = -0.5, and x is 0.975 at most"),
    Known("bang", "F[0,1] push == RIGHT", VIOLATED, "at 0.25 v = -0.25, and x is 0.96 at least"),
    Known("pair", "G[0,10] (x <= 1.3 & x >= -1)", HOLDS, "by the simulation, with room"),
    Known("pair", "F[0,6] x <= 0.2", VIOLATED, "by the simulation, with room"),
]


@pytest.mark.parametrize(("case", "engine"), pairs(3, SAMPLED, ENGINES), ids=str)
def test_no_engine_is_wrong_about_samples(case: Known, engine: str) -> None:
    has_to = engine == "auto" and case.decided
    result = vn.check(
        LOOPS[case.loop]().system, case.formula, engine=engine, time="samples", timeout=30 if has_to else 1
    )
    assert result.verdict in ({case.verdict} if has_to else {case.verdict, UNKNOWN}), result
    assert result.reason or result.verdict is not UNKNOWN
    if result.verdict is VIOLATED:
        assert result.trace is not None
        assert result.margin is None or result.margin <= 0


@pytest.mark.parametrize("case", SAMPLED, ids=str)
def test_what_is_known_of_samples_is_what_another_simulation_finds(case: Known) -> None:
    loop = LOOPS[case.loop]()
    formula = parse_formula(Task(loop.system).counting("samples"), case.formula)
    assert loop.system.grid is not None
    last = 20 * loop.system.grid
    truths = []
    for first in loop.corners:
        seen = dict(simulated(loop, first, last, loop.system.grid / 10))  # of an instant what holds at last
        samples = [seen[float(k * loop.system.grid)] for k in range(21)]
        truths.append(evaluate(formula, partial(_holds, loop.system, samples), len(samples)))
    assert (False in truths) is (case.verdict is VIOLATED), truths


def _holds(system: vn.System, samples: list[dict[str, float]], atom: Expr, position: int) -> bool:
    named = [*((v.name, v.var) for v in system.state), *((agent.name, agent.var) for agent in system.agents)]
    values: dict[Expr, np.ndarray] = {var: np.array([samples[position][name]]) for name, var in named}
    return bool(concrete.evaluate([atom], values)[0][0])


def thrown() -> vn.System:
    """x' = 0, and at every instant from the first period on x doubles: from 1 it leaves [0, 3] at sample 2."""
    return vn.System(
        state={"x": vn.real(0, 3)},
        init={"x": 1},
        rates=lambda s: {"x": 0},
        step=lambda s: {"x": 2 * s.x},
        agents={"push": vn.agent(ECHO, observe=lambda s: [s.x], act="raw")},
        every="0.25",
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("F[0,2] x >= 3.5", VIOLATED),  # the jump to 4 leaves the region: there is no sample 2
        ("G[0,3] x <= 2", HOLDS),
        ("X X true", VIOLATED),
        ("X x == 2", HOLDS),
    ],
)
def test_a_path_that_a_jump_takes_out_of_the_region_has_no_further_sample(
    formula: str, verdict: Verdict, engine: str
) -> None:
    result = vn.check(thrown(), formula, engine=engine, time="samples", timeout=5)
    assert result.verdict in {verdict, UNKNOWN}, result
    if engine == "auto" and verdict is VIOLATED:
        assert result.verdict is VIOLATED, result


SWING = """vernal = 1
name = "swing"
[state]
x = "real [-4, 4]"
[agents.u]
policy = "gain.onnx"
observe = ["x"]
act = "raw"
every = 0.1
[flow]
x = "u - x"
[init]
x = "[1, 2]"
[properties]
calm = { formula = "G[0,6] x > 0", time = "samples" }
soon = { formula = "F[0,3] x < 0.6", time = "samples" }
"""


def test_files_and_specs_ask_about_samples_and_what_fails_is_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, trace = tmp_path / "swing.toml", tmp_path / "bad.json"
    file.write_text(SWING)
    write_onnx(linear_network("gain", (-2.0,)), tmp_path / "gain.onnx")
    assert main(["check", str(file), "--trace", str(trace)]) == 10
    assert "up to sample 6, inside the region" in capsys.readouterr().out
    assert replay(trace).judgement is Judgement.ACCEPTED
    shares = vn.simulate(vn.load(file), 20).shares
    assert shares["calm"].keeping == 20
    assert 0 < len(shares["soon"].failing) < 20  # those from 1.645 on
    assert shares["soon"].trace is not None
    spec = ["--spec", "X[3] x < 0.7", "--time", "samples"]
    assert main(["check", str(file), *spec, "--trace", str(trace)]) == 10
    assert replay(trace).judgement is Judgement.ACCEPTED
    changed = trace.read_text().replace('"time": "samples"', '"time": "seconds"')
    trace.write_text(changed)
    with pytest.raises(vn.InputError):  # in seconds there is no X
        replay(trace)
    assert main(["explain", str(file), *spec]) == 0
    assert "after exactly 3 samples" in capsys.readouterr().out
    assert main(["check", str(file), "--time", "samples"]) == 2
    assert main(["check", str(file), "--spec", "x > 0", "--time", "years"]) == 2
