"""Is a flowpipe, a certified error or an enclosure ever wrong? `python -m benchmarks.never_wrong_pipes [--seconds S]`.

What proofs about flows rest on is attacked by itself, on random flows with kinks, roots, steep fields and disturbances
that depend on the state (tests/hostile_flows.py), and on the automata of random networks, in which many regions meet in
one point: trajectories under extreme disturbances have to stay in flowpipes and enclosures, and errors at many points
below what is certified (tests/pipe_attacks.py). Prints a table, and ends with 1 if anything was wrong; what fails is as
wrong as what lies.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.measure import table
from tests.checked_runs import Contradicted
from tests.pipe_attacks import ATTACKS, within
from vernal.errors import Stopped


@dataclass
class Attacked:
    """What came of one kind of attack."""

    tried: int = 0
    claims: int = 0
    stopped: int = 0
    wrong: int = 0


def attacked(name: str, first: int, seconds: float, each: float) -> Attacked:
    """One attack after the other, from a seed on."""
    made, last = Attacked(), time.monotonic() + seconds
    while time.monotonic() < last:
        seed = first + made.tried
        made.tried += 1
        try:
            made.claims += ATTACKS[name](seed, within(each))
        except Stopped:
            made.stopped += 1
        except Contradicted as problem:
            made.wrong += 1
            print(f"WRONG {name}, seed {seed}: {problem}", flush=True)
        except Exception:
            made.wrong += 1
            print(f"FAILED {name}, seed {seed}\n{traceback.format_exc()}", flush=True)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack, and print; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.never_wrong_pipes", description="Random attacks")
    parser.add_argument("--seconds", type=float, default=60, metavar="S", help="for each kind of attack (default 60)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first; the others follow")
    parser.add_argument("--timeout", type=float, default=3, metavar="S", help="for each claim (default 3)")
    parser.add_argument("--attacks", nargs="+", default=list(ATTACKS), metavar="NAME", help=", ".join(ATTACKS))
    given = parser.parse_args(arguments)
    found = {name: attacked(name, given.seed, given.seconds, given.timeout) for name in given.attacks}
    rows = [[name, *map(str, (one.tried, one.claims, one.stopped, one.wrong))] for name, one in found.items()]
    print(f"from seed {given.seed} on\n\n{table(('attack', 'tried', 'claims', 'out of time', 'wrong'), rows)}")
    return 1 if any(one.wrong for one in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
