"""By how much the sets of an exploration keep a claim about single positions, and which of them fail it by most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.logic.claim import PositionClaim
from vernal.sets.pieces.batches import Indices, Pieces
from vernal.sets.pieces.decisions import highest, least, lowest
from vernal.sets.pieces.positions import Position
from vernal.sets.pieces.space import TOO_MANY_TO_GATHER, AffineSpace
from vernal.sets.search import Stage


@dataclass(frozen=True)
class MarginMeter:
    """Measures pieces by a claim; without one nothing is measured.

    Of several initial boxes, up to `most` pieces of a step are measured one by one: then each box has its own margin.
    """

    claim: PositionClaim | None
    space: AffineSpace
    most: int = TOO_MANY_TO_GATHER

    def measure(self, stage: Stage, position: Position[Pieces]) -> None:
        """Note by how much the claim is kept here, at least."""
        if self.claim is None or not self.claim.covers(stage.t):
            return
        pieces, space = position.batch, self.space
        value = space.graph.value(self.claim.margin, position.discrete)
        if space.nonlinear is not None or (len(space.boxes) > 1 and len(pieces) <= self.most):
            space.round.keeps(pieces, lowest(value, position.layout, pieces))
        else:
            known = float(space.round.margins.min())
            space.round.margins[:] = least(value, position.layout, pieces, known, space.graph.tick)

    def worst_first(self, position: Position[Pieces]) -> Indices:
        """The rows of suspects, those first on which the claim fails by most."""
        if self.claim is None or len(position.batch) == 1:
            return np.arange(len(position.batch))
        value = self.space.graph.value(self.claim.margin, position.discrete)
        return np.argsort(highest(value, position.layout, position.batch), kind="stable")

    def least(self) -> float:
        """By how much all boxes that are closed keep the claim, at least; minus infinity where there is no claim."""
        return -np.inf if self.claim is None else self.space.round.margin()
