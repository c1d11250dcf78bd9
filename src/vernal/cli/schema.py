"""`vernal schema`: the JSON Schema of what Vernal writes and reads."""

from __future__ import annotations

from typing import Annotated

import typer


def schema(
    document: Annotated[
        str,
        typer.Argument(
            metavar="[result|sweep|map|reach|faults|trace|certificate|task|automaton]",
            help="Which document.",
            show_default=False,
            autocompletion=lambda: [
                "result",
                "sweep",
                "map",
                "reach",
                "faults",
                "trace",
                "certificate",
                "task",
                "automaton",
            ],
        ),
    ] = "result",
) -> None:
    """Print the JSON Schema of results, sweeps, maps, reach's sets, faults, traces, certificates, tasks or automata."""
    from vernal.errors import NameUnknown, nearest
    from vernal.report.document import SCHEMAS, dump
    from vernal.report.document import schema as of

    if document not in SCHEMAS:
        raise NameUnknown(f"there is no schema {document!r}{nearest(document, SCHEMAS)}")
    typer.echo(dump(of(document)), nl=False)
