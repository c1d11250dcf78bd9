"""Write tests/portions.txt from a run of all tests: which functions `make test` asks only some of their cases of.

    VERNAL_TESTS=all python -m pytest -n 2 --junitxml=all.xml
    python scripts/portions.py all.xml > tests/portions.txt

A function with several cases that cost much altogether is asked each n-th of them, the more each costs the fewer. A
test without cases that takes long is left to `make test-all` by a line with a 0, written by hand, where others show the
same on smaller instances.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

SUM = 0.5
"""Processor seconds of all cases of a function below which all are asked."""

STRIDES = ((0.8, 6), (0.3, 5), (0.08, 4), (0.03, 3))
"""Mean seconds of a case, and then each how manieth is asked."""

WHOLE = ("tests/engines/test_truth.py::test_no_engine_is_wrong",)
"""What is asked whole whatever it costs: the table of ground truth."""

HEAD = """\
# How many of the cases of a test function `make test` asks: each n-th, or none where n is 0. `make test-all` asks all.
# Written by scripts/portions.py from a run of all tests.
"""

ROOT = Path(__file__).resolve().parent.parent


def costs(report: Path) -> Mapping[str, Sequence[float]]:
    """Seconds of each case, by function."""
    found: dict[str, list[float]] = defaultdict(list)
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        found[f"{file}::{case.get('name', '').partition('[')[0]}"].append(float(case.get("time", "0")))
    return found


def stride(cases: Sequence[float]) -> int:
    """Each how manieth of these cases is asked."""
    mean = sum(cases) / len(cases)
    wanted = next((n for least, n in STRIDES if mean >= least), 1)
    return 1 if sum(cases) < SUM else min(wanted, len(cases))


def table(costs: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """The lines of the table, in the order of names."""
    for name, cases in sorted(costs.items()):
        if len(cases) > 1 and name not in WHOLE and (n := stride(cases)) > 1:
            yield f"{n} {name}"


def main(report: str) -> None:
    """Print the table; what stands in it with a 0 was put there by hand and stays."""
    kept = [line for line in (ROOT / "tests" / "portions.txt").read_text().splitlines() if line.startswith("0 ")]
    rest = {line.split()[1] for line in kept}
    lines = [line for line in table(costs(Path(report))) if line.split()[1] not in rest]
    print(HEAD + "\n".join(sorted(kept + lines, key=lambda line: line.split()[1])))


if __name__ == "__main__":
    main(sys.argv[1])
