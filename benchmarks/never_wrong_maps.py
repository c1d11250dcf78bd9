"""Is a map ever wrong? `python -m benchmarks.never_wrong_maps [--flows] [--instances N] [--seed S]`.

Random loops with ties, equalities, ends of paths, draws and constraints (tests/hard_loops.py) are mapped over one or
two of their variables, reals and whole numbers, beyond their initial sets as well. Brute force in rational arithmetic
knows the truth at points of cells, corners among them (tests/map_judge.py); shares have to add up to one, and the path
of a cell has to start in it, to replay, and to violate the claim. With `--flows`, random flows are mapped, and
simulated trajectories know (tests/map_flow_judge.py). Ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence

import vernal as vn
from tests.map_flow_judge import FlowMapInstance, FlowMapJudge, flow_map_instance
from tests.map_judge import MapInstance, MapJudge, map_instance


def judged(question: MapInstance | FlowMapInstance, seconds: float, counts: Counter[str]) -> list[str]:
    """What is wrong with a map; cells and points are counted."""
    try:
        found = question.answer(seconds)
    except vn.VernalError as error:
        counts["refused"] += 1
        return [] if error.args else ["refused without a word"]
    except Exception:
        return [traceback.format_exc()]
    counts.update(f"cells {cell.kind}" for cell in found.cells)
    judge = MapJudge(question) if isinstance(question, MapInstance) else FlowMapJudge(question)
    problems = list(judge.problems(found))
    counts["points judged" if isinstance(judge, MapJudge) else "cells judged"] += judge.judged
    return problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, judge, and print; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.never_wrong_maps", description="Maps of random loops")
    parser.add_argument("--instances", type=int, default=300, metavar="N", help="how many (default 300)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first; the others follow")
    parser.add_argument("--timeout", type=float, default=10, metavar="S", help="for each map")
    parser.add_argument("--flows", action="store_true", help="flows, in the place of loops of steps")
    given = parser.parse_args(arguments)
    counts, wrong = Counter[str](), 0
    for seed in range(given.seed, given.seed + given.instances):
        question = flow_map_instance(seed) if given.flows else map_instance(seed)
        if question is None:
            counts["without a number"] += 1
            continue
        counts["maps"] += 1
        for problem in judged(question, given.timeout, counts):
            print(f"WRONG {question}\n      {problem}", flush=True)
            wrong += 1
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
    print(f"from seed {given.seed} on: {told}; {wrong} wrong; {time.process_time():.0f} CPU seconds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
