"""Racetrack by breadth-first search: the fewest moves to the goal from every cell and velocity, up to a speed."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.learning import Floats
from benchmarks.ppa.racetrack import STEPS, Track
from benchmarks.ppa.simulate import Bools, Ints

FAR = 10_000
SPEED = 5  # the teacher drives no faster along either axis
SLACK = 0


@cache
def distances(track: Track) -> Ints:
    """Moves to the goal by x, y, dx and dy (both shifted by SPEED); FAR where every way ends in a crash."""
    free = np.array([[track.free(x, y) for y in range(track.height)] for x in range(track.width)])
    shape = (track.width, track.height, 2 * SPEED + 1, 2 * SPEED + 1)
    found = np.full(shape, FAR)
    x, y, dx, dy = np.indices(shape).reshape(4, -1)
    states = np.stack([x, y, dx - SPEED, dy - SPEED], axis=1)[free[x, y]]
    while True:
        best = 1 + _after(track, found, states).min(axis=1)
        old = found[states[:, 0], states[:, 1], states[:, 2] + SPEED, states[:, 3] + SPEED]
        if (best >= old).all():
            return found
        found[states[:, 0], states[:, 1], states[:, 2] + SPEED, states[:, 3] + SPEED] = np.minimum(best, old)


def _after(track: Track, found: Ints, states: Ints) -> Ints:
    """The distance after each of the nine accelerations."""
    columns = [_distance(track, found, states, ax, ay) for ax in STEPS for ay in STEPS]
    return np.stack(columns, axis=1)


def _distance(track: Track, found: Ints, states: Ints, ax: int, ay: int) -> Ints:
    dx, dy = states[:, 2] + ax, states[:, 3] + ay
    x, y = states[:, 0] + dx, states[:, 1] + dy
    inside = (x >= 0) & (x < track.width) & (y >= 0) & (y < track.height)
    inside &= (abs(dx) <= SPEED) & (abs(dy) <= SPEED)
    x, y, dx, dy = (np.where(inside, number, 0) for number in (x, y, dx, dy))
    first = np.array(track.first)[y]
    known = found[x, y, dx + SPEED, dy + SPEED]
    return np.where(inside & (x >= first), np.where(y == 0, 0, known), FAR)


def random_starts(track: Track, count: int, seed: int) -> list[dict[str, int]]:
    """Different cells and velocities from which the goal can be reached, in random order."""
    places = np.argwhere(distances(track) < FAR)
    places = places[places[:, 1] > 0]
    chosen = places[np.random.default_rng(seed).choice(len(places), count, replace=False)] - [0, 0, SPEED, SPEED]
    return [dict(zip(("x", "y", "dx", "dy"), map(int, row), strict=True)) for row in chosen]


def labels(states: Ints, track: Track) -> tuple[Bools, Floats]:
    """The accelerations on shortest ways; from where a crash is unavoidable, any. States at risk count more."""
    after = _after(
        track, distances(track), np.clip(states[:, :4], [0, 0, -99, -99], [track.width, track.height, 99, 99])
    )
    good = after <= after.min(axis=1, keepdims=True) + SLACK
    lost = after.min(axis=1) >= FAR
    risky = (after >= FAR).mean(axis=1)
    return good, np.where(lost, 0.05, 1 + 4 * risky)
