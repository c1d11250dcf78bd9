"""Simple Spread, measured: `python -m benchmarks.spread [--cap S] [--full] [--to T] [--total MIN]`.

AAMAS 2025, Figure 2: the first of 2 or 4 agents reaches a landmark and remains there (stability) or reaches one again
and again (liveness), from anywhere in [-1, 1]^2; and agents at rest within 0.05 of their landmarks stay there
(holding). `auto` beside the recursive mixed-integer program with the same bounds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ladder import OURS, RECURSIVE, Ladder, options, run

FOLDER = Path(__file__).parent
HEADER = ("agents", "property", "t")
METHODS = (OURS, RECURSIVE)


def ladders(agents: Sequence[int] = (2, 4)) -> list[Ladder]:
    """The formulas of section 5.4, then the holding instance, of each number of agents."""
    made = []
    for n in agents:
        for name in ("stability", "liveness"):
            made.append(Ladder((str(n), name), FOLDER / f"spread{n}.toml", name, "t", range(10), METHODS))
        made.append(Ladder((str(n), "holding"), FOLDER / f"spread{n}_home.toml", "stays", "t", range(5), METHODS))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    limits = options("spread", "Simple Spread, measured", arguments, minutes=12)
    print("stability F[0,t] G[0,t] there, liveness G[0,t] F[0,t] there, holding G[0,t] (everybody is home)\n")
    return run(HEADER, ladders(), limits)


if __name__ == "__main__":
    sys.exit(main())
