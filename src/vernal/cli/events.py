"""Progress of many cells: in one line for people, and as lines of JSON for programs."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TextIO

from vernal.run.budget import Progress

STDOUT = "-"


@dataclass
class Events:
    """A callback for progress that knows how many cells there are: it adds the rate, and what is left."""

    live: Progress
    cells: int
    file: str | None = None  # of lines of JSON; `-` is stdout
    began: float = field(default_factory=time.monotonic)
    _stream: TextIO | None = None

    def __enter__(self) -> Events:
        if self.file is not None:
            self._stream = sys.stdout if self.file == STDOUT else Path(self.file).open("w", encoding="utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._stream is not None and self.file != STDOUT:
            self._stream.close()

    def __call__(self, message: str, fraction: float | None) -> None:
        done = fraction or 0.0
        seconds = time.monotonic() - self.began
        rate = done * self.cells / seconds if seconds > 0 else 0.0
        left = (1 - done) * self.cells / rate if rate > 0 else None
        estimate = "" if left is None else f", about {left:.0f} s left"
        self.live(
            f"{round(done * self.cells)} of {self.cells} cells, {rate:.3g} a second{estimate}; {message}", fraction
        )
        if self._stream is not None:
            said = {"event": "progress", "at": message, "cells": round(done * self.cells), "of": self.cells}
            numbers = {"seconds": round(seconds, 3), "cells_per_second": round(rate, 3)}
            estimated = None if left is None else round(left, 3)
            print(json.dumps({**said, **numbers, "seconds_left": estimated}), file=self._stream, flush=True)
