"""Directions in which sets of states are bounded: the axes, those of a formula's comparisons, and more."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vernal.errors import InputError
from vernal.evidence.segment_truth import StateConditions
from vernal.interpret.geometry.directions import with_axes
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.elaboration import expression, system_scope
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.question import Question
from vernal.logic.syntax import Source
from vernal.model.graph import variables
from vernal.model.system import Model

AUTO, BOX, OCTAGON = "auto", "box", "octagon"
MOST_BESIDE = 16  # directions of other questions that are asked together with one


def directions_of(question: Question, more: Floats | None = None, beside: Iterable[Formula] = ()) -> Floats:
    """Directions for this question: the axes, then those of its linear comparisons, then more; each once.

    Where other formulas are asked beside it, those of all of them, in an order that does not depend on whose turn it
    is; unless they are too many.
    """
    conditions, count = StateConditions(question.model), len(question.model.state)
    last = [] if more is None else list(more)
    own = with_axes(count, [*conditions.normals(question.formula), *last])
    others = [formula for formula in beside if _is_about(question.model, formula)]
    if question.formula not in others:
        return own
    whole = with_axes(count, [*(row for formula in others for row in conditions.normals(formula)), *last])
    return whole if len(whole) <= len(own) + MOST_BESIDE else own


def _is_about(model: Model, formula: Formula) -> bool:
    """Whether a formula speaks of a model's variables alone."""
    return set(variables(map(model.resolve, atoms(formula)))) <= set(model.vars)


def chosen(question: Question, choice: str, *, careful: bool = False, beside: Iterable[Formula] = ()) -> Floats:
    """Directions by the option of that name; `auto` is a box at first, and an octagon where one is careful."""
    count = len(question.model.state)
    if choice == OCTAGON or (choice == AUTO and careful):
        return directions_of(question, octagon(count), beside)
    return directions_of(question, None if choice in (AUTO, BOX) else _written(question, choice), beside)


def octagon(dimension: int) -> Floats:
    """Sums and differences of every two variables."""
    axes = np.eye(dimension)
    pairs = [(first, second) for first in range(dimension) for second in range(first)]
    return _rows(axes[a] + sign * axes[b] for a, b in pairs for sign in (1.0, -1.0)).reshape(-1, dimension)


def _written(question: Question, text: str) -> Floats:
    """Directions of linear expressions with semicolons between them."""
    conditions, scope = StateConditions(question.model), system_scope(question.model)
    rows = []
    for part in text.split(";"):
        try:
            rows.append(conditions.direction(expression(Source(part.strip(), "--directions"), scope)))
        except InputError as error:
            raise InputError(f"--directions is auto, box, octagon or linear expressions: {error}") from None
    return _rows(rows)


def _rows(rows: Iterable[Floats]) -> Floats:
    return np.array(list(rows))
