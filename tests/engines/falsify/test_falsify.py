"""Falsify finds what is wrong, never claims more than it replayed, and says why it does not know."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.systems import accumulator, chooser, countdown, counter, make, vcas, wanderer
from vernal.engines.check import asked_of
from vernal.engines.falsify.engine import Falsify
from vernal.engines.falsify.search import Population, _occurrence, children, first_plan
from vernal.errors import Stopped
from vernal.evidence import confirm
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance, Result
from vernal.evidence.trace import Enclosure, Trace
from vernal.evidence.trace_file import from_json, to_json
from vernal.formats.networks import read_network
from vernal.logic.formula import (
    Always,
    And,
    Atom,
    Bound,
    Eventually,
    Formula,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Release,
    Until,
    Weak,
)
from vernal.logic.normal import horizon
from vernal.logic.prefix import refutable
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr, Function
from vernal.model.sorts import BOOL, INT
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.simulate.runs import StepSimulator

X, N = build.var("x"), build.var("n", INT)
ALL, SOME = Quantifier.ALL, Quantifier.SOME


def upto(last: int, first: int = 0) -> Bound:
    return Bound(Fraction(first), Fraction(last))


def ask(system: System, formula: Formula | Expr, seed: int = 0) -> Result:
    """The engine's answer; any trace has to come back from JSON and replay."""
    asked = formula if isinstance(formula, Formula) else Atom(formula)
    result = asked_of(Falsify(), Question(system, asked, "safe"), Budget(seed=seed))
    assert result.property == "safe"
    assert result.engine == "falsify"
    if result.trace is not None:
        assert isinstance(result.evidence, Trace)
        assert verify(system, from_json(to_json(result.trace, system), system)).accepted
    if result.verdict is VIOLATED:
        assert result.trace is not None
        assert result.step == len(result.trace) - 1
        assert confirm.truth(result.trace, asked) is False
    if result.verdict is UNKNOWN:
        assert result.reason
    return result


# Violations -----------------------------------------------------------------------------------------------------------


def test_the_best_of_many_steps_is_found() -> None:
    result = ask(wanderer(), Always(Atom(X <= 20), upto(10)))
    assert result.verdict is VIOLATED
    assert result.step == 10
    assert result.assurance is Assurance.EXACT
    assert result.margin is not None
    assert -1 <= result.margin < 0
    assert result.statistics["runs"] == 2000


@pytest.mark.parametrize("kind", ["choose", "between"])
def test_a_margin_of_zero_is_decided_exactly(kind: str) -> None:
    """21 is reached from 1 by ten steps of 2, and nothing beyond."""
    assert ask(wanderer(kind), Always(Atom(X < 21), upto(10))).verdict is VIOLATED
    within = ask(wanderer(kind), Always(Atom(X <= 21), upto(10)))
    assert within.verdict is UNKNOWN
    assert "no violation found in" in str(within.reason)


def test_ends_that_are_no_floats_are_met_exactly() -> None:
    third, tenth = Fraction(1, 3), Fraction(1, 10)
    system = make({"x": (tenth, third)}, {"x": X + build.between(-tenth, third, name="w")})
    assert ask(system, Next(Atom(X / 3 - third < 0), 2)).verdict is VIOLATED
    assert ask(system, Next(Atom(X + tenth > 0), 2)).verdict is VIOLATED
    assert ask(system, Next(And((Atom(X + tenth >= 0), Atom(X / 3 - third <= 0))), 2)).verdict is UNKNOWN


def test_a_tie_is_used() -> None:
    """From 0 the pilot may go right although LEFT comes first."""
    system = make({"x": 0}, chooser().next, agents=chooser().agents)
    assert ask(system, Next(Atom(X <= 0))).verdict is VIOLATED
    assert ask(system, Next(Atom(X >= 0))).verdict is VIOLATED


def test_memory_and_its_start_are_searched() -> None:
    result = ask(accumulator(), Next(Atom(X * 4 < 1)))
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert result.trace.steps[0].memory == {"adder": (1,)}


def test_irrational_violations_are_rigorous() -> None:
    system = make({"x": (0, 1)}, {"x": build.apply(Function.SIN, X)})
    result = ask(system, Next(Atom(X - Fraction("0.84") <= 0)))
    assert result.verdict is VIOLATED
    assert result.assurance is Assurance.RIGOROUS
    assert result.trace is not None
    assert isinstance(result.trace.steps[1].state["x"], Enclosure)


