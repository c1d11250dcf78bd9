"""Parts of the initial set as sub-problems for any process, and for a journal."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import replace

from vernal.engines.outcomes import is_decided, known_of, to_data
from vernal.errors import Stopped
from vernal.evidence.belief import believed
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open
from vernal.logic.question import Question
from vernal.model.initial import Box
from vernal.reduce.initial_cover import MIN_PARTS, InitialPart, InitialParts, divided, of_part, summed
from vernal.reduce.reduction import carried
from vernal.run.budget import Budget
from vernal.run.executor import carry_out
from vernal.run.worker import Job, Worked, function, named

Attempt = Callable[[Question, Budget], Known]  # in other processes, a function of a module: found by its name


def attempt_parts(question: Question, budget: Budget, engine: str, attempt: Attempt, cuts: int = MIN_PARTS) -> Known:
    """Each part by itself, until one is violated; parts that stay open leave the whole open."""
    parts = dict(divided(question.model, cuts))
    found: list[Known] = []
    try:
        with closing(each_part(question, parts, budget, engine, attempt)) as answers:
            for known in answers:
                found.append(known)
                budget.progress(f"{engine}: {len(found)} of {len(parts)} parts", len(found) / len(parts))
                if isinstance(known, Counterexample | FailingState):
                    break
    except Stopped as stop:  # some part is not proven at all
        return Open(engine=engine, reason=stop.reason, statistics=summed(found))
    return InitialParts(cuts).lift(question, found)


def each_part(
    question: Question, parts: Mapping[str, InitialPart], budget: Budget, engine: str, attempt: Attempt
) -> Generator[Known, None, None]:
    """What is known of parts of the initial set, as it comes; close it to leave the others undone.

    What is found in this very process need not be brought back.
    """
    kind, options = named(attempt_part), {"attempt": named(attempt)}
    jobs = (Job(key, kind, question, part, options) for key, part in parts.items())
    with closing(carry_out(jobs, budget, is_decided)) as answers:
        for done in answers:
            known: Known = known_of(done, question, engine) if done.found is None else done.found
            yield _counted(known, done.recorded)


def attempt_part(job: Job, budget: Budget) -> Worked:
    """What is known of one part of the initial set."""
    question: Question = job.question
    asked = of_part(question, job.part)
    known = believed(asked.question.claim, function(job.options["attempt"])(asked.question, budget))
    return Worked(to_data(known, question.model), carried(question, asked, known, budget))


def known_of_box(question: Question, box: Box, budget: Budget, attempt: Attempt) -> Known | None:
    """What is known of the part of the initial set in a box, asked here; None where it has no initial state."""
    if question.model.initial.cut(box) is None:
        return None
    asked = of_part(question, box)
    return carried(question, asked, believed(asked.question.claim, attempt(asked.question, budget)), budget)


def _counted(known: Known, recorded: bool) -> Known:
    more = {"parts": 1, **({"from_journal": 1} if recorded else {})}
    return replace(known, statistics={**known.statistics, **more})
