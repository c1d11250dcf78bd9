"""Larger policies, measured: `python -m benchmarks.larger [--cap S] [--to N] [--policies NAME ...] [--processor]`.

Two hidden layers of 64 tanh or of 256 ReLU units in the cart pole and the lander, with the questions that the smaller
policies are asked: `G[0,k]` upright and steady for k to 10 from within r of rest, and `X[t] (abs(theta) < eps)` for t
to 10. Only `auto` (or the engines named) is asked.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ladder import Ladder, Limits, run
from benchmarks.larger.policies import NAMES, need
from benchmarks.measure import Method

HERE = Path(__file__).parent
HEADER = ("policy", "start", "property", "steps")
CARTPOLE_STEPS, LANDER_STEPS = (4, 6, 8, 10), (2, 4, 6, 8, 10)
RADII = (0.01, 0.05)
STARTS = ((1, 30), (10, 10), (10, 30))  # of the lander: multiples of the small box, and d of the tilt pi/d


def ladders(names: Sequence[str], methods: tuple[Method, ...]) -> list[Ladder]:
    """For each policy the questions of its world."""
    return [ladder for name in names for ladder in (_cartpole if "cartpole" in name else _lander)(name, methods)]


def _cartpole(name: str, methods: tuple[Method, ...]) -> list[Ladder]:
    file = HERE / f"{name}.toml"
    return [
        Ladder((name, f"+-{r}", asked), file, asked, "k", CARTPOLE_STEPS, methods, {"r": r})
        for asked in ("upright", "steady")
        for r in RADII
    ]


def _lander(name: str, methods: tuple[Method, ...]) -> list[Ladder]:
    file = HERE / f"{name}.toml"
    return [
        Ladder((name, f"x {k}", f"pi/{d}"), file, "upright", "t", LANDER_STEPS, methods, {"k": k, "d": d})
        for k, d in STARTS
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.larger", description="Larger policies, measured")
    parser.add_argument("--cap", type=float, default=60, metavar="S", help="seconds for a cell (default 60)")
    parser.add_argument("--to", type=int, metavar="N", help="the most steps asked (default: all)")
    parser.add_argument("--policies", nargs="+", default=NAMES, choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--engines", nargs="+", default=["auto"], metavar="NAME", help="default: auto")
    parser.add_argument(
        "--processor", action="store_true", help="seconds of the processor, on a machine with other work"
    )
    given = parser.parse_args(arguments)
    for name in given.policies:
        need(name)
    clock = time.process_time if given.processor else time.monotonic
    methods = tuple(Method(engine, engine) for engine in given.engines)
    return run(HEADER, ladders(given.policies, methods), Limits(given.cap, to=given.to, clock=clock))


if __name__ == "__main__":
    sys.exit(main())
