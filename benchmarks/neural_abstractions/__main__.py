"""Neural abstractions, measured: `python -m benchmarks.neural_abstractions [--seeds N] [--widths] [--growth]`.

Prints Table 1 of the NeurIPS 2022 paper beside ours, and what our engine without abstraction says; then variants of the
models that are not safe, which nobody may call safe. `--seeds 10` adds success, time and error over seeds, `--widths`
the error over the size of the network beside the published ones (needs VERNAL_DATA), `--growth` engines in a row in
2, 4 and 6 dimensions. Ends with 1 if anything is wrong, or one of the models is not proven.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import setting
from benchmarks.neural_abstractions import tables
from benchmarks.neural_abstractions.models import CHAIN, NAMES, Model, SizeRow, chosen, size_rows
from benchmarks.neural_abstractions.outcome import Outcome, ask

ABSTRACTION, DIRECT, AUTO = "abstraction", "flowpipe", "auto"
ENGINES = (AUTO, ABSTRACTION, DIRECT)
FACTS = Path("neural_abstractions") / "benchmarks.yaml"
SIZE_SEEDS = 3


@dataclass(frozen=True)
class Wanted:
    """What the command was asked for."""

    models: Sequence[Model]
    cap: float
    seeds: int
    widths: bool
    growth: bool
    unsafe_by: Sequence[str]  # engines that are asked for the variants that are not safe


def options(arguments: Sequence[str] | None) -> Wanted:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neural_abstractions", description="Table 1, and ours")
    parser.add_argument("--models", nargs="+", default=NAMES, choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--cap", type=float, default=60, metavar="S", help="CPU seconds for a question (60)")
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="also every model with N seeds")
    parser.add_argument("--widths", action="store_true", help="also the error over the size of the network")
    parser.add_argument("--growth", action="store_true", help="also engines in a row in 2, 4 and 6 dimensions")
    parser.add_argument(
        "--unsafe-by", nargs="*", default=ENGINES, metavar="NAME", help="who is asked for variants that are not safe"
    )
    given = parser.parse_args(arguments)
    return Wanted(chosen(given.models), given.cap, given.seeds, given.widths, given.growth, given.unsafe_by)


def each(models: Sequence[Model], engine: str, cap: float) -> dict[str, Outcome]:
    """All models by one engine."""
    return {model.name: ask(model.file, engine, cap) for model in models}


def over_seeds(models: Sequence[Model], seeds: int, cap: float) -> dict[str, list[Outcome]]:
    """All models by the abstraction, with several seeds."""
    return {model.name: [ask(model.file, ABSTRACTION, cap, seed=seed) for seed in range(seeds)] for model in models}


def over_sizes(rows: Sequence[SizeRow], models: Sequence[Model], cap: float) -> list[list[Outcome]]:
    """The sizes of networks that were published, each with some seeds."""
    files = {model.name: model.file for model in models}
    return [
        [ask(files[row.model], ABSTRACTION, cap, widths=row.widths, seed=seed) for seed in range(SIZE_SEEDS)]
        for row in rows
    ]


def variants(models: Sequence[Model], engines: Sequence[str], cap: float) -> dict[str, Mapping[str, Outcome]]:
    """Every unsafe variant by some engines."""
    return {
        model.name: {name: ask(model.file, name, cap, parameters=model.unsafe) for name in engines} for model in models
    }


def published_sizes(models: Sequence[Model]) -> list[SizeRow]:
    """The published rows of the models that were asked for."""
    data = os.environ.get("VERNAL_DATA")
    if not data:
        raise SystemExit("--widths needs the published numbers: set VERNAL_DATA")
    names = {model.name for model in models}
    return [row for row in size_rows(Path(data) / FACTS) if row.model in names]


def main(arguments: Sequence[str] | None = None) -> int:
    wanted = options(arguments)
    ask(chosen(["watertank"])[0].file, AUTO, 5)  # what is loaded once is nobody's time
    print(f"{setting()}, at most {wanted.cap:g} s a question\n\n{tables.LEGEND}\n", flush=True)
    ours = each(wanted.models, ABSTRACTION, wanted.cap)
    print(tables.table_one(wanted.models, ours, each(wanted.models, DIRECT, wanted.cap)), "\n", flush=True)
    wrong = [f"NOT PROVEN: {name}: {one.reason}" for name, one in ours.items() if one.verdict != "holds"]
    if wanted.unsafe_by:
        found = variants(wanted.models, wanted.unsafe_by, wanted.cap)
        print(tables.unsafe_table(found), "\n", flush=True)
        wrong += tables.mistakes(found)
    if wanted.seeds:
        print(tables.seeds_table(over_seeds(wanted.models, wanted.seeds, wanted.cap)), "\n", flush=True)
    if wanted.widths:
        rows = published_sizes(wanted.models)
        print(tables.sizes_table(rows, over_sizes(rows, wanted.models, wanted.cap)), "\n", flush=True)
    if wanted.growth:
        print(tables.growth_table(grown(wanted.cap)), "\n", flush=True)
    print("\n".join(wrong) or "all are proven, and no unsafe variant is called safe")
    return 1 if wrong else 0


def grown(cap: float) -> list[tuple[int, dict[str, Outcome]]]:
    """Engines in a row, by each of our engines."""
    return [(2 * k, {name: ask(one.file, name, cap) for name in ENGINES}) for k, one in enumerate(CHAIN, start=1)]


if __name__ == "__main__":
    sys.exit(main())
