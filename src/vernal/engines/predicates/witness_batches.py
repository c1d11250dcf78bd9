"""What a search for witnesses keeps of the questions that share its batches of boxes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from vernal.engines.predicates.atoms import AtomTable, Condition
from vernal.engines.predicates.boxes import IntegerArray, IntegerBoxes
from vernal.engines.predicates.policy import PointQuestion, Selection
from vernal.engines.predicates.relations import Relations, relations
from vernal.interpret.numbers.rounding import Mask

H = TypeVar("H", bound=Hashable)


class SharedWork:
    """The questions that are asked in common batches of boxes."""

    def __init__(
        self, table: AtomTable, boxes: IntegerBoxes, questions: Sequence[PointQuestion], columns: Mask
    ) -> None:
        count = len(questions)
        self.columns = columns  # (questions, columns): what each depends on
        self.answers = np.zeros(count, np.int64)
        self.points = boxes.lower.copy()
        self.boxes_used = np.zeros(count, np.int64)
        self.stack = [(boxes, np.arange(count))]
        self._conditions, self._alike = numbered([question.conditions for question in questions])
        self._selections, self._says = numbered([question.selection for question in questions])
        self._relations = relations(table, self._conditions)
        self.related = self._relations.any[self._alike]  # questions that relate variables

    def relations(self, owner: IntegerArray) -> Relations:
        """What the rows of a batch ask of several variables at once."""
        return self._relations.take(self._alike[owner])

    def alike(self, owner: IntegerArray) -> Iterator[tuple[tuple[Condition, ...], IntegerArray]]:
        """The rows of a batch by their conditions, where they have any."""
        for conditions, rows in grouped(self._conditions, self._alike[owner]):
            if conditions:
                yield conditions, rows

    def selected(self, owner: IntegerArray) -> Iterator[tuple[Selection, IntegerArray]]:
        """The rows of a batch by what they ask of the policy, where they ask anything."""
        for selection, rows in grouped(self._selections, self._says[owner]):
            if selection is not None:
                yield selection, rows


def numbered(items: Sequence[H]) -> tuple[list[H], IntegerArray]:
    """The distinct items, and the place of each among them."""
    places = {item: place for place, item in enumerate(dict.fromkeys(items))}
    return list(places), np.array([places[item] for item in items], np.int64)


def grouped(items: Sequence[H], places: IntegerArray) -> Iterator[tuple[H, IntegerArray]]:
    """The rows of each item that has any."""
    for place in np.unique(places).tolist():
        yield items[place], np.flatnonzero(places == place)
