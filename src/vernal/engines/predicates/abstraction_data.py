"""An abstraction as plain data, for whoever draws or exports it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vernal.engines.predicates.abstraction import Abstraction
from vernal.evidence.finite_abstraction import FiniteAbstraction, LabelledTransition, StartVerdict
from vernal.evidence.trace import Trace


@dataclass(eq=False)
class StartOutcomes:
    """What is known of abstract starts: those with an unsafe path, replayed or not, and those that are undecided."""

    starts: int
    replayed: dict[int, Trace] = field(default_factory=dict)
    unsafe: set[int] = field(default_factory=set)
    undecided: set[int] = field(default_factory=set)

    @property
    def safe(self) -> int:
        return self.starts - len(self.unsafe) - len(self.undecided)

    def verdict(self, cell: int) -> StartVerdict:
        """What is known of one abstract start."""
        if cell in self.unsafe:
            return StartVerdict.UNSAFE
        return StartVerdict.UNDECIDED if cell in self.undecided else StartVerdict.SAFE


def finite_abstraction(abstraction: Abstraction, outcomes: StartOutcomes) -> FiniteAbstraction:
    """All that was explored, with the starts first and the unsafe states together."""
    graph, cells = abstraction.graph, abstraction.cells
    starts = {*graph.starts, *graph.open_starts}
    order = sorted(range(len(cells)), key=lambda cell: (cell not in starts, (cell in graph.unsafe) == (cell in starts)))
    numbers = {cell: number for number, cell in enumerate(order)}
    moves = [
        LabelledTransition(numbers[one], numbers[other], label)
        for (one, other), labels in graph.labels.items()
        for label in labels
    ]
    values = np.array([cells.values[cell] for cell in order], bool).reshape(len(order), len(abstraction.predicates))
    boxes = cells.boxes(values)
    return FiniteAbstraction(
        abstraction.predicates,
        values,
        tuple(outcomes.verdict(cell) for cell in order if cell in starts),
        tuple(sorted(numbers[cell] for cell in graph.unsafe)),
        tuple(sorted(moves, key=lambda move: (move.source, move.target, move.label or ""))),
        {numbers[cell]: trace for cell, trace in outcomes.replayed.items()},
        abstraction.model.variables,
        boxes.lower,
        boxes.upper,
    )
