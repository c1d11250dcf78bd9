"""What pieces can still do: failures written out are the formula's, and nothing is closed that some path can break."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from tests.engines.test_nonlinear import claim, least_margin
from tests.engines.test_truth import check_evidence
from tests.portion import seeds, some
from tests.systems import make
from tests.work import processor
from vernal.engines.check import asked_of, find_engine
from vernal.evidence.result import HOLDS, VIOLATED, Result, Verdict
from vernal.interpret import exact
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Next, Not, Or, Release, Until, Weak
from vernal.logic.normal import horizon
from vernal.logic.progress import Obligations
from vernal.logic.question import Question
from vernal.logic.semantics import evaluate
from vernal.model import build as b
from vernal.model.agent import make_agent
from vernal.model.expr import Expr, Function, Matrix, Operand
from vernal.model.network import Network, network_input
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.sets.pieces import outlook
from vernal.sets.pieces.outlook import failure

X, Y = b.var("x"), b.var("y")


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outlook is asked from the first piece on, whatever it takes."""
    monkeypatch.setattr(outlook, "AT_FIRST", -1e9)


# Failures -------------------------------------------------------------------------------------------------------------


def formula(rng: random.Random, depth: int) -> Formula:
    """A bounded formula of two atoms about x."""
    if depth == 0 or rng.random() < 0.2:
        return Atom(b.compare("<", X, b.const(Fraction(rng.randint(-4, 4), 4))))
    low = Fraction(rng.randint(0, 1))
    bound = Bound(low, low + rng.randint(0, 2))
    left, right = formula(rng, depth - 1), formula(rng, depth - 1)
    match rng.randrange(9):
        case 0:
            return Not(left)
        case 1:
            return And((left, right))
        case 2:
            return Or((left, right))
        case 3:
            return Next(left, rng.randint(1, 2), None)
        case 4:
            return Always(left, bound, None)
        case 5:
            return Eventually(left, bound, None)
        case 6:
            return Until(left, right, bound, None)
        case 7:
            return Release(left, right, bound, None)
    return Weak(left, right, bound, None)


@pytest.mark.parametrize("ends", [False, True])
def test_the_condition_is_true_exactly_where_the_formula_fails(ends: bool) -> None:
    """On single paths in rational arithmetic, also where they may end."""
    rng = random.Random(0)
    enabled = b.compare("<", X, b.const(Fraction(3, 4))) if ends else b.TRUE
    system = make({"x": (-1, 1)}, {"x": Fraction(-3, 2) * X + Fraction(1, 4)}, enabled=enabled)
    unrolling, seen = Unrolling(system.step), set[bool]()
    for _ in range(some(150)):
        asked = formula(rng, 3)
        table = Obligations()
        condition = failure(table, table.of(asked, total=not ends), unrolling)
        assert condition is not None
        for start in (Fraction(k, 7) for k in range(-7, 8, 2)):
            (failing,) = exact.evaluate([condition], {X: start})
            steps = (horizon(asked) or 0) + 1
            path = [start]
            while len(path) < steps + 1 and (not ends or path[-1] < Fraction(3, 4)):
                path.append(Fraction(-3, 2) * path[-1] + Fraction(1, 4))
            over = ends and len(path) < steps + 1
            truth = evaluate(asked, partial(_at, path), len(path), complete=over)
            assert failing is (not truth), f"{asked} from {start}"
            seen.add(truth is True)
    assert seen == {True, False}


def _at(path: list[Fraction], atom: Expr, t: int) -> bool:
    (value,) = exact.evaluate([atom], {X: path[t]})
    return value is True


def test_what_has_no_end_is_not_written_out() -> None:
    system = make({"x": 0}, {"x": X})
    table = Obligations()
    owed = table.of(Always(Atom(b.compare("<", X, b.const(1))), Bound(Fraction(0), None), None), total=True)
    assert failure(table, owed, Unrolling(system.step)) is None


# Loops ----------------------------------------------------------------------------------------------------------------


def network(rng: random.Random, outputs: int) -> Network:
    """Scores by one layer of ReLUs, with ties along whole lines where rows are equal."""
    x = network_input(2)
    weights = np.array([[rng.randint(-4, 4) / 2 for _ in range(2)] for _ in range(4)])
    hidden = b.relu(b.affine(x, Matrix(weights), Matrix(np.array([rng.randint(-2, 2) / 4 for _ in range(4)]))))
    rows = np.array([[rng.randint(-2, 2) / 2 for _ in range(4)] for _ in range(outputs)])
    return Network("policy", x, b.affine(hidden, Matrix(rows), Matrix(np.zeros(outputs))))


