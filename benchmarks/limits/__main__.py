"""How late do heavy commands end? `python -m benchmarks.limits [--limit S ...] [--memory GiB] [--only TEXT ...]`.

Seventy-four commands, each in a process of its own under `--timeout` 0.2, 1 and 5 s. The process is forked where
everything is loaded, and the time counts from there: what `--timeout` counts besides, loading the interpreter and
libraries, would use up small limits before any work begins. For each: seconds after the limit by the clock on the wall,
seconds of the processor after the limit, the most memory, and the verdict. A command is late if both are more than two
seconds (on a busy machine the first says how busy it is); with --memory, too large if it takes more than that and
ALLOWANCE.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.limits.entry import Heavy
from benchmarks.limits.heavy import heavy
from benchmarks.limits.watch import Watched, load_everything, watch
from benchmarks.measure import setting, table

LIMITS = (0.2, 1.0, 5.0)
LATE = 2.0  # seconds after its limit until a command has to end
ALLOWANCE = 0.15  # GiB beyond --memory: what one piece of work may take between two looks at the memory


def main() -> int:
    """Run them all and print a table; 1 if any is late or too large."""
    options = _arguments()
    load_everything()
    found: dict[str, list[Watched]] = {}
    faults = 0
    with tempfile.TemporaryDirectory() as temporary:
        chosen = [entry for entry in heavy(Path(temporary)) if _is_chosen(entry, options.only)]
        for entry, limit, ended in _runs(chosen, options):
            found.setdefault(entry.name, []).append(ended)
            fault = _fault(ended, options.memory if entry.memory else None)
            faults += bool(fault)
            print(f"{entry.name} at {limit:g} s: {_times(ended)}  {fault}", file=sys.stderr, flush=True)
            if options.verbose:
                print(ended.said, file=sys.stderr, flush=True)
    memory = f"--memory {options.memory:g}" if options.memory else "no limit of memory"
    runs = sum(map(len, found.values()))
    print(f"{setting()}; {memory}; {runs} runs, {faults} beyond their limits\n")
    columns = [f"after {limit:g} s" for limit in options.limit]
    print(table(["command", *columns, "peak", "verdict"], [_row(name, ended) for name, ended in found.items()]))
    return 1 if faults else 0


def _runs(entries: Sequence[Heavy], options: argparse.Namespace) -> Iterator[tuple[Heavy, float, Watched]]:
    """Each command at each limit; one of several questions has so many times the limit."""
    for entry in entries:
        for limit in options.limit:
            asked = [*entry.arguments, "--timeout", str(limit)]
            asked += ["--memory", str(options.memory)] if options.memory and entry.memory else []
            yield entry, limit, watch(asked, limit * entry.questions)


def _fault(ended: Watched, memory: float | None) -> str:
    if ended.code not in (0, 5, 10):
        return f"exit {ended.code}"
    if min(ended.late, ended.worked) > LATE:
        return "late"
    return "large" if memory and ended.gib > memory + ALLOWANCE else ""


def _row(name: str, ended: Sequence[Watched]) -> Sequence[str]:
    return name, *map(_times, ended), f"{max(one.gib for one in ended):.2f} GiB", ended[-1].verdict


def _times(ended: Watched) -> str:
    """Seconds after the limit, and in brackets those of the processor; nothing if it ended before."""
    return f"{ended.late:.1f} s ({ended.worked:.1f})" if ended.late > 0 else "before"


def _is_chosen(entry: Heavy, texts: Sequence[str] | None) -> bool:
    return not texts or any(text in entry.name for text in texts)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, nargs="+", default=LIMITS, metavar="S", help="seconds (0.2, 1 and 5)")
    parser.add_argument("--memory", type=float, metavar="GiB", help="with --memory, too")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="commands with one of these texts in their names")
    parser.add_argument("--verbose", action="store_true", help="what the commands say")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
