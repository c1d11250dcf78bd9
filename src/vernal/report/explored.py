"""The sets, decisions and merges of an exploration, recorded for pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Floats
from vernal.sets.pieces.batches import Indices, Pairs, Pieces
from vernal.sets.pieces.positions import DiscreteState
from vernal.sets.pieces.recorder import Recorder
from vernal.sets.pieces.trails import Taken

TOO_MANY = 20_000  # sets of one step, even if they are only counted


class Fate(Enum):
    """What became of a set: its paths keep the formula, some of them seem not to, or more is asked of them."""

    KEPT = "kept"
    FAILED = "failed"
    OPEN = "open"


@dataclass
class ExploredSet:
    """A set of states at one step: the discrete ones as constants, the numbers as ranges."""

    trail: int
    t: int
    discrete: DiscreteState
    low: Floats
    high: Floats
    ways: int = 1  # how many sets were merged into it
    kept: bool = False
    failed: bool = False
    goes_on: bool = False

    @property
    def fate(self) -> Fate:
        if self.failed:
            return Fate.FAILED
        return Fate.KEPT if self.kept and not self.goes_on else Fate.OPEN


class ExploredStep(NamedTuple):
    """A step from set to set, with the decisions taken on it and the names of the disturbances drawn."""

    parent: int
    child: int
    taken: Taken
    draws: tuple[str, ...]


@dataclass
class ExploredTree(Recorder):
    """The explored tree; of a level with more sets than `most` only the first ones are kept, the others counted."""

    most: int
    nodes: dict[int, ExploredSet] = field(default_factory=dict)
    left_out: dict[int, int] = field(default_factory=dict)
    _edges: list[ExploredStep] = field(default_factory=list)
    _into: dict[int, int] = field(default_factory=dict)  # a trail that was given up, to the one it is part of now
    _ways: dict[int, int] = field(default_factory=dict)

    def position(self, t: int, discrete: DiscreteState, pieces: Pieces) -> None:
        low, high = pieces.ranges()
        room = self.most - sum(node.t == t for node in self.nodes.values())
        for row in range(min(room, len(pieces))):
            trail = int(pieces.trail[row])
            self.nodes[trail] = ExploredSet(trail, t, discrete, low[row], high[row], self._ways.get(trail, 1))
        if len(pieces) > room:
            self.left_out[t] = self.left_out.get(t, 0) + len(pieces) - room
            if self.left_out[t] > TOO_MANY:
                raise InputError(f"more than {TOO_MANY:,} sets at step {t} are not for a picture; try a smaller depth")

    def merged(self, pairs: Pairs) -> None:
        for kept, given_up in zip(*(part.tolist() for part in pairs), strict=True):
            self._into[given_up] = kept
            self._ways[kept] = self._ways.get(kept, 1) + 1

    def moved(self, parents: Indices, children: Indices, taken: Taken, draws: tuple[str, ...]) -> None:
        for parent, child in zip(parents.tolist(), children.tolist(), strict=True):
            if parent in self.nodes:
                self.nodes[parent].goes_on = True
                self._edges.append(ExploredStep(parent, child, taken, draws))

    def closed(self, pieces: Pieces, truth: bool) -> None:
        for trail in pieces.trail.tolist():
            node = self.nodes.get(trail)
            if node is not None:
                node.kept |= truth
                node.failed |= not truth

    @property
    def edges(self) -> list[ExploredStep]:
        """The steps between sets that are kept, each once."""
        found = (edge._replace(child=self._into.get(edge.child, edge.child)) for edge in self._edges)
        return list(dict.fromkeys(edge for edge in found if edge.child in self.nodes))
