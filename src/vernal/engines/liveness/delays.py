"""Within how many steps what has to come at last does so on simulated paths: a guess at what is to be proven."""

from __future__ import annotations

import numpy as np

from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.shortening import prompt, weaker
from vernal.run.budget import Budget
from vernal.simulate.runs import Runs, StepSimulator, random_plan
from vernal.simulate.starts import NoInitialState
from vernal.simulate.targets import Target

SIMULATED_RUNS = 64
MOST_STEPS = 64  # of a delay
WATCHED_STEPS = 64  # in which a claim for all time is looked at


def least_delay(question: Question, path: Formula, budget: Budget) -> int | None:
    """The least delay with which no simulated path breaks the prompt formula; None where none is long enough."""
    try:
        with np.errstate(all="ignore"):  # floats are for a guess only
            runs = _simulated(question, budget)
            return _least(question, path, runs, budget)
    except NoInitialState:
        return 0


def _simulated(question: Question, budget: Budget) -> Runs:
    steps = WATCHED_STEPS + MOST_STEPS
    rng = np.random.default_rng(budget.seed)
    plan = random_plan(question.system, SIMULATED_RUNS, steps, rng, corners=True, tick=budget.check)
    return StepSimulator(question.system, steps).run(plan, budget.check)


def _least(question: Question, path: Formula, runs: Runs, budget: Budget) -> int | None:
    def is_enough(delay: int) -> bool:
        budget.check()
        formula = prompt(path, delay, total=question.is_total)
        window = weaker(formula, WATCHED_STEPS)
        return bool((Target(question.system, formula, window).margins(runs) >= 0).all())

    if not is_enough(MOST_STEPS):
        return None
    low, high = -1, MOST_STEPS  # high is enough, low is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
