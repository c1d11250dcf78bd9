"""`python -m vernal` is the command line."""

from __future__ import annotations

import sys

from vernal.cli.start import main

if __name__ == "__main__":
    sys.exit(main())
