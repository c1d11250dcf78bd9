"""How tight and how fast interval and linear bounds are: `python -m benchmarks.bounds [--device cuda] [--random-only]`.

On the published VerticalCAS network 1 (where VERNAL_DATA is set) over h in [-133, -129], v = -19.5, tau = 25, and on
random networks: the largest output width of a single box and the median of a batch, with times per box. A CROWN
implementation gets a width of 1.8e-4 in 0.10 s for the single box, intervals 1.3e-3. Everything runs on one core
(BLAS threads are set to 1 here, before numpy is loaded) or, with `--device`, on torch tensors, compared with numpy.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from vernal.interpret import interval  # noqa: E402
from vernal.interpret.linear.bounds import bounds  # noqa: E402
from vernal.interpret.numbers.rounding import float_above, float_below  # noqa: E402
from vernal.interpret.value_sets import Range, Value  # noqa: E402
from vernal.model import build  # noqa: E402
from vernal.model.expr import Expr, Function, Matrix, Var  # noqa: E402
from vernal.model.network import network_input  # noqa: E402

Floats = NDArray[np.float64]
METHODS = ("interval", "linear, interval intermediates", "linear, backward")
HEADER = f"{'network':<16} {'boxes':>6}  {'method':<31} {'width':>9} {'time':>11} {'per box':>11}  {'vs numpy':>9}"


@dataclass(frozen=True)
class Case:
    """A network and boxes of its inputs."""

    name: str
    inputs: Var
    output: Expr
    lower: Floats
    upper: Floats


def random_case(width: int, batch: int, seed: int = 0, function: Function | None = None) -> Case:
    """Two hidden layers of ReLUs (or another function), five inputs and outputs, boxes of side 0.1."""
    rng = np.random.default_rng(seed)
    x = network_input(5)
    node: Expr = x
    for n, m in ((5, width), (width, width), (width, 5)):
        weight = rng.normal(size=(m, n)) / np.sqrt(n)
        node = build.affine(node, Matrix(weight), Matrix(rng.normal(size=m) / 4))
        if m == width:
            node = build.relu(node) if function is None else build.apply(function, node)
    centre = rng.uniform(-1, 1, (batch, 5))
    name = "random" if function is None else function.value
    return Case(f"{name} 2x{width}", x, node, centre - 0.05, centre + 0.05)


def gated_case(width: int, batch: int, seed: int = 0) -> Case:
    """One step of a gated recurrent cell from five inputs and a memory, boxes of side 0.1."""
    rng = np.random.default_rng(seed)
    x = network_input(5 + width)

    def layer(node: Expr, rows: int) -> Expr:
        weight = rng.normal(size=(rows, node.size)) / np.sqrt(node.size)
        return build.affine(node, Matrix(weight), Matrix(rng.normal(size=rows) / 4))

    seen, memory = (build.concat(*(build.component(x, i) for i in part)) for part in (range(5), range(5, 5 + width)))
    update, reset = (build.apply(Function.SIGMOID, layer(x, width)) for _ in range(2))
    fresh = build.apply(Function.TANH, layer(build.concat(seen, reset * memory), width))
    later = fresh + update * (memory - fresh)
    centre = rng.uniform(-1, 1, (batch, 5 + width))
    return Case(f"GRU {width}", x, layer(later, 5), centre - 0.05, centre + 0.05)


def pendulum_case(batch: int, seed: int = 0) -> Case:
    """Three steps of a pendulum, theta'' = 15 sin theta, boxes of side 0.1."""
    x = network_input(2)
    theta, omega = (build.component(x, i) for i in range(2))
    for _ in range(3):
        omega = omega + Fraction("0.05") * 15 * build.apply(Function.SIN, theta)
        theta = theta + Fraction("0.05") * omega
    centre = np.random.default_rng(seed).uniform(-3, 3, (batch, 2))
    return Case("pendulum", x, build.concat(theta, omega), centre - 0.05, centre + 0.05)


def vcas_cases(folder: Path, batch: int) -> Iterator[Case]:
    """The published box, boxes of that size all over the domain, and boxes with every input uncertain."""
    from vernal.formats.networks import read_network

    network = read_network(folder / "vcas" / "vcas_1.onnx")
    ends = [(Fraction(h, 16000), Fraction(-195, 50000), Fraction(5, 40)) for h in (-133, -129)]
    lower = np.array([[float_below(value) for value in ends[0]]])
    upper = np.array([[float_above(value) for value in ends[1]]])
    yield Case("VerticalCAS 1", network.inputs, network.output, lower, upper)
    rng = np.random.default_rng(0)
    centre = rng.uniform([-3000, -100, 0], [3000, 100, 40], (batch, 3))
    for name, half in (("VerticalCAS 1", (2, 0, 0)), ("  wider boxes", (100, 20, 0.5))):
        box = [(centre + sign * np.array(half) - [0, 0, 20]) / [16000, 5000, 40] for sign in (-1, 1)]
        yield Case(name, network.inputs, network.output, box[0], box[1])


def measure(method: str, case: Case, lower: Any, upper: Any) -> Any:
    """Bounds of the outputs, as an object with `lower` and `upper`."""
    box: dict[Expr, Value] = {case.inputs: Range(lower, upper)}
    if method == "interval":
        return interval.evaluate([case.output], box)[0]
    return bounds([case.output], box, mode="backward" if "backward" in method else "interval")[0]


def best_time(run: Callable[[], Any], place: Place, repeats: int) -> tuple[float, Any]:
    """The shortest of several runs, after one to warm up: time of this core, or wall-clock time of a card."""
    clock = time.process_time if place.on_host else time.perf_counter
    run()
    place.wait()
    shortest = float("inf")
    for _ in range(repeats):
        start = clock()
        result = run()
        place.wait()
        shortest = min(shortest, clock() - start)
    return shortest, result


class Place:
    """Where the arrays live: numpy on this core, or torch on a device."""

    def __init__(self, device: str | None) -> None:
        self.device = device
        self.on_host = device is None or device == "cpu"

    def put(self, array: Floats) -> Any:
        if self.device is None:
            return array
        import torch

        return torch.asarray(array, device=self.device)

    def get(self, array: Any) -> Floats:
        return np.asarray(array if self.device is None else array.cpu())

    def wait(self) -> None:
        if self.device is not None and self.device.startswith("cuda"):
            import torch

            torch.cuda.synchronize()

    def __str__(self) -> str:
        if self.device is None:
            return f"numpy {np.__version__}, {processor()}, one core"
        import torch

        card = torch.cuda.get_device_name() if self.device.startswith("cuda") else f"{processor()}, one core"
        return f"torch {torch.__version__}, {card}"


def processor() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def report(case: Case, place: Place) -> float:
    """Print the rows of one case; returns the largest relative disagreement with numpy."""
    lower, upper = place.put(case.lower), place.put(case.upper)
    batch, worst = len(case.lower), 0.0
    for method in METHODS:

        def run(method: str = method) -> Any:
            return measure(method, case, lower, upper)

        seconds, found = best_time(run, place, 20 if batch == 1 else 3)
        low, high = place.get(found.lower), place.get(found.upper)
        width = float(np.median((high - low).max(-1)))
        note = ""
        if place.device is not None:
            reference = measure(method, case, case.lower, case.upper)
            difference = max(_apart(low, reference.lower), _apart(high, reference.upper))
            worst, note = max(worst, difference), f"{difference:9.1e}"
        per_box = seconds / batch * 1e6
        times = f"{seconds * 1e3:8.2f} ms {per_box:8.2f} us"
        print(f"{case.name:<16} {batch:>6}  {method:<31} {width:9.2e} {times}  {note}")
    return worst


def _apart(a: Floats, b: Floats) -> float:
    return float((abs(a - b) / (1.0 + abs(b))).max())


def main() -> int:
    """Measure and print; 1 if a device disagrees with numpy by more than 1e-9."""
    parser = argparse.ArgumentParser(description="Width and time of interval and linear bounds.")
    parser.add_argument("--device", help="torch device (cpu, cuda); without it numpy")
    parser.add_argument("--batch", type=int, default=10_000, help="boxes in a large batch")
    parser.add_argument("--random-only", action="store_true", help="leave the published network out")
    options = parser.parse_args()
    places = [Place(None)] + ([Place(options.device)] if options.device else [])
    if options.device:
        import torch

        torch.set_num_threads(1)
    worst = 0.0
    for place in places:
        print(f"\n{datetime.now(UTC):%Y-%m-%d}  {place}\n{HEADER}")
        for case in cases(options.batch, options.random_only):
            worst = max(worst, report(case, place))
    print("\nReference, VerticalCAS 1, one box: a CROWN implementation 1.8e-04 in 100 ms, intervals 1.3e-03.")
    print("The width is the largest of a box's outputs; in a batch, the median over its boxes. Times are of one core's")
    print("work (wall-clock time on a card). Alone, a box has its stable layers as exact forms in every linear method.")
    if options.device:
        print(f"Largest disagreement with numpy: {worst:.1e} (relative to 1 + |bound|)")
    return int(worst > 1e-9)


def cases(batch: int, random_only: bool) -> Iterator[Case]:
    """Everything that is measured."""
    folder = os.environ.get("VERNAL_DATA")
    if not random_only:
        if folder:
            yield from vcas_cases(Path(folder), batch)
        else:
            print("VERNAL_DATA is unset: the published network is left out")
    for width in (32, 64):
        for size in (1, batch):
            yield random_case(width, size)
    for function in (Function.TANH, Function.SIGMOID, Function.SIN):
        yield random_case(32, batch, function=function)
    yield gated_case(16, batch)
    yield pendulum_case(batch)


if __name__ == "__main__":
    raise SystemExit(main())
