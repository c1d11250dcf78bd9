"""The boxes that a search has left open, worked off by several processes.

A search of a moment cuts the initial set into boxes that are about equally hard; each process gets every n-th of them,
in more portions than there are processes, since nobody knows which of them take long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

from vernal.engines.outcomes import is_decided, known_of, to_data
from vernal.evidence.knowledge import Counterexample, Known, Proof
from vernal.logic.question import Question
from vernal.model.initial import Box
from vernal.reduce.initial_cover import combined
from vernal.run.budget import Budget
from vernal.run.executor import carry_out
from vernal.run.worker import Job, Worked, function, named

PORTIONS = 4  # for each process

AttemptBoxes = Callable[[Question, Sequence[Box], Budget], Known]  # a function of a module: found by its name


def attempt_boxes(
    question: Question, boxes: Sequence[Box], budget: Budget, attempt: AttemptBoxes, before: Proof
) -> Known:
    """What is known of portions of the boxes, until one has a state that refutes the claim, and of all before them."""
    count = min(len(boxes), PORTIONS * budget.workers)
    options = {"attempt": named(attempt)}
    jobs = (
        Job(f"portion {own} of {count}", named(attempt_portion), question, tuple(boxes[own::count]), options)
        for own in range(count)
    )
    found: list[Known] = [before]
    with closing(carry_out(jobs, budget, is_decided)) as answers:
        for done in answers:
            found.append(known_of(done, question, before.engine) if done.found is None else done.found)
            budget.progress(f"{before.engine}: {len(found) - 1} of {count} portions", (len(found) - 1) / count)
            if isinstance(found[-1], Counterexample):
                break
    return combined(found)


def attempt_portion(job: Job, budget: Budget) -> Worked:
    """What is known of some boxes of the initial set."""
    known = function(job.options["attempt"])(job.question, job.part, budget)
    return Worked(to_data(known, job.question.model))
