"""Train the controllers of this folder: `python -m benchmarks.plants.train [NAME ...]`, a minute of the processor.

Each network learns a law of feedback that an engineer would write down, from states drawn at random around the paths it
will see: least squares by Adam, seeds fixed. Regulators are linear-quadratic, of the plant linearised at rest.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.linalg import solve_discrete_are
from scipy.signal import cont2discrete

from benchmarks.learning import Floats, Training, forward, onnx_chain

HERE = Path(__file__).parent


def regulator(A: Floats, B: Floats, period: float, costs: Floats, efforts: Floats) -> Floats:
    """The gains K of u = -K x, held over a period (a linear-quadratic regulator)."""
    F, G, *_ = cont2discrete((A, B, np.eye(len(A)), np.zeros((len(A), B.shape[1]))), period)
    Q, R = np.diag(costs), np.diag(efforts)
    P = solve_discrete_are(F, G, Q, R)
    return np.asarray(np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F), dtype=np.float64)


def chain(length: int, gain: float = 1.0) -> tuple[Floats, Floats]:
    """So many integrators in a row: each is the rate of the one before, the last one is the input's."""
    A, B = np.diag(np.ones(length - 1), 1), np.zeros((length, 1))
    B[-1] = 1.0
    if length == 4:
        A[1, 2] = gain
    return A, B


# Laws of feedback -----------------------------------------------------------------------------------------------------


def unicycle(seen: Floats) -> Floats:
    """Head for the line the more the further it is away, slow down before the origin."""
    x, y, th, v = seen.T
    heading = -np.arctan(0.8 * y)
    speed = 1.5 * np.tanh(-0.6 * x)
    return np.stack([1.5 * (heading - th), 1.5 * (speed - v)], axis=1)


def attitude(seen: Floats) -> Floats:
    """Torques against rates of turn and against the parameters of the attitude."""
    rates, parameters = seen[:, :3], seen[:, 3:]
    return np.asarray(-np.array([1.0, 1.5, 2.0]) * (2.5 * rates + 3.5 * parameters))


def double_pendulum(seen: Floats) -> Floats:
    """The regulator of the upright."""
    k = 2.0
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [np.array([[2 * k, -k], [-2 * k, 2 * k]]), np.zeros((2, 2))]])
    B = np.vstack([np.zeros((2, 2)), [[1.0, -2.0], [-1.0, 3.0]]])
    return np.asarray(-seen @ regulator(A, B, 0.05, np.array([10.0, 10.0, 1.0, 1.0]), np.ones(2)).T)


def cartpole(seen: Floats) -> Floats:
    """The regulator of the upright."""
    g, m, M, half = 9.8, 0.1, 1.1, 0.5
    turn = 1 / (half * (4 / 3 - m / M))
    A, B = np.zeros((4, 4)), np.zeros((4, 1))
    A[0, 1] = A[2, 3] = 1
    A[3, 2], B[3, 0] = g * turn, -turn / M
    A[1, 2], B[1, 0] = -m * half / M * A[3, 2], 1 / M - m * half / M * B[3, 0]
    return np.asarray(-seen @ regulator(A, B, 0.02, np.array([1.0, 1.0, 5.0, 1.0]), np.array([0.05])).T)


def navigation(seen: Floats) -> Floats:
    """Along the stream lines of an ideal fluid around a disc larger than the obstacle, at a speed of 1."""
    x, y, th, v = seen.T
    r = np.maximum(np.hypot(x, y), 0.8)
    across = 1 - 1.3**2 * (x**2 - y**2) / r**4
    up = -2 * 1.3**2 * x * y / r**4
    heading = np.arctan2(up, np.maximum(across, 0.3))
    return np.stack([2.5 * (heading - th), 1.5 * (1.0 - v)], axis=1)


def quadrotor(seen: Floats) -> Floats:
    """Regulators of height, of both ways to tilt, and of yaw."""
    g = 9.81
    rise = regulator(*chain(2), 0.1, np.array([4.0, 1.0]), np.ones(1))
    tilt = regulator(*chain(4, g), 0.1, np.array([1.0, 1.0, 2.0, 0.5]), np.array([0.2]))
    yaw = regulator(*chain(2), 0.1, np.ones(2), np.ones(1))
    x, y, z, vx, vy, vz, phi, th, psi, p, q, r = seen.T
    rows = [(rise, (z, vz)), (tilt, (-y, -vy, phi, p)), (tilt, (x, vx, th, q)), (yaw, (psi, r))]
    return np.stack([-np.stack(parts, axis=1) @ gains[0] for gains, parts in rows], axis=1)


# Networks -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lesson:
    """A law of feedback over a box of what is seen, and the network that learns it."""

    law: Callable[[Floats], Floats]
    middle: tuple[float, ...]
    reach: tuple[float, ...]
    hidden: tuple[int, ...]
    function: str
    steps: int = 6000
    decay: float = 0.0
    seed: int = 0

    def sample(self, rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
        """What is seen, each from -1 to 1, and what the law wants there."""
        scaled = rng.uniform(-1, 1, (count, len(self.reach)))
        return scaled, self.law(np.array(self.middle) + np.array(self.reach) * scaled)

    def write(self, file: Path) -> float:
        """Learn, write the file, and say how far from the law the network is, in the mean."""
        rng = np.random.default_rng(self.seed + 1)
        inputs, wanted = self.sample(rng, 20_000)
        size = wanted.std(axis=0)
        sizes = [len(self.reach), *self.hidden, wanted.shape[1]]

        def sample(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
            seen, law = self.sample(rng, count)
            return seen, law / size

        layers = Training(self.steps, 256, 5e-3, decay=self.decay)(sizes, self.function, sample, self.seed)
        first, bias = layers[0]
        layers[0] = (first / np.array(self.reach), bias - first @ (np.array(self.middle) / np.array(self.reach)))
        last, bias = layers[-1]
        layers[-1] = (last * size[:, None], bias * size)
        file.write_bytes(onnx_chain(layers, self.function, file.stem))
        states = np.array(self.middle) + np.array(self.reach) * inputs
        return float(np.sqrt(np.mean(((forward(layers, states, self.function)[-1] - wanted) / size) ** 2)))


LESSONS: Mapping[str, Lesson] = {
    "unicycle": Lesson(unicycle, (-3, 1, -0.3, 0.8), (4, 1.5, 1, 1.2), (32, 32), "Relu"),
    "attitude": Lesson(attitude, (0,) * 6, (1.2,) * 6, (32, 32), "Sigmoid"),
    "double_pendulum": Lesson(double_pendulum, (0,) * 4, (0.8, 0.8, 2, 2), (25, 25), "Tanh"),
    "cartpole": Lesson(cartpole, (0,) * 4, (0.8, 1, 0.3, 1), (16, 16), "Tanh"),
    "navigation": Lesson(navigation, (0.2, 1, 0, 1), (4, 1.4, 1.2, 0.3), (32, 32), "Tanh"),
    "quadrotor": Lesson(quadrotor, (0,) * 12, (0.6, 0.6, 1.5) + (1,) * 3 + (0.4,) * 3 + (0.8,) * 3, (48, 48), "Tanh"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the controllers of this folder.")
    parser.add_argument("names", nargs="*", choices=[[], *LESSONS], help="which (default: all)")
    for name in parser.parse_args().names or LESSONS:
        print(f"{name}: {LESSONS[name].write(HERE / f'{name}.onnx'):.3f} of its actions' size off the law", flush=True)


if __name__ == "__main__":
    main()
