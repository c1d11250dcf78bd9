"""`vernal` with a shorter lease: `python -m benchmarks.chaos.driver LEASE ARGUMENTS...`."""

from __future__ import annotations

import sys
from functools import partial

from vernal.cli.main import main
from vernal.run import folder_executor

if __name__ == "__main__":
    folder_executor.serving = partial(folder_executor.serving, lease=float(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
