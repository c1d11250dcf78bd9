"""A vertical collision-avoidance problem as a Markov decision process, solved by value iteration.

The own aircraft meets an intruder that flies level. The state is (h, v, tau, previous advisory):

    h    intruder altitude minus own altitude, ft           [-3000, 3000]
    v    own climb rate, ft/s                               [-100, 100]
    tau  seconds to loss of horizontal separation           [0, 40]

Every second one of nine advisories is issued; the pilot answers with one of the accelerations a of that advisory,
each equally likely, or with a = 0 if the advisory is the previous one and v complies with it already. Then

    h' = h - v - a/2,    v' = v + a,    tau' = tau - 1,    previous advisory' = advisory,

where h' and v' are clipped to the ranges above. The encounter ends after tau = 0. Costs add up over the encounter:

    collision   exp(-(max(|h| - 100, 0) / COLLISION_WIDTH)^2), once, at tau = 0: exactly 1 for |h| <= 100 ft
    closeness   CLOSENESS * exp(-(h / CLOSENESS_WIDTH)^2), every second: the dense cost that shapes the values
    advisory    STEP_COST[level], every second
    crossing    CROSS * clip(sense * h / CROSS_WIDTH, 0, 1), every second: an advisory toward the intruder's side
    change      from clear of conflict: ALERT, and STRENGTHEN per level above 2;
                else STRENGTHEN per level gained, WEAKEN per level lost, REVERSE when the sense turns around

The sense of an advisory is 1 (own aircraft goes up) or -1 (down), its level 1 to 4, and both are 0 for clear of
conflict. At tau = 0 the costs of that second are paid and nothing follows. As tau only counts down, one backward
sweep over tau is value iteration to the fixed point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

G = 32.2  # ft/s^2

ADVISORIES = ("COC", "DNC", "DND", "DES1500", "CL1500", "SDES1500", "SCL1500", "SDES2500", "SCL2500")
N_ADV = len(ADVISORIES)
SENSE = (0, -1, 1, -1, 1, -1, 1, -1, 1)
LEVEL = (0, 1, 1, 2, 2, 3, 3, 4, 4)
TARGET = (0.0, 0.0, 0.0, -25.0, 25.0, -25.0, 25.0, -125.0 / 3.0, 125.0 / 3.0)  # ft/s; 25 ft/s = 1500 ft/min

_DOWN = (-G / 3, -7 * G / 24, -G / 4)
_UP = (G / 4, 7 * G / 24, G / 3)
ACCELERATIONS: tuple[tuple[float, ...], ...] = (
    (-G / 8, 0.0, G / 8),
    _DOWN,
    _UP,
    _DOWN,
    _UP,
    (-G / 3,),
    (G / 3,),
    (-G / 3,),
    (G / 3,),
)

H_MAX, V_MAX, TAU_MAX = 3000.0, 100.0, 40
COLLISION_FT = 100.0
COLLISION_WIDTH = 150.0
CLOSENESS = 0.015
CLOSENESS_WIDTH = 200.0
STEP_COST = (0.0, 0.004, 0.006, 0.008, 0.010)  # by level
CROSS = 0.02
CROSS_WIDTH = 100.0
ALERT = 0.02
STRENGTHEN = 0.015
WEAKEN = 0.002
REVERSE = 0.05


@dataclass(frozen=True)
class Grid:
    """Cut points of the altitude and climb-rate axes; tau runs over the whole seconds 0..TAU_MAX."""

    h: Floats
    v: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of cut points in h and in v."""
        return len(self.h), len(self.v)


@dataclass(frozen=True)
class Stencil:
    """Bilinear interpolation at a fixed set of (h, v) points: flat indices and weights of four corners each."""

    index: Ints
    weight: Floats

    def __call__(self, table: Floats) -> Floats:
        """Interpolate a table over the (h, v) grid."""
        return np.asarray((table.ravel()[self.index] * self.weight).sum(axis=0), dtype=np.float64)


def make_grid(h_step: float = 25.0, v_step: float = 2.5) -> Grid:
    """Build a uniform grid over the whole range of h and v."""
    n_h, n_v = round(2 * H_MAX / h_step) + 1, round(2 * V_MAX / v_step) + 1
    return Grid(np.linspace(-H_MAX, H_MAX, n_h), np.linspace(-V_MAX, V_MAX, n_v))


def locate(axis: Floats, x: Floats) -> tuple[Ints, Floats]:
    """Find the cell of each x on a uniform axis and its place in the cell; points outside are clipped to the ends."""
    place = np.clip((x - axis[0]) / (axis[1] - axis[0]), 0.0, len(axis) - 1.0)
    cell = np.minimum(place.astype(np.int64), len(axis) - 2)
    return cell, place - cell


