"""The lander, measured: `python -m benchmarks.lander [--cap S] [--full] [--to T] [--total MIN]`.

AAMAS 2025, Table 4: after t steps the lander leans less than pi/30, pi/20, pi/10, whatever the wind; from the small box
and from one ten times as wide. `auto` beside the mixed-integer programs of that paper (recursive) and of the AAAI 2019
paper (the policy unrolled over its whole history), with our bounds and, for the ablation, with intervals only.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ladder import ALL, OURS, RECURSIVE, Ladder, milp, options, run
from vernal.engines.options import Unroll

FILE = Path(__file__).parent / "lander.toml"
HEADER = ("box", "eps", "t")
BOXES = {1: ALL, 10: (OURS, RECURSIVE, milp(Unroll.RECURSIVE, tighten=False))}
STEPS = range(1, 11)


def ladders(boxes: Sequence[int] = tuple(BOXES), tilts: Sequence[int] = (30, 20, 10)) -> list[Ladder]:
    return [
        Ladder((f"x {box}", f"pi/{d}"), FILE, "upright", "t", STEPS, BOXES[box], {"k": box, "d": d})
        for box in boxes
        for d in tilts
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    limits = options("lander", "The lander, measured", arguments, minutes=18)
    print("X[t] (abs(theta) < eps)\n")
    return run(HEADER, ladders(), limits)


if __name__ == "__main__":
    sys.exit(main())
