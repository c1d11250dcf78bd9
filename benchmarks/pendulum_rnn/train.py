"""Train the policies of the pendulum: bangbang_r16.onnx, and r10.onnx, r20.onnx, r2x10.onnx.

    python -m benchmarks.pendulum_rnn.train         # extras: torch, onnxruntime, gym; from the root of the checkout

`bangbang_r16` is the setting of "Verification of RNN-Based Neural Agent-Environment Systems" (AAAI 2019): it sees angle
and rate, pushes with -1 or +1, and keeps the pendulum up. Its teacher is a linear-quadratic regulator. The others swing
it up from anywhere with any torque from -2 to 2, and see where its end is, not how fast it moves, as in "LTL
Verification of Memoryful Neural Agents" (AAMAS 2025). Their teacher is the solution on a grid, by value iteration.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.interpolate import RegularGridInterpolator

import vernal as vn
from examples.playing import Array, Lesson, Original, State
from examples.teachers import balance, pushes

HERE = Path(__file__).parent
COST = {"theta": 1.0, "omega": 0.1}
CELLS = 120  # of the grid, for a whole turn and for rates from -8 to 8
TORQUES = np.linspace(-2, 2, 9)


@cache
def swing() -> RegularGridInterpolator:
    """The torque that gains most, over angle and rate; torques that gain almost the same are averaged."""
    angles, rates = np.linspace(-np.pi, np.pi, CELLS + 1), np.linspace(-8, 8, CELLS + 1)
    theta, omega, torque = (axis.ravel() for axis in np.meshgrid(angles, rates, TORQUES, indexing="ij"))
    many = vn.worlds.batch("pendulum", len(theta), 0)
    many.reset(state={"theta": theta, "omega": omega})
    _, reward, _ = many.step({"motor": torque})
    gain = value_iteration(reward, turned(many.state["theta"]), many.state["omega"])
    share = np.exp(4 * (gain - gain.max(axis=2, keepdims=True)))
    return RegularGridInterpolator((angles, rates), (share * TORQUES).sum(axis=2) / share.sum(axis=2))


def value_iteration(reward: Array, theta: Array, omega: Array, sweeps: int = 250, discount: float = 0.99) -> Array:
    """What each torque is worth in each point of the grid, where it leads to these angles and rates."""
    i, j = (theta + np.pi) / (2 * np.pi) * CELLS, (omega + 8) / 16 * CELLS
    low, left = np.minimum(i.astype(int), CELLS - 1), np.minimum(j.astype(int), CELLS - 1)
    a, b, corner = i - low, j - left, low * (CELLS + 1) + left
    gain = np.zeros((CELLS + 1, CELLS + 1, len(TORQUES)))
    for _ in range(sweeps):
        value = gain.max(axis=2).ravel()
        lower = (1 - b) * value[corner] + b * value[corner + 1]
        upper = (1 - b) * value[corner + CELLS + 1] + b * value[corner + CELLS + 2]
        gain = (reward + discount * ((1 - a) * lower + a * upper)).reshape(gain.shape)
    return gain


def turned(theta: Array) -> Array:
    """The same angle between -pi and pi."""
    return (theta + np.pi) % (2 * np.pi) - np.pi


def swing_up(state: State) -> Array:
    """The teacher's torque."""
    torque: Array = swing()(np.column_stack([turned(state["theta"]), np.clip(state["omega"], -8, 8)]))
    return torque[:, None]


SWING = Lesson(
    HERE / "swing.toml", "pendulum", swing_up, starts=[{"theta": (-np.pi, np.pi), "omega": (-1, 1)}], argmax=False
)
BANGBANG = Lesson(
    HERE / "bangbang.toml",
    "pendulum_bangbang",
    partial(pushes, cost=COST, gains=balance("pendulum_bangbang", COST, effort=0.1), most=10),
    starts=[{"theta": (-0.2, 0.2), "omega": (-0.5, 0.5)}],
    lost="abs(theta) > 0.5",
)
GYM = Original("Pendulum-v1", lambda seen: seen[:, :2], lambda outputs: np.clip(outputs, -2, 2))
GYM_BANGBANG = Original(
    "Pendulum-v1",
    lambda seen: np.column_stack([np.arctan2(seen[:, 1], seen[:, 0]), seen[:, 2]]),
    lambda outputs: 2.0 * outputs.argmax(axis=1)[:, None] - 1,
    start={"theta": (0, np.pi / 64), "omega": (0, 0.3)},
)

if __name__ == "__main__":
    from examples.training import Course, Schedule, train

    long = Schedule(rounds=40, updates=200)
    swinging = {
        size.lower(): Course(SWING, size, -300, schedule=long, original=GYM) for size in ("R10", "R20", "R2x10")
    }
    train({"bangbang_r16": Course(BANGBANG, "R16", -5, (4.0, 1.0), 0, original=GYM_BANGBANG), **swinging}, HERE)
