"""Safe cells of which some points have no start: they are cut, so that shares say where there are any.

What holds of a cell holds of its parts; only whether they have starts is asked.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from fractions import Fraction

from vernal.queries.maps.cell_questions import CellQuestions
from vernal.queries.maps.cell_tree import CellBox, CellKind, MapTree
from vernal.run.budget import Budget
from vernal.sets.region_vacuity import has_no_start

SMALLEST_SHARE = Fraction(1, 64)  # of what may be open: smaller cells are not cut


def separate_starts(
    tree: MapTree, questions: Sequence[CellQuestions], allowed: Fraction, most: int, budget: Budget, until: float
) -> None:
    """Cut safe cells through which a constraint on the starts runs, the largest first."""
    waiting = [
        (-float(tree.share(box)), node, sheet, box)
        for sheet, node, box in tree.cells()
        if tree.kind_of(node) is CellKind.SAFE and questions[sheet].question.model.init.where
    ]
    heapq.heapify(waiting)
    while waiting and time.monotonic() < until:
        budget.check()
        size, node, sheet, box = heapq.heappop(waiting)
        asked = questions[sheet]
        if asked.starts_everywhere(box, asked.first_start, budget):
            continue
        if has_no_start(asked.of(box).model, budget):
            tree.set(node, CellKind.NO_START)
        elif tree.leaves < most and -size > allowed * SMALLEST_SHARE:
            waiting += _parts(tree, node, sheet, box)
            heapq.heapify(waiting)


def _parts(tree: MapTree, node: int, sheet: int, box: CellBox) -> list[tuple[float, int, int, CellBox]]:
    """Both halves of a safe cell, as safe as it is; none where it cannot be cut."""
    sizes = [
        (axis.size(ends) / axis.size(axis.ends), -number)
        for number, (axis, ends) in enumerate(zip(tree.axes, box, strict=True))
        if axis.can_cut(ends)
    ]
    if not sizes:
        return []
    margin = tree.margin[node]
    tree.set(node, CellKind.OPEN)
    made = tree.cut(node, box, -max(sizes)[1])
    for part, _ in made:
        tree.set(part, CellKind.SAFE, margin)
    return [(-float(tree.share(own)), part, sheet, own) for part, own in made]
