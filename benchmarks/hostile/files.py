"""Read many mutated files of every format: `python -m benchmarks.hostile.files [--files N] [--jobs N] [--formats ...]`.

Files are made from the seed and their numbers, format after format, and read in processes that each take a batch: task
files, networks, saved policies, queries, planning models, automata, evidence (also with hashes that fit), journals,
formulas. One that ends with anything but a message of Vernal, a warning included, counts as crashed, and so does one
that ends its process; one that takes longer than ten seconds of the processor counts as hung. `--number N` reads the
file with that number alone, here, and shows how it fails; `--keep FOLDER` keeps the files that failed. Prints a table,
and ends with 1 if any file crashed or hung.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.hostile.format_seeds import plant_formats
from benchmarks.hostile.formats import formats
from benchmarks.hostile.seeds import plant
from benchmarks.hostile.volley import Fate, Volley, fire
from benchmarks.limits.watch import load_everything


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant, fire, and print; 1 if a file crashed or hung."""
    given = _parser().parse_args(arguments)
    load_everything()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        volley = prepared(Path(temporary), given.seed, given.formats or (), given.keep)
        if given.number is not None:
            return _alone(volley, given.number)
        gc.freeze()  # processes that are forked touch less
        fire(volley, range(given.files), given.jobs, began + given.seconds)
        print(f"seed {given.seed}, {time.monotonic() - began:.0f} s\n\n{volley.table()}")
    return 1 if volley.faults else 0


def prepared(folder: Path, seed: int = 0, names: Sequence[str] = (), keep: Path | None = None) -> Volley:
    """All formats with files to start from, planted below a folder."""
    seeds = folder / "seeds"
    seeds.mkdir()
    known = formats(plant_formats(folder / "formats", plant(seeds)))
    for name in names:
        if name not in known:
            raise SystemExit(f"no format {name!r}; there are: {', '.join(known)}")
    return Volley(known, seed, keep, list(names))


def _alone(volley: Volley, number: int) -> int:
    print(f"{volley.name(number)}, number {number}")
    shot = volley.read(number)
    print(f"{shot.fate} after {shot.seconds:.2f} s\n{shot.why}")
    return 0 if shot.fate in (Fate.REFUSED, Fate.READ) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile.files", description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=30_000, metavar="N", help="how many (default 30000)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at a time (default 2)")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), metavar="S", help="after which no more are begun"
    )
    parser.add_argument("--formats", nargs="+", metavar="NAME", help="these alone")
    parser.add_argument("--number", type=int, metavar="N", help="the file with this number alone, in this process")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the files that failed there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
