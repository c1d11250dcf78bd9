"""A formula on an exact trace: its truth, its margin, and what both rest on."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from vernal.evidence.replay import PRECISIONS
from vernal.evidence.result import Assurance
from vernal.evidence.trace import Enclosure, Trace, TraceNumber, TraceValue, components
from vernal.interpret import exact
from vernal.interpret.demand import Walk
from vernal.interpret.exact import ExactValue, Given
from vernal.interpret.numbers import reals
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.semantics import atom_margin, evaluate, margins
from vernal.model import build
from vernal.model.expr import Expr, Role
from vernal.model.graph import order, substitute
from vernal.model.system import Model
from vernal.model.traits import is_rational

PRECISION = PRECISIONS[-1]  # a few comparisons; the width of the enclosures is what limits


def truth(trace: Trace, formula: Formula, system: Model | None = None, *, position: int = 0) -> bool | None:
    """The truth of the formula on the trace, read along this one path; None where the trace does not decide it."""
    facts = Facts(trace, system or trace.system)
    ends = trace.complete and trace.loop is None
    return evaluate(formula, facts.truth, len(trace), position=position, loop=trace.loop, complete=ends)


def decided_at(trace: Trace, formula: Formula) -> int:
    """The first position by which the trace decides the formula; what a prefix decides stays decided."""
    facts = Facts(trace, trace.system)
    lengths = range(1, len(trace))
    return bisect_left(lengths, True, key=lambda length: evaluate(formula, facts.truth, length) is not None)


def margin(trace: Trace, formula: Formula, system: Model | None = None) -> float | None:
    """By how much the formula is true on the trace, from exact values; None where that is no finite number.

    Of a lasso nothing is said: its margin is that of infinitely many positions.
    """
    if trace.loop is not None:
        return None
    facts = Facts(trace, system or trace.system)
    value = float(margins(formula, facts.margin, len(trace))[0])
    return value if math.isfinite(value) else None


def assurance(trace: Trace, formula: Formula, system: Model | None = None) -> Assurance:
    """Exact where everything on the way is rational, else rigorous."""
    facts = Facts(trace, system or trace.system)
    roots = [*facts.system.step.roots, *(facts.closed(atom) for atom in atoms(formula)), *facts.system.init.where]
    values = [value for step in trace.steps for group in (step.state, step.actions) for value in group.values()]
    rational = all(map(is_rational, order(roots)))
    return Assurance.EXACT if rational and not any(_is_enclosed(v) for v in values) else Assurance.RIGOROUS


def close_atom(system: Model, atom: Expr) -> Expr:
    """The atom over state, memory and action variables: lets are filled in, agents are not computed again."""
    step = system.step
    lets: dict[Expr, Expr] = {build.var(n, x.sort, x.shape, Role.LET): x for n, x in step.lets.items()}
    actions: dict[Expr, Expr] = {
        x: build.var(n, x.sort, x.shape, Role.ACTION) for n, x in step.actions.items() if x.args
    }
    return substitute(substitute([atom], lets), actions)[0]


def _is_enclosed(value: TraceValue) -> bool:
    return any(isinstance(item, Enclosure) for item in components(value))


@dataclass(frozen=True)
class Facts:
    """Atoms at the positions of a trace. Actions are taken from the trace, lets are computed from them."""

    trace: Trace
    system: Model
    known: dict[Expr, Expr] = field(default_factory=dict)
    truths: dict[tuple[Expr, int], bool | None] = field(default_factory=dict)
    walks: dict[int, Walk] = field(default_factory=dict)  # by position: what atoms have in common is computed once

    def truth(self, atom: Expr, t: int) -> bool | None:
        if (atom, t) not in self.truths:
            value = self.value(self.closed(atom), t)
            self.truths[atom, t] = value if isinstance(value, bool) else None
        return self.truths[atom, t]

    def margin(self, atom: Expr, t: int) -> NDArray[np.float64]:
        value = self.value(atom_margin(self.closed(atom)), t)
        return np.array([_float(value)])

    def closed(self, atom: Expr) -> Expr:
        if atom not in self.known:
            self.known[atom] = close_atom(self.system, atom)
        return self.known[atom]

    def value(self, node: Expr, t: int) -> ExactValue:
        with ctx.workprec(PRECISION):  # inputs that are boxes become balls in it, too
            if t not in self.walks:
                self.walks[t] = Walk(self.inputs(t), {}, lenient=False)
            self.walks[t].visit(node)
            (value,) = exact.evaluation(self.walks[t], [node]).values
        return value

    def inputs(self, t: int) -> Mapping[Expr, Given]:
        step, position = self.system.step, self.trace.steps[t]
        given: dict[Expr, Given] = {var: _ball(position.state[var.name]) for var in step.state}
        for name, action in step.actions.items():
            given[build.var(name, action.sort, action.shape, Role.ACTION)] = _ball(position.actions[name])
        memory = {name: [_scalar(item) for item in components(value)] for name, value in position.memory.items()}
        return {**given, **self.system.unpack_memory(memory)}


def _ball(value: TraceValue) -> Given:
    return tuple(_scalar(item) for item in value) if isinstance(value, tuple) else _scalar(value)


def _scalar(value: TraceNumber) -> Fraction | arb:
    return reals.ball(value.lower, value.upper) if isinstance(value, Enclosure) else value


def _float(value: ExactValue) -> float:
    if isinstance(value, arb):
        return float(value.mid())
    try:
        return float(value) if isinstance(value, Fraction) else math.nan
    except OverflowError:
        return math.nan
