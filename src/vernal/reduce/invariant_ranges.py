"""Ends between which every variable stays for all time.

Lasting ends are found by exact ends of the next values (interpret.ends), from the initial set on until nothing grows;
what keeps growing is widened to its declared range, or has no end. A declared range is never taken for granted: the
ends that come out contain the initial values and what a step makes of them, which is checked as it is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from vernal.interpret.ends import UNKNOWN_ENDS, EndsProgram, PartialEnds, hull, inside, meet, shortened
from vernal.model.closed_graph import ClosedStep
from vernal.model.expr import Expr
from vernal.model.system import System
from vernal.model.tick import Tick

GROWING = 8  # steps in which ends may grow before they are widened
NARROWING = 3  # steps after that which make ends tighter again

KnownEnds = Mapping[Expr, PartialEnds]


def lasting_ends(system: System, tick: Tick) -> KnownEnds:
    """For each number of state and memory (a vector: for all its components), ends that are never left."""
    program = system.step.once(_program)
    first = {var: _of_starts(entry) for var, entry in system.initial.hull.ends.items() if var.sort.is_number}
    declared: dict[Expr, PartialEnds] = {v.var: (v.lower, v.upper) for v in system.state}

    def after(ends: KnownEnds) -> dict[Expr, PartialEnds]:
        tick()
        made: dict[Expr, PartialEnds] = dict(zip(system.step.inputs, map(shortened, program(ends)), strict=True))
        return {var: hull(first[var], made[var]) for var in first}

    ends: dict[Expr, PartialEnds] = dict(first)
    rounds = 0
    while any(not inside(made, ends[var]) for var, made in after(ends).items()):
        made = {var: hull(ends[var], reached) for var, reached in after(ends).items()}
        if rounds >= GROWING:
            made = {var: _widened(ends[var], made[var], declared.get(var, UNKNOWN_ENDS)) for var in made}
        ends, rounds = made, rounds + 1
    for _ in range(NARROWING):  # what a step and the initial values make of kept ends is kept, too
        ends = {var: meet(ends[var], made) for var, made in after(ends).items()}
    return ends


def later_ends(system: System, ends: KnownEnds, tick: Tick) -> KnownEnds:
    """Ends that are never left from the next step on, given some that are not left from a step on."""
    tick()
    after = map(shortened, system.step.once(_program)(ends))
    made: dict[Expr, PartialEnds] = dict(zip(system.step.inputs, after, strict=True))
    return {var: meet(own, made[var]) for var, own in ends.items()}


def _program(step: ClosedStep) -> EndsProgram:
    return EndsProgram([*step.next_state, *step.next_memory])


def _of_starts(entry: Iterable[tuple[Fraction, Fraction]]) -> PartialEnds:
    pairs = list(entry)
    return min(low for low, _ in pairs), max(high for _, high in pairs)


def _widened(before: PartialEnds, after: PartialEnds, declared: PartialEnds) -> PartialEnds:
    """Ends that have grown go on to the declared range; beyond it there is no end."""
    low, high = after
    if low != before[0]:
        low = declared[0] if low is not None and declared[0] is not None and declared[0] <= low else None
    if high != before[1]:
        high = declared[1] if high is not None and declared[1] is not None and declared[1] >= high else None
    return low, high
