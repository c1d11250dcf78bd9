"""What an exploration tells as it goes, for those who draw it."""

from __future__ import annotations

from vernal.sets.pieces.batches import Indices, Pairs, Pieces
from vernal.sets.pieces.positions import DiscreteState
from vernal.sets.pieces.trails import Taken


class Recorder:
    """The events of an exploration. This base class ignores them; `report.explored.ExploredTree` keeps them."""

    def position(self, t: int, discrete: DiscreteState, pieces: Pieces) -> None:
        """Pieces that are looked at, at step t."""

    def merged(self, pairs: Pairs) -> None:
        """Trails kept, and trails given up for them."""

    def moved(self, parents: Indices, children: Indices, taken: Taken, draws: tuple[str, ...]) -> None:
        """Pieces that take a step."""

    def closed(self, pieces: Pieces, truth: bool) -> None:
        """Pieces of which nothing more is asked, or which seem to fail."""


SILENT = Recorder()
