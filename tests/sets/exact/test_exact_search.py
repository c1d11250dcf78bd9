"""The exact core of `paths`: never wrong, never undecided on piecewise linear systems, whatever the margin."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from tests.brute import Brute
from tests.cases import CASES, TIED, Case
from tests.loops import closed_loop, disturbed_loop, formula, number
from tests.portion import some
from tests.systems import accumulator, chooser, countdown, make
from vernal.engines.answers import answer as result_of
from vernal.engines.check import asked_of, find_engine, parse_formula
from vernal.errors import Stopped
from vernal.evidence import confirm
from vernal.evidence.replay import NotAPath, run, verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance, Result, Verdict
from vernal.logic.formula import Formula
from vernal.logic.normal import horizon
from vernal.logic.progress import on_paths
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model import build as b
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.motion import Step
from vernal.model.sorts import BOOL, INT, REAL, enum
from vernal.model.system import Init, OneOf, Span, Start, System
from vernal.model.traits import is_rational, nonlinear_node
from vernal.run.budget import Budget
from vernal.sets.exact.cells import OPEN_GUARD
from vernal.sets.exact.exact_search import MAX_PIECES, decide

LOOPS = some(200)
FEWER = some(100)  # where every loop is compared at many points
X, Y, N = b.var("x"), b.var("y"), b.var("n", INT)


def answer(system: System, asked: Formula, limit: int = MAX_PIECES) -> Result:
    question, budget = Question(system, asked), Budget(timeout=60)
    result = result_of(question, decide(question, budget, limit=limit), budget)
    if result.verdict is VIOLATED:
        assert result.trace is not None
        assert verify(system, result.trace).accepted
        if on_paths(asked) is not None:
            assert confirm.truth(result.trace, asked, system) is False
    if result.verdict is HOLDS:
        assert result.trace is None or confirm.truth(result.trace, asked, system) is True
        assert result.assurance is Assurance.EXACT
        assert result.scope
    if result.verdict is UNKNOWN:
        assert result.reason
    return result


def ask(system: System, text: str, limit: int = MAX_PIECES) -> Result:
    return answer(system, parse_formula(Task(system), text), limit)


def verdict(system: System, text: str) -> Verdict:
    return ask(system, text).verdict


# Tables ---------------------------------------------------------------------------------------------------------------


def is_piecewise_linear(case: Case) -> bool:
    roots = case.task.system.step.roots
    return nonlinear_node(roots) is None and all(map(is_rational, order(roots)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_table_is_decided(case: Case) -> None:
    asked = parse_formula(case.task, case.formula)
    result = answer(case.task.system, asked)
    if result.reason == OPEN_GUARD:
        assert case.model == TIED
    elif is_piecewise_linear(case) and horizon(asked) is not None:
        assert result.verdict is case.expected, case.why
    else:
        assert result.verdict is UNKNOWN
        assert result.reason is not None
        assert "piecewise linear" in result.reason or "no bound" in result.reason


def test_random_loops_are_all_decided() -> None:
    for seed in range(LOOPS):
        rng = random.Random(seed)
        system = closed_loop(rng)
        asked = formula(rng, system)
        expected = HOLDS if Brute(system).holds(asked) else VIOLATED
        assert answer(system, asked).verdict is expected, f"seed {seed}: {asked}"


# Intervals ------------------------------------------------------------------------------------------------------------


def widened(rng: random.Random, system: System) -> System:
    """The same loop from intervals of reals, some of them points."""
    starts: dict[str, Start] = dict(system.init.starts)
    for variable in system.state:
        if variable.sort == REAL:
            low = number(rng)
            starts[variable.name] = Span(low, low + Fraction(rng.randint(0, 4), 2))
    return replace(system, init=Init(starts))


def grid(system: System) -> list[dict[str, OneOf]]:
    """Initial states: five values of every interval, the ends among them."""
    options = []
    for variable in system.state:
        start = system.init.starts[variable.name]
        values = start.values if isinstance(start, OneOf) else _steps(start.lower, start.upper)
        options.append([(variable.name, OneOf((value,))) for value in dict.fromkeys(values)])
    return [dict(point) for point in itertools.product(*options)]


def _steps(low: Fraction, high: Fraction) -> list[Fraction]:
    return [low + (high - low) * Fraction(i, 4) for i in range(5)]


def holds_at(system: System, asked: Formula, starts: dict[str, OneOf]) -> bool:
    return Brute(replace(system, init=Init(starts))).holds(asked)


def test_states_of_intervals_agree_with_brute_force() -> None:
    """Any alternation: what holds does so at all states of a grid; a state that is said to fail does fail."""
    branching = 0
    for seed in range(FEWER):
        rng = random.Random(seed)
        system = widened(rng, closed_loop(rng))
        asked = formula(rng, system)
        branching += on_paths(asked) is None
        result = answer(system, asked)
        if result.verdict is HOLDS:
            found = grid(system)
            points = rng.sample(found, 6) if len(found) > 6 else found
            assert all(holds_at(system, asked, point) for point in points), f"seed {seed}: {asked}"
        else:
            assert result.trace is not None, f"seed {seed}: {result.reason}"
            first = result.trace.steps[0].state
            state = {name: OneOf((value,)) for name, value in first.items() if isinstance(value, Fraction)}
            assert not holds_at(system, asked, state), f"seed {seed}: {asked}"
    assert branching > FEWER / 5


def sampled(rng: random.Random, system: System, steps: int) -> Any:
    """An exact path with random starts and draws, ends preferred; None where it has no value."""
    first = {}
    for variable in system.state:
        start = system.init.starts[variable.name]
        values = start.values if isinstance(start, OneOf) else _steps(start.lower, start.upper)
        first[variable.name] = rng.choice(values)
    draws: list[dict[Expr, int]] = [{node: _drawn(rng, node) for node in system.step.names} for _ in range(steps + 1)]
    try:
        return run(system, first, draws, steps)
    except NotAPath:
        return None


def _drawn(rng: random.Random, node: Expr) -> int:
    """An option, a winner that may be taken or not, or a disturbance: in the middle or moved to an end."""
    if isinstance(node, e.Between):
        return rng.choice([-100, 100, 0])
    return rng.randrange(len(node.options) if isinstance(node, e.Choose) else node.args[0].size)


def test_disturbances_agree_with_samples_and_other_engines() -> None:
    decided = 0
    for seed in range(FEWER):
        rng = random.Random(seed)
        system = disturbed_loop(rng)
        asked = formula(rng, system)
        result = answer(system, asked)
        if result.verdict is UNKNOWN:
            assert "piecewise linear" in (result.reason or "")
            continue
        decided += 1
        bounds = asked_of(find_engine("bounds"), Question(system, asked), Budget(timeout=60)).verdict
        assert bounds in (UNKNOWN, result.verdict), f"seed {seed}: {asked}"
        reach = horizon(asked)
        assert reach is not None
        if result.verdict is HOLDS and on_paths(asked) is not None:
            traces = [trace for _ in range(8) if (trace := sampled(rng, system, reach)) is not None]
            assert all(confirm.truth(trace, asked) is not False for trace in traces), f"seed {seed}: {asked}"
    assert decided > FEWER / 2


# Boundaries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "asked", "expected"),
    [
        # suprema that are not attained
        (make({"x": (0, 1)}, {"x": b.floor(X)}, where=[X < 1]), "X (x == 0)", HOLDS),
        (make({"x": (0, 1)}, {"x": b.floor(X)}), "X (x == 0)", VIOLATED),
        (make({"x": (-1, 1)}, {"x": b.if_(X > 0, X - 1, X + 1)}), "X (x > -1)", HOLDS),
        (make({"x": (-1, 1)}, {"x": b.if_(X >= 0, X - 1, X + 1)}), "X (x > -1)", VIOLATED),
        (make({"x": (0, 2)}, {"x": X}, where=[X < 1]), "G[0,3] (x < 1)", HOLDS),
        (make({"x": (0, 2)}, {"x": X}, where=[X < 1]), "G[0,3] (x < 0.999999999999999999999)", VIOLATED),
        (make({"x": (0, 1), "y": (0, 1)}, {"x": X + Y}, where=[X + Y < 1]), "X (x < 1)", HOLDS),
        (make({"x": (0, 1), "y": (0, 1)}, {"x": X + Y}, where=[X + Y <= 1]), "X (x < 1)", VIOLATED),
        # equalities
        (make({"x": (0, 1), "y": (0, 1)}, {"x": X - Y}), "X (x != 0.5)", VIOLATED),
        (make({"x": (0, 1), "y": (0, 1)}, {"x": X - Y}, where=[b.eq(X, Y)]), "X (x == 0)", HOLDS),
        (make({"x": (0, 1)}, {"x": b.if_(b.eq(X, Fraction(1, 3)), 5, X)}), "X (x <= 1)", VIOLATED),
        (make({"x": (0, 1)}, {"x": b.sign(X)}), "X (x == 0 | x == 1)", HOLDS),
        (make({"x": (0, 1)}, {"x": b.sign(X)}), "X (x == 1)", VIOLATED),
        # nothing but a point
        (make({"x": ("1/3", "1/3")}, {"x": 3 * X}), "X (x == 1)", HOLDS),
        (make({"x": ("1/3", "1/3")}, {"x": 3 * X}), "X (x > 1)", VIOLATED),
        # draws
        (make({"x": 0}, {"x": b.choose(0, 1) - b.choose(0, 1)}), "X (x == 0)", VIOLATED),
        (make({"x": 0}, {"x": b.choose(0, 1) - b.choose(0, 1)}), "EX (x == -1) & EX (x == 1)", HOLDS),
        (make({"x": 0}, {"x": X + b.between(-1, 1)}), "G[0,4] (x <= 4)", HOLDS),
        (make({"x": 0}, {"x": X + b.between(-1, 1)}), "G[0,4] (x < 4)", VIOLATED),
        (make({"x": (0, 1), "y": 0}, {"y": b.between(X, 2 * X) - X}), "X (y <= x & y >= 0)", HOLDS),
        (make({"x": (0, 1), "y": 0}, {"y": b.between(X, 2 * X) - X}), "X (y < x)", VIOLATED),
        # large and small
        (make({"x": ("1/1000000", 1)}, {"x": b.relu(10**6 * X - 1) / 10**6}), "X (x <= 0.999999)", HOLDS),
        (make({"x": ("1/1000000", 1)}, {"x": b.relu(10**6 * X - 1) / 10**6}), "X (x < 0.999999)", VIOLATED),
        (make({"x": (0, 1)}, {"x": 10**6 * X - Fraction(1, 10**6)}), "X (x >= -0.000001)", HOLDS),
        (make({"x": (0, 1)}, {"x": 10**6 * X - Fraction(1, 10**6)}), "X (x > -0.000001)", VIOLATED),
    ],
)
def test_margin_zero(system: System, asked: str, expected: Verdict) -> None:
    assert verdict(system, asked) is expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("X (x != 1)", VIOLATED),  # at 0 either may be taken
        ("X (x != -1)", VIOLATED),
        ("X (abs(x) <= 1)", HOLDS),
        ("G[0,3] (x > 0 -> pilot == LEFT)", HOLDS),
        ("G[0,3] (x >= 0 -> pilot == LEFT)", VIOLATED),
        ("x == 0 -> EX (x == 1)", HOLDS),
        ("x == 0 -> EX (x == 1) & EX (x == -1)", HOLDS),
        ("EX (x == 1)", VIOLATED),
        ("AX EX (abs(x) <= 1)", HOLDS),
    ],
)
def test_ties(asked: str, expected: Verdict) -> None:
    assert verdict(chooser(), asked) is expected


def test_actions_belong_to_positions() -> None:
    """At a tie the atom and the step take the same winner; a state claim asks it of each."""
    assert verdict(chooser(), "G[0,2] (pilot == LEFT & x == 0 -> X (x == -1))") is HOLDS
    assert verdict(chooser(), "(pilot == LEFT & x == 0) -> EX (x == -1)") is HOLDS
    assert verdict(chooser(), "(pilot == LEFT & x == 0) -> EX (x == 1)") is VIOLATED
    still = replace(chooser(), init=Init({"x": OneOf((Fraction(1),))}))
    assert verdict(still, "EX (pilot == LEFT) & EX (pilot == RIGHT)") is HOLDS  # the next position is at the tie


# Disturbances under quantifiers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "asked", "expected"),
    [
        ((0, 1), "EX (x == 0)", HOLDS),
        ((0, 2), "EX (x == 0)", VIOLATED),
        ((0, 1), "EX (x < 0)", VIOLATED),  # from 1 it just reaches 0
        ((0, 0), "AX EX (x == 0)", HOLDS),  # the second draw answers the first
        ((0, 0), "AX EX (x > 0)", VIOLATED),
        ((0, 0), "AX EX (x >= 0)", HOLDS),
        ((0, 1), "EX AX (x > 0)", VIOLATED),
        (("1/2", 1), "EX AX (x > 0)", HOLDS),
        ((0, 1), "EX AX EX (x == 0)", HOLDS),
        ((0, 1), "AX AX AX (x <= 4)", HOLDS),
        ((0, 1), "EF[0,2] (x == 3)", VIOLATED),
        ((1, 2), "EF[0,2] (x == 3)", HOLDS),
        ((0, 1), "E[(x < 1) U[0,2] (x == 1)]", HOLDS),
        ((0, 1), "AX (x > 0) | AX (x < 2)", VIOLATED),
        ((0, "999/1000"), "AX (x > 0) | AX (x < 2)", HOLDS),
    ],
)
def test_disturbances_are_projected(start: tuple[Any, Any], asked: str, expected: Verdict) -> None:
    system = make({"x": start}, {"x": X + b.between(-1, 1)})
    assert verdict(system, asked) is expected


def test_a_claim_of_some_path_has_a_witness() -> None:
    """From a single state one path is enough, however many disturbances lead to it."""
    drift = make({"x": 0}, {"x": X + b.between(-1, 1) - b.between(-1, 1)})
    result = ask(drift, "EF[0,12] (x == 23.5)")
    assert result.verdict is HOLDS
    assert result.trace is not None
    assert result.trace.steps[-1].state["x"] == Fraction(47, 2)
    assert verdict(drift, "EF[0,11] (x == 23.5)") is VIOLATED
    two = replace(drift, init=Init({"x": OneOf((Fraction(0), Fraction(1)))}))
    assert verdict(two, "EF[0,3] (x == 7)") is VIOLATED  # only from 1
    assert verdict(two, "EF[0,3] (x == 6)") is HOLDS


# Ends, memory, integers -----------------------------------------------------------------------------------------------


def test_ends_of_paths() -> None:
    assert verdict(countdown(), "X[2] (n >= 0)") is HOLDS
    assert verdict(countdown(), "X[3] (n >= 0)") is VIOLATED
    assert verdict(countdown(), "AX[3] (n == 0)") is HOLDS
    assert verdict(countdown(), "AF[0,3] AX (n < 0)") is HOLDS
    assert verdict(countdown(), "EX[3] (n == 0)") is VIOLATED
    half = make({"x": (0, 2)}, {"x": X - 1}, enabled=X >= 1)
    assert verdict(half, "X (x >= 0)") is VIOLATED
    assert verdict(half, "G[0,5] (x >= 0)") is HOLDS
    assert verdict(half, "AX (x >= 0) & (x >= 1 -> EX (x <= 1))") is HOLDS


def test_a_guard_that_asks_for_the_action() -> None:
    """At a tie, the path with one of the actions ends and the other goes on: E takes the other, and A both."""
    pilot = b.var("pilot", enum("LEFT", "RIGHT"), role=e.Role.ACTION)
    picky = replace(chooser(), motion=Step(chooser().next, b.eq(pilot, b.label(pilot.sort, "LEFT"))))
    assert verdict(picky, "x > 0 -> X (x > -1)") is HOLDS
    assert verdict(picky, "x >= 0 -> X (x >= -1)") is VIOLATED
    assert verdict(picky, "x >= 0 -> AX (x >= -1)") is HOLDS
    assert verdict(picky, "x > 0 -> EX (x > -1)") is UNKNOWN  # of states with and without a tie at once
    assert verdict(picky, "x >= 0 -> EX (x >= -1)") is UNKNOWN
    assert verdict(picky, "x >= 0 -> AF[1,1] (x >= -1)") is VIOLATED


def test_memory() -> None:
    assert verdict(accumulator(), "G[0,1] (x >= -0.75)") is HOLDS
    assert verdict(accumulator(), "X (x > -0.75)") is VIOLATED
    assert verdict(accumulator(), "X (x <= 0.25)") is HOLDS
    assert verdict(accumulator(), "X (x < 0.25)") is VIOLATED


def test_integers() -> None:
    wide = make({"n": 0}, {"n": N + 2}, sorts={"n": INT})
    wide = replace(wide, init=Init({"n": Span(Fraction(-3, 2), Fraction(5, 2))}))
    assert verdict(wide, "n != -2 & n != 0.5") is HOLDS
    assert verdict(wide, "X (n <= 4)") is HOLDS
    assert verdict(wide, "X (n != 3)") is VIOLATED


def test_variables_nobody_asks_about_are_not_followed() -> None:
    bent = make({"x": (0, 1), "y": (0, 1)}, {"x": X, "y": b.apply(e.Function.SIN, Y)})
    assert verdict(bent, "G[0,3] (x <= 1)") is HOLDS
    assert verdict(bent, "G[0,3] (y <= 1)") is UNKNOWN
    rooted = make({"x": (0, 1), "y": (0, 1)}, {"x": X, "y": b.apply(e.Function.LOG, Y)})
    assert verdict(rooted, "G[0,3] (x <= 1)") is UNKNOWN  # there may be no next state at all


def test_nothing_to_start_from() -> None:
    nowhere = make({"x": (0, 1)}, {"x": X}, where=[X < 0])
    result = ask(nowhere, "G[0,3] (x > 5)")
    assert result.verdict is HOLDS
    assert result.vacuous
    assert result.notes


# Limits ---------------------------------------------------------------------------------------------------------------


def test_equal_pieces_are_followed_once() -> None:
    system = make({"x": (0, 1)}, {"x": X + b.choose(-1, 0, 1)})
    result = ask(system, "G[0,12] (x <= 13)")
    assert result.verdict is HOLDS
    assert int(result.statistics["pieces"]) < 1000  # 3^12 paths


def test_a_limit_is_unknown_with_a_reason() -> None:
    system = make({"x": (0, 1)}, {"x": X / 2 + b.choose(0, 1, 2)})
    for asked in ("G[0,12] (x <= 9)", "AG[0,12] (x <= 9 | EX (x > 9))"):
        result = ask(system, asked, limit=100)
        assert result.verdict is UNKNOWN
        assert "more than 100" in (result.reason or "")


def test_time_is_looked_at() -> None:
    system = make({"x": (0, 1)}, {"x": X / 2 + b.choose(0, 1, 2)})
    asked = parse_formula(Task(system), "G[0,40] (x <= 9)")
    with pytest.raises(Stopped):
        decide(Question(system, asked), Budget(timeout=0.05))


def test_a_bound_beyond_all_bounds_is_unknown() -> None:
    system = make({"x": 0}, {"x": X})
    assert verdict(system, "G[0,1000000] (x == 0)") is UNKNOWN
    assert verdict(system, "G (x == 0)") is UNKNOWN


def test_long_and_deep_claims() -> None:
    toggle = make({"p": 0}, {"p": ~b.var("p", BOOL)}, sorts={"p": BOOL})
    assert verdict(toggle, "G[0,1500] (p | X p)") is HOLDS
    assert verdict(toggle, "AG[0,1500] (EX p | EX (!p & EX p))") is HOLDS
    assert verdict(toggle, "AX[1500] EX p") is HOLDS
    assert verdict(toggle, "AX[1501] EX p") is VIOLATED
