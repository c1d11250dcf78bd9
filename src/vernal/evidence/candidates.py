"""Candidates become paths here and nowhere else: replayed exactly, and judged by the claim on the concrete system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vernal.evidence import confirm
from vernal.evidence.knowledge import Candidate, Proof, Statistics, Subject
from vernal.evidence.replay import NotAPath, closed, run
from vernal.evidence.trace import Trace
from vernal.logic.direction import Direction
from vernal.logic.formula import Formula, Not
from vernal.logic.prefix import refuted_within
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.initial import Box
from vernal.model.system import Model
from vernal.model.tick import Tick, idle


def path_of(system: Model, candidate: Candidate, tick: Tick = idle, *, precision: int = 0) -> Trace | None:
    """The path that the candidate's decisions make, recomputed; None if they make none."""
    try:
        return run(
            system,
            candidate.first,
            candidate.decisions,
            candidate.steps,
            candidate.memory or None,
            least_precision=precision,
            tick=tick,
        )
    except NotAPath:
        return None


def lasso_of(system: Model, candidate: Candidate, loop: int, tick: Tick = idle) -> Trace | None:
    """The lasso whose last position is followed by position `loop`; None where the candidate's path does not close.

    The candidate's last position is the one that returns: its state and memory have to be those of `loop`, exactly.
    """
    trace = path_of(system, candidate, tick)
    return closed(trace, loop) if trace is not None and len(trace) == candidate.steps + 1 else None


def refuting_path(
    system: Model, candidate: Candidate, formula: Formula, tick: Tick = idle, *, precision: int = 0
) -> Trace | None:
    """The candidate's path as far as it takes to make the formula false; None where it does not, or is no path."""
    trace = path_of(system, candidate, tick, precision=precision)
    if trace is None or confirm.truth(trace, formula) is not False:
        return None
    return cut_at_decision(system, candidate, trace, formula, tick, precision=precision)


def cut_at_decision(
    system: Model, candidate: Candidate, trace: Trace, formula: Formula, tick: Tick = idle, *, precision: int = 0
) -> Trace | None:
    """The path up to the first position at which the formula is decided."""
    last = confirm.decided_at(trace, formula)
    if last == len(trace) - 1:
        return trace
    shorter = Candidate(candidate.first, candidate.memory, candidate.decisions, last)
    return path_of(system, shorter, tick, precision=precision)


def witnessed(
    question: Question, trace: Trace, engine: str, statistics: Statistics, direction: Direction = Direction.UNDER
) -> Proof:
    """A proof by one path on which the claim is true, from the only initial state; EXACT if it is the only path."""
    opposite = Not(question.claim.path)
    margin = confirm.margin(trace, opposite if trace.complete else refuted_within(opposite, len(trace)))
    return Proof(
        engine=engine,
        direction=direction,
        subject=Subject.STATES,
        assurance=confirm.assurance(trace, question.formula),
        margin=None if margin is None else -margin,
        evidence=trace,
        statistics=statistics,
    )


# States of a box that is known to fail --------------------------------------------------------------------------------


def failing_path(question: Question, box: Box, tick: Tick = idle) -> Trace | None:
    """A path from a state of the box that refutes a claim of all paths; every choice takes its first option."""
    steps = question.claim.horizon or 0
    found = (refuting_path(question.system, one, question.claim.path, tick) for one in from_box(question, box, steps))
    return _first(found)


def failing_state(question: Question, box: Box, tick: Tick = idle) -> Trace | None:
    """An initial state in the box, as a path of one position."""
    return next(states_of(question, box, tick), None)


def states_of(question: Question, box: Box, tick: Tick = idle) -> Iterator[Trace]:
    """A few initial states in the box, each as a path of one position."""
    if question.time is Time.SAMPLES:
        from vernal.evidence.loop_starts import first_positions  # loads what is of continuous time alone

        yield from first_positions(question.model, box, tick)
        return
    for candidate in from_box(question, box, 0):
        trace = path_of(question.system, candidate, tick)
        if trace is not None:
            yield trace


def beginning_at(question: Question, trace: Trace) -> Model | None:
    """The question's model from the first state of a path alone; None where it cannot be said."""
    if question.time is Time.SAMPLES:
        from vernal.evidence.loop_starts import starting_at  # loads what is of continuous time alone

        return starting_at(question.model, trace)
    system, (step,) = question.system, trace.steps
    memory = {name: value if isinstance(value, tuple) else (value,) for name, value in step.memory.items()}
    values = system.unpack(step.state, memory)
    return system.cut(Box({var: tuple((x, x) for x in items) for var, items in values.items()}))


def from_box(question: Question, box: Box, steps: int) -> Iterator[Candidate]:
    """Paths from the centre and two corners of a box: constraints may exclude one or the other."""
    system = question.system
    defaults = dict.fromkeys(system.step.names.values(), 0)
    corners = [{var: tuple(ends[side] for ends in entry) for var, entry in box.ends.items()} for side in (0, 1)]
    for point in (box.middle(), *corners):
        yield Candidate(*system.pack(point), [defaults] * (steps + 1), steps)


def _first(traces: Iterable[Trace | None]) -> Trace | None:
    return next((trace for trace in traces if trace is not None), None)
