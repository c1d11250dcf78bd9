"""What a search visits, decides and leaves, as a graph of sets: data that pictures show and proofs are made of.

A *node* is a set of states at one position with what is asked there; the nodes of position 0 cover the initial states.
What a node comes to is a *step* to a node that contains where it goes, by the options named and under the decisions
assumed, or an *end* at which nothing more is asked or the formula seems to fail. Together the steps and ends of a node
account for all of its states, whatever is drawn: so no end that fails is a proof, as far as no set was left out.

In continuous time a node has a span of time: it contains the states in which paths from its parent are during it, and
its steps lead to the spans that follow. So the nodes of one position are the set there and the tube until the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.progress import Obligation
from vernal.sets.pieces.batches import Indices, Pairs
from vernal.sets.pieces.positions import DiscreteState, Position
from vernal.sets.pieces.samples import Assumptions
from vernal.sets.pieces.trails import Taken
from vernal.sets.search import Stage

TOO_MANY = 20_000  # sets of one step, even if they are only counted


class TrailedSets(Protocol):
    """A batch of sets of any kind (affine pieces, regions), each with the number of the trail it came by."""

    @property
    def trail(self) -> Indices: ...

    def __len__(self) -> int: ...

    def rows(self, index: Indices | NDArray[np.bool_]) -> Self: ...

    def ranges(self) -> tuple[Floats, Floats]: ...


T = TypeVar("T", bound=TrailedSets)


class Fate(Enum):
    """What became of a set: its paths keep the formula, some of them seem not to, or more is asked of them."""

    KEPT = "kept"
    FAILED = "failed"
    OPEN = "open"


@dataclass(frozen=True, slots=True, eq=False)
class SetNode:
    """A set of states at one position: the discrete ones as constants, the numbers as a batch of one set."""

    trail: int
    t: int
    owed: Obligation  # what is asked of its states, a number in the search's table of obligations
    discrete: DiscreteState
    numbers: TrailedSets
    span: tuple[float, float] | None = None  # of time, ends included; None in steps

    @property
    def box(self) -> tuple[Floats, Floats]:
        """The ends of every number."""
        low, high = self.numbers.ranges()
        return low[0], high[0]


class SetStep(NamedTuple):
    """A step from set to set: the options taken, the names of the disturbances drawn, and what was decided before."""

    parent: int
    child: int
    taken: Taken
    draws: tuple[str, ...]
    decided: Assumptions


class SetEnd(NamedTuple):
    """Where nothing more is asked of a set, or of the part of it in which decisions came out like this."""

    trail: int
    kept: bool
    decided: Assumptions


class DecidedStates(Protocol):
    """States at a position that were divided by decisions."""

    @property
    def asked(self) -> Assumptions: ...


class Recorder:
    """The events of a search. This base class ignores them; `SetGraph` keeps them."""

    def reached(self, stage: Stage, states: Position[T]) -> None:
        """Sets that are looked at."""

    def merged(self, pairs: Pairs) -> None:
        """Trails kept, and trails given up for them."""

    def moved(self, states: Position[T], children: Indices, draws: tuple[str, ...]) -> None:
        """Sets that take a step."""

    def followed(
        self, stage: Stage, discrete: DiscreteState, sets: TrailedSets, spans: Floats, before: Indices
    ) -> None:
        """Sets that are passed during spans of time, each after the set of the trail before; -1: after none."""

    def closed(self, states: DecidedStates, which: Sequence[int] | Indices, kept: bool) -> None:
        """Trails of which nothing more is asked, or which seem to fail."""


SILENT = Recorder()


@dataclass
class SetGraph(Recorder):
    """The graph of sets; of a position with more sets than `most` only the first ones are kept, the others counted."""

    most: int
    nodes: dict[int, SetNode] = field(default_factory=dict)
    ends: list[SetEnd] = field(default_factory=list)
    left_out: Counter[int] = field(default_factory=Counter)
    _steps: list[SetStep] = field(default_factory=list)
    _into: dict[int, int] = field(default_factory=dict)  # a trail that was given up, to the one it is part of now

    def reached(self, stage: Stage, states: Position[T]) -> None:
        self._enter(stage, states.discrete, states.batch, [None] * len(states.batch))

    def followed(
        self, stage: Stage, discrete: DiscreteState, sets: TrailedSets, spans: Floats, before: Indices
    ) -> None:
        self._enter(stage, discrete, sets, [(start, end) for start, end in spans.tolist()])
        pairs = zip(before.tolist(), sets.trail.tolist(), strict=True)
        self._steps += [SetStep(*pair, (), (), ()) for pair in pairs if pair[0] in self.nodes]

    def _enter(
        self, stage: Stage, discrete: DiscreteState, sets: TrailedSets, spans: Sequence[tuple[float, float] | None]
    ) -> None:
        room = max(0, self.most - sum(node.t == stage.t for node in self.nodes.values()))
        for row, span in enumerate(spans[:room]):
            trail = int(sets.trail[row])
            self.nodes[trail] = SetNode(trail, stage.t, stage.owed, discrete, sets.rows(np.array([row])), span)
        if len(sets) > room:
            self.left_out[stage.t] += len(sets) - room
            if self.left_out[stage.t] > TOO_MANY:
                text = f"more than {TOO_MANY:,} sets at step {stage.t} are not for a picture; try a smaller depth"
                raise InputError(text)

    def merged(self, pairs: Pairs) -> None:
        kept, given_up = (part.tolist() for part in pairs)
        self._into.update(zip(given_up, kept, strict=True))

    def moved(self, states: Position[T], children: Indices, draws: tuple[str, ...]) -> None:
        pairs = zip(states.batch.trail.tolist(), children.tolist(), strict=True)
        self._steps += [SetStep(*pair, states.taken, draws, states.asked) for pair in pairs if pair[0] in self.nodes]

    def closed(self, states: DecidedStates, which: Sequence[int] | Indices, kept: bool) -> None:
        trails = np.asarray(which).tolist()
        self.ends += [SetEnd(trail, kept, states.asked) for trail in trails if trail in self.nodes]

    # What it says -----------------------------------------------------------------------------------------------------

    @property
    def initial(self) -> list[SetNode]:
        """The sets that cover the initial states."""
        children = {step.child for step in self._steps}
        return [node for node in self.nodes.values() if node.t == 0 and node.trail not in children]

    @property
    def steps(self) -> list[SetStep]:
        """The steps between sets that are kept, each once."""
        found = (step._replace(child=self._into.get(step.child, step.child)) for step in self._steps)
        return list(dict.fromkeys(step for step in found if step.child in self.nodes))

    def ways(self) -> Counter[int]:
        """How many sets were merged into each."""
        return Counter(dict.fromkeys(self.nodes, 1)) + Counter(self._into.values())

    def fates(self) -> dict[int, Fate]:
        """What became of each set."""
        kept, failed = ({end.trail for end in self.ends if end.kept is truth} for truth in (True, False))
        kept -= {step.parent for step in self._steps}
        return {t: Fate.FAILED if t in failed else Fate.KEPT if t in kept else Fate.OPEN for t in self.nodes}
