"""Racetrack: a car accelerates by -1, 0 or 1 along either axis and has to reach the goal without leaving the track.

The small track of Barto, Bradtke and Singh (Artificial Intelligence 72, 1995): a straight of four rows that opens
downwards step by step and turns up into a lane of three columns, at whose end the goal is. Only the cell in which a
move ends is checked. The policy acts where the car `drives`; that it then moves and is checked are silent steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from benchmarks.ppa.jani import (
    Bounded,
    Edge,
    Expression,
    Flag,
    Instance,
    Model,
    both,
    either,
    eq,
    le,
    negate,
    plus,
    values,
)
from benchmarks.ppa.thresholds import distinct, levels

STEPS = (-1, 0, 1)
DRIVES, MOVES, IS_CHECKED, IS_OVER = LOCATIONS = ("drives", "moves", "is_checked", "is_over")


@dataclass(frozen=True)
class Track:
    """Row by row, from the top, the first cell that is no wall; all rows end at the right. The top row is the goal."""

    name: str
    width: int
    first: Sequence[int]

    @property
    def height(self) -> int:
        return len(self.first)

    def free(self, x: int, y: int) -> bool:
        return 0 <= y < self.height and self.first[y] <= x < self.width


BARTO_SMALL = Track("barto-small", 35, (32,) * 5 + (0,) * 4 + (4, 8, 12))
TINY = Track("tiny", 6, (4, 4, 0, 0))


def label(ax: int, ay: int) -> str:
    return f"accelerate_{ax}_{ay}"


def variables(track: Track) -> list[Bounded]:
    """Speeds that leave the grid at once need not be told apart from higher ones."""
    wide, high = track.width, track.height
    start = next(y for y in range(high) if track.first[y] == 0)
    return [
        Bounded("x", 0, wide - 1, 0),
        Bounded("y", 0, high - 1, start),
        Bounded("dx", -wide, wide, 0),
        Bounded("dy", -high, high, 0),
    ]


def walls(track: Track) -> Expression:
    """In a cell of the grid that is no part of the track."""
    return either(*_wall_parts(track))


def _wall_parts(track: Track) -> Iterator[Expression]:
    """Rows with the same first cell in one piece."""
    y = 0
    while y < track.height:
        last = y
        while last + 1 < track.height and track.first[last + 1] == track.first[y]:
            last += 1
        if track.first[y]:
            yield both(le(y, "y"), le("y", last), le("x", track.first[y] - 1))
        y = last + 1


def inside(track: Track) -> Expression:
    """The next cell is in the grid."""
    x, y = plus("x", "dx"), plus("y", "dy")
    return both(le(0, x), le(x, track.width - 1), le(0, y), le(y, track.height - 1))


def model(track: Track) -> Model:
    accelerate = [
        Edge(label(ax, ay), True, {name: plus(name, a) for name, a in (("dx", ax), ("dy", ay)) if a}, DRIVES, MOVES)
        for ax, ay in product(STEPS, STEPS)
    ]
    move: dict[str, Expression] = {"x": plus("x", "dx"), "y": plus("y", "dy")}
    crash: dict[str, Expression] = {"crashed": True}
    wall, finish = walls(track), eq("y", 0)
    silent = [
        Edge(None, inside(track), move, MOVES, IS_CHECKED),
        Edge(None, negate(inside(track)), crash, MOVES, IS_OVER),
        Edge(None, wall, crash, IS_CHECKED, IS_OVER),
        Edge(None, both(negate(wall), finish), {"finished": True}, IS_CHECKED, IS_OVER),
        Edge(None, both(negate(wall), negate(finish)), {}, IS_CHECKED, DRIVES),
    ]
    labels = [label(ax, ay) for ax, ay in product(STEPS, STEPS)]
    flags = [Flag("crashed"), Flag("finished")]
    return Model(f"racetrack-{track.name}", labels, [*variables(track), *flags], [*accelerate, *silent], LOCATIONS)


def instance(track: Track, starts: Sequence[Mapping[str, int]]) -> Instance:
    """All variables are refined together, each interval cut in half from stage to stage."""
    numbers = variables(track)
    first, *rest = levels(numbers)
    stages = distinct([["crashed", "finished", *first], *rest])
    return Instance(model(track), values(starts), "crashed", "finished", [v.name for v in numbers], stages)
