"""The methods of the engine `liveness`, each alone: what they have to prove, and nothing that is false."""

from __future__ import annotations

import random
from functools import cache

import pytest

import vernal as vn
from tests.brute import TooLarge, ValueUndefined
from tests.explicit_oracle import FiniteOracle
from tests.graph_loops import SMALL, endless_formula, graph_loop
from tests.portion import every, seeds
from tests.work import processor
from vernal.engines.base import within
from vernal.engines.check import parse_formula
from vernal.engines.composition import induction, liveness
from vernal.engines.deepening.glance import FewSets
from vernal.engines.explicit.engine import Explicit
from vernal.engines.invariants.engine import Invariants
from vernal.engines.liveness.counting import Counting
from vernal.engines.liveness.cycles import FairCycles
from vernal.engines.liveness.engine import Liveness
from vernal.engines.liveness.method import ProofMethod
from vernal.engines.liveness.promptness import Promptness
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.result import HOLDS
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.system import System

METHODS: dict[str, ProofMethod] = {
    "sets": Promptness([FewSets()]),
    "induction": Promptness([induction()]),
    "invariants": Promptness([Invariants()]),
    "states": Promptness([Explicit()]),
    "boxes": FairCycles([Explicit()]),
    "counting": Counting([Explicit()]),
}


def known(system: System, text: str, method: str, timeout: float = 20) -> Known:
    formula = parse_formula(Task(system), text)
    return within(Liveness([METHODS[method]]), Question(system, formula), processor(timeout))


# Systems over the reals -----------------------------------------------------------------------------------------------


def halving() -> System:
    return vn.System(state={"x": vn.real()}, init={"x": vn.interval(-1, 1)}, step=lambda s: {"x": s.x / 2})


def drifting() -> System:
    return vn.System(state={"x": vn.real()}, init={"x": vn.interval(0, 1)}, step=lambda s: {"x": s.x + 0.5})


def logistic() -> System:
    return vn.System(
        state={"x": vn.real()}, init={"x": vn.interval(0.1, 0.9)}, step=lambda s: {"x": 2.5 * s.x * (1 - s.x)}
    )


def heater() -> System:
    """Heats below 18 degrees and stops above 22."""
    return vn.System(
        state={"t": vn.real(), "on": vn.boolean()},
        init={"t": vn.interval(19, 21), "on": False},
        step=lambda s: {
            "t": vn.if_(s.on, 0.9 * s.t + 3, 0.9 * s.t + 1),
            "on": vn.if_(s.t <= 18, True, vn.if_(s.t >= 22, False, s.on)),
        },
    )


def draughty() -> System:
    """The same, where a disturbance of either sign is added: nothing comes back to where it was."""
    return vn.System(
        state={"t": vn.real(), "on": vn.boolean()},
        init={"t": vn.interval(19, 21), "on": False},
        step=lambda s: {
            "t": vn.if_(s.on, 0.9 * s.t + 3, 0.9 * s.t + 1) + vn.between(-0.2, 0.2),
            "on": vn.if_(s.t <= 18, True, vn.if_(s.t >= 22, False, s.on)),
        },
    )


def bouncing() -> System:
    """A ball between two walls; every margin is zero."""
    return vn.System(
        state={"x": vn.real(), "v": vn.real()},
        init={"x": vn.interval(0, 1), "v": [-0.25, 0.25]},
        step=lambda s: {
            "x": vn.if_((s.x + s.v > 1) | (s.x + s.v < 0), s.x, s.x + s.v),
            "v": vn.if_((s.x + s.v > 1) | (s.x + s.v < 0), -s.v, s.v),
        },
    )


def stopping() -> System:
    """Counts down in steps of a half as long as there is something left, and may rest above one; ends at or below 0."""
    return vn.System(
        state={"x": vn.real()},
        init={"x": vn.interval(2, 3)},
        step=lambda s: {"x": vn.choose(vn.when(s.x - 0.5, s.x > 0), vn.when(s.x, s.x > 1))},
    )


HOLDING = [
    (halving(), "F G (abs(x) <= 0.1)", ("induction", "invariants", "boxes")),
    (halving(), "G F (x < 0.5)", ("induction", "boxes")),
    (halving(), "G (x > 0.5 -> F (x <= 0.25))", ("induction", "boxes")),
    (drifting(), "F G (x >= 5)", ("induction", "invariants")),
    (logistic(), "F G (abs(x - 0.6) <= 0.1)", ("induction", "boxes")),
    (heater(), "G F on & G F !on", ("boxes",)),
    (heater(), "G (t <= 18 -> F (t >= 22))", ("induction", "boxes")),
    (draughty(), "G F on", ("boxes",)),
    (bouncing(), "G F (x < 0.25)", ("sets",)),
    (bouncing(), "G (x < 0.25 -> F (x > 0.75))", ("sets",)),
    (bouncing(), "F (x >= 0.75)", ("sets",)),
]

