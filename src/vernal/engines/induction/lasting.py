"""Ends between which every variable stays for all time, and ends that a claim implies where it is true.

Lasting ends are found by exact ends of the next values (interpret.ends), from the initial set on until nothing grows;
what keeps growing is widened to its declared range, or has no end. A declared range is never taken for granted: the
ends that come out contain the initial values and what a step makes of them, which is checked as it is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from vernal.interpret.ends import UNKNOWN_ENDS, EndsProgram, PartialEnds, shortened
from vernal.logic.formula import And, Atom, Formula, Not
from vernal.logic.normal import nnf
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.system import Step, System
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
        return {var: _hull(first[var], made[var]) for var in first}

    ends: dict[Expr, PartialEnds] = dict(first)
    rounds = 0
    while any(not _inside(made, ends[var]) for var, made in after(ends).items()):
        made = {var: _hull(ends[var], reached) for var, reached in after(ends).items()}
        if rounds >= GROWING:
            made = {var: _widened(ends[var], made[var], declared.get(var, UNKNOWN_ENDS)) for var in made}
        ends, rounds = made, rounds + 1
    for _ in range(NARROWING):  # what a step and the initial values make of kept ends is kept, too
        ends = {var: meet(ends[var], made) for var, made in after(ends).items()}
    return ends


def _program(step: Step) -> EndsProgram:
    return EndsProgram([*step.next_state, *step.next_memory])


def _of_starts(entry: Iterable[tuple[Fraction, Fraction]]) -> PartialEnds:
    pairs = list(entry)
    return min(low for low, _ in pairs), max(high for _, high in pairs)


def _hull(a: PartialEnds, b: PartialEnds) -> PartialEnds:
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    return low, None if a[1] is None or b[1] is None else max(a[1], b[1])


def _inside(ends: PartialEnds, others: PartialEnds) -> bool:
    above = others[0] is None or (ends[0] is not None and ends[0] >= others[0])
    return above and (others[1] is None or (ends[1] is not None and ends[1] <= others[1]))


def _widened(before: PartialEnds, after: PartialEnds, declared: PartialEnds) -> PartialEnds:
    """Ends that have grown go on to the declared range; beyond it there is no end."""
    low, high = after
    if low != before[0]:
        low = declared[0] if low is not None and declared[0] is not None and declared[0] <= low else None
    if high != before[1]:
        high = declared[1] if high is not None and declared[1] is not None and declared[1] >= high else None
    return low, high


def meet(a: PartialEnds, b: PartialEnds) -> PartialEnds:
    """The ends of what is between both."""
    low = b[0] if a[0] is None else a[0] if b[0] is None else max(a[0], b[0])
    return low, b[1] if a[1] is None else a[1] if b[1] is None else min(a[1], b[1])


# What a claim implies -------------------------------------------------------------------------------------------------


def implied_ends(formula: Formula) -> dict[Expr, PartialEnds]:
    """Ends of variables wherever the formula is true: from comparisons with constants that it is a conjunction of."""
    found: dict[Expr, PartialEnds] = {}
    waiting = [nnf(formula)]
    while waiting:
        match waiting.pop():
            case And(args):
                waiting.extend(args)
            case Atom(e.Compare() as compared):
                _compared(found, compared.op, *compared.args)
            case Not(Atom(e.Compare() as compared)) if compared.op in ("<", "<="):
                _compared(found, "<=", *reversed(compared.args))
    return found


def _compared(found: dict[Expr, PartialEnds], op: str, left: Expr, right: Expr) -> None:
    if op not in ("<", "<=", "=="):
        return
    if isinstance(right, e.Const):
        _at_most(found, left, right.value)
    if isinstance(left, e.Const):
        _at_least(found, right, left.value)
    if op == "==":
        _compared(found, "<=", right, left)


def _at_most(found: dict[Expr, PartialEnds], node: Expr, end: Fraction) -> None:
    match node:
        case e.Var():
            found[node] = meet(found.get(node, UNKNOWN_ENDS), (None, end))
        case e.Neg(args=(arg,)):
            _at_least(found, arg, -end)
        case e.Abs(args=(arg,)):
            _at_most(found, arg, end)
            _at_least(found, arg, -end)


def _at_least(found: dict[Expr, PartialEnds], node: Expr, end: Fraction) -> None:
    match node:
        case e.Var():
            found[node] = meet(found.get(node, UNKNOWN_ENDS), (end, None))
        case e.Neg(args=(arg,)):
            _at_most(found, arg, -end)
