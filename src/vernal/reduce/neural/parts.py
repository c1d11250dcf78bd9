"""A vector field as a sum: an affine part, and nonlinear parts each of which looks at few directions of the state.

-y - 1.5 x^2 - 0.5 x^3 is nonlinear in x alone, sin(x - y) in the direction x - y alone. A network that knows this needs
hyperplanes across these directions only: pieces of a line instead of cells of the plane, and none for what is affine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat

from vernal.interpret.geometry.affine_form import ZERO as FORM_ZERO
from vernal.interpret.geometry.affine_form import AffineForm, fraction, rational
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.symbolic.affine import Forms
from vernal.model import build
from vernal.model.expr import Between, Expr, Var
from vernal.model.graph import order
from vernal.model.system import Model
from vernal.model.terms import terms
from vernal.model.tick import Tick, idle


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Nonlinear terms that are functions of `directions @ x` and of disturbances; one sum for each rate of change."""

    directions: Floats  # (r, n), independent rows; none where only disturbances matter
    sums: tuple[Expr, ...]  # of each state variable's rate; 0 where this part does not matter to it

    @property
    def outputs(self) -> list[int]:
        """The variables whose rates have a term of this part."""
        return [i for i, total in enumerate(self.sums) if total is not ZERO]


@dataclass(frozen=True, slots=True, eq=False)
class FieldParts:
    """x' = linear @ x + constant + the sum of the parts; the numbers are rounded to floats."""

    linear: Floats
    constant: Floats
    nonlinear: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class _Term:
    """A nonlinear term of one rate: its exact directions, and its disturbances as (rate, disturbance)."""

    rate: int
    node: Expr
    space: fmpq_mat
    draws: frozenset[tuple[int, Expr]]


ZERO = build.const(0)


def parts(flow: Model, tick: Tick = idle) -> FieldParts:
    """The field of a flow, taken apart."""
    forms = Forms({var: [ends] for var, ends in zip(flow.vars, flow.region, strict=True)}, tick=tick)
    linear = np.zeros((len(flow.vars), len(flow.vars)))
    constant = np.zeros(len(flow.vars))
    found: list[_Term] = []
    for i, rate in enumerate(flow.vector_field):
        scaled, offset = terms((rate, Fraction(1)))
        total = AffineForm(rational(offset))
        for node, factor in scaled.items():
            form = _affine(forms, node)
            if form is None:
                found.append(_term(forms, flow.vars, i, build.mul(build.const(factor), node)))
            else:
                total += form.scale(rational(factor))
        linear[i] = [float(fraction(a)) for a in _row(total, flow.vars)]
        constant[i] = float(fraction(total.constant))
    return FieldParts(linear, constant, tuple(_part(group, len(flow.vars)) for group in _groups(found, tick)))


def _affine(forms: Forms, node: Expr) -> AffineForm | None:
    """The affine form that a scalar has on the whole region, if it has one."""
    if any(isinstance(below, Between) for below in order([node])):
        return None
    values = forms.values(node)
    return values[0] if len(values) == 1 and isinstance(values[0], AffineForm) else None


def _term(forms: Forms, variables: Sequence[Var], rate: int, node: Expr) -> _Term:
    rows = [_row(form, variables) for form in _arguments(forms, node)]
    draws = frozenset((rate, below) for below in order([node]) if isinstance(below, Between))
    return _Term(rate, node, _basis(fmpq_mat(len(rows), len(variables), [a for row in rows for a in row])), draws)


def _arguments(forms: Forms, node: Expr) -> Iterator[AffineForm]:
    """The largest affine expressions that a term is made of: it is a function of these."""
    seen, stack = {node}, list(node.args)
    while stack:
        here = stack.pop()
        if here in seen:
            continue
        seen.add(here)
        form = _affine(forms, here) if here.sort.is_number and not here.shape else None
        if form is None:
            stack.extend(here.args)
        else:
            yield form


def _groups(found: Sequence[_Term], tick: Tick) -> list[list[_Term]]:
    """Terms together whose directions are not independent, or that share a disturbance in one rate."""
    groups = list[list[_Term]]()
    for term in found:
        tick()
        group = [term]
        while True:
            apart = [other for other in groups if not _related(group, other)]
            if len(apart) == len(groups):
                break
            group = [entry for other in groups if other not in apart for entry in other] + group
            groups = apart
        groups = [*groups, group]
    return groups


def _related(a: Sequence[_Term], b: Sequence[_Term]) -> bool:
    first, second = _span(a), _span(b)
    if first.nrows() + second.nrows() > _stacked([first, second]).rank():
        return True
    return any(one.draws & other.draws for one in a for other in b)


def _part(group: Sequence[_Term], variables: int) -> Part:
    sums = [ZERO] * variables
    for term in group:
        sums[term.rate] = build.add(sums[term.rate], term.node)
    rows = [[float(fraction(a)) for a in row] for row in _span(group).tolist()]
    return Part(np.array(rows).reshape(len(rows), variables), tuple(sums))


# Exact rows -----------------------------------------------------------------------------------------------------------


def _row(form: AffineForm, variables: Sequence[Var]) -> list[fmpq]:
    return [form.coefficients.get((variable, 0), FORM_ZERO) for variable in variables]


def _span(group: Sequence[_Term]) -> fmpq_mat:
    return _basis(_stacked([term.space for term in group]))


def _stacked(spaces: Sequence[fmpq_mat]) -> fmpq_mat:
    rows = [row for space in spaces for row in space.tolist()]
    return fmpq_mat(len(rows), spaces[0].ncols(), [a for row in rows for a in row])


def _basis(rows: fmpq_mat) -> fmpq_mat:
    """The reduced rows that span the same space; unit vectors where it is spanned by variables."""
    reduced, rank = rows.rref()
    kept = reduced.tolist()[:rank]
    return fmpq_mat(rank, rows.ncols(), [a for row in kept for a in row])
