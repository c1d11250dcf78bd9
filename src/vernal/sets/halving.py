"""Looking again at halves: how long an exploration goes on cutting the starts that are left open.

Where everything is piecewise linear, halving is a short cut: what stays open is most likely open at margin zero, and
exact arithmetic settles it. Nonlinear steps are only bounded, by lines whose gap shrinks with the square of the width,
and nothing but narrower starts makes them sharper: there halving is the way, and goes on while it can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from vernal.model.expr import Component, Div, Expr, Mul, Nonlinear, Pow
from vernal.model.initial import Box
from vernal.model.sorts import REAL
from vernal.sets.cutting import CuttingLimits

MAX_ROUNDS = 12  # of several dimensions: each halves what is left open
CUTS_TO_CLOSE_MOST = 2  # after which most of the initial set should be closed
MAX_HALVES = 128
NONLINEAR_ROUNDS = 60
MAX_NONLINEAR_HALVES = 2048
MIN_WIDTH_SHARE = Fraction(1, 1 << 24)
NONLINEAR_WALKS = 8  # replays in a round: enclosures are slow, and most suspicions of bounds are wrong


NAMES: dict[type[Expr], str] = {Mul: "a product", Div: "a quotient", Pow: "a power"}


def describe(node: Expr) -> str:
    """An operator that is not piecewise linear, in words."""
    if isinstance(node, Nonlinear):
        return node.function.value
    return NAMES.get(type(node), type(node).__name__.lower())


ComponentWeights = Mapping[Component, float]  # how much each has to do with what is open
NO_WEIGHTS: ComponentWeights = {}


class Halving:
    """Which starts are cut between rounds: real components, those first that have most to do with what is open."""

    def __init__(self, boxes: Sequence[Box], *, nonlinear: bool = False) -> None:
        self.nonlinear = nonlinear
        self.widths: dict[Component, Fraction] = {}
        for box in boxes:
            for var, entry in box.ends.items():
                for index, (low, high) in enumerate(entry):
                    if high > low and var.sort == REAL:
                        component = var, index
                        self.widths[component] = max(self.widths.get(component, Fraction(0)), high - low)

    @property
    def useful(self) -> bool:
        """With one dimension a decision is a point, and cutting there is best, unless steps are nonlinear."""
        return len(self.widths) > (0 if self.nonlinear else 1)

    @property
    def limits(self) -> CuttingLimits:
        """How long starts are cut: where steps are nonlinear, as long as it goes."""
        if self.nonlinear:
            return CuttingLimits(rounds=NONLINEAR_ROUNDS, most=MAX_NONLINEAR_HALVES)
        return CuttingLimits(rounds=MAX_ROUNDS, most=MAX_HALVES, trial=CUTS_TO_CLOSE_MOST)

    @property
    def walks(self) -> int | None:
        """How many suspicions of a round are replayed; None is all of them."""
        return NONLINEAR_WALKS if self.nonlinear else None

    def is_fine(self, boxes: Sequence[Box]) -> bool:
        """Whether one is so narrow that only a margin of zero keeps it open, which exact arithmetic cannot settle."""
        return self.nonlinear and any(
            0 < width < MIN_WIDTH_SHARE for box in boxes for width in self._relative(box).values()
        )

    def _relative(self, box: Box) -> dict[Component, Fraction]:
        """How wide the components still are, as shares of the first widths."""
        return {(v, i): (box.ends[v][i][1] - box.ends[v][i][0]) / width for (v, i), width in self.widths.items()}

    def parts(self, boxes: Sequence[Box], weights: Sequence[ComponentWeights], few: int = 1) -> list[Box]:
        """Both halves of every box, and their halves as long as they are few: those cost hardly more to look at."""
        return [box for box, _ in self.parts_and_wholes(boxes, weights, few)]

    def parts_and_wholes(
        self, boxes: Sequence[Box], weights: Sequence[ComponentWeights], few: int = 1
    ) -> list[tuple[Box, int]]:
        """The same, each part with the position of the box that it was cut from."""
        work = [(box, known, whole) for whole, (box, known) in enumerate(zip(boxes, weights, strict=True))]
        while True:
            cut = [(*half, whole) for box, known, whole in work for half in self.halves(box, known)]
            if len(cut) == len(work) or 2 * len(cut) > few:
                return [(box, whole) for box, _, whole in cut]
            work = cut

    def halves(self, box: Box, weights: ComponentWeights = NO_WEIGHTS) -> tuple[tuple[Box, ComponentWeights], ...]:
        """The box in two, or as it is where nothing is left to cut; of equal weights the widest in proportion is."""
        relative = {component: width for component, width in self._relative(box).items() if width}
        if not relative:
            return ((box, weights),)
        component = max(relative, key=lambda component: (weights.get(component, 0.0), relative[component]))
        after = {**weights, component: 0.5 * weights.get(component, 0.0)}
        return tuple((half, after) for half in box.halves(*component))