def test_a_narrow_hole_is_found_by_search() -> None:
    """Six coordinates have to be near 0.7 together: hopeless by chance, easy downhill."""
    drawn = [build.between(0, 1, name=f"w{i}") for i in range(6)]
    far = build.add(*(build.absolute(w - Fraction(7, 10)) for w in drawn))
    result = ask(make({"x": 0}, {"x": far}), Next(Atom(X * 5 > 1)))
    assert result.verdict is VIOLATED
    assert result.statistics["runs"] not in (0, 2000)  # not by chance


def test_constraints_on_initial_states_are_kept() -> None:
    y = build.var("y")
    system = make({"x": (0, 1), "y": (0, 1)}, {}, where=[X + y <= 1])
    assert ask(system, Not(Atom(X + y >= 1))).verdict is VIOLATED
    assert ask(system, Atom(X + y <= 1)).verdict is UNKNOWN


def test_equations_among_the_constraints_are_met_exactly() -> None:
    y = build.var("y")
    system = make({"x": (0, 1), "y": (0, 1)}, {"x": X + y}, where=[build.eq(X, y / 3)])
    result = ask(system, Next(Atom(X < 1)))
    assert result.verdict is VIOLATED
    assert result.trace is not None
    first = result.trace.steps[0].state
    assert first["x"] == first["y"] / 3
    assert ask(system, Next(Atom(X * 3 <= 4))).verdict is UNKNOWN
    assert ask(system, Next(Atom(X * 3 < 4))).verdict is VIOLATED


def test_nothing_is_concluded_from_an_initial_set_nobody_finds() -> None:
    result = ask(make({"x": (0, 1)}, {}, where=[X > 2]), Atom(X > 5))
    assert result.verdict is UNKNOWN
    assert "no initial state" in str(result.reason)


def test_undefined_behaviour_is_no_violation() -> None:
    result = ask(make({"x": 0}, {"x": build.div(1, X)}), Next(Atom(X < 3)))
    assert result.verdict is UNKNOWN


def test_undefined_behaviour_is_said() -> None:
    system = make({"x": (-1, 1)}, {"x": build.apply(Function.SQRT, X)})
    assert "of them a state is not defined" in str(ask(system, Next(Atom(X < 3))).reason)
    assert "not defined" not in str(ask(make({"x": (0, 1)}, {"x": X}), Next(Atom(X < 3))).reason)


@pytest.mark.parametrize("size", [10**20, 10**400], ids=["20 digits", "400 digits"])
def test_numbers_beyond_all_floats(size: int) -> None:
    """What no float reaches is left to exact arithmetic, without a crash."""
    system = make({"x": (0, size), "n": (0, size)}, {"x": X + size}, sorts={"n": INT})
    result = ask(system, Next(Atom(size >= X)))
    assert result.verdict in (VIOLATED, UNKNOWN)
    assert size > 10**300 or result.verdict is VIOLATED


def test_a_system_without_state() -> None:
    assert ask(make({}, {}), Atom(build.compare("<", build.const(1), 2))).verdict is HOLDS


def test_long_horizons() -> None:
    slow = make({"x": 0}, {"x": X + Fraction(1, 1000)})
    assert ask(slow, Always(Atom(X <= 2))).verdict is UNKNOWN
    result = ask(slow, Always(Atom(X < 2), upto(3000)))
    assert (result.verdict, result.step) == (VIOLATED, 2000)
    assert "too long" in str(ask(wanderer(), Next(Atom(X < 1), 10**6)).reason)


def test_ranges_are_noted_not_assumed() -> None:
    result = ask(wanderer(), Always(Atom(X < 10), upto(6)))
    assert result.verdict is VIOLATED
    assert any("leaves its range at step" in note for note in result.notes)


def test_the_same_seed_gives_the_same_answer() -> None:
    first, second = (ask(wanderer("between"), Always(Atom(X < 9), upto(5)), seed=3) for _ in range(2))
    assert first.trace == second.trace
    assert first.statistics == second.statistics


def test_a_limit_stops_the_search() -> None:
    with pytest.raises(Stopped):
        Falsify().attempt(Question(wanderer(), Always(Atom(X < 99), upto(40))), Budget(timeout=0.0))


# Formulas without bounds ----------------------------------------------------------------------------------------------


