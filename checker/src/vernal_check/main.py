"""`vernal-check FILE`: accepted (exit 0), rejected (exit 1), or what could not be checked (exit 5)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from vernal_check import clock
from vernal_check.check import check
from vernal_check.errors import Rejected, Unreadable, Unshown

ACCEPTED, REJECTED, UNCHECKED, BAD_INPUT = 0, 1, 5, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Check certificates; the exit code of the worst of them."""
    parser = argparse.ArgumentParser(prog="vernal-check", description="Check certificates of vernal check.")
    parser.add_argument("file", type=Path, nargs="+", help="a certificate")
    parser.add_argument("--task", type=Path, help="the task file, where it is not the one that the certificate names")
    parser.add_argument("--timeout", type=float, help="seconds for each certificate")
    parser.add_argument(
        "--trust-graph", action="store_true", help="end with 0 where the certificate brings the graph of its task"
    )
    options = parser.parse_args(arguments)
    if options.timeout is not None and not options.timeout > 0:
        parser.error("--timeout has to be above 0")
    sys.setrecursionlimit(20_000)
    codes = [one(file, options.task, options.timeout, options.trust_graph) for file in options.file]
    return REJECTED if REJECTED in codes else UNCHECKED if UNCHECKED in codes else ACCEPTED


def one(file: Path, task: Path | None, timeout: float | None, trust_graph: bool = False) -> int:
    clock.limit(timeout)
    try:
        found = check(file, task)
        say(found)
        return UNCHECKED if getattr(found, "of_graph", False) and not trust_graph else ACCEPTED
    except Unshown as why:
        say(f"could not be checked  {why}")
        return UNCHECKED
    except Rejected as why:
        say(f"rejected  {why}")
        return REJECTED
    except Unreadable as why:
        say(f"could not be checked  {why}")
        return UNCHECKED
    except (RecursionError, MemoryError, OverflowError) as error:
        say(f"could not be checked  it is too large ({type(error).__name__})")
        return UNCHECKED
    except Exception as error:  # a mistake of this program is no verdict
        say(f"could not be checked  this program failed ({type(error).__name__}); please report it")
        return UNCHECKED
    except KeyboardInterrupt:
        say("could not be checked  interrupted")
        return UNCHECKED
    finally:
        clock.limit(None)


def say(text: object) -> None:
    """Print; whoever reads may have gone away, and then the exit code is what is said."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
