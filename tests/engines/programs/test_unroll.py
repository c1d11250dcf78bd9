"""`milp` on policies unrolled three ways: the same verdicts, from programs that grow as the papers say."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.brute import Brute
from tests.cases import CASES, NEVER, Case, read
from tests.engines.test_truth import check_evidence
from tests.portion import every
from tests.recurrent import recurrent_formula, recurrent_loop
from vernal.engines.base import Engine
from vernal.engines.check import ask, asked_of, find_engine, parse_formula
from vernal.engines.options import Encoding, MilpOptions, Unroll
from vernal.engines.programs.milp import Milp
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Verdict
from vernal.formats.recurrent import rnn
from vernal.interpret import exact
from vernal.interpret.unrolling.feedforward import Wait
from vernal.interpret.unrolling.history import HistoryUnrolling
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Argmax, Expr, Occurrence, Relu
from vernal.model.graph import draws, order, variables
from vernal.model.sorts import BOOL, REAL
from vernal.model.system import Init, OneOf, Span, System, Variable
from vernal.run.budget import Budget
from vernal.solvers.base import Solved, SolveStatus
from vernal.solvers.fake import Fake

UNROLL = list(Unroll)
TIGHTEN = [True, False]
REMEMBERING = [case for case in CASES if "[agents." in case.model and "milp" in case.decided_by]
X, Y = build.var("x"), build.var("y")


def observer() -> System:
    """Two states steered by a network of three recurrent units, all of whose phases stay open."""
    cell = (np.array([[1, -1], [0.5, 1], [-1, 0.5]]), np.array([[0.5, -1, 1], [1, 0.5, -1], [-1, 1, 0.5]]), np.zeros(3))
    agent = make_agent("agent", [rnn([cell], [(np.array([[0.5, -0.5, 0.25]]), [0.0])])], [X, Y], "raw")
    start = Span(Fraction(-1), Fraction(1))
    following = {"x": X + agent.var / 10, "y": Y - X / 10}
    return System(
        "observer", (Variable("x", REAL), Variable("y", REAL)), Init({"x": start, "y": start}), following, (agent,)
    )


def sizes(unroll: Unroll, steps: int) -> list[int]:
    """Variables, rows and binaries of the program for X[steps], phases decided by nothing but intervals."""
    system = observer()
    engine = Milp(MilpOptions(solver=Fake([Solved(SolveStatus.INFEASIBLE)]), unroll=unroll, tighten=False))
    formula = parse_formula(Task(system), f"X[{steps}] (x <= 0)")
    found = asked_of(engine, Question(system, formula), Budget(timeout=60)).statistics
    return [int(found[name]) for name in ("variables", "rows", "binaries")]


def test_programs_grow_as_the_papers_say() -> None:
    """Each step once: linear. Networks over the whole history: as many binaries for both, and more for what waits."""
    sizes_of = {unroll: np.array([sizes(unroll, steps) for steps in range(1, 7)]) for unroll in UNROLL}
    recursive, start, demand = (np.diff(sizes_of[unroll], axis=0) for unroll in UNROLL)
    assert (np.diff(recursive, axis=0) == 0).all(), "the recursive encoding is linear in the steps"
    assert recursive[0].tolist() == [6, 9, 3], "a column, a binary and three rows for each unit"
    for unrolled, width in ((start, 3), (demand, 2)):
        assert (unrolled[:, 2] == 3 * np.arange(2, 7)).all(), "step t encodes the network t times"
        third = np.diff(unrolled, n=2, axis=0)
        assert (third == [width, 2 * width, 0]).all(), "t (t - 1) / 2 observations wait at step t"
    assert (sizes_of[Unroll.IOS][2:, :2] > sizes_of[Unroll.IOD][2:, :2]).all()


@pytest.mark.parametrize("tighten", TIGHTEN)
@pytest.mark.parametrize("unroll", UNROLL)
@pytest.mark.parametrize("case", every(2, REMEMBERING), ids=str)
def test_every_unrolling_decides_the_ground_truth(case: Case, unroll: Unroll, tighten: bool) -> None:
    asked = parse_formula(case.task, case.formula)
    result = ask(case.task, asked, None, "milp", Budget(timeout=60), {"unroll": unroll, "tighten": tighten})
    assert result.verdict in {case.expected, UNKNOWN}, case.why
    if tighten:
        assert result.verdict is case.expected, result.reason
    check_evidence(case.task.system, asked, result)


def agreed(system: System, asked: Formula, engines: Sequence[Engine]) -> Verdict:
    """The verdict of all engines that have one; their evidence replays."""
    verdicts = set()
    for engine in engines:
        result = asked_of(engine, Question(system, asked), Budget(timeout=20))
        check_evidence(system, asked, result)
        verdicts.add(result.verdict)
    assert len(verdicts - {UNKNOWN}) < 2, asked
    return max(verdicts, key=lambda verdict: verdict is not UNKNOWN)


@pytest.mark.parametrize("encoding", Encoding)
def test_unrollings_agree_with_brute_force(encoding: Encoding) -> None:
    engines = [Milp(MilpOptions(encoding, unroll=unroll, tighten=tighten)) for unroll in UNROLL for tighten in TIGHTEN]
    decided = 0
    for seed in range(12):
        rng = random.Random(500 + seed)
        system = recurrent_loop(rng, spans=False, smooth=False)
        asked = recurrent_formula(rng, system)
        verdict = agreed(system, asked, engines)
        if verdict is not UNKNOWN:
            decided += 1
            assert (verdict is HOLDS) == Brute(system, asked).holds(asked), f"seed {seed}: {asked}"
    assert decided > 6


def test_unrollings_agree_from_intervals() -> None:
    """One and two agents, memories that start in intervals; `paths` is exact here."""
    engines = [find_engine("paths"), *(Milp(MilpOptions(unroll=unroll)) for unroll in UNROLL)]
    verdicts = []
    for seed in range(15):
        rng = random.Random(700 + seed)
        system = recurrent_loop(rng, spans=True, smooth=False)
        verdicts.append(agreed(system, recurrent_formula(rng, system), engines))
    assert {HOLDS, VIOLATED} <= set(verdicts)


# What is unrolled -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wait", ["ios", "iod"])
def test_the_policy_of_each_step_is_a_network_of_its_own(wait: Wait) -> None:
    """Steps share the observations, and nothing that was computed from them."""
    system = observer()
    unrolling = HistoryUnrolling(system, wait)
    for t in range(4):
        observed = set(order(unrolling.position(t)[var] for var in (X, Y)))
        action = set(order([unrolling.at(system.agents[0].var, t)]))
        own = [node for node in action - observed if isinstance(node, Relu)]
        assert len(own) == t + 1, "a layer of units for each observation"


@pytest.mark.parametrize("wait", ["ios", "iod"])
def test_twins_have_the_same_values(wait: Wait) -> None:
    for seed in range(8):
        rng = random.Random(900 + seed)
        system = recurrent_loop(rng, spans=False, smooth=False)
        unrolling = HistoryUnrolling(system, wait)
        unrolling.position(3)
        inputs = system.step.inputs
        copies = [node for node in unrolling.twins if set(variables([node])) <= set(inputs)]
        point: dict[Expr, Any] = {var: [Fraction(rng.randint(-4, 4), 2) for _ in range(var.size)] for var in inputs}
        given = {var: value if var.shape else value[0] for var, value in point.items()}
        twins = [unrolling.twins[node] for node in copies]
        taken: dict[Expr, Any] = dict.fromkeys(draws([*copies, *twins]), Fraction(0))
        assert exact.evaluate(copies, given, taken) == exact.evaluate(twins, given, taken)
        assert len(copies) > 20


def test_unrollings_know_the_same_bounds() -> None:
    """What linear bounds decide of the recursive loop they decide of the others: no program is left."""
    system = observer()
    asked = Question(system, parse_formula(Task(system), "X[3] (x <= 1.5)"))
    for unroll in UNROLL:
        result = asked_of(Milp(MilpOptions(unroll=unroll)), asked, Budget(timeout=60))
        assert (result.verdict, result.statistics["programs"]) == (HOLDS, 0)
    assert asked_of(Milp(MilpOptions(tighten=False)), asked, Budget(timeout=60)).statistics["programs"] == 1


def test_draws_and_ties_of_a_step_are_the_same_for_all_later_networks() -> None:
    """Sensor noise is drawn once, however often the observation is read."""
    network = rnn([([[1.0]], [[1.0]], [0.0])], [([[1.0], [-1.0]], [0.0, 0.0])])
    agent = make_agent("agent", [network], [X + build.between(-1, 1, name="noise")], "argmax")
    starts = Init({"x": OneOf((Fraction(0),))})
    system = System("noisy", (Variable("x", REAL),), starts, {"x": X + agent.var}, (agent,))
    for t in range(4):
        plain, history = (u.at(agent.var, t) for u in (Unrolling(system.step), HistoryUnrolling(system, "iod")))
        assert set(draws([plain])) == set(draws([history]))
        assert _occurrences(plain) == _occurrences(history)


def _occurrences(action: Expr) -> set[Occurrence]:
    return {node.occurrence for node in order([action]) if isinstance(node, Argmax)}


def test_agents_that_see_the_actions_of_others_are_unrolled_after_them() -> None:
    network = rnn([([[1.0]], [[0.5]], [0.0])], [([[1.0]], [0.0])], activation="linear")
    first = make_agent("first", [network], [X], "raw")
    second = make_agent("second", [network], [first.var + 1], "raw")
    starts = Init({"x": Span(Fraction(-1), Fraction(1))})
    system = System("chain", (Variable("x", REAL),), starts, {"x": second.var - X}, (second, first))
    engines = [find_engine("paths"), *(Milp(MilpOptions(unroll=unroll)) for unroll in UNROLL)]
    task = Task(system)
    for formula, verdict in (("X (x == 1)", HOLDS), ("X[2] (x <= 2)", VIOLATED), ("X[2] (x <= 3)", HOLDS)):
        assert agreed(system, parse_formula(task, formula), engines) is verdict


def test_several_networks_with_memory_are_refused() -> None:
    network = rnn([([[1.0]], [[1.0]], [0.0])])
    mode = Variable("mode", BOOL)
    agent = make_agent("agent", [network, network], [X], "raw", select=mode.var)
    starts = Init({"x": OneOf((Fraction(0),)), "mode": OneOf((Fraction(0), Fraction(1)))})
    system = System("modes", (Variable("x", REAL), mode), starts, {"x": agent.var}, (agent,))
    asked = Question(system, parse_formula(Task(system), "X (x == 0)"))
    assert asked_of(Milp(), asked, Budget(timeout=20)).verdict is HOLDS
    refused = asked_of(Milp(MilpOptions(unroll=Unroll.IOS)), asked, Budget(timeout=20))
    assert refused.verdict is UNKNOWN
    assert "selects among networks" in (refused.reason or "")


@pytest.mark.parametrize(("engine", "verdict"), [("bounds", UNKNOWN), ("milp", HOLDS)])
def test_intervals_leave_open_what_linear_bounds_decide(engine: str, verdict: Verdict) -> None:
    """003, Example 1: z <= 2 after two steps by intervals, after three only by linear bounds or a program."""
    task = read(NEVER)
    for tighten in TIGHTEN:
        two = ask(task, parse_formula(task, "X[2] (z <= 2)"), None, engine, Budget(timeout=20), {"tighten": tighten})
        assert two.verdict is HOLDS
    three = parse_formula(task, "X[3] (z <= 2)")
    assert ask(task, three, None, engine, Budget(timeout=20)).verdict is HOLDS
    assert ask(task, three, None, engine, Budget(timeout=20), {"tighten": False}).verdict is verdict
