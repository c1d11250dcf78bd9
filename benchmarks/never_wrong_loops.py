"""Is any engine ever wrong about a loop that samples? `python -m benchmarks.never_wrong_loops [--instances N]`.

Random loops of two variables under a network, with jumps, delays, noise or an argmax (tests/wild_samplers.py), and
claims that are true or false by a little; of every second one (tests/wilder_samplers.py) also memory and the clock, all
at once, and claims with F, U and within each other. Of a claim that holds, simulated paths from corners of the initial
set have to be true; a path that violates a claim is enclosed again, and simulated where there is no noise. Ends with 1
if anything was wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import vernal as vn
from tests.wild_samplers import SamplerCase, wild_loop
from tests.wilder_samplers import WilderCase, wilder_loop
from vernal.engines.check import parse_formula, question_of
from vernal.evidence.result import Result
from vernal.evidence.trajectory import trajectory_truth
from vernal.logic.task import Task

ENGINES = ("auto", "falsify", "flowpipe")
ROUNDING = 1e-6  # of the simulation


def wrong(case: SamplerCase | WilderCase, result: Result) -> bool:
    """Whether a verdict is contradicted by simulated paths, or its own path does not show it."""
    if result.verdict is vn.HOLDS:
        return case.margin < -ROUNDING if isinstance(case, SamplerCase) else case.contradicts_proof()
    if result.verdict is not vn.VIOLATED:
        return False
    task = Task(system_of(case))
    question = question_of(task, parse_formula(task, case.formula))
    if result.trace is None or trajectory_truth(result.trace, question.formula, question.model) is not False:
        return True
    return isinstance(case, WilderCase) and case.contradicts_path(dict(result.trace.steps[0].state))


def system_of(case: SamplerCase | WilderCase) -> vn.System:
    return case.loop.system if isinstance(case, SamplerCase) else case.make().system


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare engines with simulated paths of random loops that sample.")
    parser.add_argument("--instances", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=8.0)
    given = parser.parse_args()
    failures, verdicts = 0, Counter[str]()
    for seed in range(given.seed, given.seed + given.instances):
        case = wilder_loop(seed) if seed % 2 else wild_loop(seed)
        for engine in ENGINES:
            result = vn.check(system_of(case), case.formula, engine=engine, timeout=given.timeout)
            verdicts[f"{engine} {result.verdict}"] += 1
            if wrong(case, result):
                failures += 1
                print(f"WRONG {engine}: {case}: {result}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(verdicts.items())), f"; {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
