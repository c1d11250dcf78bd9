"""Is any engine ever wrong about a loop that samples? `python -m benchmarks.never_wrong_loops [--instances N]`.

Random loops of two variables under a network, with jumps, delays, noise or an argmax (tests/wild_samplers.py), and
claims that are true or false by a little; three of four (tests/wilder_samplers.py) also have memory and the clock, all
at once, and claims with F, U and windows within windows; two of these three other plants, and starts on the border of
the region. Of a claim that holds, paths that scipy's DOP853 simulates to 1e-12 from corners of the initial set have to
be true; a path that violates a claim is enclosed again, and simulated where there is no noise. One of fifty is a claim
for all time (benchmarks/never_wrong_endless.py judges it). `auto`, which asks the others, is asked of each eighth.
`--jobs` are processes. Ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from math import inf

import vernal as vn
from benchmarks import never_wrong_endless as endless
from tests.sampled_loops import Dop853
from tests.wild_samplers import SamplerCase, wild_loop
from tests.wilder_samplers import WilderCase, wilder_loop
from vernal.engines.check import ask, parse_formula, question_of
from vernal.evidence.result import Result
from vernal.evidence.trajectory import trajectory_truth
from vernal.logic.task import Task
from vernal.run.budget import Budget

ENGINES, AUTO_EVERY, ENDLESS_EVERY = ("falsify", "flowpipe"), 8, 50
PATIENCE = 4  # times as long are claims for all time asked
TOLD_EVERY = 100  # instances
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


def case_of(seed: int) -> SamplerCase | WilderCase:
    """The instance of a seed."""
    return wilder_loop(seed, seed % 4 > 1, Dop853) if seed % 4 else wild_loop(seed, Dop853())


def judged(seed: int, timeout: float) -> tuple[Counter[str], list[str]]:
    """What the engines say of an instance, and what of that is wrong; times are those of the processor."""
    verdicts, failures = Counter[str](), list[str]()
    if seed % ENDLESS_EVERY == ENDLESS_EVERY - 1:
        failures = [f"WRONG {problem}" for problem in endless.judged(seed, PATIENCE * timeout, verdicts)]
        return Counter({f"{what} for all time": count for what, count in verdicts.items()}), failures
    case = case_of(seed)
    task = Task(system_of(case))
    for engine in ENGINES if seed % AUTO_EVERY else ("auto", *ENGINES):
        budget = Budget(timeout, started=time.process_time(), clock=time.process_time)
        result = ask(task, parse_formula(task, case.formula), None, engine, budget)
        verdicts[f"{engine} {result.verdict}"] += 1
        if wrong(case, result):
            failures.append(f"WRONG {engine}: {case}: {result}")
    return verdicts, failures


def told(done: int, verdicts: Counter[str], failures: int) -> str:
    said = ", ".join(f"{count} {what}" for what, count in sorted(verdicts.items()))
    return f"{done} loops: {said}; {failures} wrong"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare engines with simulated paths of random loops that sample.")
    parser.add_argument("--instances", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=3.0, metavar="S", help="of the processor, for each engine")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=inf, metavar="S", help="begin no instance after so many seconds")
    given = parser.parse_args()
    failures, verdicts, done, last = 0, Counter[str](), 0, time.monotonic() + given.limit
    with ProcessPoolExecutor(given.jobs) as pool:
        seeds = iter(range(given.seed, given.seed + given.instances))
        waiting = {pool.submit(judged, seed, given.timeout) for seed in islice(seeds, 2 * given.jobs)}
        while waiting:
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for said, problems in (future.result() for future in ready):
                verdicts, failures, done = verdicts + said, failures + len(problems), done + 1
                print("\n".join(problems), end="\n" * bool(problems), flush=True)
                if done % TOLD_EVERY == 0:
                    print(told(done, verdicts, failures), file=sys.stderr, flush=True)
            more = len(ready) if time.monotonic() < last else 0
            waiting |= {pool.submit(judged, seed, given.timeout) for seed in islice(seeds, more)}
    print(told(done, verdicts, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
