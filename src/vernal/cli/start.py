"""Where the program starts: an interrupt while modules are loaded is one word, no traceback."""

from __future__ import annotations

import sys


def main() -> int:
    """Load the command line and run it."""
    try:
        from vernal.cli.main import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return run()
