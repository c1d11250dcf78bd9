"""Claims for all time: what invariants prove, each checked again by other code; and what they must never prove."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from tests.cases import HEAD
from tests.portion import every
from tests.recurrent import recurrent_networks
from tests.work import budget_of_looks
from vernal.engines.check import asked_of, check, parse_formula
from vernal.engines.invariants.engine import Invariants, InvariantSearch, Proposal
from vernal.evidence.invariant import Invariant
from vernal.evidence.judgement import Judgement
from vernal.evidence.knowledge import Proof
from vernal.evidence.recheck import recheck
from vernal.evidence.result import HOLDS, UNKNOWN, Assurance, Result
from vernal.formats.onnx.writer import write_onnx
from vernal.formats.recurrent import rnn
from vernal.formats.task.blueprint import load
from vernal.logic.claim import Claim
from vernal.logic.question import Question
from vernal.logic.safety import safety_claim
from vernal.logic.task import Task
from vernal.run.budget import Budget

ROOT = Path(__file__).resolve().parents[3]


def loop(state: str, init: str, following: str, more: str = "") -> str:
    """A task without agents: `name = ...` entries, separated by semicolons."""
    tables = [("state", state), ("init", init), ("environment.next", following)]
    made = [f"[{name}]\n" + "\n".join(entry.strip() for entry in entries.split(";")) for name, entries in tables]
    return "\n".join([more, *made]) + "\n"


HALF = loop('x = "real"', 'x = "[0, 1]"', 'x = "0.5*x"')
TURN = loop(
    'x = "real"; y = "real"',
    'x = "[-0.5, 0.5]"; y = "[-0.5, 0.5]"',
    'x = "0.6*x - 0.6*y"; y = "0.6*x + 0.6*y"',
)
SLOW_TURN = loop(
    'x = "real"; y = "real"', 'x = "[0.9, 1]"; y = "[-0.1, 0.1]"', 'x = "0.8*x - 0.5*y"; y = "0.5*x + 0.8*y"'
)
FLIP = loop('x = "real"', 'x = "[0.5, 1]"', 'x = "-x"')
COUNT = loop('n = "int [0, 9]"', "n = 0", 'n = "min(n + 1, 9)"')
CLIP = loop('x = "real"', 'x = "[0.1, 0.6]"', 'x = "clip(x + 0.3, 0, 0.6)"')
LEAK = loop('x = "real"', "x = 0", 'x = "0.9*x + between(-0.25, 0.25)"')
STEPS = loop('x = "real"', 'x = "[0, 1]"', 'x = "x + choose(0, 1)"')
DOUBLE = loop('x = "real"', 'x = "[0, 1]"', 'x = "2*x"')
SINE = loop('x = "real"', 'x = "[0, 1]"', 'x = "sin(x)"')
CLOCK = loop('n = "int"', 'n = "{0, 1, 2}"', 'n = "if(n == 3, 0, n + 1)"')
ENDING = loop('n = "int"', "n = 0", 'n = "n + 1"', '[environment]\nenabled = "n < 3"')
MODES = loop(
    'x = "real"; mode = "enum {UP, DOWN}"',
    'x = "[0, 0.5]"; mode = "UP"',
    'x = "if(mode == UP, x + 2, x - 2)"; mode = "if(mode == UP, DOWN, UP)"',
)
BOUNCE = loop(
    'x = "real"; v = "real"',
    'x = "[0, 0.1]"; v = "1"',
    'x = "x + 0.25*v"; v = "if(x + 0.25*v > 1, -1, if(x + 0.25*v < 0, 1, v))"',
)
WHERE = loop('x = "real"; y = "real"', 'x = "[0, 1]"; y = "[0, 1]"', 'x = "0.9*y"; y = "0.9*x"').replace(
    "[environment.next]", 'where = ["x + y <= 1"]\n[environment.next]'
)
APART = loop('x = "real"; z = "real"', 'x = "[0, 1]"; z = 0', 'x = "0.5*x"; z = "z + 1"')
BOUNDED = loop('x = "real"', "x = 100", 'x = "tanh(3*x) + between(-0.1, 0.1)"')


@dataclass(frozen=True)
class Known:
    """A claim that has an invariant."""

    text: str
    formula: str
    sets: int | None = None  # how many of them, where that is fixed


PROVEN = {
    "half": Known(HALF, "G (x <= 1)", 1),
    "half for every path": Known(HALF, "AG (x <= 1 & x >= 0)", 1),
    "half later": Known(HALF, "G[2,] (x <= 0.25)", 1),
    "half next": Known(HALF, "X G (x <= 0.5)", 1),
    "two claims": Known(HALF, "G (x <= 1) & G (x >= 0)", 1),
    "not eventually": Known(HALF, "!F (x > 1)", 1),
    "half for a while": Known(HALF, "G[1,5] (x <= 0.5)", 1),
    "turning": Known(TURN, "G (x <= 0.72)", 1),
    "turning slowly": Known(SLOW_TURN, "G (x <= 1.2)", 1),
    "flipping": Known(FLIP, "G (x >= 0.5 | x <= -0.5)", 2),
    "flipping hull": Known(FLIP, "G (x <= 1)"),
    "saturating": Known(COUNT, "G (n <= 9)", 1),
    "clipped at 0.6": Known(CLIP, "G (x <= 0.6)", 1),
    "disturbed": Known(LEAK, "G (x <= 2.6)", 1),
    "growing": Known(STEPS, "G (x >= 0)", 1),
    "sine": Known(SINE, "G (x <= 1.01)", 1),
    "clock": Known(CLOCK, "G (n <= 3 & n >= 0)"),
    "ending": Known(ENDING, "G (n <= 3)"),
    "weak until": Known(COUNT, "(n <= 4) W (n == 5)"),
    "release": Known(COUNT, "(n == 5) R (n <= 5)"),
    "two modes": Known(MODES, "G (x <= 0.5 | x >= 2)", 2),
    "bouncing": Known(BOUNCE, "G (x <= 1.3 & x >= -0.3)"),
    "constrained": Known(WHERE, "G (x + y <= 1.01)"),
    "apart": Known(APART, "G (x <= 1)", 1),
    "forgetting its start": Known(BOUNDED, "G[1,] (x <= 1.2)"),
}

# None of these holds, or none is proven with what the engine knows: a proof would be wrong.
NEVER = {
    "at the start": (HALF, "G (x < 1)"),
    "too low": (HALF, "G[2,] (x <= 0.2)"),
    "doubling": (DOUBLE, "G (x <= 1000)"),
    "doubling strictly": (DOUBLE, "G (x < 1)"),
    "stepping": (STEPS, "G (x <= 50)"),
    "turning too far": (TURN, "G (x <= 0.59)"),
    "flipping past": (FLIP, "G (x >= 0.5)"),
    "counting past": (COUNT, "G (n <= 8)"),
    "disturbed past": (LEAK, "G (x <= 2.4)"),
    "modes past": (MODES, "G (x <= 2.4)"),
    "clock past": (CLOCK, "G (n <= 2)"),
    "weak until past": (COUNT, "(n <= 3) W (n == 5)"),
    "eventually": (HALF, "F (x <= 0.1)"),
    "some path": (HALF, "EF (x <= 0.1)"),  # it would take a ranking to prove it, and it is true
    "bounded past": (HALF, "G[0,5] (x <= 0.5)"),
}


def task_of(text: str, tmp_path: Path) -> Task:
    file = tmp_path / "case.toml"
    file.write_text(HEAD + text)
    return load(file)


def proven(task: Task, formula: str, timeout: float = 60) -> Result:
    """The result, its invariant checked again."""
    result = check(task, formula, engine="invariants", timeout=timeout)
    assert result.verdict is HOLDS, result.reason
    assert isinstance(result.evidence, Invariant)
    checked = recheck(task.system, Claim(parse_formula(task, formula)), result.evidence)
    assert checked.judgement is Judgement.ACCEPTED, checked.reason
    return result


@pytest.mark.parametrize("known", PROVEN.values(), ids=PROVEN)
def test_proven(known: Known, tmp_path: Path) -> None:
    result = proven(task_of(known.text, tmp_path), known.formula)
    assert result.scope == ("up to step 5" if "[1,5]" in known.formula else "for all time")
    assert result.assurance is Assurance.RIGOROUS
    assert isinstance(result.evidence, Invariant)
    assert known.sets in (None, len(result.evidence.sets))


@pytest.mark.parametrize(("text", "formula"), NEVER.values(), ids=NEVER)
def test_never_proven(text: str, formula: str, tmp_path: Path) -> None:
    result = check(task_of(text, tmp_path), formula, engine="invariants", timeout=20)
    assert result.verdict is UNKNOWN
    assert result.reason


def test_what_was_tried_is_said(tmp_path: Path) -> None:
    result = check(task_of(LEAK, tmp_path), "G (x <= 2.5)", engine="invariants", timeout=20)  # true, at margin zero
    assert result.verdict is UNKNOWN
    assert (result.reason or "").startswith("no invariant found with boxes")
    assert (result.proven_steps or 0) > 5


def test_boxes_alone_do_not_hold_a_turn(tmp_path: Path) -> None:
    """The hull in boxes grows without end; other directions are needed."""
    result = proven(task_of(TURN, tmp_path), "G (x <= 0.72)")
    assert result.statistics["method"] == "inequalities of the claim followed backwards"


def test_a_proposal_is_certified_beyond_the_time_of_its_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method whose time is over when it proposes a set has found it all the same."""
    task = task_of(TURN, tmp_path)
    question = Question(task.system, parse_formula(task, "G (x <= 0.72)"))
    safety = safety_claim(question.claim, total=True)
    assert safety is not None
    search = InvariantSearch(task.system, safety, Budget(timeout=60))
    proposals = search._proposals()

    def late() -> Iterator[Proposal]:
        for proposal in proposals:
            search.limits_of_method = (Budget(timeout=0),)
            yield proposal

    monkeypatch.setattr(search, "_proposals", late)
    assert isinstance(search.known(), Proof)


