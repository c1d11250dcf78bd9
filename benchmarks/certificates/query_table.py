"""`python -m benchmarks.certificates.query_table [FOLDER ...]`: network queries that are unsat, checked again.

A FOLDER has a list of network queries (`benchmarks.queries`); without one, our own sets are asked. Every query is
answered without and with a certificate, which is given to `vernal-check`. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.queries.__main__ import SUITES
from benchmarks.queries.instances import Instance, read_list
from benchmarks.queries.questions import read_questions, write
from vernal.queries.answer import Answer, QueryStatus
from vernal.queries.files import answer_files
from vernal.queries.query_certificate import QueryCertificate
from vernal.run.budget import Budget
from vernal_check.main import main as vernal_check

EXITS = {0: "accepted", 1: "rejected", 5: "not checked"}


@dataclass(frozen=True)
class Row:
    """A query without a solution."""

    suite: str
    name: str
    solving: float
    writing: float
    checking: float
    leaves: int
    size: int  # bytes of the certificate
    outcome: str

    def __str__(self) -> str:
        costs = f"{self.solving:7.2f} {self.writing:7.2f} {self.checking:7.2f} {self.leaves:7,} {self.size:9,}"
        return f"{self.suite:12} {self.name:28} {costs}  {self.outcome}"


def answered(one: Instance, seconds: float, certificate: bool) -> tuple[Answer, float]:
    began = time.process_time()
    budget = Budget(timeout=seconds, keeps_sets=certificate)
    return answer_files(one.query, lambda _: one.network, budget).answer, time.process_time() - began


def row(one: Instance, seconds: float) -> Row | None:
    """What becomes of a query; None where it is not unsat, or not within the time."""
    plain, solving = answered(one, seconds, certificate=False)
    if plain.status is not QueryStatus.UNSAT:
        return None
    answer, writing = answered(one, seconds, certificate=True)
    name, suite = f"{one.query.stem} {one.network.stem[-14:]}", one.query.parent.name
    if answer.trees is None:
        return Row(suite, name, solving, writing, 0.0, 0, 0, answer.status.value)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "query.certificate"
        QueryCertificate(one.query, one.network, answer.trees).save(file)
        began = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            code = vernal_check([str(file), "--task", str(one.query), "--timeout", str(10 * seconds)])
        checking, size = time.process_time() - began, file.stat().st_size
    leaves = sum(item is None or isinstance(item, list) for tree in answer.trees for item in tree)
    return Row(suite, name, solving, writing, checking, leaves, size, EXITS[code])


def table(rows: Sequence[Row]) -> str:
    """By set, how many are certified, and what it costs."""
    unsat, good = Counter(one.suite for one in rows), [one for one in rows if one.outcome == "accepted"]
    accepted = Counter(one.suite for one in good)
    lines = [f"{'set':12} {'unsat':>5} {'accepted':>8}"]
    lines += [f"{suite:12} {count:5} {accepted[suite]:8}" for suite, count in [*unsat.items()]]
    lines.append(f"{'all':12} {len(rows):5} {len(good):8}")
    if good:
        writing = [one.writing / max(one.solving, 0.01) for one in good]
        checking = [one.checking / max(one.solving, 0.01) for one in good]
        size = [one.size / one.leaves for one in good]
        lines.append(f"with a certificate / without: median {median(writing):.2f}, worst {max(writing):.1f}")
        lines.append(f"checking / solving: median {median(checking):.2f}, worst {max(checking):.1f}")
        lines.append(f"bytes a leaf: median {median(size):.0f}, worst {max(size):.0f}")
    return "\n".join(lines)


def instances(folders: Sequence[Path], scratch: Path) -> Iterator[Instance]:
    for folder in folders:
        yield from read_list(folder)
    for suite in () if folders else SUITES:
        yield from write([one for one in read_questions() if one.suite == suite], scratch / suite)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each query")
    options = parser.parse_args()
    found = list[Row]()
    with tempfile.TemporaryDirectory() as scratch:
        for one in instances(options.folders, Path(scratch)):
            if one.answer != "sat" and (made := row(one, options.seconds)) is not None:
                print(made, flush=True)
                found.append(made)
    print(table(found))


if __name__ == "__main__":
    main()
