"""Is the abstraction ever wrong? `python -m benchmarks.ppa.never_wrong [--count N] [--seed S]`.

Random small planning systems with random policies (tests/planning_loops.py): guards and predicates that relate
variables, totals that operators keep, ties, updates that leave ranges, several outcomes of an action, silent operators,
and policies that choose among applicable actions only. All states of each are looked at in rational arithmetic
(tests/planning_oracle.py). The verdict has to be theirs, and so have the abstract starts, states, transitions and
unsafe states, at the finest predicates and at coarser ones; where tests are left open because they may not take any
work, nothing may be missing (tests/planning_answers.py). Two processes have to build the same. Prints what was tried
and what was wrong; ends with 1 if anything was.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from random import Random
from unittest.mock import patch

from tests.planning_answers import DEFAULT, alike, built, drawn, mistakes
from tests.planning_loops import PlanningCase, planning_case, transfer_case
from vernal.engines.predicates import portions

TOGETHER_EVERY = 10  # of so many systems one is abstracted by two processes, too

KINDS: dict[str, Callable[[Random], PlanningCase]] = {"planning": planning_case, "transfers": transfer_case}


def found(kind: str, seed: int) -> list[str]:
    """What is wrong with one system; an error of the engine is as bad as a wrong answer."""
    try:
        case = drawn(seed, KINDS[kind])
        return [*mistakes(case, seed), *([] if seed % TOGETHER_EVERY else _apart(case))]
    except Exception:
        return [traceback.format_exc()]


def _apart(case: PlanningCase) -> list[str]:
    """Where two processes build another abstraction than one."""
    with patch.object(portions, "MIN_SHARED", 0.0), patch.object(portions, "MIN_PORTION", 1e-9):
        alone, together = (built(case, case.finest, DEFAULT, workers) for workers in (1, 2))
    return [] if alike(alone, together) else ["another abstraction, by two processes"]


def main() -> int:
    """Draw, compare and print."""
    parser = argparse.ArgumentParser(description="Predicate abstractions of random systems against all their states.")
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="systems of each kind")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first")
    options = parser.parse_args()
    began, wrong = time.monotonic(), 0
    for kind in KINDS:
        for seed in range(options.seed, options.seed + options.count):
            problems = found(kind, seed)
            wrong += bool(problems)
            for problem in problems:
                print(f"WRONG {kind}, seed {seed}: {problem}", flush=True)
    tried = options.count * len(KINDS)
    print(f"{tried:,} systems tried, {wrong:,} wrong, {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
