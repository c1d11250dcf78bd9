"""Parts of the initial set as sub-problems: a claim about every initial state holds iff it holds of each part.

What the parts are does not depend on the number of workers, so that a journal written with one fits any other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from vernal.engines.base import Question, unknown
from vernal.engines.outcomes import combined, result_data, result_of, summed
from vernal.errors import Stopped
from vernal.evidence.result import UNKNOWN, VIOLATED, Result
from vernal.model.expr import Expr
from vernal.model.sorts import REAL
from vernal.model.system import Init, OneOf, Span, Start, System
from vernal.reduce.base import Direction
from vernal.reduce.initial import Box, initial_boxes
from vernal.run.budget import Budget
from vernal.run.executor import carry_out
from vernal.run.journal import Outcome
from vernal.run.worker import Job

PARTS = 4  # at least so many, where there is something to cut; each may cost as much as the whole

Answer = Callable[[Question, Budget], Result]


def check_parts(question: Question, budget: Budget, engine: str, answer: Answer, cuts: int = PARTS) -> Result:
    """Each part by itself, until one is violated; parts that stay open leave the whole open."""
    systems = dict(divided(question.system, cuts))
    results: list[Result] = []
    try:
        with closing(each_part(question, systems, budget, engine, answer)) as answers:
            for result in answers:
                results.append(result)
                budget.progress(f"{engine}: {len(results)} of {len(systems)} parts", len(results) / len(systems))
                if result.verdict is VIOLATED:
                    break
    except Stopped as stop:
        return unknown(question, engine, stop.reason, statistics=summed(results))  # some part is not proven at all
    return combined(question, engine, results)


def each_part(
    question: Question, systems: Mapping[str, System], budget: Budget, engine: str, answer: Answer
) -> Generator[Result, None, None]:
    """The answers for parts of the initial set, as they come; close it to leave the others undone."""
    work = _Work(question, engine, answer)
    jobs = (work.job(key, system) for key, system in systems.items())
    with closing(carry_out(jobs, budget, is_decided)) as answers:
        for done in answers:
            result = work.kept.pop(done.key, None) or result_of(done, question, engine)
            yield _counted(result, done.recorded)


def is_decided(outcome: Outcome) -> bool:
    """Whether a part is settled for good; behind an unknown may stand a limit."""
    return bool(outcome["verdict"] != UNKNOWN.value)


def _counted(result: Result, recorded: bool) -> Result:
    more = {"parts": 1, **({"from_journal": 1} if recorded else {})}
    return replace(result, statistics={**result.statistics, **more})


class _Work:
    """The parts of one question; what is found in this very process need not be brought back."""

    def __init__(self, question: Question, engine: str, answer: Answer) -> None:
        self.question, self.engine, self.answer = question, engine, answer
        self.kept: dict[str, Result] = {}

    def job(self, key: str, system: System) -> Job:
        def work(budget: Budget) -> Outcome:
            result = self.answer(replace(self.question, system=system), budget)
            if result.trace is not None:
                result = replace(result, trace=replace(result.trace, system=self.question.system))
            self.kept[key] = result
            return result_data(result, self.question.system)

        return Job(key, work)


# Parts ----------------------------------------------------------------------------------------------------------------


def divided(system: System, cuts: int = PARTS) -> Iterator[tuple[str, System]]:
    """The system from each part of its initial set, at least so many where one can cut, by a name that says which."""
    boxes = initial_boxes(system)
    if boxes.direction is Direction.OVER and not system.init.where:  # too many starts: the boxes are more than they are
        yield "all", system
        return
    pieces = -(-cuts // max(len(boxes.boxes), 1))
    for number, box in enumerate(boxes.boxes):
        made = slices(box, pieces)
        for place, part in enumerate(made):
            yield f"box {number} of {len(boxes.boxes)}, part {place} of {len(made)}", restricted(system, part)


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
    entry = box.ends[var]
    low, high = entry[component]
    ends = [low + (high - low) * Fraction(i, count) for i in range(count + 1)]
    return [Box({**box.ends, var: (*entry[:component], cut, *entry[component + 1 :])}) for cut in pairwise(ends)]


def _relative_width(low: Fraction, high: Fraction) -> Fraction:
    return (high - low) / max(abs(low), abs(high), Fraction(1))


def restricted(system: System, box: Box) -> System:
    """The system started from a part of its initial set."""
    starts = {variable.name: _starts(box, variable.var)[0] for variable in system.state}
    agents = tuple(
        replace(agent, slots=tuple(replace(slot, starts=_starts(box, slot.var)) for slot in agent.slots))
        for agent in system.agents
    )
    return system.starting(Init(starts, system.init.where), agents)


def _starts(box: Box, var: Expr) -> tuple[Start, ...]:
    """The ends of each component; a set of discrete starts is never cut, so a wide one is real."""
    return tuple(OneOf((low,)) if low == high else Span(low, high) for low, high in box.ends[var])
