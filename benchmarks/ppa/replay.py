"""Tests of published runs by every configuration: `python -m benchmarks.ppa.replay [INSTANCE ...] [--tests N]`.

The abstraction of each instance is built once, and its tests are written down. A sample of them, as many with a point
as without, is then answered by every configuration of the ICAPS 2022 paper, test by test in turn: the solver (Z3)
alone, relaxed tests before it, signs of ReLUs fixed in it, branch and bound around relaxed tests, relaxed tests alone;
with our own bounds and with Marabou, where an interpreter has `maraboupy` (--marabou-python or MARABOU_PYTHON).

Seconds are of the processor. Of Marabou they are those of making and solving its programs in its own process; what
handing them over takes is left out. Tests that are not answered within the limit count with the time they took.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.measure import setting, table
from benchmarks.ppa import published
from benchmarks.ppa.published import RecordedRun
from benchmarks.queries.tools import interpreter
from vernal.engines.options import WITH_SOLVER, PredicateOptions, TransitionTest
from vernal.engines.predicates.boxes import IntegerBoxes
from vernal.engines.predicates.configurations import ConfiguredTests, RecordedTest
from vernal.engines.predicates.witnesses import Existence, WitnessSearch
from vernal.errors import Stopped
from vernal.run.budget import Budget
from vernal.run.threads import one_blas_thread
from vernal.solvers.marabou import Marabou

OURS, TOGETHER = "ours", "ours, all at once"
ONE, AT_ONCE = "times ours", "times ours at once"
HEADER = ("instance", "configuration", "tests", "equal", "different", "open", "median", "sum", ONE, AT_ONCE)
TITLES = {
    TransitionTest.SOLVER: "Z3 alone",
    TransitionTest.RELAXED_SOLVER: "relaxed, Z3",
    TransitionTest.FIXED_SOLVER: "relaxed, Z3 with fixed signs",
    TransitionTest.BRANCHING: "relaxed, branch and bound",
    TransitionTest.RELAXED: "relaxed alone",
}
Answer = Callable[[RecordedTest], Existence]
Clock = Callable[[], float]


@dataclass
class Line:
    """What one configuration said, and the seconds each test took."""

    answer: Answer
    clock: Clock
    tests: int  # how many of the sample it is asked
    is_limited: bool = False  # by time: what it leaves open would have taken longer
    seconds: list[float] = field(default_factory=list)
    equal: int = 0
    different: int = 0
    open: int = 0

    def ask(self, test: RecordedTest) -> None:
        started = self.clock()
        try:
            said = self.answer(test)
        except Stopped:
            said = Existence.OPEN
        self.seconds.append(self.clock() - started)
        self.equal += said is test.answer
        self.open += said is Existence.OPEN
        self.different += said not in (test.answer, Existence.OPEN)

    def row(self, ours: Line, each: float) -> tuple[str, ...]:
        """Times ours: its median, and the mean (`each`) where all tests are asked at once."""
        middle = statistics.median(self.seconds)
        times = (middle / statistics.median(ours.seconds), middle / each)
        counts = (len(self.seconds), self.equal, self.different, self.open)
        more = "> " if self.is_limited and 2 * self.open > len(self.seconds) else ""
        spent = (more + _seconds(middle), f"{sum(self.seconds):.2f} s")
        return (*map(str, counts), *spent, *(f"{more}{ratio:,.1f}" for ratio in times))


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


@dataclass(frozen=True)
class Plan:
    """How many tests are asked of fast and of slow configurations, seconds for one, and Marabou, where it is here."""

    tests: int
    solver_tests: int
    limit: float
    seed: int
    marabou: Marabou | None


def lines(run: RecordedRun, plan: Plan) -> dict[str, Line]:
    """All configurations, ours first."""
    found = {OURS: Line(_ours(run, plan), time.process_time, plan.tests)}
    for test, title in TITLES.items():
        slow = test in WITH_SOLVER
        count = plan.solver_tests if slow else plan.tests
        own = _configured(run, PredicateOptions(test=test), plan)
        relaxes = test is not TransitionTest.SOLVER
        found[f"{title} (our bounds)" if relaxes else title] = Line(own, time.process_time, count, slow)
        if plan.marabou is not None and relaxes:
            theirs = _configured(run, PredicateOptions(test=test, relaxation=plan.marabou), plan)
            found[f"{title} (Marabou)"] = Line(theirs, _clock(plan.marabou), count, slow)
    return found


def _clock(marabou: Marabou) -> Clock:
    """Seconds of both processes, without those for handing programs over."""
    return lambda: time.process_time() - marabou.transfer + marabou.seconds


def _ours(run: RecordedRun, plan: Plan) -> Answer:
    budget = Budget(plan.limit, seed=plan.seed)
    search = WitnessSearch(run.model.judge, run.policy, budget)

    def answer(test: RecordedTest) -> Existence:
        budget.started = time.monotonic()
        return Existence(int(search.ask(test.box, [test.question]).answers[0]))

    return answer


def _configured(run: RecordedRun, options: PredicateOptions, plan: Plan) -> Answer:
    budget = Budget(plan.limit, seed=plan.seed)
    tests = ConfiguredTests(run.model, run.policy, options, budget)

    def answer(test: RecordedTest) -> Existence:
        budget.started = time.monotonic()
        return tests.answer(test.box, test.question).existence

    return answer


def together(run: RecordedRun) -> tuple[float, int]:
    """All tests of the run in one call, as an abstraction asks those of a layer: seconds, and how many are equal."""
    search = WitnessSearch(run.model.judge, run.policy, Budget(600))
    started = time.process_time()
    boxes = IntegerBoxes.joined([test.box for test in run.tests])
    found = search.ask(boxes, [test.question for test in run.tests]).answers.tolist()
    seconds = time.process_time() - started
    return seconds, sum(said == test.answer for said, test in zip(found, run.tests, strict=True))


def measured(name: str, run: RecordedRun, plan: Plan) -> list[tuple[str, ...]]:
    """The rows of one instance."""
    asked = published.sample(run.tests, plan.tests, plan.seed)
    found = lines(run, plan)
    for number, test in enumerate(asked):
        for line in found.values():
            if number < line.tests:
                line.ask(test)
        if not (number + 1) % 20:
            print(f"{name}: {number + 1} of {len(asked)} tests", file=sys.stderr, flush=True)
    count, (seconds, equal) = len(run.tests), together(run)
    each, ours = seconds / count, found[OURS]
    rows: Mapping[str, tuple[str, ...]] = {title: line.row(ours, each) for title, line in found.items() if line.seconds}
    spent = (f"{_seconds(each)} (mean)", f"{seconds:.2f} s")
    ratios = (f"{each / statistics.median(ours.seconds):.2f}", "1.0")
    at_once = (str(count), str(equal), str(count - equal), "0", *spent, *ratios)
    first = {OURS: rows[OURS], TOGETHER: at_once}
    return [(name, title, *row) for title, row in {**first, **rows}.items()]


def find_marabou(given: str | None) -> Marabou | None:
    """Marabou by the interpreter that has it; None where none has."""
    try:
        found = Marabou(interpreter("marabou", given))
        found.check()
    except (ImportError, OSError):
        return None
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Tests of published runs, answered by every configuration.")
    parser.add_argument("names", nargs="*", default=[], help="; ".join(published.INSTANCES))
    parser.add_argument("--tests", type=int, default=200, help="of each instance")
    parser.add_argument("--solver-tests", type=int, default=10, help="of these, as many are asked of Z3")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for a test")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--marabou-python", metavar="PATH", help="interpreter with maraboupy (or MARABOU_PYTHON)")
    options = parser.parse_args(arguments)
    data = published.folder()
    if data is None:
        print("the published instances are not here: VERNAL_DATA is not set", file=sys.stderr)
        return 2
    marabou = find_marabou(options.marabou_python)
    plan = Plan(options.tests, options.solver_tests, options.limit, options.seed, marabou)
    rows: list[tuple[str, ...]] = []
    with one_blas_thread():
        for name in options.names or published.INSTANCES:
            rows += measured(name, published.run(published.question(name, data), Budget(600)), plan)
    print(setting(), table(HEADER, rows), sep="\n\n")
    if marabou is None:
        print("\nMarabou is not installed: see --marabou-python")
    return int(any(row[4] != "0" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
