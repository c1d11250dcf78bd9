"""Influence: which inputs keep a decision open, so that cutting them is most likely to settle it.

Of six uncertain components of a start often two matter: cutting the others doubles the work and decides nothing. What a
decision compares has linear bounds over the inputs; an input's share in the doubt is its slope there times its width.
This only says where to cut: nothing is claimed from it.
"""

from __future__ import annotations

import numpy as np

from vernal.interpret.linear.bounds import Linear
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.interpret.value_sets import Finite, Truth
from vernal.model import build
from vernal.model.expr import Argmax, Compare, Expr
from vernal.sets.pieces.batches import Indices
from vernal.sets.pieces.decisions import mask_of


def is_decision(node: Expr) -> bool:
    """Whether a node is decided by comparing numbers."""
    return not node.shape and (isinstance(node, Argmax) or (isinstance(node, Compare) and node.args[0].sort.is_number))


def shares(decision: Expr, linear: Linear, rows: Indices, columns: int) -> Floats:
    """(rows, columns): the part that each of the first inputs has in what a decision leaves open, for these boxes."""
    whole = mask_of(linear, decision)
    mask = np.broadcast_to(whole, (linear.batch, whole.shape[1]))[rows]
    found = np.zeros((len(rows), columns))
    several = np.flatnonzero(mask.sum(axis=1) > 1)
    if len(several):
        ends = linear.box
        width = np.broadcast_to(ends.upper - ends.lower, (linear.batch, linear.inputs.count))[rows[several]]
        with np.errstate(all="ignore"):  # an unbounded slope gives no share
            doubt = np.nan_to_num(steepness(decision, linear, mask[several], rows[several]) * width, posinf=0.0)
            found[several] = (doubt / np.maximum(doubt.sum(axis=1, keepdims=True), 1e-300))[:, :columns]
    return found


def open_shares(linear: Linear, rows: Indices) -> Floats:
    """The same, added up over every decision that was asked so far; not over those that are only supposed."""
    total = np.zeros((len(rows), linear.inputs.count))
    for node, value in list(linear.values.items()):
        asked = is_decision(node) and all(arg in linear.values for arg in node.args)
        if asked and isinstance(value, Truth | Finite):
            total += shares(node, linear, rows, linear.inputs.count)
    return total


def steepness(decision: Expr, linear: Linear, mask: Mask, rows: Indices | None = None) -> Floats:
    """How fast what a decision compares changes with each input, for these boxes or all of them."""
    match decision:
        case Argmax(args=(scores,)):
            A = linear.slopes(scores, rows)
            first = A[np.arange(len(A)), mask.argmax(axis=1)][:, None]
            steep: Floats = np.ptp(np.where(mask[..., None], A, first), axis=1)
            return steep
        case Compare(args=(left, right)) if left.sort.is_number:
            slopes: Floats = linear.slopes(build.sub(left, right), rows)[:, 0]
            return np.abs(slopes)
    return np.ones((len(mask), linear.inputs.count))
