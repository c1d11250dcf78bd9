"""Where the program starts: an interrupt while modules are loaded is one word, no traceback."""

from __future__ import annotations

import gc
import sys
from io import TextIOWrapper

from vernal.evidence.program_version import version

OBJECTS_BETWEEN_COLLECTIONS = 50_000  # modules make more while they load, and none of it is garbage


def main() -> int:
    """Load the command line and run it."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what it cannot write, names of other scripts, say, it writes escaped
            stream.reconfigure(errors="backslashreplace")
    try:
        if sys.argv[1:] == ["--version"] and _said(version()):  # asked by scripts, often: at once
            return 0
        from vernal.cli.main import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    code = run()
    gc.freeze()  # the process ends: nobody looks through what it still holds
    return code


def _said(text: str) -> bool:
    """Whether a line was written; what is to be done where it cannot be, the command line knows."""
    try:
        print(text, flush=True)
    except (OSError, ValueError):
        return False
    return sys.stdout is not None
