"""The benchmarks' answers are those published or found by brute force, by every complete engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.portion import every
from vernal.engines.check import ask, check, parse_formula
from vernal.evidence import confirm
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.evidence.trace import Trace
from vernal.formats.task.blueprint import load
from vernal.logic.normal import strip_quantifiers
from vernal.logic.task import Task
from vernal.run.budget import Budget

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
FROZENLAKE = BENCHMARKS / "frozenlake" / "frozenlake.toml"
GUARDING = BENCHMARKS / "guarding" / "guarding.toml"
VCAS = BENCHMARKS / "vcas"

pytestmark = pytest.mark.data

REACHABLE = {1: {1, 2}, 2: {1, 2, 5}, 3: {1, 2, 5, 6, 8}, 4: {1, 2, 5, 6, 8, 9}, 5: {1, 2, 5, 6, 8, 9}}

# Brute force: are the first two alive after k = 1..6 steps on some path, on all paths? By agents and start health.
ALIVE = {
    (2, 3): ("TTFFFF", "FFFFFF"),
    (2, 4): ("TTTTFF", "TFFFFF"),
    (3, 3): ("TTTTTT", "FFFFFF"),
    (3, 4): ("TTTTTT", "TFFFFF"),
    (4, 3): ("TTTTTT", "FFFFFF"),
    (4, 4): ("TTTTTT", "TFFFFF"),
}


def answer(task: Task, text: str, engine: str) -> Result:
    return ask(task, parse_formula(task, text), None, engine, Budget(timeout=60))


@pytest.mark.parametrize(("engine", "steps"), [("auto", (1, 2, 4)), ("paths", (1, 3, 6)), ("milp", (1, 2))])
def test_the_walker_stays_dry_and_may_never_arrive(engine: str, steps: tuple[int, ...]) -> None:
    for k in steps:
        results = check(load(FROZENLAKE, k=k), engine=engine, timeout=60)
        assert {name: result.verdict for name, result in results.items()} == {"dry": HOLDS, "arrives": VIOLATED}, k


def test_the_compositional_programs_agree_about_the_lake() -> None:
    results = check(load(FROZENLAKE, k=3), engine="milp", options={"encoding": "compositional"}, timeout=60)
    assert {name: result.verdict for name, result in results.items()} == {"dry": HOLDS, "arrives": VIOLATED}


@pytest.mark.parametrize("k", sorted(REACHABLE))
def test_the_walker_reaches_these_cells_and_no_others(k: int) -> None:
    task = load(FROZENLAKE)
    others = " & ".join(f"c{cell} < 0.5" for cell in range(1, 10) if cell not in REACHABLE[k])
    assert answer(task, f"AX[{k}] ({others})", "paths").verdict is HOLDS
    for cell in REACHABLE[k]:
        assert answer(task, f"EX[{k}] (c{cell} > 0.5)", "auto").verdict is HOLDS, cell
    for cell in {5, 9} - REACHABLE[k]:
        assert answer(task, f"EX[{k}] (c{cell} > 0.5)", "auto").verdict is VIOLATED, cell


# How far each engine is asked for 2, 3 and 4 agents: as far as a test has time, with the same answers beyond.
GUARDS = {"auto": (6, 6, 6), "paths": (6, 3, 2), "milp": (4, 2, 2)}


@pytest.mark.parametrize("engine", GUARDS)
@pytest.mark.parametrize(("agents", "start"), ALIVE)
def test_guards_live_as_long_as_brute_force_says(engine: str, agents: int, start: int) -> None:
    furthest = GUARDS[engine][agents - 2]
    some, all_ = ALIVE[agents, start]
    for k in every(2, range(furthest, 0, -1)):
        results = check(load(GUARDING, n=agents, start=start, k=k), engine=engine, timeout=60)
        expected = {"possible": some[k - 1] == "T", "certain": all_[k - 1] == "T"}
        assert {name: result.verdict is HOLDS for name, result in results.items()} == expected, k
        assert all(result.verdict in (HOLDS, VIOLATED) for result in results.values()), k


def advisories_agree(trace: Trace, folder: Path) -> None:
    """At every position the recorded advisory has the highest of onnxruntime's scores, too."""
    import onnxruntime

    for step in trace.steps:
        state = {name: float(value) for name, value in step.state.items()}
        session = onnxruntime.InferenceSession(folder / f"vcas_{int(state['adv']) + 1}.onnx")
        inputs = np.array([[state["h"] / 16000, state["v"] / 5000, (state["tau"] - 20) / 40]], dtype=np.float32)
        (scores,) = session.run(None, {"input": inputs})
        taken = int(step.actions["advisor"])
        assert scores[0].max() - scores[0][taken] < 1e-4


@pytest.mark.parametrize("engine", ["auto", "paths"])
def test_the_encounter_is_safe_where_the_ownship_descends_slowly(engine: str) -> None:
    result = answer(load(VCAS / "vcas.toml", v0=-19.5), "AG[1,12] (h > 100 | h < -100)", engine)
    assert result.verdict is HOLDS
    assert result.margin == pytest.approx(6.1, abs=1e-9)


@pytest.mark.parametrize(("rate", "step"), [(-22.5, 3), (-25.5, 2), (-28.5, 2)])
@pytest.mark.parametrize("engine", ["auto", "paths"])
def test_an_unsafe_encounter_is_shown_by_a_trace(rate: float, step: int, engine: str, data: Path) -> None:
    task = load(VCAS / "vcas.toml", v0=rate)
    formula = parse_formula(task, "AG[1,25] (h > 100 | h < -100)")
    result = ask(task, formula, None, engine, Budget(timeout=60))
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert verify(task.system, result.trace).accepted
    assert confirm.truth(result.trace, strip_quantifiers(formula)) is False
    assert result.step is not None
    assert result.step >= step  # no path is unsafe earlier
    advisories_agree(result.trace, data / "vcas")
    # ... and one is unsafe that early.
    assert answer(task, f"AG[1,{step}] (h > 100 | h < -100)", engine).step == step


@pytest.mark.parametrize("engine", ["auto", "milp"])
def test_whole_acceleration_intervals_reach_what_their_ends_reach(engine: str) -> None:
    for k, expected in ((2, "TTFF"), (5, "TTTF")):
        for rate, safe in zip((-19.5, -22.5, -25.5, -28.5), expected, strict=True):
            task = load(VCAS / "vcas_interval.toml", v0=rate, k=k)
            verdict = check(task, property="safe", engine=engine, timeout=60)["safe"].verdict
            assert verdict is (HOLDS if safe == "T" else VIOLATED), (k, rate)


@pytest.mark.parametrize("engine", ["auto", "paths", "milp"])
def test_two_advisors_may_steer_into_each_other(engine: str) -> None:
    verdicts = [
        check(load(VCAS / "two_aircraft.toml", k=k), property="apart", engine=engine, timeout=60)["apart"].verdict
        for k in (1, 2, 3, 4)
    ]
    assert verdicts == [HOLDS, VIOLATED, VIOLATED, VIOLATED]
