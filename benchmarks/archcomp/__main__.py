"""Public neural controllers in the loop: `python -m benchmarks.archcomp [--only NAME] [--timeout S] [--runs N]`.

For each problem of the competition's category AINNCS whose files are public here, and for a variant that must fail:
the verdict, CPU seconds (reading apart), parts of the initial set, and how wide the last sets are beside what simulated
paths span then. Ends with 1 if a variant that must fail is said to hold, or a problem that holds is said to fail.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.loop_tables import FAILS, HOLDS, Problem, print_table

HERE = Path(__file__).parent


def encounters() -> list[Problem]:
    """The four instances of VCAS, under every choice of pilots and under the middle one."""
    truths = {-19.5: (HOLDS, HOLDS), -22.5: (FAILS, HOLDS), -25.5: (FAILS, FAILS), -28.5: (FAILS, FAILS)}
    return [
        Problem(HERE / "vcas.toml", "apart", truth, {"v0": rate, "freedom": freedom})
        for rate, both in truths.items()
        for freedom, truth in zip((1, 0), both, strict=True)
    ]


def both(name: str, claim: str) -> list[Problem]:
    """A property that holds, and its variant that must fail."""
    file = HERE / f"{name}.toml"
    return [Problem(file, claim, HOLDS), Problem(file, "bad", FAILS)]


PROBLEMS = [
    *both("pendulum", "settles"),
    Problem(HERE / "pendulum.toml", "vacuous", HOLDS),
    *both("pendulum_continuous", "settles"),
    *both("acc", "distance"),
    *both("acc_tanh", "distance"),
    *both("tora", "remain"),
    *both("docking", "slow"),
    *encounters(),
]

if __name__ == "__main__":
    sys.exit(print_table(PROBLEMS, "Public neural controllers in the loop: verdicts, seconds, widths.", 200.0))
