"""What attacks have in common: files to start from, a folder to write into, and how a command is asked."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.hostile.attempt import Ended, run
from benchmarks.hostile.seeds import Seeds

Fault = str | None
Family = Callable[["Siege", random.Random], Fault]
LIMIT = 2.0  # seconds of an ordinary attack


@dataclass(frozen=True)
class Siege:
    """What attacks start from, where they write, and how slow the machine may be."""

    seeds: Seeds
    folder: Path
    slack: float

    def ask(self, command: Sequence[str], limit: float = LIMIT) -> tuple[Ended, Fault]:
        """A command under a limit, and what is wrong with its end."""
        ended = run([*command, "--timeout", str(limit)], limit, self.slack)
        return ended, ended.fault(limit, self.slack)
