"""When the process started: `--timeout` counts what the user waits for, interpreter start-up and imports included."""

from __future__ import annotations

import os
import time
from contextvars import ContextVar
from pathlib import Path

_imported = time.monotonic()
invoked: ContextVar[float] = ContextVar("invoked")  # on the monotonic clock: when the command was given


def process_start() -> float:
    """The start of this process on the monotonic clock; where the system does not say, the start of our imports."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        born = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - born
    except (OSError, ValueError, IndexError, AttributeError):
        return _imported
    return min(_imported, time.monotonic() - age)


def started() -> float:
    """When the running command was given."""
    return invoked.get(_imported)
