"""The next states of a batch of pieces, once every decision of the step is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.forms import Form, widen
from vernal.interpret.numbers.rounding import TINY, Backend, Floats, gamma
from vernal.model.expr import Expr
from vernal.sets.pieces.batches import Pieces, image, largest_of, times
from vernal.sets.pieces.decisions import Layout


@dataclass(frozen=True)
class Moved:
    """Next states as A p + c, up to error; the parameters grew by the draws."""

    lower: Floats
    upper: Floats
    A: Floats
    c: Floats
    error: Floats
    draws: Sequence[tuple[Expr, int]]


def affine_step(layout: Layout, pieces: Pieces, numbers: Sequence[Expr]) -> Moved | None:
    """All pieces moved by one affine map of the state, if the step is one on the hull of them all; else None."""
    found = affine_map(layout, *pieces.ranges(), numbers)
    return None if found is None else _composed(layout, found[0], pieces, *found[1:])


def affine_map(
    layout: Layout, low: Floats, high: Floats, numbers: Sequence[Expr]
) -> tuple[Linear, Floats, Floats, Floats] | None:
    """The step as F x + f, up to a gap, if it is one on the hull of all boxes: rows of state components and draws."""
    low, high = -largest_of(-low)[None], largest_of(high)[None]
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return None
    linear = layout.over(low, high)
    for value in numbers:
        linear.need(value)
    forms = [linear.exact(value) for value in numbers]
    known = [form for form in forms if form is not None]
    if len(known) < len(forms):
        return None
    F, f, gap = _map(linear, known)
    return (linear, F, f, gap) if all(np.isfinite(part).all() for part in (F, f, gap)) else None


def _map(linear: Linear, forms: Sequence[Form]) -> tuple[Floats, Floats, Floats]:
    """Forms of the next state as rows of one map."""
    count = linear.inputs.count
    rows = [_rows(form, count) for form in forms]
    empty = np.zeros((0, count)), np.zeros(0), np.zeros(0)
    F, f, gap = (np.concatenate(parts) for parts in zip(empty, *rows, strict=True))
    return F, f, gap


def _rows(form: Form, count: int) -> tuple[Floats, Floats, Floats]:
    size = form.constant.shape[-1]
    if form.coefficients is None:
        return np.zeros((size, count)), form.constant[0], np.broadcast_to(form.error[0], (size,))
    return widen(Backend(), form.coefficients, count)[0], form.constant[0], np.broadcast_to(form.error[0], (size,))


def _composed(layout: Layout, linear: Linear, pieces: Pieces, F: Floats, f: Floats, gap: Floats) -> Moved:
    """F (A p + c) + f; the rounding is paid for the largest piece of the batch."""
    n, count = layout.size, pieces.parameters
    state, drawn = F[:, :n], F[:, n:]
    steep = np.abs(state)
    largest = np.maximum(np.abs(pieces.lower), np.abs(pieces.upper))
    size = largest_of(np.abs(pieces.c) + pieces.error + image(np.abs(pieces.A), largest))
    rounding = gamma(2 * (n + count) + 16) * (steep @ size + np.abs(f)) * 2 + TINY
    A = np.matmul(state, pieces.A)
    A = np.concatenate([A, np.broadcast_to(drawn, (len(A), *drawn.shape))], axis=2)
    error = times(steep, pieces.error) * (1 + 1e-13) + (gap + rounding) * (1 + 1e-13)
    lower, upper, draws = pieces.lower, pieces.upper, linear.inputs.names[n:]
    if draws:
        whole = linear.box
        lower, upper = _grown(lower, whole.lower[:, n:]), _grown(upper, whole.upper[:, n:])
    return Moved(lower, upper, A, times(state, pieces.c) + f, error, draws)


def _grown(known: Floats, more: Floats) -> Floats:
    """Ends of the parameters, with those of the draws behind."""
    return np.concatenate([known, np.broadcast_to(more, (len(known), more.shape[1]))], axis=1)


def bounded_step(layout: Layout, pieces: Pieces, numbers: Sequence[Expr]) -> Moved:
    """Every piece moved by its own forms, or by the middle of its linear bounds."""
    linear = layout.for_step(pieces)
    for value in numbers:
        linear.need(value)
    forms = [enclosure(linear, value, len(pieces)) for value in numbers]
    draws = linear.inputs.names[pieces.parameters :]
    A, c, error = _stacked(forms, linear.inputs.count, len(pieces))
    lower, upper = pieces.lower, pieces.upper
    if draws:
        whole = linear.box
        lower, upper = (np.broadcast_to(end, (len(pieces), end.shape[1])) for end in (whole.lower, whole.upper))
    return Moved(lower, upper, A, c, error, draws)


def enclosure(linear: Linear, node: Expr, batch: int) -> tuple[Floats | None, Floats, Floats]:
    """A node as A p + c, up to error, over the inputs: its form if it has one, else the middle of its linear bounds."""
    form = linear.exact(node)
    shape = (batch, node.size)
    if form is not None:
        A = (
            None
            if form.coefficients is None
            else np.broadcast_to(form.coefficients, (*shape, form.coefficients.shape[-1]))
        )
        return A, np.broadcast_to(form.constant, shape), np.broadcast_to(form.error, shape)
    bounds = linear.form(node)
    A = 0.5 * bounds.lower_coefficients + 0.5 * bounds.upper_coefficients
    half = 0.5 * (bounds.upper_coefficients - bounds.lower_coefficients)
    whole = linear.box
    centre, radius = 0.5 * whole.lower + 0.5 * whole.upper, 0.5 * (whole.upper - whole.lower)
    middle = np.einsum("bnm,bm->bn", half, np.broadcast_to(centre, (batch, centre.shape[1])))
    reach = middle + np.einsum("bnm,bm->bn", np.abs(half), np.broadcast_to(radius, (batch, radius.shape[1])))
    low, high = bounds.lower_constants - reach, bounds.upper_constants + reach
    c = 0.5 * low + 0.5 * high
    largest = np.maximum(np.abs(whole.lower), np.abs(whole.upper))
    size = (
        np.abs(low)
        + np.abs(high)
        + np.einsum("bnm,bm->bn", np.abs(A) + np.abs(half), np.broadcast_to(largest, (batch, largest.shape[1])))
    )
    return A, c, (0.5 * (high - low) + gamma(2 * A.shape[-1] + 16) * size) * (1 + 1e-14) + TINY


def _stacked(
    forms: Sequence[tuple[Floats | None, Floats, Floats]], count: int, batch: int
) -> tuple[Floats, Floats, Floats]:
    if not forms:
        return np.zeros((batch, 0, count)), np.zeros((batch, 0)), np.zeros((batch, 0))
    A = np.zeros((batch, sum(c.shape[1] for _, c, _ in forms), count))
    start = 0
    for coefficients, c, _ in forms:
        if coefficients is not None:
            A[:, start : start + c.shape[1], : coefficients.shape[-1]] = coefficients
        start += c.shape[1]
    return A, np.concatenate([c for _, c, _ in forms], axis=1), np.concatenate([e for _, _, e in forms], axis=1)