def loop(rng: random.Random) -> System:
    """Two numbers, a policy of three actions that sees them with or without noise, and a nonlinear term."""
    noise = b.between(Fraction(-1, 20), Fraction(1, 20)) if rng.random() < 0.3 else b.const(0)
    agent = make_agent("agent", [network(rng, 3)], [X + noise, Y], "argmax")
    push = b.if_(b.eq(agent.var, 0), Fraction(-1, 5), b.if_(b.eq(agent.var, 1), 0, Fraction(1, 5)))
    turn = Fraction(rng.randint(-3, 3), 10) * b.apply(Function.SIN, Y)
    x, y = X + turn + push / rng.randint(1, 3), Y * Fraction(9, 10) + push * rng.choice([-1, 1]) / 4
    if rng.random() < 0.4:
        x = x + b.between(Fraction(-1, 20), Fraction(1, 10))
    elif rng.random() < 0.5:
        y = y + b.choose(Fraction(-1, 10), 0, Fraction(1, 10))
    starts = {name: (low := rng.randint(-10, 10), low + rng.randint(2, 8)) for name in ("x", "y")}
    spans = {name: (f"{low / 10:.1f}", f"{high / 10:.1f}") for name, (low, high) in starts.items()}
    return make(spans, {"x": x, "y": y}, agents=[agent])


@pytest.mark.usefixtures("eager")
def test_loops_agree_with_dense_sampling() -> None:
    verdicts: list[Verdict] = []
    foreseen = 0
    for seed in seeds(20):
        rng = random.Random(seed)
        system = loop(rng)
        asked = claim(rng, system)
        result = ask(system, asked, processor(2))
        verdicts.append(result.verdict)
        foreseen += int(result.statistics.get("foreseen", 0))
        if result.verdict is HOLDS:
            least = least_margin(system, asked)
            assert least > -1e-9, f"seed {seed}: {asked}"
            assert result.margin is None or result.margin <= least + 1e-9, f"seed {seed}: {asked}"
    assert {HOLDS, VIOLATED} <= set(verdicts)
    assert foreseen > 2 * some(20)


def ask(system: System, formula: Formula, budget: Budget | None = None) -> Result:
    result = asked_of(find_engine("paths"), Question(system, formula), budget or Budget(timeout=30))
    check_evidence(system, formula, result)
    return result


def pushed(scores: tuple[float, float], more: Operand = 0) -> System:
    """x grows by a tenth where action 1 is taken, and by `more`; y turns."""
    x = network_input(2)
    made = Network("policy", x, b.affine(x, Matrix(np.zeros((2, 2))), Matrix(np.array(scores))))
    agent = make_agent("agent", [made], [X, Y], "argmax")
    moves = {"x": X + b.if_(b.eq(agent.var, 1), Fraction(1, 10), 0) + more, "y": Y + b.apply(Function.SIN, Y) / 10}
    return make({"x": (0, "0.5"), "y": (0, 1)}, moves, agents=[agent])


def below(limit: str, steps: int) -> Formula:
    return Next(Atom(b.compare("<", X, b.const(Fraction(limit)))), steps, None)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("scores", "limit", "expected"),
    [
        ((1, 0), "0.51", HOLDS),  # action 0 wins: x stays at most 0.5
        ((1, 0), "0.5", VIOLATED),
        ((0, 1), "0.81", HOLDS),  # action 1 wins: 0.5 + 3 * 0.1
        ((0, 1), "0.79", VIOLATED),
        ((0, 0), "0.81", HOLDS),  # a tie: either may be taken, at every step
        ((0, 0), "0.79", VIOLATED),
        ((0, 0), "0.61", VIOLATED),
    ],
)
def test_ties_go_both_ways(scores: tuple[int, int], limit: str, expected: Verdict) -> None:
    assert ask(pushed(scores), below(limit, 3)).verdict is expected


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(("limit", "expected"), [("1.111", HOLDS), ("1.109", VIOLATED)])
def test_draws_take_all_of_their_range(limit: str, expected: Verdict) -> None:
    """0.5, three pushes of 0.1 where scores tie, and three draws of at most 0.103333."""
    system = pushed((0, 0), b.between(Fraction(-1, 10), Fraction(31, 300)))
    assert ask(system, below(limit, 3)).verdict is expected