def test_the_thermostat_keeps_its_band() -> None:
    task = load(ROOT / "examples" / "thermostat" / "thermostat.toml")
    result = proven(task, "G (T <= 22 & T >= 14)")
    assert isinstance(result.evidence, Invariant)
    assert result.evidence.components == ("T", "mode")
    proven(task, "G[30,] (T >= 18)")


def test_the_pendulum_stays_upright() -> None:
    proven(load(ROOT / "examples" / "pendulum" / "pendulum.toml"), "G (abs(theta) < 0.1)")


RECURRENT = """
[state]
x = "real"
[init]
x = "[-1, 1]"
[agents.pilot]
policy = "NAME.onnx"
observe = ["x"]
act = "raw"
[environment.next]
x = "0.5*x + 0.25*pilot"
"""


LEAKY = rnn([([[0.5], [-0.5]], [[0.5, 0], [0.25, 0.5]], [0, 0])], [([[1, -1]], [0])])  # two ReLU units that forget


@pytest.mark.parametrize(("name", "limit"), [("squash", 1), ("gated", 1.2), ("leaky", 1.05)])
def test_memory_is_part_of_the_state(name: str, limit: float, tmp_path: Path) -> None:
    write_onnx(LEAKY if name == "leaky" else recurrent_networks()[name], tmp_path / f"{name}.onnx")
    result = proven(task_of(RECURRENT.replace("NAME", name), tmp_path), f"G (x <= {limit})")
    assert isinstance(result.evidence, Invariant)
    assert "pilot.memory[0]" in result.evidence.components