def test_bad_prefixes_of_unbounded_formulas() -> None:
    assert ask(wanderer(), Always(Atom(X < 10))).verdict is VIOLATED
    assert ask(wanderer(), Until(Atom(X < 3), Atom(X > 100))).verdict is VIOLATED
    assert ask(wanderer(), Release(Atom(X > 4), Atom(X < 3))).verdict is VIOLATED
    assert ask(wanderer(), Always(Implies(Atom(X > 2), Eventually(Atom(X < 1), upto(2))))).verdict is VIOLATED


def test_liveness_is_not_refuted_by_a_prefix() -> None:
    result = ask(wanderer(), Eventually(Atom(X > 1000)))
    assert result.verdict is UNKNOWN
    assert "finite path" in str(result.reason)
    assert ask(wanderer(), Always(Eventually(Atom(X > 1000)))).verdict is UNKNOWN


def test_the_end_of_a_path_refutes_liveness() -> None:
    system = make({"n": {2, 3}}, countdown().next, sorts={"n": INT}, enabled=countdown().enabled)
    assert ask(system, Eventually(Atom(N > 3))).verdict is VIOLATED
    assert ask(system, Next(Atom(N >= 0), 3)).verdict is VIOLATED  # from 2 there are only two transitions
    assert ask(system, Next(Atom(N >= 0), 3, ALL)).verdict is UNKNOWN  # AX is true at the end


def test_windows_follow_from_the_formula() -> None:
    p, q = Atom(X < 1), Atom(X > 2)
    assert refutable(Always(p, upto(3))) == Always(p, upto(3))
    assert horizon(refutable(Always(p))) == 50
    assert refutable(Until(p, q)) == Weak(p, q, upto(50))
    assert horizon(refutable(Always(Or((p, Next(Always(q))))))) == 51
    assert horizon(refutable(Eventually(p))) == 0


# CTL ------------------------------------------------------------------------------------------------------------------


def test_claims_of_all_paths_are_refuted_by_one() -> None:
    assert ask(wanderer(), Always(Always(Atom(X < 5), upto(3), ALL), upto(2), ALL)).verdict is VIOLATED
    assert ask(wanderer(), Not(Eventually(Atom(X > 5), upto(4), SOME))).verdict is VIOLATED


def test_two_paths_are_not_one() -> None:
    """Some path violates each side, but none both: no single path refutes this disjunction."""
    system = make({"x": 0}, {"x": build.choose(-1, 1, name="d")})
    formula = Or((Next(Atom(X > 0), 1, ALL), Next(Atom(X < 0), 1, ALL)))
    assert ask(system, formula).verdict is UNKNOWN


def test_a_witness_proves_a_claim_of_some_path() -> None:
    system = make({"x": 0}, {"x": X + build.choose(-1, 2, name="d")})
    result = ask(system, Eventually(Atom(X >= 6), upto(3), SOME))
    assert result.verdict is HOLDS
    assert result.scope == "up to step 3"
    assert result.margin == 0
    assert result.trace is not None
    assert confirm.truth(result.trace, Eventually(Atom(X >= 6), upto(3))) is True
    assert ask(system, Eventually(Atom(X > 6), upto(3), SOME)).verdict is UNKNOWN


def test_of_one_initial_state_only() -> None:
    system = make({"x": {0, 1}}, {"x": X + build.choose(-1, 2, name="d")})
    result = ask(system, Next(Atom(X > 1), 1, SOME))
    assert result.verdict is UNKNOWN
    assert "not supported by this engine" in str(result.reason)


def test_alternations_are_not_supported() -> None:
    result = ask(wanderer(), Always(Eventually(Atom(X > 1), upto(2), SOME), upto(2), ALL))
    assert result.verdict is UNKNOWN
    assert "mixes" in str(result.reason)


# Systems with one path ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (Next(Atom(X >= 1), 10), HOLDS),
        (Next(Atom(X < 1), 10), VIOLATED),
        (Next(Atom(build.eq(X, 1)), 10, SOME), HOLDS),
        (Next(Atom(build.compare("!=", X, 1)), 10, SOME), VIOLATED),
        (Always(Next(Atom(X < 1), 1, SOME), upto(8), ALL), HOLDS),
        (Always(Atom(X < 2)), VIOLATED),
        (Eventually(Atom(X > 100)), UNKNOWN),
    ],
)
def test_the_only_path_decides(formula: Formula, expected: object) -> None:
    assert ask(counter(), formula).verdict is expected


