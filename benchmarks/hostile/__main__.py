"""Attack Vernal for some minutes: `python -m benchmarks.hostile [--seconds N] [--seed N] [--only FAMILY ...]`.

Every attack is a command in a process of its own, made from the seed and its number, so that one can be repeated:
`--only tasks --number 1234 --keep FOLDER` runs that one alone and keeps its files. An attack fails where a command ends
with an internal error, a traceback or a signal, later than two seconds after its limit, with more than 1.5 GiB, with
control characters on the terminal, where a changed trace or journal changes an answer, where forged evidence is
accepted that is false or forces nothing, or where a report is not whole. `python -m benchmarks.hostile.files` reads
many more files, without the commands around them.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.hostile.attacks import FAMILIES
from benchmarks.hostile.seeds import plant
from benchmarks.hostile.siege import Siege
from benchmarks.limits.watch import load_everything

SHOWN = 20  # faults that are printed


def main() -> int:
    """Attack until the time is up, then print tried and failed."""
    options = _arguments()
    load_everything()
    names = [name for name in options.only or FAMILIES for _ in range(FAMILIES[name][1])]
    tried, failed, faults = Counter[str](), Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as temporary:
        siege = _siege(options.keep or Path(temporary), options.slack)
        ends = time.monotonic() + options.seconds
        numbers = [options.number] if options.number is not None else range(sys.maxsize)
        for number in numbers:
            name = names[number % len(names)]
            fault = FAMILIES[name][0](siege, random.Random(f"{options.seed} {number}"))
            tried[name] += 1
            if fault:
                failed[name] += 1
                faults.append(f"{name} {number}: {fault}")
                print(faults[-1], file=sys.stderr, flush=True)
            if time.monotonic() > ends:
                break
    _table(tried, failed, options.seed)
    return 1 if faults else 0


def _siege(folder: Path, slack: float) -> Siege:
    seeds, work = folder / "seeds", folder / "work"
    for made in (seeds, work):
        made.mkdir(parents=True, exist_ok=True)
    return Siege(plant(seeds), work, slack)


def _table(tried: Counter[str], failed: Counter[str], seed: int) -> None:
    print(f"seed {seed}\n{'attack':<14} {'tried':>8} {'failed':>8}")
    for name in FAMILIES:
        if tried[name]:
            print(f"{name:<14} {tried[name]:>8,} {failed[name]:>8,}")
    print(f"{'all':<14} {tried.total():>8,} {failed.total():>8,}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600, help="how long (600)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=list(FAMILIES), metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--number", type=int, help="this attack alone, with the same seed and families")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the files of the attacks there")
    parser.add_argument("--slack", type=float, default=1.0, help="how many times slower a busy machine may be")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
