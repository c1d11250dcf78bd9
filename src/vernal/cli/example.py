"""`vernal example`: the examples that come with the package, written to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vernal.cli.options import option

EXAMPLES = """\b
Examples:
  vernal example                          list them
  vernal example vcas                     write examples/vcas
  vernal example all                      write every one, as the documentation uses them
  vernal example thermostat demo          write demo/thermostat
"""


def _names() -> list[str]:
    from vernal.worlds.examples import ALL, shipped

    return [*(item.name for item in shipped()), ALL]


def example(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Which example; `all` are all of them.", show_default=False, autocompletion=_names
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder below which a folder NAME is written.")
    ] = Path("examples"),
    force: Annotated[bool, option("--force", "Overwrite files that differ from the example's.")] = False,
) -> None:
    """List the examples that come with Vernal, or write one: its task, its networks and a README that explains it."""
    from vernal.cli.stream import show
    from vernal.report.tables import Column, aligned
    from vernal.worlds.examples import find, shipped, write

    if name is None:
        known = shipped()
        names, lines = [item.name for item in known], [item.about for item in known]
        show(aligned([Column("example", names, left=True), Column("what it is", lines, left=True)]))
        return
    for item in find(name):
        files = write(item, folder, force=force)
        show(f"{folder / item.name}: {', '.join(file.name for file in files)}")
