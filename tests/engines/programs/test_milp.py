"""The engine milp: encodings agree, candidates are replayed, and a solver is believed beyond its tolerance only."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from tests.brute import Brute
from tests.cases import HALF_OPEN, JUMP, LEAKY, LIGHT, LOGISTIC, PRODUCT, STILL, TWO_COINS, read
from tests.engines.test_truth import check_evidence
from tests.judge import instance
from tests.loops import closed_loop, disturbed_loop, formula
from tests.portion import some
from tests.systems import make
from tests.test_vcas import RATES, SAFE
from tests.test_vcas import cell as vcas_cell
from tests.work import processor
from vernal.engines.check import ask, asked_of, find_engine, parse_formula
from vernal.engines.options import Encoding, MilpOptions
from vernal.engines.programs import program
from vernal.engines.programs.milp import Milp
from vernal.errors import InputError, NameUnknown
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance, Result
from vernal.formats.task.blueprint import load
from vernal.interpret.milp.encode import Encoder
from vernal.interpret.milp.exclusions import exclude
from vernal.logic.progress import on_paths
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.initial import Valuation
from vernal.model.sorts import BOOL, INT, enum
from vernal.model.tick import idle
from vernal.run.budget import Budget
from vernal.sets.refutation import BoundedStarts, Case, cases, refuting_condition
from vernal.solvers import registry
from vernal.solvers.base import MilpProblem as LinearProgram
from vernal.solvers.base import MilpSolver, Solved, SolveStatus
from vernal.solvers.fake import Fake
from vernal.solvers.watch import watched

# Pushed left where it was right of 0.2, and right where it was not: phases, branches and choices are all open.
STEERED = """
[state]
x = "real"
mode = "enum {LEFT, RIGHT}"
[init]
x = "[-1, 1]"
mode = "{LEFT, RIGHT}"
[environment.let]
push = "match(mode, LEFT: choose(-0.5, -0.25), RIGHT: between(0.25, 0.5))"
[environment.next]
x = "clip(x + push, -1.5, 1.5) + 0.1 * abs(x)"
mode = "if(x > 0.2, LEFT, RIGHT)"
"""
CLAIM = "X[3] (mode == RIGHT -> x <= 0.73)"  # 0.72 is the supremum: from x = 0.2 by 0.5


def asked(
    model: str, text: str, encoding: Encoding = Encoding.MONOLITHIC, solver: str | MilpSolver = "highs"
) -> Result:
    task = read(model)
    question = Question(task.system, parse_formula(task, text))
    result = asked_of(Milp(MilpOptions(encoding, solver)), question, Budget(timeout=30))
    check_evidence(task.system, question.formula, result)
    return result


# Discrete states that a solver takes for counterexamples --------------------------------------------------------------

# A hat over x = 7, and at y = 3 another one: with each a tolerance takes 1 for enough.
NEARLY = """
[state]
x = "int [0, 20]"
y = "int [0, 9]"
mode = "enum {{A, B}}"
bad = "bool"
[init]
x = "[0, 20]"
y = "[0, 9]"
mode = "{{A, B}}"
bad = false
[environment.let]
first = "relu(x - 6) - 2 * relu(x - 7) + relu(x - 8)"
second = "relu(y - 2) - 2 * relu(y - 3) + relu(y - 4)"
[environment.next]
bad = "first + second >= {height} & mode == B"
"""


@pytest.mark.parametrize("encoding", Encoding)
def test_states_that_only_a_tolerance_takes_for_failures_are_left_out(
    encoding: Encoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = NEARLY.format(height="2.000000001")
    assert asked(model, "G[0,1] !bad", encoding).verdict is HOLDS
    monkeypatch.setattr(program, "is_finite", lambda system, case: False)
    assert asked(model, "G[0,1] !bad", encoding).verdict is UNKNOWN


@pytest.mark.parametrize("encoding", Encoding)
def test_failures_among_states_that_nearly_fail_are_found(encoding: Encoding) -> None:
    result = asked(NEARLY.format(height="2"), "G[0,1] !bad", encoding)
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert [result.trace.steps[0].state[name] for name in "xy"] == [7, 3]


def test_a_state_is_left_out_of_a_program_and_no_other() -> None:
    """State after state of a small set, until none is left."""
    light = enum("R", "G", "B")
    system = make({"x": (-1, 1), "p": {0, 1}, "light": {0, 2}}, {}, sorts={"x": INT, "p": BOOL, "light": light})
    starts, left = system.initial.starts, set[tuple[int, ...]](product((-1, 0, 1), (0, 1), (0, 2)))
    excluded: list[Valuation] = []
    while True:
        encoder = Encoder(starts, BoundedStarts(system.initial).linear)
        for state in excluded:
            exclude(encoder, state)
        point = registry.find("highs").solve(program.program(encoder.sheet), 10.0, 1e9, idle).point
        if point is None:
            break
        excluded.append(program.ProgramPoint(system, encoder, Case(build.TRUE)).first(point, None))
        left.remove(tuple(int(excluded[-1][var][0]) for var in starts))
    assert not left


# Both encodings, every solver -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", registry.installed())
@pytest.mark.parametrize("encoding", Encoding)
def test_encodings_and_solvers_agree_with_brute_force(encoding: Encoding, solver: str) -> None:
    decided = 0
    for seed in range(1000, 1000 + some(40)):
        rng = random.Random(seed)
        system = closed_loop(rng)
        claim = formula(rng, system)
        result = asked_of(Milp(MilpOptions(encoding, solver)), Question(system, claim), Budget(timeout=30))
        check_evidence(system, claim, result)
        if result.verdict is not UNKNOWN:
            decided += 1
            assert (result.verdict is HOLDS) == Brute(system).holds(claim), f"seed {seed}: {claim}"
    assert decided > some(40) / 2


def test_milp_agrees_with_the_other_engines_on_intervals() -> None:
    engines = [*(Milp(MilpOptions(encoding)) for encoding in Encoding), find_engine("bounds"), find_engine("falsify")]
    decided = 0
    for seed in range(1000, 1015):
        rng = random.Random(seed)
        system = disturbed_loop(rng)
        claim = formula(rng, system)
        results = [asked_of(engine, Question(system, claim), processor(1)) for engine in engines]
        assert len({result.verdict for result in results} - {UNKNOWN}) < 2, f"seed {seed}: {claim}"
        for result in results[:2]:
            check_evidence(system, claim, result)
            decided += result.verdict is not UNKNOWN
    assert decided > 10


@pytest.mark.parametrize("encoding", Encoding)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("G[0,3] (x <= 1.65)", HOLDS),
        ("X[2] (x <= 1.5)", VIOLATED),
        (CLAIM, HOLDS),
        ("X[3] (mode == RIGHT -> x <= 0.71)", VIOLATED),
        ("X[3] (mode == LEFT -> x >= -0.285)", HOLDS),
        ("X[3] (mode == LEFT -> x >= -0.275)", VIOLATED),
        ("G[0,2] (x > 0.21 -> X (mode == LEFT))", HOLDS),
        ("G[0,2] (x > 0.19 -> X (mode == LEFT))", VIOLATED),
        ("AG[0,2] (x >= -1.41)", HOLDS),
        ("AG[0,2] (x >= -1.39)", VIOLATED),
    ],
)
def test_open_phases_and_choices(text: str, expected: object, encoding: Encoding) -> None:
    result = asked(STEERED, text, encoding)
    assert result.verdict is expected, result
    if result.verdict is HOLDS:
        proven = Assurance.SOLVER if result.statistics["programs"] else Assurance.RIGOROUS
        assert result.assurance is proven


def test_statistics_count_programs() -> None:
    whole = asked(STEERED, CLAIM)
    parts = asked(STEERED, CLAIM, Encoding.COMPOSITIONAL)
    assert whole.statistics["programs"] == 1
    assert int(whole.statistics["binaries"]) > int(parts.statistics["binaries"])
    for result in (whole, parts):
        assert {"programs", "variables", "rows", "binaries", "solver_seconds"} <= set(result.statistics)


@pytest.mark.data
@pytest.mark.parametrize("scaling", [5000, 200])
@pytest.mark.parametrize("encoding", Encoding)
def test_the_published_table(encoding: Encoding, scaling: int) -> None:
    from tests.test_vcas import PUBLISHED

    for k, row in enumerate(SAFE[scaling][:3], start=1):
        for v0, safe in zip(RATES, row, strict=True):
            task = load(PUBLISHED, range_v=scaling, k=k, v0=v0)
            options = {"encoding": encoding}
            result = ask(task, task.properties["safe"], "safe", "milp", Budget(timeout=60), options)
            assert result.verdict is (HOLDS if safe == "T" else VIOLATED), (k, v0, result.reason)
            check_evidence(task.system, task.properties["safe"], result)
    assert vcas_cell(scaling, 1, RATES[0], "milp").verdict is HOLDS


# What may be claimed --------------------------------------------------------------------------------------------------


def test_states_and_paths_are_told_apart() -> None:
    """Every path keeps `X (x == 0) | X (x > 0)`; no disjunct is kept by all."""
    result = asked(TWO_COINS, "AX (x == 0) | AX (x > 0)")
    assert result.verdict is VIOLATED
    assert result.step == 0
    assert asked(TWO_COINS, "AX (x == 0 | x > 0)").verdict is HOLDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X (x == 0) | X (x > 0)", True),
        ("AX (x == 0) | AX (x > 0)", False),
        ("x == 0 | AX (x > 0)", True),
        ("AG[0,3] (x == 0 -> AX (x > 0))", True),
        ("AF[0,3] AG[0,2] (x == 0)", False),
        ("AF[2,2] AG[0,2] (x == 0)", True),
        ("A[AX (x == 0) U[0,3] (x > 0)]", True),
        ("A[(x == 0) U[0,3] AX (x > 0)]", False),
        ("A[(x == 0) R[0,3] AX (x > 0)]", True),
        ("A[AX (x == 0) R[0,3] (x > 0)]", False),
        ("!EF[0,3] (x > 0)", True),
        ("EX (x > 0)", False),
    ],
)
def test_which_claims_speak_of_paths(text: str, expected: bool) -> None:
    assert (on_paths(parse_formula(read(TWO_COINS), text)) is not None) is expected


@pytest.mark.parametrize(
    ("model", "text", "expected"),
    [
        (TWO_COINS, "EX (x == 1)", HOLDS),
        (TWO_COINS, "EX (x == 3)", VIOLATED),
        (LIGHT, "EX[2] (cars == 2)", VIOLATED),  # from the start with no car
        (LIGHT, "EX[2] (cars == 1)", HOLDS),
        (STILL, "EF[0,4] (x > 1)", VIOLATED),
        (STILL, "EF[0,4] (x > 0.5)", UNKNOWN),
    ],
)
def test_claims_of_some_path(model: str, text: str, expected: object) -> None:
    result = asked(model, text)
    assert result.verdict is expected, result
    assert (result.trace is None) is (expected is UNKNOWN)


@pytest.mark.parametrize(
    ("model", "text", "why"),
    [
        (TWO_COINS, "G (x <= 2)", "no bound"),
        (LOGISTIC, "X (x <= 0.672)", "spurious after"),
        (PRODUCT.replace("x * y / 4", "1 / x"), "X (x < 0.5)", "denominator"),
        (HALF_OPEN, "G[0,2] (x < 1)", "numerics"),
        (JUMP, "X (x > -1)", "numerics"),
    ],
)
def test_unknown_says_why(model: str, text: str, why: str) -> None:
    result = asked(model, text)
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    assert why in result.reason


def test_an_empty_initial_set_is_vacuous() -> None:
    result = asked(STILL + 'where = ["x > 2"]\n', "G[0,2] (x < 0)")
    assert result.verdict is HOLDS
    assert result.vacuous


# The solver is a witness, not a judge ---------------------------------------------------------------------------------


def test_a_false_point_is_not_believed() -> None:
    """Whatever point a solver invents, the exact replay does not find a violation where there is none."""
    lie = Fake([lambda problem: Solved(SolveStatus.OPTIMAL, np.zeros(problem.columns), 0.0)] * 50)
    result = asked(STEERED, CLAIM, solver=lie)
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    assert "numerics" in result.reason


@pytest.mark.parametrize("status", [s for s in SolveStatus if s not in (SolveStatus.OPTIMAL, SolveStatus.INFEASIBLE)])
def test_only_infeasible_is_a_proof(status: SolveStatus) -> None:
    result = asked(STEERED, CLAIM, solver=Fake([Solved(status, said="so and so")] * 50))
    assert result.verdict is UNKNOWN
    assert result.reason is not None
    assert "so and so" in result.reason


def test_infeasible_once_is_not_enough() -> None:
    """Without an objective, and with room in every row, a solver has to say it again."""
    fake = Fake([Solved(SolveStatus.INFEASIBLE), Solved(SolveStatus.LIMIT, said="so and so")] * 50)
    result = asked(STEERED, CLAIM, solver=fake)
    assert result.verdict is UNKNOWN
    first, second = fake.asked[:2]
    assert first.objective.any()
    assert not second.objective.any()
    assert (second.row_upper > first.row_upper).all()
    assert (second.lower <= first.lower).all()
    assert (second.upper >= first.upper).all()
    assert (second.lower == first.lower)[first.integer].all()


@pytest.mark.parametrize("solver", registry.installed())
def test_a_program_that_a_solver_called_infeasible(solver: str) -> None:
    """Thin enclosures of a tanh: SCIP 10 does not see the point that violates this claim by 1e-4."""
    question = instance(892, "recurrent")
    result = asked_of(Milp(MilpOptions(solver=solver)), Question(question.system, question.formula), Budget(timeout=30))
    assert result.verdict is not HOLDS


def test_the_time_left_is_passed_on() -> None:
    fake = Fake()
    asked(STEERED, CLAIM, solver=fake)
    assert 0 < fake.time_limits[0] <= 30


def test_a_spent_budget_is_said_with_what_was_done() -> None:
    task = read(STEERED)
    question = Question(task.system, parse_formula(task, CLAIM))
    ticks = iter([0.0] * 3)
    budget = Budget(timeout=1.0, started=0.0, clock=lambda: next(ticks, 100.0))
    result = asked_of(Milp(), question, budget)
    assert result.verdict is UNKNOWN
    assert result.reason == "timeout after 1 s"


@pytest.mark.parametrize(
    ("encoding", "workers"), [(Encoding.MONOLITHIC, 1), (Encoding.COMPOSITIONAL, 1), (Encoding.COMPOSITIONAL, 2)]
)
def test_memory_is_looked_at_while_a_solver_works(
    encoding: Encoding, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solver never comes back by itself, and takes the memory only once it is at work."""
    solver = Hungry()
    monkeypatch.setattr("vernal.run.budget.resident_gib", lambda: 99.0 if solver.told.is_set() else 0.0)
    task = read(STEERED)
    question = Question(task.system, parse_formula(task, CLAIM))
    budget = Budget(timeout=60, memory=1.5, workers=workers)
    result = asked_of(Milp(MilpOptions(encoding, solver)), question, budget)
    assert (result.verdict, result.reason) == (UNKNOWN, "memory beyond 1.5 GiB")