def test_python_systems(tmp_path: Path) -> None:
    system = vn.System(
        state={"x": vn.real(), "y": vn.real()},
        init={"x": vn.interval(-1, 1), "y": 0},
        step=lambda s: {"x": 0.5 * s.x + 0.25 * s.y, "y": vn.clip(s.x, -1, 1)},
    )
    result = check(system, "G (x <= 1.1)", engine="invariants", timeout=20)
    assert result.verdict is HOLDS
    assert isinstance(result.evidence, Invariant)
    result.evidence.plot(tmp_path / "made.png")


def test_time_is_kept(tmp_path: Path) -> None:
    task = load(ROOT / "examples" / "cartpole" / "cartpole.toml")
    budget, clock = budget_of_looks(200)
    asked = Question(task.system, parse_formula(task, "G (abs(theta) < 0.2095)"))
    result = asked_of(Invariants(), asked, budget)
    assert result.verdict is UNKNOWN
    assert 200 <= clock.count < 230
    assert "timeout after 200 s" in (result.reason or "")


def test_points_of_runs_are_inside(tmp_path: Path) -> None:
    """Every state of a simulated run is in the sets, but for rounding."""
    from fractions import Fraction

    from vernal.simulate.runs import simulate

    task = load(ROOT / "examples" / "thermostat" / "thermostat.toml")
    invariant = proven(task, "G (T <= 22 & T >= 14)").evidence
    assert isinstance(invariant, Invariant)
    runs = simulate(task.system, 20, 60, np.random.default_rng(0))
    states: Sequence[tuple[float, float]] = [
        (float(t), float(m)) for t, m in zip(runs.state["T"].ravel(), runs.state["mode"].ravel(), strict=True)
    ]
    assert all(invariant.contains([Fraction(t), Fraction(int(m))]) for t, m in states)


@pytest.mark.parametrize("width", every(2, [2.0**power for power in (-1074, -1073, -1060, -1050, -1022)]))
@pytest.mark.parametrize("moves", ["if(x > 0, 0, w)", "if(x > 0, x / 2, w)", "w * (y + 1)"])
def test_widths_next_to_zero(width: float, moves: str, tmp_path: Path) -> None:
    """No unit in which sets are measured is finer than floats are."""
    text = f'''
constants = {{ w = {width!r} }}
state = {{ x = "real", y = "real" }}
init = {{ x = 0, y = 0 }}
environment.next = {{ x = "{moves}", y = "y / 2 + x / 2" }}
'''
    task = task_of(text, tmp_path)
    proven(task, "G (x <= 1)")
    assert check(task, "G (x <= w)", engine="invariants", timeout=5).engine == "invariants"
