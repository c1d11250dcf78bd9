"""Directions in which sets of states are bounded: the axes, those of a formula's comparisons, and more."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vernal.errors import InputError
from vernal.evidence.segment_truth import StateConditions
from vernal.interpret.geometry.directions import with_axes
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.elaboration import expression, system_scope
from vernal.logic.question import Question
from vernal.logic.syntax import Source

AUTO, BOX, OCTAGON = "auto", "box", "octagon"


def directions_of(question: Question, more: Floats | None = None) -> Floats:
    """Directions for this question: the axes, then those of its linear comparisons, then more; each once."""
    asked = StateConditions(question.model).normals(question.formula)
    return with_axes(len(question.model.state), [*asked, *([] if more is None else more)])


def chosen(question: Question, choice: str, *, careful: bool = False) -> Floats:
    """Directions by the option of that name; `auto` is a box at first, and an octagon where one is careful."""
    count = len(question.model.state)
    if choice == OCTAGON or (choice == AUTO and careful):
        return directions_of(question, octagon(count))
    return directions_of(question, None if choice in (AUTO, BOX) else _written(question, choice))


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
