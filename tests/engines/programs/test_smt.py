"""The engine smt: it agrees with all others, stops in time, and says what has no term."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.limits.watch import processor_seconds
from tests.cases import CASES, HEAD, LATE, NEVER, SINE, TREES, Case, read
from tests.engines.test_truth import check_evidence
from tests.recurrent import recurrent_formula, recurrent_loop
from vernal.engines.check import ask, asked_of, find_engine, parse_formula
from vernal.engines.options import BmcOptions, SmtOptions
from vernal.engines.programs.bmc import Bmc
from vernal.engines.programs.smt import Smt
from vernal.errors import MissingExtra, NameUnknown
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance, Result
from vernal.logic.question import Question
from vernal.run.budget import Budget
from vernal.solvers import registry
from vernal.solvers.base import Satisfiable, SmtSolved

pytest.importorskip("z3", reason="z3 is not installed: pip install 'vernal[smt]'")

POLYNOMIAL = """
[state]
x = "real"
y = "real"
[init]
x = "[0, 1]"
y = "[0, 1]"
[environment.next]
x = "x * y"
y = "x - y^2"
"""

ROOT = """
[state]
x = "real"
[init]
x = "[1, 2]"
where = ["x^2 == 2"]
"""

# Chebyshev polynomials: every step squares the degree of what is asked.
CHAOS = """
[state]
x = "real"
y = "real"
[init]
x = "[-1, 1]"
y = "[-1, 1]"
[environment.next]
x = "2 * x^2 - 1 + y^3 / 1000"
y = "4 * y^3 - 3 * y + x * y / 1000"
"""


def asked(model: str, text: str, timeout: float = 30, solver: str = "z3") -> Result:
    task = read(model)
    formula = parse_formula(task, text)
    result = asked_of(Smt(SmtOptions(solver)), Question(task.system, formula), Budget(timeout=timeout))
    check_evidence(task.system, formula, result)
    return result


STEEP = """
[state]
x = "real"
[init]
x = "[0, 1]"
[environment.next]
x = "1e300 * (1e300 * (1e300 * x))"
"""


def test_numbers_of_thousands_of_digits() -> None:
    """Python by itself neither reads nor writes an int of more than 4,300 digits."""
    result = asked(STEEP, "X[6] (x != 1)")
    assert result.verdict is VIOLATED
    assert result.trace is not None
    assert result.trace.steps[0].state["x"] == Fraction(1, 10**5400)


PIECEWISE = [case for case in CASES if "milp" in case.decided_by and case.decided_by != TREES]


@pytest.mark.parametrize("case", PIECEWISE, ids=str)
def test_it_decides_what_programs_decide(case: Case) -> None:
    result = asked(case.model, case.formula)
    assert result.verdict is case.expected, result.reason


def test_margins_of_zero_are_no_problem() -> None:
    """003, Example 1, where a program within tolerances stays in doubt."""
    exactly = asked(NEVER, "G[0,3] (z == 0)")
    assert exactly.verdict is HOLDS
    assert exactly.assurance is Assurance.SOLVER
    assert exactly.statistics["programs"] == 1


def test_polynomials_are_decided() -> None:
    assert asked(POLYNOMIAL, "G[0,2] (x <= 1)").verdict is HOLDS
    found = asked(POLYNOMIAL, "X[2] (x >= 0)")
    assert found.verdict is VIOLATED
    assert found.assurance is Assurance.EXACT


def test_an_irrational_start_is_no_rational_trace() -> None:
    """The only start is the root of 2: there is a model, and no path in rationals."""
    result = asked(ROOT, "x < 1")
    assert result.verdict is UNKNOWN
    assert "no counterexample in exact arithmetic" in (result.reason or "")
    assert asked(ROOT, "x > 1.4").verdict is HOLDS


def test_what_has_no_term_is_unknown() -> None:
    result = asked(SINE, "X (x <= 1)")
    assert result.verdict is UNKNOWN
    assert "sin" in (result.reason or "")


def test_a_claim_of_some_path_is_one_for_every_start() -> None:
    """A model is a witness for its own start."""
    assert "infinitely many" in (asked(LATE, "EF[0,9] (x >= 0)").reason or "")


def test_it_agrees_with_the_other_engines_from_intervals() -> None:
    verdicts = set()
    for seed in range(25):
        rng = random.Random(1500 + seed)
        system = recurrent_loop(rng, spans=True, smooth=False)
        question = Question(system, recurrent_formula(rng, system))
        found = {
            engine: asked_of(find_engine(engine), question, Budget(timeout=10)) for engine in ("smt", "paths", "bounds")
        }
        decided = {result.verdict for result in found.values()} - {UNKNOWN}
        assert len(decided) < 2, f"seed {seed}: {question.formula}"
        check_evidence(system, question.formula, found["smt"])
        verdicts.add(found["smt"].verdict)
    assert {HOLDS, VIOLATED} <= verdicts


# Limits ---------------------------------------------------------------------------------------------------------------


def test_a_limit_of_time_is_an_unknown() -> None:
    task = read(CHAOS)
    result = ask(task, parse_formula(task, "G[0,6] (x < 1.1 | y < 1.1)"), None, "smt", Budget(timeout=1.0))
    assert result.verdict is UNKNOWN
    assert "timeout" in (result.reason or "")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")
def test_an_interruption_is_heard(tmp_path: Path) -> None:
    """In a process of its own, as at a terminal: the solver is at work when the signal comes."""
    file = tmp_path / "chaos.toml"
    file.write_text(HEAD + CHAOS)
    spec = "G[0,6] (x < 1.1 | y < 1.1)"
    command = [sys.executable, "-m", "vernal", "check", str(file), "--engine", "smt", "--spec", spec, "--timeout", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while processor_seconds(process.pid) < 2:  # imports take less
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in said


class Says:
    """A solver that says what a test wants it to say."""

    name = "says"
    requires: tuple[str, ...] = ()

    def __init__(self, outcome: SmtSolved) -> None:
        self.outcome = outcome

    def check(
        self,
        script: str,
        unknowns: Mapping[str, str],
        time_limit: float = float("inf"),
        tick: Callable[[], object] = lambda: None,
        assumed: Sequence[str] = (),
    ) -> SmtSolved:
        return self.outcome

    def growing(self) -> Says:
        return self


@pytest.mark.parametrize("status", [Satisfiable.UNKNOWN, Satisfiable.YES])
def test_bounded_model_checking_believes_no_solver_that_is_in_doubt_or_wrong(status: Satisfiable) -> None:
    task = read('[state]\nz = "int [0, 9]"\n[init]\nz = "[0, 9]"\n[environment.next]\nz = "9 - z"')
    question = Question(task.system, parse_formula(task, "G[0,1] (z <= 10)"))
    unknowns = {f"u{number}": Fraction(0) for number in range(50)}
    result = asked_of(Bmc(BmcOptions(solver=Says(SmtSolved(status, unknowns, said="too hard")))), question, Budget())
    assert result.verdict is UNKNOWN
    assert ("too hard" if status is Satisfiable.UNKNOWN else "no counterexample") in (result.reason or "")


def test_a_doubt_is_passed_on() -> None:
    task = read(NEVER)
    question = Question(task.system, parse_formula(task, "X (z > 0)"))
    result = asked_of(Smt(SmtOptions(Says(SmtSolved(Satisfiable.UNKNOWN, said="too hard")))), question, Budget())
    assert result.verdict is UNKNOWN
    assert "says ended with: too hard" in (result.reason or "")


# Registry -------------------------------------------------------------------------------------------------------------


def test_solvers_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert registry.find_smt().name == "z3"
    with pytest.raises(NameUnknown, match="known: z3"):
        registry.find_smt("z4")
    with pytest.raises(NameUnknown, match="no satisfiability"):
        registry.find_smt("highs")
    monkeypatch.setitem(sys.modules, "z3", None)
    monkeypatch.delitem(sys.modules, "vernal.solvers.z3", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'vernal\[smt\]'"):
        registry.find_smt("z3")


def test_what_a_solver_cannot_read_is_no_answer() -> None:
    outcome = registry.find_smt().check("(assert nonsense)", {}, 5.0)
    assert outcome.status is Satisfiable.UNKNOWN
    assert "nonsense" in outcome.said
