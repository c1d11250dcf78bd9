"""Parts of the initial set as sub-problems: a claim about every initial state holds iff it holds of each part.

What the parts are does not depend on the number of workers, so that a journal written with one fits any other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from vernal.engines.outcomes import combined, is_decided, known_of, summed, to_data
from vernal.errors import Stopped
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof
from vernal.evidence.trace import Trace
from vernal.logic.question import Question
from vernal.model.initial import Box
from vernal.model.sorts import REAL
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.run.executor import carry_out
from vernal.run.worker import Job, Worked, function, named
from vernal.sets.initial_boxes import initial_boxes

MIN_PARTS = 4  # at least so many, where there is something to cut; each may cost as much as the whole

Attempt = Callable[[Question, Budget], Known]  # a function of a module, which every process finds by its name
InitialPart = Box | None  # None for the whole initial set


def attempt_parts(question: Question, budget: Budget, engine: str, attempt: Attempt, cuts: int = MIN_PARTS) -> Known:
    """Each part by itself, until one is violated; parts that stay open leave the whole open."""
    parts = dict(divided(question.system, cuts))
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
    return combined(found)


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
    system = question.system if job.part is None else question.system.cut(job.part)
    assert system is not None, "a part without an initial state is no sub-problem"
    known: Known = function(job.options["attempt"])(replace(question, model=system), budget)
    return Worked(to_data(known, question.system), of_whole(known, question.system))


def _counted(known: Known, recorded: bool) -> Known:
    more = {"parts": 1, **({"from_journal": 1} if recorded else {})}
    return replace(known, statistics={**known.statistics, **more})


def of_whole(known: Known, system: System) -> Known:
    """What is known of a part, with paths that are those of the whole system."""
    match known:
        case Counterexample(trace=trace) | FailingState(trace=trace):
            return replace(known, trace=replace(trace, system=system))
        case Proof(evidence=Trace() as trace):
            return replace(known, evidence=replace(trace, system=system))
    return known


# Parts ----------------------------------------------------------------------------------------------------------------


def divided(system: System, cuts: int = MIN_PARTS) -> Iterator[tuple[str, InitialPart]]:
    """The parts of the initial set, at least so many where one can cut, by a name that says which."""
    boxes = initial_boxes(system)
    if boxes.are_hulls:
        yield "all", None
        return
    pieces = -(-cuts // max(len(boxes.boxes), 1))
    for number, box in enumerate(boxes.boxes):
        made = slices(box, pieces)
        for place, part in enumerate(made):
            if system.initial.cut(part) is not None:
                yield f"box {number} of {len(boxes.boxes)}, part {place} of {len(made)}", part


def slices(box: Box, count: int) -> list[Box]:
    """The box in equal slices across its widest real component, relative to the size of its values."""
    wide = [
        (_relative_width(low, high), var, component)
        for var, entry in box.ends.items()
        if var.sort == REAL
        for component, (low, high) in enumerate(entry)
        if low < high
    ]
    if not wide or count < 2:
        return [box]
    _, var, component = max(wide, key=lambda entry: entry[0])
    low, high = box.ends[var][component]
    ends = [low + (high - low) * Fraction(i, count) for i in range(count + 1)]
    return [box.replaced(var, component, cut) for cut in pairwise(ends)]


def _relative_width(low: Fraction, high: Fraction) -> Fraction:
    return (high - low) / max(abs(low), abs(high), Fraction(1))
