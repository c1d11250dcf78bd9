"""Bounds through time: `python -m benchmarks.through_time [--device cuda] [--boxes N] [--steps K]`.

The lander's small initial box in many parts, through some steps of the closed loop with its recurrent policy (two
layers of 32 ReLUs), wind and all, in one batch: intervals, and linear bounds substituted backward through time. With
`--device` on torch tensors, beside numpy on one core.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

import vernal as vn  # noqa: E402
from benchmarks.bounds import Place  # noqa: E402
from vernal.interpret.linear.bounds import Linear, Mode  # noqa: E402
from vernal.interpret.unrolling.stepwise import Unrolling  # noqa: E402
from vernal.interpret.value_sets import Range, Value  # noqa: E402
from vernal.model.expr import Expr  # noqa: E402
from vernal.sets.initial_boxes import initial_boxes  # noqa: E402
from vernal.sets.levels import abstract_box  # noqa: E402

Floats = NDArray[np.float64]
POLICY = Path(__file__).parent / "lander" / "r2x32.onnx"
SEEN = ("seen_x", "seen_y", "vx", "vy", "theta", "omega")
MODES: tuple[tuple[str, Mode], ...] = (("interval intermediates", "interval"), ("backward", "backward"))
HEADER = f"{'where':<40} {'bounds':<24} {'boxes':>7} {'seconds':>8} {'boxes/s':>9} {'width':>8} {'vs numpy':>9}"


def angle(steps: int) -> tuple[Expr, dict[Expr, Value]]:
    """The lander's angle after some steps, as an expression over the start and the wind; and the box of the start."""
    agent = vn.agent(vn.read_network(POLICY), observe=lambda s: [getattr(s, name) for name in SEEN])
    system = vn.worlds.system("lander", agent)
    node = Unrolling(system.step).position(steps)[system.variable("theta").var]
    return node, abstract_box(initial_boxes(system).boxes)


def parts(box: dict[Expr, Value], count: int) -> dict[Expr, Range]:
    """So many boxes, of a tenth of the width, all over the whole."""
    rng = np.random.default_rng(0)
    made = {}
    for node, value in box.items():
        assert isinstance(value, Range)
        low, high = (np.broadcast_to(end, (1, *node.shape)) for end in (value.lower, value.upper))
        at = low + 0.9 * (high - low) * rng.random((count, *node.shape))
        made[node] = Range(at, np.minimum(at + 0.1 * (high - low), high))
    return made


def put(boxes: dict[Expr, Range], place: Place, count: int) -> dict[Expr, Value | tuple[Any, Any]]:
    return {node: Range(place.put(x.lower[:count]), place.put(x.upper[:count])) for node, x in boxes.items()}


def measure(node: Expr, boxes: dict[Expr, Range], mode: Mode, place: Place, count: int) -> tuple[float, Floats, Floats]:
    """Seconds for a batch, and the bounds; the first run on a device is not counted."""
    seconds = np.inf
    for _ in range(1 if place.device is None else 2):
        given = put(boxes, place, count)
        place.wait()
        start = time.perf_counter()
        x = Linear(given, mode=mode).range(node)
        lower, upper = place.get(x.lower), place.get(x.upper)
        seconds = time.perf_counter() - start
    return seconds, lower, upper


def rows(steps: int, count: int, device: str | None) -> Iterator[str]:
    node, box = angle(steps)
    boxes = parts(box, count)
    for name, mode in MODES:
        seconds, lower, upper = measure(node, boxes, mode, Place(None), count)
        yield row(str(Place(None)), name, count, seconds, upper - lower, "")
        if device is not None:
            place = Place(device)
            seconds, low, high = measure(node, boxes, mode, place, count)
            apart = max(np.abs(low - lower).max(), np.abs(high - upper).max())
            yield row(str(place), name, count, seconds, high - low, f"{apart:.1e}")


def row(place: str, bounds: str, count: int, seconds: float, width: Floats, apart: str) -> str:
    speed = f"{seconds:>8.2f} {count / seconds:>9.0f}"
    return f"{place:<40.40} {bounds:<24} {count:>7} {speed} {np.median(width):>8.5f} {apart:>9}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Bounds of the lander's angle after some steps, for many boxes.")
    parser.add_argument("--device", help="torch device (cpu, cuda); without it numpy alone")
    parser.add_argument("--boxes", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    print(HEADER)
    for line in rows(options.steps, options.boxes, options.device):
        print(line, flush=True)


if __name__ == "__main__":
    main()
