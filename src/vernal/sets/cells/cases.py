"""Parts of cells in which some decisions are made: boxes cut by rows, and what can be decided in how many ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.template_sets import Chosen, Labels
from vernal.interpret.numbers.rounding import TINY, Floats, float_above, float_below, gamma
from vernal.interpret.value_sets import Finite, Range, Truth, Value
from vernal.model import expr as e
from vernal.model.expr import Expr

MAX_OPTIONS = 8  # of an argmax or a choice that are followed one by one


@dataclass(frozen=True)
class Parts:
    """Parts of cells in which some decisions are made: a box around each, and rows x <= ends that cut it."""

    source: NDArray[np.intp]  # which cell
    low: Floats  # (parts, numbers)
    high: Floats
    labels: Labels
    rows: Floats  # (parts, q, numbers)
    ends: Floats  # (parts, q)
    made: dict[Expr, Value] = field(default_factory=dict)  # what decisions are, part by part

    def __len__(self) -> int:
        return len(self.source)

    def chosen(self, index: Chosen) -> Parts:
        """Some of the parts, perhaps several times."""
        return Parts(
            self.source[index],
            self.low[index],
            self.high[index],
            self.labels[index],
            self.rows[index],
            self.ends[index],
            {node: _rows(value, index) for node, value in self.made.items()},
        )

    def cut(self, rows: Floats, ends: Floats) -> Parts:
        """The parts with more rows, (parts, q, numbers); boxes shrink, and what is found to be empty is left out."""
        made = replace(self, rows=np.concatenate([self.rows, rows], 1), ends=np.concatenate([self.ends, ends], 1))
        low, high = shrunk(made.low, made.high, made.rows, made.ends)
        return replace(made, low=low, high=high).chosen(np.flatnonzero((low <= high).all(axis=1)))


def _rows(value: Value, index: Chosen) -> Value:
    match value:
        case Range(lower, upper):
            return Range(lower[index], upper[index])
        case Truth(must, may):
            return Truth(must[index], may[index])
    return Finite(value.mask[index], value.values)


def shrunk(low: Floats, high: Floats, rows: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Boxes as small as each row allows by itself, rounded outward."""
    low, high = low.copy(), high.copy()
    for q in range(rows.shape[1]):
        r = rows[:, q]
        with np.errstate(all="ignore"):
            least = np.where(r > 0, r * low, np.where(r < 0, r * high, 0.0))  # the least of every term
            size = np.abs(least).sum(axis=1, keepdims=True) + np.abs(ends[:, q : q + 1])
            room = ends[:, q : q + 1] - (least.sum(axis=1, keepdims=True) - least)  # what is left to each term
            limit = (room + gamma(rows.shape[2] + 8) * size + TINY) / r
            limit = limit + 4 * gamma(1) * np.abs(limit) * np.where(r > 0, 1, -1)
        good = np.isfinite(limit)
        high = np.where(good & (r > 0), np.minimum(high, limit), high)
        low = np.where(good & (r < 0), np.maximum(low, limit), low)
    return low, high


def halved(parts: Parts, unit: Floats) -> Parts:
    """Both halves of every part, across its widest side in these units; a part without width stays."""
    width = (parts.high - parts.low) / unit
    side, at = np.argmax(width, axis=1), np.arange(len(parts))
    low, high = parts.low[at, side], parts.high[at, side]
    middle = 0.5 * low + 0.5 * high
    cut = np.flatnonzero((low < middle) & (middle < high) & np.isfinite(middle) & np.isfinite(width[at, side]))
    both = parts.chosen(np.concatenate([at, cut]))
    both.high[cut, side[cut]] = middle[cut]
    both.low[len(parts) + np.arange(len(cut)), side[cut]] = middle[cut]
    return both


def joined_parts(batches: Sequence[Parts]) -> Parts:
    """Parts one after the other, in which the same decisions are made."""
    found = _padded(batches)
    return Parts(
        np.concatenate([part.source for part in found]),
        np.concatenate([part.low for part in found]),
        np.concatenate([part.high for part in found]),
        np.concatenate([part.labels for part in found]),
        np.concatenate([part.rows for part in found]),
        np.concatenate([part.ends for part in found]),
        {node: _stacked([part.made[node] for part in found]) for node in found[0].made},
    )


def _padded(parts: Sequence[Parts]) -> list[Parts]:
    """The parts with equally many rows; a row of zeros says nothing."""
    most = max(part.rows.shape[1] for part in parts)
    made = []
    for part in parts:
        missing = most - part.rows.shape[1]
        rows = np.pad(part.rows, ((0, 0), (0, missing), (0, 0)))
        made.append(replace(part, rows=rows, ends=np.pad(part.ends, ((0, 0), (0, missing)), constant_values=np.inf)))
    return made


# Decisions ------------------------------------------------------------------------------------------------------------


def is_decision(node: Expr) -> bool:
    match node:
        case e.Compare():
            return not node.shape and all(arg.sort.is_number for arg in node.args)
        case e.Argmax():
            return node.args[0].size <= MAX_OPTIONS
        case e.Choose():
            constant = all(isinstance(option, e.Const) and not option.shape for option in node.options)
            return constant and len(node.options) <= MAX_OPTIONS
    return False


def ways(node: Expr, value: Value, batch: int) -> NDArray[np.bool_]:
    """Which outcomes are possible, (batch, outcomes); of a choice of numbers all are."""
    match value:
        case Range():
            assert isinstance(node, e.Choose)
            return np.ones((batch, len(node.options)), bool)
        case Truth(must, may):
            return np.stack([~np.broadcast_to(must, (batch,)), np.broadcast_to(may, (batch,))], axis=1)
        case Finite(mask, values):
            return np.broadcast_to(np.asarray(mask), (batch, len(values)))


def outcome_value(node: Expr, value: Value, outcome: int, count: int) -> Value:
    """A decision that is made."""
    match value:
        case Truth():
            truth = np.full(count, bool(outcome))
            return Truth(truth, truth)
        case Finite(_, values):
            return Finite(np.broadcast_to(np.arange(len(values)) == outcome, (count, len(values))), values)
    assert isinstance(node, e.Choose)
    option = node.options[outcome]
    assert isinstance(option, e.Const)
    return Range(np.full(count, float_below(option.value)), np.full(count, float_above(option.value)))


def _stacked(values: Sequence[Value]) -> Value:
    first = values[0]
    match first:
        case Truth():
            truths = [value for value in values if isinstance(value, Truth)]
            return Truth(np.concatenate([v.must for v in truths]), np.concatenate([v.may for v in truths]))
        case Finite():
            masks = [value.mask for value in values if isinstance(value, Finite)]
            return Finite(np.concatenate(masks), first.values)
    ranges = [value for value in values if isinstance(value, Range)]
    return Range(np.concatenate([v.lower for v in ranges]), np.concatenate([v.upper for v in ranges]))
