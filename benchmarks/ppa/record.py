"""What the policies achieved after training; `python -m benchmarks.ppa.record` prints the table of the README."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from benchmarks.measure import table
from benchmarks.ppa.family import POLICIES

FILE = POLICIES / "results.json"
HEADER = ("instance", "policy", "network", "runs", "reach the goal", "become unsafe", "training")


@dataclass(frozen=True)
class Achieved:
    """Of so many runs, one from each start or from each of a sample, how many reach the goal or become unsafe."""

    runs: int
    arrived: int
    unsafe: int
    seconds: int


def load() -> dict[str, Achieved]:
    lines = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return {key: Achieved(**line) for key, line in lines.items()}


def save(key: str, line: Achieved) -> None:
    lines = {**load(), key: line}
    rows = [f"{json.dumps(name)}: {json.dumps(asdict(lines[name]))}" for name in sorted(lines)]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def _order(key: str) -> tuple[str, int, str, str, int]:
    name, flavour, width = key.split("_")
    kind, _, size = name.partition("-")
    return kind, int(size) if size.isdigit() else 0, name, flavour, int(width)


def rows() -> list[tuple[str, ...]]:
    """Instance by instance, smaller ones first."""
    return [_row(key, line) for key, line in sorted(load().items(), key=lambda entry: _order(entry[0]))]


def _row(key: str, line: Achieved) -> tuple[str, ...]:
    name, flavour, width = key.split("_")
    share = f"{line.arrived:,} ({100 * line.arrived / line.runs:.2f} %)"
    return name, flavour, f"2x{width}", f"{line.runs:,}", share, f"{line.unsafe:,}", f"{line.seconds} s"


if __name__ == "__main__":
    print(table(HEADER, rows()))
