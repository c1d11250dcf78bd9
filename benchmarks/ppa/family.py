"""The members of the family by name: their instances, their starts, and the policies that are trained for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.ppa import blocksworld, puzzle, racetrack, transport
from benchmarks.ppa.jani import Instance
from benchmarks.ppa.simulate import Ints, Simulator
from benchmarks.ppa.starts import arrangements, blocks, loads
from benchmarks.ppa.teachers.track import random_starts

POLICIES = Path(__file__).parent / "policies"
WIDTHS = (16, 32, 64)
COSTS = {4: 12, 6: 12, 8: 8, 10: 8}  # the bound of each block's cost: the paper's 40 % and 56 % follow from it
TILE_COST = 8
ROADS = {"transport": (10, 15), "transport-6": (6, 6)}  # locations and packages
SAMPLED = 10_000  # of the 11,767,536 starts of Transport


@dataclass(frozen=True)
class Member:
    """A benchmark: how it is made, all or some of its starts (rows of its simulator), and the longest run."""

    make: Callable[[], Instance]
    starts: Callable[[Simulator, np.random.Generator, int], Ints]
    steps: int
    flavours: tuple[str, ...]  # of its policies


def _some(states: Ints, rng: np.random.Generator, most: int) -> Ints:
    return states if len(states) <= most else states[rng.choice(len(states), most, replace=False)]


def _block_starts(n: int, simulator: Simulator, rng: np.random.Generator, most: int) -> Ints:
    """Those with few towers are drawn at random; those with many are few, and all are among them."""
    states = blocks(n, len(simulator.initial))
    many = states[:, simulator.columns["on_table"]] >= n - 2
    return np.concatenate([states[many], _some(states[~many], rng, max(most - int(many.sum()), 0))])


def _puzzle_starts(simulator: Simulator, rng: np.random.Generator, most: int) -> Ints:
    states = arrangements(len(simulator.initial))
    return _some(states[simulator.holds(puzzle.start(0), states)], rng, most)


def _road_starts(locations: int, packages: int, simulator: Simulator, rng: np.random.Generator, most: int) -> Ints:
    return loads(rng, min(most, SAMPLED), locations, packages)


def _listed_starts(make: Callable[[], Instance], simulator: Simulator, rng: np.random.Generator, most: int) -> Ints:
    return _some(simulator.states(make().start), rng, most)


def barto_small() -> Instance:
    return racetrack.instance(racetrack.BARTO_SMALL, random_starts(racetrack.BARTO_SMALL, 1000, seed=1))


def tiny_track() -> Instance:
    return racetrack.instance(racetrack.TINY, random_starts(racetrack.TINY, 8, seed=1))


def _blocks(n: int, bound: int) -> Member:
    flavours = ("aware", "ignoring", "hasty")
    return Member(partial(blocksworld.instance, n, bound), partial(_block_starts, n), 40 * n, flavours)


def _road(name: str, flavours: tuple[str, ...]) -> Member:
    size = ROADS[name]
    return Member(partial(transport.instance, *size), partial(_road_starts, *size), 400, flavours)


MEMBERS: Mapping[str, Member] = {
    "racetrack": Member(barto_small, partial(_listed_starts, barto_small), 200, ("careful", "hasty")),
    **{f"blocksworld-{n}": _blocks(n, bound) for n, bound in COSTS.items()},
    "puzzle-8": Member(partial(puzzle.instance, TILE_COST), _puzzle_starts, 100, ("aware", "ignoring")),
    "transport": _road("transport", ("careful", "drilled")),
    "transport-6": _road("transport-6", ("drilled",)),
    "racetrack-tiny": Member(tiny_track, partial(_listed_starts, tiny_track), 60, ("careful", "hasty")),
}
