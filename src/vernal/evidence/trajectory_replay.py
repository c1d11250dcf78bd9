"""Recorded trajectories, enclosed once more from their first state and disturbances, and compared with the record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from vernal.evidence.trace import Enclosure, Trace, TraceNumber, TraceValue
from vernal.evidence.trace_values import settled
from vernal.evidence.trajectory import again, precisions
from vernal.evidence.walk import Problem
from vernal.logic.formula import Formula
from vernal.logic.times import Time
from vernal.model.numbers import nearest
from vernal.model.system import Model
from vernal.model.tick import Tick, idle


@dataclass(frozen=True, slots=True)
class Retrace:
    """What became of a recorded trajectory: where the record differs, if it does, and the truth of a formula on it."""

    problem: Problem | None
    truth: bool | None
    trace: Trace


def retrace(recorded: Trace, formula: Formula, flow: Model, tick: Tick = idle, time: Time = Time.SECONDS) -> Retrace:
    """Enclose a recorded trajectory again, with more digits where fewer decide nothing.

    One that does not begin in an initial state is an error, `NotAPath`.
    """
    for precision in precisions(flow):
        path = again(recorded, flow, precision, tick)
        found = Retrace(next(differences(recorded, path.trace), None), path.truth(formula, time), path.trace)
        if found.truth is not None:
            break
    return found


def differences(recorded: Trace, found: Trace) -> Iterator[Problem]:
    """Where a record is not what was found: numbers that are not in their enclosures, disturbances, missing steps."""
    assert recorded.times is not None
    for t, (time, old) in enumerate(zip(recorded.times, recorded.steps, strict=True)):
        if t >= len(found):
            yield Problem(t, "the solutions cannot be followed so far", time=time)
            return
        for name, value in old.state.items():
            if not _agree(value, found.steps[t].state[name]):
                said, now = _shown(value), _shown(found.steps[t].state[name])
                yield Problem(t, "the values differ", name, said, now, time)
        if t == len(recorded) - 1 and old.disturbances:
            yield Problem(t, "nothing follows the last step, and nothing disturbs it", time=time)


def _agree(said: TraceValue, found: TraceValue) -> bool:
    """Whether two enclosures have a number in common; one that was written as a float is any that rounds to it."""
    (a, b), (c, d) = _ends(said), _ends(found)
    return nearest(a) <= nearest(d) and nearest(c) <= nearest(b)


def _ends(value: TraceValue) -> tuple[Fraction, Fraction]:
    assert not isinstance(value, tuple)
    return (value.lower, value.upper) if isinstance(value, Enclosure) else (value, value)


def _shown(value: TraceValue) -> str:
    assert not isinstance(value, tuple)
    if isinstance(value, Enclosure) and not settled(value):
        return f"[{nearest(value.lower)!r}, {nearest(value.upper)!r}]"
    return repr(nearest(_middle(value)))


def _middle(value: TraceNumber) -> Fraction:
    return value.middle if isinstance(value, Enclosure) else value