class Hungry(Fake):
    """A solver that is at work for ever, and has to be told to stop."""

    def __init__(self) -> None:
        super().__init__()
        self.told, self.stop = threading.Event(), threading.Event()

    def solve(
        self,
        problem: LinearProgram,
        time_limit: float = float("inf"),
        target: float | None = None,
        tick: Callable[[], object] = idle,
    ) -> Solved:
        def work() -> None:
            self.told.set()
            self.stop.wait(60)

        watched(work, self.stop.set, time_limit, tick)
        return Solved(SolveStatus.LIMIT, said="it was never told to stop")


def test_margin_zero_is_refuted_exactly() -> None:
    result = asked(LEAKY, "G[1,4] (abs(x) < 0.75)")
    assert result.verdict is VIOLATED
    assert result.assurance is Assurance.EXACT


# Pieces ---------------------------------------------------------------------------------------------------------------


def test_unknown_options_are_refused() -> None:
    with pytest.raises(InputError, match="no encoding 'mono'"):
        find_engine("milp", {"encoding": "mono"})
    with pytest.raises(NameUnknown, match="no solver 'higs'"):
        find_engine("milp", {"solver": "higs"})
    with pytest.raises(InputError, match="the option tighten is True or False, not 'no'"):
        find_engine("milp", {"tighten": "no"})
    with pytest.raises(InputError, match="the option solver is a name, not 3"):
        find_engine("milp", {"solver": 3})
    with pytest.raises(InputError, match="has no option 'tigten'; did you mean 'tighten'"):
        find_engine("milp", {"tigten": True})
    with pytest.raises(InputError, match="goes with --engine milp"):
        find_engine("bounds", {"encoding": "monolithic"})
    engine = find_engine("milp", {"encoding": "compositional"})
    assert isinstance(engine, Milp)
    assert engine.encoding is Encoding.COMPOSITIONAL


def test_cases_cover_disjuncts_and_choices() -> None:
    task = read(TWO_COINS)
    condition = refuting_condition(task.system, parse_formula(task, "X (x != 1)"))
    found = list(cases(BoundedStarts(task.system.initial), condition))
    assert sorted(tuple(case.taken.values()) for case in found) == [(0, 1), (1, 0)]


def test_starts_are_split_while_they_are_few() -> None:
    initial = read(STEERED).system.initial
    assert len(initial.split(2)) == 2
    assert initial.split(1) == [initial]


def test_every_position_is_asked_once() -> None:
    """G[0,300] F[0,100] is long, and still one condition over shared positions."""
    task: Task = read(STILL)
    condition = refuting_condition(task.system, parse_formula(task, "G[0,300] F[0,100] (x > 2)"))
    assert condition.sort.kind.value == "bool"
    assert asked(STILL, "G[0,60] F[0,20] (x > 2)").verdict is VIOLATED
