"""Are faults ever wrong? `python -m benchmarks.never_wrong_faults [--instances N] [--seed N]`.

Random small loops with choices, ties and dead ends, and claims with and without bounds (tests/table_loops.py): what
`vn.faults` says of every other action and of every position is compared with all paths there are. Prints how many of
each answer there were, and what was wrong; ends with 1 if anything was.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import vernal as vn
from tests.table_loops import CLAIMS, differences, table_loop
from vernal.engines.check import parse_formula
from vernal.evidence.result import VIOLATED
from vernal.logic.task import Task


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counted, wrong = Counter[str](), 0
    for number in range(given.seed, given.seed + given.instances):
        loop = table_loop(number)
        task = Task(loop.system, {})
        formula = parse_formula(task, CLAIMS[number % len(CLAIMS)])
        result = vn.check(task, formula, engine="explicit")
        if result.verdict is not VIOLATED:
            counted["the claim holds"] += 1
            continue
        found = vn.faults(result, engine="auto" if number % 2 else "explicit")
        counted.update(one.effect.value for each in found.decisions for one in each.alternatives)
        counted.update(f"position {one.effect.value}" for one in found.prospects)
        for text in differences(found, loop, task, formula):
            wrong += 1
            print(f"wrong: seed {number}, {formula}: {text}", flush=True)
    for name, count in counted.most_common():
        print(f"{count:8,}  {name}")
    print(f"{wrong:8,}  wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
