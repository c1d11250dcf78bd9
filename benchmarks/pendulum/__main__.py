"""The pendulum that has to get up, measured: `python -m benchmarks.pendulum [--cap S] [--full] [--engines NAME ...]`.

AAMAS 2025, Table 3: F(y >= 1 - eps) for three recurrent policies and four heights, y being the height of its end.
`auto`, and the paper's bounded paths and Algorithm 3, as deep as the time allows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.forever.table import Asked, options, run

HERE = Path(__file__).parent
HEADER = ("policy", "eps")
POLICIES = ("r10", "r20", "r2x10")
HEIGHTS = (0.15, 0.1, 0.05, 0.01)
DEPTH = 100  # the paper: 20


def groups(policies: Sequence[str] = POLICIES) -> list[list[Asked]]:
    """A group for each policy: higher and higher."""
    return [
        [Asked((f"R{policy[1:]}", f"{eps:g}"), HERE / f"{policy}.toml", "up", {"eps": eps}) for eps in HEIGHTS]
        for policy in policies
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    wanted = options("pendulum", "The pendulum that has to get up, measured", arguments, ("auto", "paper"))
    return run(HEADER, groups(), wanted.columns(DEPTH), wanted.cap)


if __name__ == "__main__":
    sys.exit(main())
