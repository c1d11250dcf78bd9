"""Is any engine ever wrong about LTL and CTL over samples? `python -m benchmarks.never_wrong_samples [--instances N]`.

Random loops without draws, with a network, jumps to and fro, and regions that may be left; claims of all paths and of
some, with and without an end. From each start there is one path, so that quantifiers do not matter: simulated paths
that have settled decide every claim, others those that have an end. A verdict that they contradict is wrong, and so is
evidence that does not replay. Ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

import vernal as vn
from tests.sampled_loops import linear_network
from vernal.engines.check import ask, parse_formula, question_of
from vernal.evidence.judgement import Judgement
from vernal.evidence.loop_starts import starting_at
from vernal.evidence.result import Result
from vernal.logic.claim import Claim
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.run.budget import Budget
from vernal.sets.sampled.sample_graphs import all_keep, may_keep
from vernal.sets.sampled.sampled_lassos import SIMULATED_SAMPLES, simulated_lassos
from vernal.simulate.trajectories import column, simulate_flow

SHAPES = (
    "G F {p}", "F G {p}", "F {p}", "G {p}", "{p} U {q}", "{p} W {q}", "G ({p} -> F {q})", "F[0,6] {p}", "X[3] {p}",
    "AG EF {p}", "EF {p}", "EG {p}", "AF AG {p}", "EF AG {p}", "AG ({p} -> EF {q})", "E[{p} U {q}]", "A[{p} U {q}]",
    "AG EX {p}", "EG[0,5] {p}", "EF[1,4] {p}", "AG (AX {p} | AX {q})", "EX {p}", "AX AX {p}", "AG AF {p}",
)  # fmt: skip
RUNS = 12  # that are simulated
GAP, SETTLED = 0.01, 1e-6  # between what is claimed and what simulated paths do; of a state that has come back


def system_of(rng: np.random.Generator) -> vn.System:
    """A loop with one path from each start."""
    pull, gain, push, turn = (round(float(rng.uniform(*ends)), 3) for ends in ((0.2, 2), (-2, 2), (-1, 1), (-1, 1)))
    low, width, shrink = round(float(rng.uniform(-0.8, 0.8)), 3), rng.choice(["0", "0.05", "0.3"]), rng.choice([0, 0.5])
    jumps, top = rng.random() < 0.5, rng.choice(["0.9", "3"])
    agent = vn.agent(linear_network("u", (gain,)), observe=lambda s: [s.x], act="raw", every="0.25")
    start = vn.interval(low, Fraction(str(low)) + Fraction(str(width)))
    if not jumps:
        return vn.System(
            state={"x": vn.real(-3, top)},
            init={"x": start},
            agents={"u": agent},
            rates=lambda s: {"x": push - pull * s.x + s.u / 2 + turn * vn.sin(s.x)},
        )
    return vn.System(
        state={"x": vn.real(-3, top), "way": vn.integer(0, 1)},
        init={"x": start, "way": 0},
        agents={"u": agent},
        rates=lambda s: {"x": push * (1 - 2 * s.way) - pull * s.x + s.u / 2 + turn * vn.sin(s.x)},
        step=lambda s: {"x": float(shrink) * s.x, "way": 1 - s.way},
        every="0.5",
    )


def claim_of(rng: np.random.Generator, values: np.ndarray) -> str:
    """A claim near what simulated paths do."""
    atoms = []
    for _ in range(2):
        end = float(rng.choice(values)) + float(rng.choice([-5, -1, 1, 5])) * GAP
        atoms.append(f"(x {rng.choice(['<=', '>='])} {round(end, 3)})")
    return str(rng.choice(SHAPES)).format(p=atoms[0], q=atoms[1])


def is_settled(question: Question, seed: int) -> bool:
    """Whether simulated paths are where they were half of their time ago, or have ended."""
    grid = question.model.grid
    assert grid is not None
    times = [grid * k for k in (SIMULATED_SAMPLES // 2 - 1, SIMULATED_SAMPLES - 1)]
    runs = simulate_flow(question.model, RUNS, times[-1], np.random.default_rng(seed), corners=True, more=times)
    assert runs.times is not None
    places = [int(np.searchsorted(runs.times, float(time), side="right")) - 1 for time in times]
    going = runs.lengths > places[1]
    values = [column(runs, var.name)[going] for var in question.model.vars]
    return all(bool((np.abs(own[:, places[0]] - own[:, places[1]]) < SETTLED).all()) for own in values)


def wrong(task: Task, question: Question, result: Result, seed: int, settled: bool) -> str | None:
    """What is wrong with a verdict, if anything is."""
    if result.verdict is vn.UNKNOWN:
        return None
    holds, claim = result.verdict is vn.HOLDS, Claim(question.claim.path, Time.SAMPLES)
    if claim.horizon is not None or settled:
        model = question.model
        if not holds:  # of the start that was shown
            assert result.trace is not None
            model = starting_at(model, result.trace)
        lassos = simulated_lassos(replace(question, model=model, formula=claim.formula), seed)
        if holds and not may_keep(lassos, claim):
            return "simulated paths break it"
        if not holds and all_keep(lassos, claim):
            return "simulated paths keep it"
    if result.evidence is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        vn.write_evidence(task, result, Path(folder) / "shown.json")
        replayed = vn.replay(Path(folder) / "shown.json", task)
    return None if replayed.judgement is Judgement.ACCEPTED else f"its evidence is not accepted: {replayed.reason}"


def judged(seed: int, timeout: float, counts: Counter[str], engines: tuple[str, ...]) -> Iterator[str]:
    """What is wrong of what engines say of an instance."""
    rng = np.random.default_rng(seed)
    task = Task(system_of(rng)).counting("samples")
    first = question_of(task, parse_formula(task, "x <= 0"))
    runs = simulate_flow(first.model, RUNS, 12, rng, corners=True)
    values = column(runs, "x")[np.arange(runs.steps + 1) < runs.lengths[:, None]]
    formula = parse_formula(task, claim_of(rng, values[np.isfinite(values)]))
    question, said = question_of(task, formula), set[vn.Verdict]()
    settled = is_settled(question, seed)
    for engine in engines:
        budget = Budget(timeout, started=time.process_time(), clock=time.process_time)
        result = ask(task, formula, None, engine, budget)
        counts[f"{engine} {result.verdict}"] += 1
        said.add(result.verdict)
        problem = wrong(task, question, result, seed, settled)
        if problem is not None:
            yield f"WRONG {seed} {engine}: {formula}: {result.verdict}: {problem}"
    counts["settled"] += settled
    if {vn.HOLDS, vn.VIOLATED} <= said:
        yield f"WRONG {seed}: {formula}: engines disagree"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare claims over samples with simulated paths of random loops.")
    parser.add_argument("--instances", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=4.0, metavar="S", help="of the processor, for each engine")
    parser.add_argument("--engines", nargs="+", default=["flowpipe", "falsify"])
    given = parser.parse_args()
    counts, failures = Counter[str](), 0
    for seed in range(given.seed, given.seed + given.instances):
        for problem in judged(seed, given.timeout, counts, tuple(given.engines)):
            print(problem, flush=True)
            failures += 1
    said = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"{given.instances} loops: {said}; {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
