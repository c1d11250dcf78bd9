"""Live progress on stderr: a spinner or a bar, only for a person who is watching and only if it takes a while."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING

from vernal.printable import in_one_line, shortened

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY = 0.5  # seconds before anything is shown
MAX_WORDS = 80  # characters


class Live:
    """A context that is also the progress callback of a budget; silent in a pipe and where asked to be."""

    def __init__(self, title: str, *, quiet: bool = False) -> None:
        self.title = _brief(title)
        self.message = ""
        self.fraction: float | None = None
        self.watched = not quiet and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._row: TaskID | None = None
        self._timer: threading.Timer | None = None

    def __call__(self, message: str, fraction: float | None) -> None:
        """What is going on, and how much of it is done."""
        if not self.watched:
            return
        self.message, self.fraction = _brief(message), fraction
        if self._bar is not None:
            self._update()

    def __enter__(self) -> Live:
        if self.watched:
            self._timer = threading.Timer(DELAY, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            self._timer = None
            if self._bar is not None:
                self._bar.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._timer is None:  # it has ended meanwhile
                return
            text = TextColumn("{task.fields[title]}  {task.description}", markup=False)
            columns = (SpinnerColumn(), text, BarColumn(bar_width=24), TimeElapsedColumn())
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._row = bar.add_task(self.message, total=None, title=self.title)
            bar.start()
            self._bar = bar
        self._update()

    def _update(self) -> None:
        if self._bar is None or self._row is None:
            return
        total = None if self.fraction is None else 1.0
        self._bar.update(self._row, description=self.message, total=total, completed=self.fraction or 0.0)


def _brief(text: str) -> str:
    """Names from files, in one line of a terminal."""
    return shortened(in_one_line(text), MAX_WORDS)
