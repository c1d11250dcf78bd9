"""Recorded trajectories, enclosed once more from their first state and disturbances, and compared with the record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from vernal.evidence.trace import Enclosure, Trace, TraceNumber, TraceStep, components
from vernal.evidence.trace_values import settled
from vernal.evidence.trajectory import again, precisions
from vernal.evidence.walk import NotAPath, Problem
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
        for name, value, now in _values(old, found.steps[t]):
            if not _agree(value, now):
                yield Problem(t, "the values differ", name, _shown(value), _shown(now), time)
        if t == len(recorded) - 1 and old.disturbances:
            yield Problem(t, "nothing follows the last step, and nothing disturbs it", time=time)


def _values(said: TraceStep, found: TraceStep) -> Iterator[tuple[str, TraceNumber, TraceNumber]]:
    """Numbers that a record says, and what was found for each: the state, what is held, and what is remembered.

    What a record does not say of actions and memories is not compared; the state was asked for when it was read.
    """
    for name, value in said.state.items():
        yield name, value, found.state[name]
    for kind, old, new in (("", said.actions, found.actions), (".memory", said.memory, found.memory)):
        for name, value in old.items():
            parts, own = components(value), components(new.get(name, ()))
            if len(parts) != len(own):
                raise NotAPath(Problem(0, f"{len(own)} components are held, not {len(parts)}", f"{name}{kind}"))
            for index, (one, other) in enumerate(zip(parts, own, strict=True)):
                yield (f"{name}{kind}[{index}]" if isinstance(value, tuple) else name), one, other


def _agree(said: TraceNumber, found: TraceNumber) -> bool:
    """Whether two enclosures have a number in common; one that was written as a float is any that rounds to it."""
    (a, b), (c, d) = _ends(said), _ends(found)
    return nearest(a) <= nearest(d) and nearest(c) <= nearest(b)


def _ends(value: TraceNumber) -> tuple[Fraction, Fraction]:
    return (value.lower, value.upper) if isinstance(value, Enclosure) else (value, value)


def _shown(value: TraceNumber) -> str:
    if isinstance(value, Enclosure) and not settled(value):
        return f"[{nearest(value.lower)!r}, {nearest(value.upper)!r}]"
    return repr(nearest(_middle(value)))


def _middle(value: TraceNumber) -> Fraction:
    return value.middle if isinstance(value, Enclosure) else value
