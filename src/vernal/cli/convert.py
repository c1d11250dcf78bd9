"""`vernal convert`: a network or a hybrid automaton from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vernal.cli import exits
from vernal.cli.options import Timeout, option
from vernal.cli.time_limit import finished, time_for

if TYPE_CHECKING:
    from vernal.formats.convert import Conversion
    from vernal.formats.flow_export import AutomatonExport, NetworkExport

TASK = ".toml"
EXAMPLES = """\b
Examples:
  vernal convert policy.nnet policy.onnx
  vernal convert policy.h5 policy.onnx
  vernal convert model.zip policy.onnx --normalise vecnormalize.pkl
  vernal convert actor_critic.onnx policy.onnx --output scores
  vernal convert jet.toml jet.xml
  vernal convert jet.toml network.onnx
  vernal convert jet.xml jet.json

\b
Exit code: 0, 2 on bad input, 5 when --timeout was over before, or when the certified error is larger than the task's
[abstraction] asks (OUT is written all the same). OUT is written whole or not at all.
"""


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="The network, task or automaton to read.", show_default=False)
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.", show_default=False)],
    normalise: Annotated[
        Path | None, option("--normalise FILE", "Statistics saved by VecNormalize, for a policy of stable-baselines3.")
    ] = None,
    output: Annotated[
        str | None, option("--output NAME", "The one to keep of several outputs of an ONNX graph.")
    ] = None,
    property_name: Annotated[
        str | None, option("--property NAME", "The property that the configuration beside an .xml asks.")
    ] = None,
    timeout: Timeout = None,
) -> None:
    """Convert a network or a hybrid automaton, read it back and compare; the suffixes say the formats.

    A task in continuous time becomes the automaton of a neural abstraction of its flow, as .xml (a SpaceEx model, with
    the question in a .cfg beside it) or as .json; or, as .onnx or .nnet, the network of that abstraction.
    """
    from vernal.cli.stream import refuse_overwriting, say, show, writable
    from vernal.formats.convert import Conversion
    from vernal.formats.convert import convert as write
    from vernal.formats.flow_export import export, export_network, is_automaton

    budget = time_for(timeout)
    writable(target)
    refuse_overwriting([source, *([] if normalise is None else [normalise])], [target, *_beside(target)])

    def made() -> Conversion | AutomatonExport | NetworkExport:
        if is_automaton(target):
            _refuse("--normalise and --output are about networks", normalise, output)
            return export(source, target, property_name=property_name, tick=budget.check)
        _refuse("--property is about hybrid automata (.xml, .json)", property_name)
        if source.suffix.lower() == TASK:
            _refuse("--normalise and --output are about files of networks", normalise, output)
            return export_network(source, target, tick=budget.check)
        return write(source, target, normalise=normalise, output=output, tick=budget.check)

    done = finished(made, budget, f"{target} was written and compared")
    show(str(done))
    for note in done.notes:
        show(f"note: {note}")
    if not isinstance(done, Conversion) and done.missed is not None:
        say(done.missed)
        raise typer.Exit(exits.UNDECIDED)


def _beside(target: Path) -> list[Path]:
    """What is written beside a SpaceEx model."""
    return [target.with_suffix(".cfg")] if target.suffix.lower() == ".xml" else []


def _refuse(why: str, *options: object) -> None:
    from vernal.errors import InputError

    if any(option is not None for option in options):
        raise InputError(why)
