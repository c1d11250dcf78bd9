"""The cart pole for all time, measured: `python -m benchmarks.cartpole [--cap S] [--full] [--engines NAME ...]`.

AAMAS 2025, Table 2: G(|theta| <= eps & |x| <= 1) for three recurrent policies and four angles, from the upright centre
as in the paper and from a box around it; beside it `theta <= eps`, as the paper prints it. `auto` and the paper's
Algorithm 4, as deep as the time allows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.forever.table import Asked, options, run

HERE = Path(__file__).parent
HEADER = ("policy", "start", "property", "eps")
POLICIES = ("r16", "r32", "r2x16")
STARTS = {"centre": 0.0, "+-0.01": 0.01}
ANGLES = (40, 30, 20, 10)
PROPERTIES = ("balanced", "one_sided")
DEPTH = 100  # the paper: 9


def groups(policies: Sequence[str] = POLICIES, properties: Sequence[str] = PROPERTIES) -> list[list[Asked]]:
    """A group for each policy, start and property: wider and wider angles."""
    return [
        [
            Asked((f"R{policy[1:]}", start, name, f"pi/{d}"), HERE / f"{policy}.toml", name, {"d": d, "r": r})
            for d in ANGLES
        ]
        for name in properties
        for start, r in STARTS.items()
        for policy in policies
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    wanted = options("cartpole", "The cart pole for all time, measured", arguments, ("auto", "paper"))
    return run(HEADER, groups(), wanted.columns(DEPTH), wanted.cap)


if __name__ == "__main__":
    sys.exit(main())
