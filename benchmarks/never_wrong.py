"""Is any engine ever wrong? `python -m benchmarks.never_wrong [--family NAME] [--instances N] [--engines NAME ...]`.

Random closed loops made of what verifiers get wrong, in families, each with its own judge (tests/judge.py):

finite      draws are finite (tests/hard_loops.py), so brute force in rational arithmetic knows the answer;
intervals   starts and disturbances are intervals. The answer is checked from both sides: a claim that holds has to hold
            from every start that is tried, with finite draws exactly; a violation at the state its trace shows;
recurrent   agents with memory (tests/wild_loops.py): ReLU, tanh, GRU and LSTM cells, memories from intervals;
nonlinear   sines, products, quotients and roots;
huge        numbers from 1e-330 to 1e400 (tests/huge_loops.py): constants, weights, divisors, ends of clips, draws and
            starts, and claims far ahead. Everything is rational, and judged as `intervals` are;
affine      x' = A x + b from boxes, contracting and expanding (tests/affine_loops.py), and half-spaces claimed for all
            time, against the analytic answer where that is clear by a margin;
relays      integrators fed by pushes of one size to and fro (tests/relay_loops.py), and how far they go for all time,
            against long runs: what these reach may not be excluded;
observers   one or two integrators fed by a ReLU network that remembers what it saw of the first
            (tests/observer_loops.py), and how far they go for all time, against long runs as well;
graphs      finitely many states (tests/graph_loops.py), formulas to depth four with and without bounds, LTL and CTL; a
            naive checker of graphs (tests/explicit_oracle.py) knows the answer;
networks    one application of a ReLU, maxout, tanh, clipped or branching network of up to 40 neurons, of one on a grid,
            with attention, softmax or normalised layers (tests/network_questions.py), with nested claims about its
            outputs, on and near the edge. Z3 knows the answer where values are rationals; margins, and bounds of runs
            that were stopped, are compared with thousands of points.

`recurrent` and `nonlinear` are checked by dense sampling, local search and exact or enclosed replay, margins included
(tests/sampling.py). In all of them engines may not contradict each other, every trace has to replay and to show its
verdict, and no invariant may be rejected by a second check.

Flows (`never_wrong_flows`, `never_wrong_pipes`) and forged evidence (`never_wrong_forged`) have programs of their own.

Prints a table for each engine and solver, and every question that `auto` left open though it should decide it: finite
draws under any alternation of quantifiers, intervals under one kind. Ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field

from tests.judge import FAMILIES, Instance, Judge, has_disturbances, instance
from tests.network_questions import plain
from tests.work import processor
from vernal.engines.check import ask
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.normal import quantifiers
from vernal.logic.task import Task

MILP: dict[str, tuple[str, dict[str, object]]] = {
    f"milp {encoding} {solver}": ("milp", {"encoding": encoding, "solver": solver})
    for encoding in ("monolithic", "compositional")
    for solver in ("highs", "scip")
}
SETUPS: dict[str, tuple[str, dict[str, object]]] = {
    "falsify": ("falsify", {}),
    "bounds": ("bounds", {}),
    "paths": ("paths", {}),
    "explicit": ("explicit", {}),
    "invariants": ("invariants", {}),
    **MILP,
    "auto": ("auto", {}),
}
MORE: dict[str, tuple[str, dict[str, object]]] = {  # on request
    **{
        name: (name, {})
        for name in ("deepening", "lasso", "induction", "liveness", "split", "backward", "predicates", "bmc")
    },
    "smt": ("smt", {}),
    "input on start": ("milp", {"unroll": "ios"}),
    "input on demand": ("milp", {"unroll": "iod"}),
    "deepened": ("milp", {"deepen": True}),
    "intervals": ("bounds", {"tighten": False}),
    "untightened": ("milp", {"tighten": False}),
}


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


def is_complete_for(question: Instance) -> bool:
    """Whether `auto` has to decide it, short of a limit: nobody promises that of what is not piecewise linear."""
    if question.family in ("recurrent", "nonlinear", "affine", "relays", "observers"):
        return False
    if question.family == "networks" and plain(question.system).kind == "tanh":
        return False
    return not has_disturbances(question.system) or len(quantifiers(question.formula)) < 2


# The run --------------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """All questions to all engines."""

    names: list[str]
    timeout: float
    columns: dict[str, Column] = field(default_factory=dict)
    left_open: list[str] = field(default_factory=list)
    skipped: int = 0  # questions too large for the judge

    def ask(self, question: Instance) -> None:
        answers = {name: self._answer(name, question) for name in self.names}
        results = {name: result for name, result in answers.items() if result is not None}
        judge = Judge(question)
        for name, why in judge.problems(results):
            self.columns[name].wrong += 1
            print(f"WRONG {name}: {question}\n      {why}", flush=True)
        self.skipped += judge.skipped
        auto = results.get("auto")
        if auto is not None and auto.verdict is UNKNOWN and is_complete_for(question):
            self.left_open.append(f"{question}\n      {auto.reason}")

    def _answer(self, name: str, question: Instance) -> Result | None:
        """What an engine says; an error of it is as bad as a wrong verdict, and the run goes on."""
        engine, options = (SETUPS | MORE)[name]
        started = time.perf_counter()
        task, budget = Task(question.system), processor(self.timeout)
        column = self.columns.setdefault(name, Column())
        try:
            result = ask(task, question.formula, None, engine, budget, options)
        except Exception:
            column.wrong += 1
            print(f"FAILED {name}: {question}\n{traceback.format_exc()}", flush=True)
            return None
        column.add(result, time.perf_counter() - started)
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
    parser.add_argument("--instances", type=int, help="2000 with finite draws or states, else 1000")
    parser.add_argument("--family", choices=FAMILIES, default="finite")
    parser.add_argument("--seed", type=int, default=0, help="of the first instance; the others follow")
    parser.add_argument("--intervals", action="store_const", const="intervals", dest="family", help="that family")
    parser.add_argument("--timeout", type=float, default=10, help="CPU seconds for each question to each engine")
    parser.add_argument("--engines", nargs="+", default=list(SETUPS), choices=[*SETUPS, *MORE, "milp"], metavar="NAME")
    options = parser.parse_args()
    names = [name for asked in options.engines for name in (MILP if asked == "milp" else [asked])]
    run, asked = Run(names, options.timeout), 0
    instances = options.instances or (2000 if options.family in ("finite", "graphs") else 1000)
    try:
        for seed in range(options.seed, options.seed + instances):
            run.ask(instance(seed, options.family))
            asked += 1
            if sys.stderr.isatty():
                print(f"\r{asked} of {instances}", end="", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted")
    print(f"{asked} instances, {options.family}, from seed {options.seed} on; {run.skipped} too large to judge")
    print(run.table())
    for text in run.left_open:
        print(f"auto left open: {text}")
    return int(any(column.wrong for column in run.columns.values()))


if __name__ == "__main__":
    raise SystemExit(main())
