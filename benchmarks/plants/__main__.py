"""Plants of our own under networks that sample: `python -m benchmarks.plants [--only NAME] [--timeout S] [--runs N]`.

In the style of the competition's further neural controllers, which are not public here; `train.py` makes the networks.
Each has a property that holds on its whole initial set, and `bad`, which must fail. Ends with 1 if `bad` is said to
hold, or a property that holds is said to fail.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.loop_tables import FAILS, HOLDS, Problem, print_table

HERE = Path(__file__).parent
CLAIMS = {
    "unicycle": "arrives",
    "attitude": "turns",
    "double_pendulum": "stays",
    "navigation": "reaches",
    "cartpole": "upright",
    "quadrotor": "hovers",
}
PROBLEMS = [
    Problem(HERE / f"{name}.toml", asked, truth)
    for name, claim in CLAIMS.items()
    for asked, truth in ((claim, HOLDS), ("bad", FAILS))
]

if __name__ == "__main__":
    sys.exit(print_table(PROBLEMS, "Plants of our own under networks: verdicts, seconds, widths.", 200.0))
