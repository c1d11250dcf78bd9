"""Is any engine ever wrong? `python -m benchmarks.never_wrong [--instances 2000] [--seed N] [--engines NAME ...]`.

Random closed loops made of what verifiers get wrong (tests/hard_loops.py), with formulas of depth up to four. Where all
draws are finite, brute force in rational arithmetic knows the answer. With `--intervals` (starts and disturbances that
are intervals) the answer is checked from both sides: engines may not contradict each other; a claim that holds has to
hold from every start that is tried, with finite draws exactly; a violation has to be one at the state its trace shows.

Prints a table for each engine and solver, and every question that `auto` left open though it should decide it: finite
draws under any alternation of quantifiers, intervals under one kind. Ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tests.brute import Brute, TooLarge, ValueUndefined
from tests.hard_loops import any_start, gridded, hard_formula, hard_loop, walk
from vernal.engines.check import ask
from vernal.evidence import confirm
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.formula import Formula, Not, Quantifier
from vernal.logic.normal import horizon, is_ctl, quantifiers
from vernal.logic.progress import on_paths
from vernal.logic.task import Task
from vernal.model.expr import Between
from vernal.model.system import Init, OneOf, System
from vernal.run.budget import Budget

MILP = {
    f"milp {encoding} {solver}": ("milp", {"encoding": encoding, "solver": solver})
    for encoding in ("monolithic", "compositional")
    for solver in ("highs", "scip")
}
SETUPS: dict[str, tuple[str, dict[str, str]]] = {
    "falsify": ("falsify", {}),
    "bounds": ("bounds", {}),
    "paths": ("paths", {}),
    **MILP,
    "auto": ("auto", {}),
}
MORE: dict[str, tuple[str, dict[str, str]]] = {  # on request
    "smt": ("smt", {}),
    "deepened": ("milp", {"deepen": "yes"}),
    "intervals": ("bounds", {"tighten": "no"}),
    "untightened": ("milp", {"tighten": "no"}),
}
LIMIT = 20_000  # evaluations of brute force, for one question
STARTS, WALKS = 12, 40  # tried for a question with intervals


@dataclass
class Column:
    """What one engine said."""

    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    seconds: float = 0.0

    def add(self, result: Result, seconds: float) -> None:
        self.verdicts[result.verdict.value] += 1
        self.seconds += seconds
        if result.reason is not None:
            self.reasons[re.sub(r"[\d,.]+", "N", result.reason)[:110]] += 1


@dataclass(frozen=True)
class Instance:
    """A system, a formula, and the seed that makes both again."""

    seed: int
    system: System
    formula: Formula
    intervals: bool

    def __str__(self) -> str:
        kind = "intervals" if self.intervals else "finite"
        return f"seed {self.seed} ({kind}): {self.formula}"


def instance(seed: int, intervals: bool) -> Instance:
    """The same for the same seed."""
    rng = random.Random(seed)
    system = hard_loop(rng, intervals)
    return Instance(seed, system, hard_formula(rng, system), intervals)


# The oracle -----------------------------------------------------------------------------------------------------------


def problems(question: Instance, results: dict[str, Result]) -> Iterator[tuple[str, str]]:
    """(engine, what is wrong with its answer)."""
    for name, result in results.items():
        yield from ((name, why) for why in evidence_problems(question, result))
    decided = {name: result for name, result in results.items() if result.verdict is not UNKNOWN}
    if len({result.verdict for result in decided.values()}) > 1:
        said = ", ".join(f"{name} {result.verdict.value}" for name, result in decided.items())
        yield from ((name, f"contradiction: {said}") for name in decided)
    check = interval_problem if question.intervals else finite_problem
    answers: dict[object, str | None] = {}
    for name, result in decided.items():
        first = result.trace.steps[0] if result.trace is not None and result.verdict is VIOLATED else None
        key = result.verdict, str(first)
        if key not in answers:
            answers[key] = check(question, result)
        why = answers[key]
        if why is not None:
            yield name, why


def evidence_problems(question: Instance, result: Result) -> Iterator[str]:
    """A violation has a trace, and a trace replays and shows what it is said to show."""
    asked, trace = question.formula, result.trace
    if trace is None:
        if result.verdict is VIOLATED:
            yield "violated without a trace"
        return
    if not verify(question.system, trace).accepted:
        yield "the trace does not replay"
    shown = confirm.truth(trace, asked, question.system)
    if result.verdict is VIOLATED and on_paths(asked) is not None and shown is not False:
        yield "the trace does not violate the formula"
    if result.verdict is HOLDS and on_paths(Not(asked)) is not None and shown is not True:
        yield "the trace is no witness"


def finite_problem(question: Instance, result: Result) -> str | None:
    """Brute force knows."""
    try:
        truth = Brute(question.system, question.formula, LIMIT).holds(question.formula)
    except (TooLarge, ValueUndefined):
        return None
    return None if truth is (result.verdict is HOLDS) else f"{result.verdict.value}, but it is {truth}"


def interval_problem(question: Instance, result: Result) -> str | None:
    """Starts one by one; with disturbances only some paths, which can refute claims of all of them."""
    rng = random.Random(question.seed)
    if result.verdict is VIOLATED:
        assert result.trace is not None
        first = {name: v for name, v in result.trace.steps[0].state.items() if isinstance(v, Fraction)}
        return "it holds at the state shown" if _truth_at(question, first) is True else None
    starts = [any_start(rng, question.system) for _ in range(STARTS)]
    for first in starts:
        if _truth_at(question, first) is False:
            return f"holds, but not from {', '.join(f'{n} = {v}' for n, v in first.items())}"
    if Quantifier.SOME in quantifiers(question.formula):
        return None
    paths = (walk(rng, question.system, horizon(question.formula) or 0) for _ in range(WALKS))
    false = any(path is not None and confirm.truth(path, question.formula) is False for path in paths)
    return "holds, but not on a random path" if false else None


def _truth_at(question: Instance, first: dict[str, Fraction]) -> bool | None:
    """The exact truth at one start; with disturbances only what some of the paths can show."""
    system, kinds = question.system, quantifiers(question.formula)
    starts = {name: OneOf((value,)) for name, value in first.items()}
    alone = replace(system, init=Init(starts, system.init.where))
    exact = not has_disturbances(system)
    if not exact:
        alone = gridded(alone)
    try:
        truth = Brute(alone, question.formula, LIMIT).holds(question.formula)
    except (TooLarge, ValueUndefined):
        return None
    shows_false = exact or Quantifier.SOME not in kinds
    shows_true = exact or (is_ctl(question.formula) and kinds == {Quantifier.SOME})
    return truth if (shows_true if truth else shows_false) else None


def has_disturbances(system: System) -> bool:
    """Whether there is a draw from an interval."""
    return any(isinstance(node, Between) for node in system.step.names)


def is_complete_for(question: Instance) -> bool:
    """Whether `auto` has to decide it, short of a limit."""
    return not has_disturbances(question.system) or len(quantifiers(question.formula)) < 2


# The run --------------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """All questions to all engines."""

    names: list[str]
    timeout: float
    columns: dict[str, Column] = field(default_factory=dict)
    left_open: list[str] = field(default_factory=list)

    def ask(self, question: Instance) -> None:
        results = {name: self._answer(name, question) for name in self.names}
        for name, why in problems(question, results):
            self.columns[name].wrong += 1
            print(f"WRONG {name}: {question}\n      {why}", flush=True)
        auto = results.get("auto")
        if auto is not None and auto.verdict is UNKNOWN:
            note = "" if is_complete_for(question) else " [a disturbance under alternation]"
            self.left_open.append(f"{question}{note}\n      {auto.reason}")

    def _answer(self, name: str, question: Instance) -> Result:
        engine, options = (SETUPS | MORE)[name]
        started = time.perf_counter()
        task, budget = Task(question.system), Budget(timeout=self.timeout)
        result = ask(task, question.formula, None, engine, budget, options)
        self.columns.setdefault(name, Column()).add(result, time.perf_counter() - started)
        return result

    def table(self) -> str:
        lines = [f"{'engine':<28}{'holds':>7}{'violated':>10}{'unknown':>9}{'wrong':>7}{'seconds':>9}"]
        for name, column in self.columns.items():
            counts = [column.verdicts[verdict.value] for verdict in (HOLDS, VIOLATED, UNKNOWN)]
            lines.append(
                f"{name:<28}{counts[0]:>7}{counts[1]:>10}{counts[2]:>9}{column.wrong:>7}{column.seconds:>9.1f}"
            )
        for name, column in self.columns.items():
            lines += [f"  {name}: {count} unknown: {why}" for why, count in column.reasons.most_common()]
        return "\n".join(lines)


def main() -> int:
    """Ask, compare, and print; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description="Random closed loops against brute force, for every engine.")
    parser.add_argument("--instances", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first instance; the others follow")
    parser.add_argument("--intervals", action="store_true", help="intervals to start from and to draw from")
    parser.add_argument("--timeout", type=float, default=10, help="seconds for each question to each engine")
    parser.add_argument("--engines", nargs="+", default=list(SETUPS), choices=[*SETUPS, *MORE, "milp"], metavar="NAME")
    options = parser.parse_args()
    names = [name for asked in options.engines for name in (MILP if asked == "milp" else [asked])]
    run, asked = Run(names, options.timeout), 0
    try:
        for seed in range(options.seed, options.seed + options.instances):
            run.ask(instance(seed, options.intervals))
            asked += 1
            if sys.stderr.isatty():
                print(f"\r{asked} of {options.instances}", end="", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted")
    print(f"{asked} instances, {'intervals' if options.intervals else 'finite draws'}, from seed {options.seed} on")
    print(run.table())
    for text in run.left_open:
        print(f"auto left open: {text}")
    return int(any(column.wrong for column in run.columns.values()))


if __name__ == "__main__":
    raise SystemExit(main())
