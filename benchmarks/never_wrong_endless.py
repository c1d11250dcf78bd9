"""Is a claim for all time in seconds ever proven wrongly? `python -m benchmarks.never_wrong_endless [--instances N]`.

Random flows and loops that sample, and claims `G p` and `G[a,] p` near what they do (tests/endless_flows.py): paths
that settle, go round, switch, grow or shrink slowly. Of what holds, scipy's DOP853 follows paths for longer than it
takes to settle, and enclosed trajectories are looked for that break it. The boxes to which paths come back are compared
with these paths; then they are changed, and so is the claim: what a replay still accepts has to be true. What is
violated is enclosed again, and simulated. Ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf

import numpy as np

import vernal as vn
from tests.endless_flows import EndlessCase, endless_case, forged
from vernal.engines.check import parse_formula, question_of
from vernal.errors import Stopped
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.result import Result
from vernal.evidence.trajectory import trajectory_truth
from vernal.logic.claim import always
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.run.budget import Budget
from vernal.sets.sampled.returns import recurrence_problem

ENGINES = ("flowpipe", "falsify")
LOOK = Fraction(6)  # seconds after a claim begins, in which an enclosed trajectory may break it
PART = 0.25  # of the time for a question: for an enclosed trajectory, and for a replay


def judged(seed: int, timeout: float, counts: Counter[str], engines: Sequence[str] = ENGINES) -> Iterator[str]:
    """What is wrong of what is said of a case; verdicts and replays are counted."""
    case, said = endless_case(seed), set[vn.Verdict]()
    for engine in engines:
        result = vn.check(case.system, case.formula, engine=engine, timeout=timeout)
        counts[f"{engine} {result.verdict}"] += 1
        said.add(result.verdict)
        yield from (f"{engine}: {case}: {problem}" for problem in problems(case, result, timeout * PART, counts))
    if {vn.HOLDS, vn.VIOLATED} <= said:
        yield f"{case}: engines disagree"


def problems(case: EndlessCase, result: Result, timeout: float, counts: Counter[str]) -> Iterator[str]:
    """What is wrong with a verdict and its evidence."""
    problem = case.problem(result)
    if problem is not None:
        yield problem
    question = asked(case)
    if result.verdict is vn.VIOLATED and (
        result.trace is None or trajectory_truth(result.trace, question.formula, question.model) is not False
    ):
        yield "violated, and its trajectory does not show it"
    if result.verdict is not vn.HOLDS:
        return
    bounded = vn.check(case.system, case.until(case.since + LOOK), engine="falsify", timeout=timeout)
    if bounded.verdict is vn.VIOLATED:
        yield "holds, and an enclosed trajectory breaks it"
    if isinstance(result.evidence, RecurrentSet):
        yield from wrongly_accepted(case, question, result.evidence, timeout, counts)


def asked(case: EndlessCase) -> Question:
    task = Task(case.system)
    return question_of(task, parse_formula(task, case.formula))


def wrongly_accepted(
    case: EndlessCase, question: Question, found: RecurrentSet, timeout: float, counts: Counter[str]
) -> Iterator[str]:
    """Forged sets that are accepted although paths are elsewhere, and a false claim that is."""
    rng = np.random.default_rng(case.seed)
    others = [(question, one) for one in forged(found, rng)] + [(asked(case.false()), found)]
    for number, (own, one) in enumerate(others):
        kept = always(own.claim.linear)
        assert kept is not None
        try:
            accepted = recurrence_problem(own.model, kept, one, Budget(timeout).check) is None
        except Stopped:
            counts["replays out of time"] += 1
            continue
        counts["forged, accepted" if accepted else "forged, refused"] += 1
        if accepted and own is not question:
            yield f"a false claim is accepted: {own.formula}"
        elif accepted and (problem := case.set_problem(one)) is not None:
            yield f"forged sets {number} are accepted, but {problem}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, judge, and print; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.never_wrong_endless", description="Claims for all time")
    parser.add_argument("--instances", type=int, default=40, metavar="N", help="how many (default 40)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first; the others follow")
    parser.add_argument("--timeout", type=float, default=20, metavar="S", help="for each question to each engine")
    parser.add_argument("--limit", type=float, default=inf, metavar="S", help="begin no instance after so many seconds")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), metavar="NAME", help="flowpipe, falsify, auto")
    given = parser.parse_args(arguments)
    counts, wrong, done, last = Counter[str](), 0, 0, time.monotonic() + given.limit
    while done < given.instances and time.monotonic() < last:
        for problem in judged(given.seed + done, given.timeout, counts, given.engines):
            print(f"WRONG {problem}", flush=True)
            wrong += 1
        done += 1
    told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(
        f"{done} for all time, from seed {given.seed} on: {told}; {wrong} wrong; {time.process_time():.0f} CPU seconds"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
