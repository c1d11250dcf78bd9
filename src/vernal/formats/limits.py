"""How large a network may be that is read, and what is called while it is read."""

from __future__ import annotations

from dataclasses import dataclass

from vernal.errors import FormatError
from vernal.model.tick import Tick, idle

GIB = 2**30
FILE_SHARE = 8  # of the memory allowed, a file has one part in so many: it is decoded, and becomes doubles
ENTRY_BYTES = 32  # of one entry of a tensor: a double, and what bounds keep beside it


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The bytes of a file, and the entries of all tensors that reading it makes; `tick` may stop the reading."""

    bytes: int = 64 * 2**20  # sixteen million float32 weights
    entries: int = 2**25  # 256 MiB as doubles, so that a small file cannot ask for a large memory
    tick: Tick = idle


DEFAULT = ReadLimits()
REMEDY = "more than Vernal reads; --memory allows more"  # of a network


def limits_for(memory: float | None, tick: Tick = idle) -> ReadLimits:
    """The limits for so many GiB of memory: the usual ones, and beyond them what fits."""
    room = int((memory or 0) * GIB)
    return ReadLimits(max(DEFAULT.bytes, room // FILE_SHARE), max(DEFAULT.entries, room // ENTRY_BYTES), tick)


@dataclass(slots=True)
class Allowance:
    """What is left of the entries one file may make us compute; the clock is looked at whenever some are taken."""

    most: int = DEFAULT.entries
    tick: Tick = idle
    taken: int = 0

    def take(self, entries: int) -> None:
        self.tick()
        self.taken += entries
        if self.taken > self.most:
            raise FormatError(f"its tensors have more than {self.most} entries together, {REMEDY}")
