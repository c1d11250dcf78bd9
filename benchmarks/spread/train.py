"""Train the policies of Simple Spread: r2x8_2.onnx for two agents and r2x8_4.onnx for four; all agents use the same.

    python -m benchmarks.spread.train               # extras: torch, onnxruntime; from the root of the checkout

An agent sees everybody's position, its own first, and all landmarks, its own first; it goes to its own and stays there.
The teacher also sees velocities, and pushes until the agent would come to rest within a push of its landmark.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from examples.playing import Array, Lesson, State
from vernal.worlds.spread import landmarks

HERE = Path(__file__).parent
ROLLS = 0.4  # how far an agent still goes, for each unit of its velocity, when it is not pushed any more
PUSH = 0.2  # how much farther it goes for a push


def go_home(state: State, n: int) -> Array:
    """Scores of NOTHING, LEFT, RIGHT, DOWN, UP for all copies of the first agent, then of the second, and so on."""
    rows = []
    for i, mark in enumerate(landmarks(n), 1):
        x, y = (float(at) - state[f"{a}{i}"] - ROLLS * state[f"v{a}{i}"] for a, at in zip("xy", mark, strict=True))
        rows.append(np.stack([np.full_like(x, 0.6 * PUSH), -x, x, -y, y], axis=1))
    return np.clip(4 * np.concatenate(rows), -2, 2)


def lesson(n: int) -> Lesson:
    """Agents at rest, anywhere and at home."""
    homes = {f"{a}{i}": float(at) for i, mark in enumerate(landmarks(n), 1) for a, at in zip("xy", mark, strict=True)}
    rest = {f"v{name}": (0.0, 0.0) for name in homes}
    anywhere, home = dict.fromkeys(homes, (-1.2, 1.2)), {name: (at - 0.07, at + 0.07) for name, at in homes.items()}
    starts = [{**anywhere, **rest}, {**home, **rest}]
    return Lesson(HERE / f"spread{n}.toml", f"spread{n}", partial(go_home, n=n), starts, steps=30)


if __name__ == "__main__":
    from examples.training import Course, Schedule, train

    least = {2: -14, 4: -34}
    schedules = {n: Schedule(rounds=14, copies=256 // n, updates=200, batch=256, decay=0.1) for n in least}
    train(
        {f"r2x8_{n}": Course(lesson(n), "R2x8", least[n], gain=2, lift=0.5, schedule=schedules[n]) for n in least}, HERE
    )
