"""`vernal work`: answer what waits in a folder of jobs, on any machine that sees it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vernal.cli.options import Quiet, option
from vernal.cli.progress import Live
from vernal.cli.stream import say
from vernal.errors import FileMissing, InputError

if TYPE_CHECKING:
    from vernal.run.job_folder import JobFolder

EXAMPLES = """\b
Examples:
  vernal sweep vcas.toml --over v0=-30..-10..0.01 --on dir:jobs      on one machine
  vernal work jobs                                                   on any others that see the folder

\b
A worker reads sub-problems, which are plain data with hashes, and no other file; it refuses what another version of
Vernal has written. It ends with the run that asks, or after --idle seconds without work.
Exit code: 0 at the end of the run, 2 on a folder that is none, 130 or 143 when interrupted (its work is given back).
"""
WAIT = 0.2  # seconds between two looks for a folder that is not there yet


def work(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of jobs.", show_default=False)],
    idle: Annotated[float, option("--idle S", "End after so many seconds without work.")] = 600.0,
    quiet: Quiet = False,
) -> None:
    """Answer the sub-problems of a run with --on dir:FOLDER."""
    from vernal.queries import cells
    from vernal.queries.maps import map_jobs
    from vernal.run.folder_worker import FolderWorker

    if not 0 <= idle < float("inf"):
        raise InputError(f"--idle has to be a number of seconds, not {idle:g}")
    joined = _joined(folder, idle)
    with Live("work", quiet=quiet) as live:
        done = FolderWorker(joined, (*cells.FUNCTIONS, *map_jobs.FUNCTIONS), idle, live).go()
    if not quiet:
        say(f"{done} sub-problems answered")


def _joined(path: Path, idle: float) -> JobFolder:
    """The folder, as soon as it is there: workers may be started before the run."""
    from vernal.run.job_folder import JobFolder

    until = time.monotonic() + idle
    while True:
        try:
            return JobFolder.join(path)
        except FileMissing:
            if time.monotonic() >= until:
                raise
            time.sleep(WAIT)
