"""`python -m benchmarks.certificates`: what `auto` proves of families of tasks, checked again by `vernal-check`.

Families are `tasks` (examples, endless systems, flows, plants), `truth` (the table of ground truth), `vcas`, `lander`,
`spread` and `pendulum` (published claims). Every property that holds is asked without and with a certificate, and the
certificate is given to `vernal-check`. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import vernal as vn
from tests.cases import CASES, HEAD
from tests.recurrent import recurrent_networks
from vernal.formats.onnx.writer import write_onnx
from vernal_check.main import main as vernal_check

ROOT = Path(__file__).parents[2]
FAMILIES = ("tasks", "truth", "vcas", "lander", "spread", "pendulum")
SHOWN = 60  # characters of a reason
EXITS = {0: "accepted", 1: "rejected", 5: "not checked"}


@dataclass(frozen=True)
class Row:
    """One claim that holds."""

    task: str
    claim: str
    engine: str
    solving: float  # seconds without a certificate
    writing: float  # seconds with one
    checking: float
    size: int  # bytes of the certificate
    sets: int
    outcome: str  # accepted, rejected, not checked, or uncertified
    why: str

    def __str__(self) -> str:
        costs = f"{self.solving:7.2f} {self.writing:7.2f} {self.checking:7.2f} {self.size:8,} {self.sets:7,}"
        return f"{self.task:12} {self.claim:14} {self.engine:11} {costs}  {self.outcome:11} {self.why[:SHOWN]}"


@dataclass(frozen=True)
class Given:
    """A task of the table: its file, and what is said besides of a planning model."""

    file: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def task(self) -> vn.Task:
        return vn.load_jani(self.file, **self.options) if self.options else vn.load(self.file, **self.parameters)

    @property
    def name(self) -> str:
        return " ".join([self.file.stem, *(f"{value}" for value in self.parameters.values())])


def plan(name: str, policy: str, **constants: int) -> Given:
    folder = ROOT / "examples" / name
    file = next(one for one in folder.glob("*.jani") if one.name != "safe.jani")
    named = {"policy": folder / f"{policy}.jani2nnet", "property": f"{folder / 'safe.jani'}#0"}
    return Given(file, {**named, "constants": constants})


def tasks() -> list[Given]:
    """The tasks of the table."""
    folders = ("forever/systems", "neural-abstractions", "plants")
    named = [file for folder in folders for file in (ROOT / "benchmarks" / folder).glob("*.toml")]
    named += (ROOT / "examples").glob("*/*.toml")
    return [*map(Given, sorted(named)), plan("lift", "turns", top=3), plan("blocksworld", "careful")]


def truths(folder: Path) -> Iterator[Given]:
    """What holds in the table of ground truth, as files."""
    holding = [case for case in CASES if case.expected is vn.HOLDS]
    for number, case in enumerate(holding):
        own = folder / str(number)
        own.mkdir()
        for name, network in recurrent_networks().items():
            if f'"{name}.onnx"' in case.model:
                write_onnx(network, own / f"{name}.onnx")
        (own / f"case{number}.toml").write_text(f'{HEAD}{case.model}[properties]\nclaim = "{case.formula}"\n')
        yield Given(own / f"case{number}.toml")


def published(family: str) -> Iterator[Given]:
    """The claims of a paper's family, with the parameters of its table."""
    folder = ROOT / "benchmarks" / family
    if family == "vcas":
        for v0, k in product((-19.5, -22.5, -25.5, -28.5), range(1, 13)):
            yield Given(folder / "vcas.toml", parameters={"v0": v0, "k": k})
    elif family == "lander":
        yield from (Given(folder / "lander.toml", parameters={"t": t}) for t in range(1, 11))
    elif family == "spread":
        for file, t in product(sorted(folder.glob("*.toml")), range(1, 6)):
            yield Given(file, parameters={"t": t})
    else:
        yield from map(Given, sorted(folder.glob("r*.toml")))


def given_of(family: str, folder: Path) -> Iterator[Given]:
    return iter(tasks()) if family == "tasks" else truths(folder) if family == "truth" else published(family)


def timed(given: Given, name: str, seconds: float, certificate: bool) -> tuple[vn.Result, float]:
    started = time.process_time()
    result = vn.check(given.task(), property=name, timeout=seconds, certificate=certificate)[name]
    return result, time.process_time() - started


def rows(given: Given, seconds: float) -> Iterator[Row]:
    """A row for each property of a task that holds."""
    file_name = given.name
    for name in given.task().properties:
        plain, solving = timed(given, name, seconds, certificate=False)
        if plain.verdict is not vn.HOLDS:
            continue
        result, writing = timed(given, name, seconds, certificate=True)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "claim.certificate"
            if result.certificate is None:
                costs = (solving, writing, 0.0, 0, 0)
                yield Row(
                    file_name, name, result.engine, *costs, "uncertified", result.uncertified or str(result.reason)
                )
                continue
            result.certificate.save(file)
            said, started = io.StringIO(), time.process_time()
            with contextlib.redirect_stdout(said):
                code = vernal_check([str(file), "--task", str(given.file), "--timeout", str(10 * seconds)])
            costs = (solving, writing, time.process_time() - started, file.stat().st_size, len(result.cover.sets))
            why = "" if code == 0 else said.getvalue().strip()
            yield Row(file_name, name, result.engine, *costs, EXITS[code], why)


def table(found: list[Row]) -> str:
    """By engine, how many claims are certified, and what it costs in the median."""
    lines = [f"{'engine':12} {'holds':>5} {'accepted':>8}"]
    holds, accepted = Counter(r.engine for r in found), Counter(r.engine for r in found if r.outcome == "accepted")
    lines += [f"{engine:12} {count:5} {accepted[engine]:8}" for engine, count in holds.most_common()]
    good = [row for row in found if row.outcome == "accepted"]
    lines.append(f"{'all':12} {len(found):5} {len(good):8}")
    if good:
        writing = median(row.writing / max(row.solving, 1e-3) for row in good)
        checking = median(row.checking / max(row.solving, 1e-3) for row in good)
        worst = max(row.checking / max(row.solving, 1e-3) for row in good)
        size = median(row.size / max(row.sets, 1) for row in good)
        lines.append(f"with a certificate / without, median {writing:.2f}")
        lines.append(f"checking / solving, median {checking:.2f}, worst {worst:.1f}; bytes a set, median {size:.0f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each claim")
    parser.add_argument("--only", help="tasks whose path has this text")
    parser.add_argument("--family", choices=FAMILIES, default="tasks")
    options = parser.parse_args()
    head = (
        f"{'task':12} {'claim':14} {'engine':11} {'solve s':>7} {'write s':>7} {'check s':>7} {'bytes':>8} {'sets':>7}"
    )
    print(head)
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for task in given_of(options.family, Path(folder)):
            if options.only is None or options.only in str(task.file):
                for row in rows(task, options.seconds):
                    print(row, flush=True)
                    found.append(row)
    print(table(found))


if __name__ == "__main__":
    main()
