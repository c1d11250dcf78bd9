"""Train the policies of the cart pole, which see only where cart and pole are: r16.onnx, r32.onnx, r2x16.onnx.

    python -m examples.cartpole.train               # extras: torch, onnxruntime, gym; from the root of the checkout

Velocities have to be remembered. The teacher is the linear-quadratic regulator of the cart pole, which sees them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from examples.playing import Lesson, Original
from examples.teachers import balance, pushes

HERE = Path(__file__).parent
COST = {"x": 1.0, "v": 0.1, "theta": 1.0, "omega": 0.1}

LESSON = Lesson(
    HERE / "cartpole.toml",
    "cartpole",
    partial(pushes, cost=COST, gains=balance("cartpole", COST, effort=1.0), most=2),
    starts=[{"x": (-1, 1), "v": (-1, 1), "theta": (-0.12, 0.12), "omega": (-1, 1)}],
    sharpness=2.0,
)
ORIGINAL = Original("CartPole-v1", lambda seen: seen[:, [0, 2]], lambda outputs: outputs.argmax(axis=1))

if __name__ == "__main__":
    from examples.training import Course, train

    sizes = ("R16", "R32", "R2x16")
    train({size.lower(): Course(LESSON, size, 450, (1.0, 5.0), original=ORIGINAL) for size in sizes}, HERE)
