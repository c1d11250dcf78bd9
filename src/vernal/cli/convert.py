"""`vernal convert`: a network from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  vernal convert policy.nnet policy.onnx
  vernal convert policy.h5 policy.onnx
  vernal convert model.zip policy.onnx --normalise vecnormalize.pkl
  vernal convert actor_critic.onnx policy.onnx --output scores
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("convert", short_help="Convert a network to another format.", epilog=EXAMPLES)(convert)


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The network to read.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.", show_default=False)],
    normalise: Annotated[
        Path | None,
        typer.Option(
            "--normalise", metavar="FILE", help="Statistics saved by VecNormalize, for a policy of stable-baselines3."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="NAME", help="The one to keep of several outputs of an ONNX graph."),
    ] = None,
) -> None:
    """Convert a network, read it back and compare; the suffixes say the formats."""
    from vernal.cli.stream import refuse_overwriting, show, writable
    from vernal.formats.convert import convert as write

    writable(target)
    refuse_overwriting([source, *([] if normalise is None else [normalise])], [target])
    done = write(source, target, normalise=normalise, output=output)
    show(str(done))
    for note in done.notes:
        show(f"note: {note}")