BREAKING = [
    (halving(), "F G (x <= -0.01)"),
    (halving(), "G F (x >= 0.5)"),
    (halving(), "F G (x < 0) | F G (x > 0)"),
    (halving(), "F (x != 0 & abs(x) <= 0.1)"),  # from 0 it stays at 0
    (drifting(), "G F (x <= 5)"),
    (logistic(), "F G (x > 0.6)"),
    (logistic(), "F (abs(x - 0.6) <= 0.1 & x != 0.6)"),
    (heater(), "F G on"),
    (heater(), "G F (t >= 24)"),
    (draughty(), "F G !on"),
    (draughty(), "G F (t >= 24)"),
    (bouncing(), "F G (x <= 0.5)"),
    (bouncing(), "G F (x < 0)"),
    (bouncing(), "G F (x <= 0)"),
    (stopping(), "F (x <= 1)"),
    (stopping(), "F G (x <= 0)"),
    (stopping(), "G F (x > 0)"),
]


@pytest.mark.parametrize(("system", "text", "method"), [(s, t, m) for s, t, methods in HOLDING for m in methods])
def test_what_holds_is_proven(system: System, text: str, method: str) -> None:
    found = known(system, text, method)
    assert isinstance(found, Proof), found
    assert found.statistics["method"]
    assert found.evidence is None  # that of another claim shows nothing of this one


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("system", "text"), every(2, BREAKING), ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_does_not_hold_is_not_proven(system: System, text: str, method: str) -> None:
    assert isinstance(known(system, text, method, timeout=0.2), Open)


def test_a_path_that_ends_keeps_what_it_did() -> None:
    """Here `G[2,] p` is empty on paths that are shorter, and says nothing of their last position."""
    system = vn.System(
        state={"n": vn.integer()}, init={"n": 0}, step=lambda s: {"n": vn.choose(vn.when(s.n + 1, s.n < 1))}
    )
    for method in METHODS:
        assert isinstance(known(system, "F G (n == 5)", method), Open)
    assert isinstance(known(system, "F G (n == 1)", "states"), Proof)
    assert isinstance(known(system, "F G (n == 1)", "counting"), Proof)


def test_a_delay_longer_than_simulated_ones_is_found() -> None:
    """A draw that is rarely small: the slowest of all paths is not among those simulated."""
    system = vn.System(
        state={"x": vn.real()},
        init={"x": 4},
        step=lambda s: {"x": vn.if_(s.x <= 0, 4, s.x - vn.between(0.7, 1))},
    )
    found = known(system, "G F (x <= 0)", "boxes")
    assert isinstance(found, Proof), found
    assert isinstance(known(system, "G F (x <= -0.9)", "boxes"), Open)


def test_a_system_without_numbers_is_asked_too() -> None:
    system = vn.System(
        state={"x": vn.boolean()},
        init={"x": [False, True]},
        step=lambda s: {"x": vn.if_(s.x, vn.choose(False, True), True)},
    )
    assert isinstance(within(liveness(), Question(system, parse_formula(Task(system), "F !x")), processor(1)), Open)
    assert isinstance(known(system, "G F x", "sets"), Proof)


# Random finite systems ------------------------------------------------------------------------------------------------


@cache
def finite_question(seed: int) -> Question:
    """The same for every method."""
    rng = random.Random(seed)
    system = graph_loop(rng, SMALL)
    return Question(system, endless_formula(rng, system, (None,)))


@cache
def is_false(seed: int) -> bool:
    """Whether a naive checker knows the claim of a seed to be false."""
    asked = finite_question(seed)
    try:
        return not FiniteOracle(asked.system, asked.formula).holds()
    except (TooLarge, ValueUndefined):
        return False


@pytest.mark.parametrize("method", METHODS)
def test_nothing_false_is_proven_of_a_finite_system(method: str) -> None:
    for seed in seeds(25):
        asked = finite_question(seed)
        found = within(Liveness([METHODS[method]]), asked, processor(0.3))
        assert not (isinstance(found, Proof) and is_false(seed)), (seed, str(asked.formula))


def test_auto_says_by_which_method() -> None:
    result = vn.check(logistic(), "F G (abs(x - 0.6) <= 0.1)", timeout=30)
    assert (result.verdict, result.scope) == (HOLDS, "for all time")
    assert result.statistics["method"] in ("a bounded delay", "boxes without fair cycles")