def make_stencil(grid: Grid, h: Floats, v: Floats) -> Stencil:
    """Prepare bilinear interpolation at the points (h, v)."""
    (i, s), (j, t) = locate(grid.h, h.ravel()), locate(grid.v, v.ravel())
    corner = i * len(grid.v) + j
    index = np.stack([corner, corner + 1, corner + len(grid.v), corner + len(grid.v) + 1])
    weight = np.stack([(1 - s) * (1 - t), (1 - s) * t, s * (1 - t), s * t])
    return Stencil(index, weight)


def move(h: Floats, v: Floats, a: float | Floats) -> tuple[Floats, Floats]:
    """Fly one second with acceleration a (no clipping: interpolation clips)."""
    return h - v - a / 2, v + a


def complies(adv: int, v: Floats) -> Bools:
    """Say where the climb rate complies with the advisory already; clear of conflict asks for nothing."""
    if SENSE[adv] == 0:
        return np.zeros(v.shape, dtype=np.bool_)
    return np.asarray(SENSE[adv] * (v - TARGET[adv]) >= 0.0)


def state_cost(h: Floats, tau: int) -> Floats:
    """Cost of the geometry: being close in altitude, and at tau = 0 the collision."""
    cost = CLOSENESS * np.exp(-((h / CLOSENESS_WIDTH) ** 2))
    if tau == 0:
        cost = cost + np.exp(-((np.maximum(np.abs(h) - COLLISION_FT, 0.0) / COLLISION_WIDTH) ** 2))
    return np.asarray(cost, dtype=np.float64)


def crossing_cost(h: Floats, adv: int) -> Floats:
    """Cost of sending the own aircraft toward the altitude of the intruder: climb when it is above, else descend."""
    return np.asarray(CROSS * np.clip(SENSE[adv] * h / CROSS_WIDTH, 0.0, 1.0), dtype=np.float64)


def change_cost(prev: int, adv: int) -> float:
    """Cost of turning from one advisory to the next; a first alert may be of level 2 at no extra."""
    if LEVEL[prev] == 0 and LEVEL[adv] > 0:
        return ALERT + STRENGTHEN * max(LEVEL[adv] - 2, 0)
    gained = LEVEL[adv] - LEVEL[prev]
    reverse = REVERSE if SENSE[prev] * SENSE[adv] < 0 else 0.0
    return reverse + STRENGTHEN * max(gained, 0) + WEAKEN * max(-gained, 0)


def solve(grid: Grid) -> Singles:
    """Sweep backward over tau; return the costs-to-go Q[tau, previous advisory, advisory, h, v]."""
    h, v = np.meshgrid(grid.h, grid.v, indexing="ij")
    moves = {a: make_stencil(grid, *move(h, v, a)) for row in ACCELERATIONS for a in row}
    q = np.empty((TAU_MAX + 1, N_ADV, N_ADV, *grid.shape), dtype=np.float32)
    value = np.zeros((N_ADV, *grid.shape))
    for tau in range(TAU_MAX + 1):
        for adv in range(N_ADV):
            now = state_cost(h, tau) + crossing_cost(h, adv) + STEP_COST[LEVEL[adv]]
            q[tau, :, adv] = now + look_ahead(adv, value[adv], v, moves)
        value = q[tau].min(axis=1).astype(np.float64)
    return q


def look_ahead(adv: int, value: Floats, v: Floats, moves: dict[float, Stencil]) -> Floats:
    """Expect the cost that follows adv, for every previous advisory: change cost plus value one second later."""
    ahead = np.mean([moves[a](value) for a in ACCELERATIONS[adv]], axis=0).reshape(v.shape)
    steady = moves[0.0](value).reshape(v.shape)
    later = np.stack([change_cost(prev, adv) + ahead for prev in range(N_ADV)])
    # Only a pilot who has had this advisory already may leave the climb rate as it is.
    later[adv] = np.where(complies(adv, v), steady, ahead) + change_cost(adv, adv)
    return later


@dataclass(frozen=True)
class Policy:
    """The solved problem at any state between the grid points: costs-to-go interpolated linearly in h, v and tau."""

    grid: Grid
    table: Singles  # [previous advisory, tau, h, v, advisory]: one row holds what one state needs

    def costs(self, prev: int, state: Floats) -> Floats:
        """Return the costs-to-go (n, 9) of the next advisories at states (n, 3) of (h, v, tau)."""
        rows = self.table[prev].reshape(TAU_MAX + 1, -1, N_ADV)
        stencil = make_stencil(self.grid, state[:, 0], state[:, 1])
        below, t = locate(np.arange(TAU_MAX + 1.0), state[:, 2])
        cost = np.zeros((len(state), N_ADV))
        for index, weight in zip(stencil.index, stencil.weight, strict=True):
            cost += (weight * (1 - t))[:, None] * rows[below, index] + (weight * t)[:, None] * rows[below + 1, index]
        return cost


def make_policy() -> Policy:
    """Solve the problem on the standard grid."""
    grid = make_grid()
    return Policy(grid, np.ascontiguousarray(solve(grid).transpose(1, 0, 3, 4, 2)))
