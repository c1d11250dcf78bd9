"""Twenty small systems, asked for all time: `python -m benchmarks.forever [--cap S] [--engines NAME ...]`.

Every temporal operator and the nestings people use, holding and violated, with known answers (`answers.py`). `auto`
beside the engines for questions without a bound, each alone, and beside the paper's algorithms (`paper.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.forever.answers import ANSWERS, SYSTEMS
from benchmarks.forever.table import Asked, options, run, unbounded_engines

HEADER = ("system", "question")
DEPTH = 50
CAP = 5.0


def groups(systems: Sequence[str] = tuple(ANSWERS)) -> list[list[Asked]]:
    """A group for each question: none is easier than the one before, so a timeout says nothing of the next."""
    return [
        [Asked((name, asked), SYSTEMS / f"{name}.toml", asked, {}, right.verdict)]
        for name, answers in ANSWERS.items()
        if name in systems
        for asked, right in answers.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    wanted = options(
        "forever", "Twenty small systems, asked for all time", arguments, ("auto", *unbounded_engines(), "paper"), CAP
    )
    return run(HEADER, groups(), wanted.columns(DEPTH), wanted.cap)


if __name__ == "__main__":
    sys.exit(main())
