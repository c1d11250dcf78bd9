"""Parts of the initial set: a claim about every initial state holds iff it holds of each part.

What the parts are does not depend on the number of workers, so that a journal written with one fits any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

from vernal.evidence.flowpipe import Flowpipe, joined
from vernal.evidence.invariant import Invariant
from vernal.evidence.kinds import Evidence
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof, Statistics, Subject
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.logic.direction import Direction, weakest
from vernal.logic.question import Question
from vernal.model.expr import Expr
from vernal.model.initial import Box, InitialSet
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.reduce.reduction import Subquestion
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes

MIN_PARTS = 4  # at least so many, where there is something to cut; each may cost as much as the whole

ONE_START = "a witness proves a claim of some path for one initial state only, and here are infinitely many"
NO_START = "there is no initial state to look at; try --engine auto"

InitialPart = Box | None  # None for the whole initial set
N = TypeVar("N", int, float)


@dataclass(frozen=True)
class InitialParts:
    """The same claim from each part of the initial set."""

    cuts: int = MIN_PARTS

    name = "parts of the initial set"
    direction = Direction.EXACT
    is_joint = True

    def takes(self, question: Question) -> str | None:
        return None

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        for _, part in divided(question.model, self.cuts):
            yield of_part(question, part)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        return combined(found)


@dataclass(frozen=True)
class SingleStarts:
    """The same claim from each initial state, where they are finitely many."""

    limit: int

    name = "single starts"
    direction = Direction.EXACT
    is_joint = True

    def takes(self, question: Question) -> str | None:
        finite = all(one.is_point for one in question.system.initial.split(self.limit))
        return None if finite else f"not supported by this engine: {ONE_START}"

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        for one in question.system.initial.split(self.limit):
            if not _is_excluded(one):
                yield of_part(question, one.hull)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        return combined(found) if found else Open(engine="", reason=NO_START)


def _is_excluded(start: InitialSet) -> bool:
    """Whether constraints exclude a single start; one without a defined truth value excludes nothing."""
    given: dict[Expr, Given] = {var: values if var.shape else values[0] for var, values in start.first.items()}
    return any(truth is False for truth in exact.evaluate(start.where, given))


def of_part(question: Question, part: InitialPart) -> Subquestion:
    """The question from a part of the initial set that has an initial state."""
    system = question.model if part is None else question.model.cut(part)
    assert system is not None, "a part without an initial state is no sub-problem"
    return Subquestion(replace(question, model=system), InitialParts.direction)


def divided(system: Model, cuts: int = MIN_PARTS) -> Iterator[tuple[str, InitialPart]]:
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


# All parts together ---------------------------------------------------------------------------------------------------


def combined(parts: Sequence[Known]) -> Known:
    """A claim about every initial state, from those about parts of them: the weakest part has the last word."""
    statistics = summed(parts)
    for part in parts:
        if isinstance(part, Counterexample | FailingState):
            return replace(part, statistics=statistics)
    open_parts = [part for part in parts if isinstance(part, Open)]
    if open_parts:
        return replace(
            open_parts[0],
            statistics=statistics,
            proven_steps=_least([part.proven_steps for part in open_parts]),
            proven_time=_least([part.proven_time for part in open_parts]),
            margin=_least([part.margin for part in open_parts]),
        )
    proofs = [part for part in parts if isinstance(part, Proof)]
    real = [part for part in proofs if not part.empty] or proofs
    direction = weakest(part.direction for part in real)
    if direction is Direction.NEITHER:
        reason = "parts of the initial set are proven on sets that add behaviour, others on sets that leave some out"
        return Open(engine=real[0].engine, reason=reason, statistics=statistics)
    return replace(
        real[0],
        subject=Subject.STATES if all(part.subject is Subject.STATES for part in real) else Subject.PATHS,
        direction=direction,
        assurance=min(part.assurance for part in real),
        margin=_least([part.margin for part in real]),
        empty=all(part.empty for part in proofs),
        notes=tuple(dict.fromkeys(note for part in real for note in part.notes)),
        statistics=statistics,
        evidence=_joined_evidence(real),
        seen=None,  # other parts have other states
    )


def _joined_evidence(parts: Sequence[Proof]) -> Evidence | None:
    """What the proofs of all parts show together: a path of one of them, or the union of their invariants or pipes."""
    found = [part.evidence for part in parts if part.evidence is not None]
    pipes = [one for one in found if isinstance(one, Flowpipe)]
    if pipes:
        return joined(pipes) if len(pipes) == len(parts) else None
    invariants = [one for one in found if isinstance(one, Invariant)]
    if not invariants or len(invariants) < len(found):
        return next((one for one in found if not isinstance(one, Invariant)), None)
    alike = {(one.components, len(one.prefix)) for one in invariants}
    if len(invariants) < len(parts) or len(alike) > 1:
        return None
    sets = dict.fromkeys(one for invariant in invariants for one in invariant.sets)
    prefix = tuple(sum(level, ()) for level in zip(*(one.prefix for one in invariants), strict=True))
    return Invariant(invariants[0].components, tuple(sets), prefix)


def _least(values: Sequence[N | None]) -> N | None:
    """The least of the values; None where one of them is not known."""
    known = [value for value in values if value is not None]
    return min(known) if known and len(known) == len(values) else None


def summed(parts: Sequence[Known]) -> Statistics:
    """The numbers of all parts added up."""
    total: dict[str, int | float | str] = {}
    for part in parts:
        for name, value in part.statistics.items():
            before = total.get(name, 0)
            if isinstance(value, int | float) and isinstance(before, int | float):
                total[name] = before + value
            else:
                total[name] = value
    return total