def test_a_tie_makes_more_than_one_path() -> None:
    system = make({"x": 0}, chooser().next, agents=chooser().agents)
    assert ask(system, Next(Atom(X <= 0), 1, SOME)).verdict is HOLDS
    assert ask(system, Next(Atom(X <= 0), 1, ALL)).verdict is VIOLATED
    decided = make({"x": 1}, chooser().next, agents=chooser().agents)
    assert ask(decided, Next(Atom(X <= 0), 1, ALL)).verdict is HOLDS


def test_a_single_path_that_ends() -> None:
    system = make({"n": 2}, countdown().next, sorts={"n": INT}, enabled=countdown().enabled)
    assert ask(system, Always(Atom(N >= 0))).verdict is HOLDS
    assert ask(system, Eventually(Atom(N < 0))).verdict is VIOLATED


# The search -----------------------------------------------------------------------------------------------------------


def test_children_stay_in_the_space() -> None:
    system = make({"x": (-1, 3), "n": {1, 4}}, {"x": X + build.choose(1, 2) + build.between(0, 1)}, sorts={"n": INT})
    rng = np.random.default_rng(0)
    parents = first_plan(system, 50, 4, rng)
    made = children(system, parents, 300, 4, rng)
    for plan in (parents, made):
        assert ((plan.first[X] >= -1) & (plan.first[X] <= 3)).all()
        assert set(plan.first[N].tolist()) <= {1, 4}
        for node, array in plan.decisions.items():
            limit = 1 if len(node.args) == 2 and array.max() <= 1 else 2
            assert ((array >= 0) & (array <= limit)).all()
            assert array.shape == (plan.runs, 5)
    StepSimulator(system, 4).run(made)


def test_copies_do_not_fill_the_population() -> None:
    assert _occurrence(np.array([1.0, 1.0, 2.0, 2.0, 2.0, 3.0])).tolist() == [0, 1, 0, 1, 2, 0]
    system = wanderer()
    plan = first_plan(system, 30, 2, np.random.default_rng(0))
    found = Population(plan.rows(np.arange(0)), np.empty(0)).merge(plan, np.zeros(30))
    assert len(found.margins) == 4


# The published networks -----------------------------------------------------------------------------------------------

TABLE = {  # v0: the steps k at which AX[k] (h > 100 | h < -100) is violated
    "-19.5": set[int](),
    "-22.5": {3},
    "-25.5": {2, 3, 4},
    "-28.5": {2, 3, 4, 5},
}


@pytest.mark.data
@pytest.mark.parametrize("v0", list(TABLE))
def test_the_published_table(data: Path, v0: str) -> None:
    system = vcas([read_network(data / "vcas" / f"vcas_{number}.onnx") for number in range(1, 10)], v0)
    h = build.var("h")
    far = Or((Atom(h > 100), Atom(h < -100)))
    for k in range(1, 7):
        expected = VIOLATED if k in TABLE[v0] else UNKNOWN
        assert ask(system, Next(far, k, ALL)).verdict is expected, k


def test_a_step_from_one_of_a_million_starts_is_found_from_behind() -> None:
    """Loads that are twenty together, one of which fails at once."""
    loads = [build.var(f"l{i}", INT) for i in range(5)]
    alarm = build.var("alarm", BOOL)
    wanted = build.conj(*(build.compare("==", load, 2 * i) for i, load in enumerate(loads)))
    total = build.compare("==", sum(loads[1:], loads[0]), 20)
    first = {**{load.name: (0, 20) for load in loads}, "alarm": {0}}
    sorts = {**{load.name: INT for load in loads}, "alarm": BOOL}
    system = make(first, {"alarm": wanted}, sorts=sorts, where=[total])
    result = ask(system, Always(Not(Atom(alarm))))
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert [result.trace.steps[0].state[load.name] for load in loads] == [0, 2, 4, 6, 8]


def test_constraints_that_leave_too_many_starts_to_solve_are_sampled() -> None:
    loads = [build.var(f"l{i}", INT) for i in range(9)]
    total = build.compare("==", sum(loads[1:], loads[0]), 30)
    system = make({x.name: (0, 30) for x in loads}, {}, sorts={load.name: INT for load in loads}, where=[total])
    plan = first_plan(system, 50, 1, np.random.default_rng(0))
    drawn = np.stack([plan.first[load] for load in loads], axis=1)
    assert (drawn.sum(axis=1) == 30).all()
    assert len(np.unique(drawn, axis=0)) > 25
