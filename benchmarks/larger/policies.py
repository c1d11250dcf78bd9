"""Make the larger policies: `python -m benchmarks.larger.policies [NAME ...]`.

Two hidden layers of 64 tanh or 256 ReLU units that see the whole state and imitate the teachers of the recurrent
policies (examples/cartpole, benchmarks/lander), trained by plain numpy with fixed seeds. The tanh policies are part of
the repository; those of 256 x 256 are too large for it and are made where they are missing, in a minute or two. Each is
played from the world's own starts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.lander.train import LESSON as DESCEND
from benchmarks.learning import Floats, Layers, Sample, Training, forward, onnx_chain
from examples.cartpole.train import LESSON as BALANCE
from examples.playing import Lesson, play

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Course:
    """What a policy learns: its teacher, what it sees and how that is scaled, and the return that is asked of it."""

    lesson: Lesson
    scale: Mapping[str, float]  # by state variable, in the order it sees them
    least: float  # mean return

    def sample(self, rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """States within the lesson's starts, close to their middle more often, and the teacher's scores."""
        (spans,) = self.lesson.starts
        ends = np.array([spans[name] for name in self.scale])
        near = 10 ** rng.uniform(-1.5, 0, (count, 1))
        states = ends.mean(1) + near * rng.uniform(-0.5, 0.5, (count, len(ends))) * (ends[:, 1] - ends[:, 0])
        state = dict(zip(self.scale, states.T, strict=True))
        return states * np.array(list(self.scale.values())), np.asarray(self.lesson.teach(state))


COURSES = {
    "cartpole": Course(BALANCE, {"x": 1.0, "v": 1.0, "theta": 5.0, "omega": 1.0}, 450),
    "lander": Course(DESCEND, {"x": 1.0, "y": 1.0, "vx": 2.0, "vy": 2.0, "theta": 4.0, "omega": 4.0}, 15),
}
SHAPES = {
    "t64": ((64, 64), "Tanh", Training(6_000, decay=1e-3)),
    "r256": ((256, 256), "Relu", Training(3_000, 256, decay=1e-3)),
}
NAMES = [f"{course}_{shape}" for course in COURSES for shape in SHAPES]


def made(name: str) -> tuple[Layers, str]:
    """The trained layers with the scale of what is seen in the first, and the function between them."""
    where, shape = name.split("_")
    course, (hidden, function, training) = COURSES[where], SHAPES[shape]
    sample: Sample = course.sample
    outputs = sample(np.random.default_rng(0), 1)[1].shape[1]
    (weight, bias), *rest = training((len(course.scale), *hidden, outputs), function, sample, seed=0)
    return [(weight * np.array(list(course.scale.values())), bias), *rest], function


def mean_return(name: str, layers: Layers, function: str) -> float:
    """Of a hundred episodes from the world's own starts."""
    lesson = replace(COURSES[name.split("_")[0]].lesson, task=HERE / f"{name}.toml")
    returns, _ = play(lesson, lambda seen, memory: (forward(layers, seen, function)[-1], None))
    return float(returns.mean())


def make(name: str) -> None:
    """One policy, from nothing to its file."""
    layers, function = made(name)
    (HERE / f"{name}.onnx").write_bytes(onnx_chain(layers, function, name, "N", "seen"))
    found, least = mean_return(name, layers, function), COURSES[name.split("_")[0]].least
    print(f"{name}: mean return {found:.1f}", flush=True)
    if found < least:
        raise SystemExit(f"{name}: a mean return of {found:.1f} where {least} is asked for")


def need(name: str) -> None:
    """Make a policy unless its file is there."""
    if not (HERE / f"{name}.onnx").exists():
        print(f"{name}.onnx is missing and made now", file=sys.stderr)
        make(name)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or NAMES:
        make(wanted)
