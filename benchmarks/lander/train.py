"""Train the policy of the lander: r2x32.onnx, which comes down slowly and upright.

    python -m benchmarks.lander.train               # extras: torch, onnxruntime; from the root of the checkout

It sees what Gymnasium's lander does, but for the contact of its legs. Its teacher fires a side engine to lean a little
towards the landing pad and to turn no faster than it should, and the main engine where it sinks faster than it should,
which is slower the lower it is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from examples.playing import Array, Lesson, State

HERE = Path(__file__).parent


def descend(state: State) -> Array:
    """Scores of NOTHING, LEFT, MAIN, RIGHT; an engine that is not needed scores less than doing nothing."""
    lean = np.clip(0.5 * state["x"] + state["vx"], -0.3, 0.3)
    turn = np.clip(4 * (lean - state["theta"]) - 5 * state["omega"], -1.5, 1.5)
    sink = 0.05 + 0.1 * np.clip(state["y"], 0, 1.5)
    lift = np.clip(8 * (-sink - state["vy"]), -1.5, 1.5)
    return np.stack([np.full_like(turn, 0.35), turn, lift + 0.2, -turn], axis=1)


LESSON = Lesson(
    HERE / "lander.toml",
    "lander",
    descend,
    starts=[
        {
            "x": (-0.5, 0.5),
            "y": (0.1, 1.4),
            "vx": (-0.3, 0.3),
            "vy": (-0.4, 0.2),
            "theta": (-0.3, 0.3),
            "omega": (-0.3, 0.3),
        }
    ],
    steps=80,
    sharpness=4.0,
    lost="abs(x) > 1 | y < 0 | y > 1.6 | abs(theta) > 0.6",
)

if __name__ == "__main__":
    from examples.training import Course, Schedule, train

    scale, schedule = (1.0, 1.0, 2.0, 2.0, 4.0, 4.0), Schedule(rounds=10)
    train({"r2x32": Course(LESSON, "R2x32", 15, scale, gain=0, schedule=schedule)}, HERE)
