"""`vernal supports`: which network queries are read, in the words of the VNN-LIB standard."""

from __future__ import annotations

from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  vernal supports                         all of it
  vernal supports --onnx-operators        one answer, one item a line

\b
The options are those of the VNN-LIB standard, https://www.vnnlib.org.
"""


def _flag(name: str, about: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(f"--{name}", help=about)
    return option


def supports(
    onnx_opset_versions: Annotated[bool, _flag("onnx-opset-versions", "Oldest and newest ONNX operator set.")] = False,
    onnx_element_types: Annotated[bool, _flag("onnx-element-types", "Element types of tensors.")] = False,
    onnx_operators: Annotated[bool, _flag("onnx-operators", "ONNX operators.")] = False,
    onnx_operators_refused: Annotated[
        bool, _flag("onnx-operators-refused", "ONNX operators that are not read, and why (no word of the standard).")
    ] = False,
    vnnlib_versions: Annotated[bool, _flag("vnnlib-versions", "Oldest and newest version of VNN-LIB.")] = False,
    hidden_node_theories: Annotated[bool, _flag("hidden-node-theories", "Hidden nodes.")] = False,
    multiple_input_output_theories: Annotated[
        bool, _flag("multiple-input-output-theories", "Several inputs and outputs.")
    ] = False,
    multiple_network_theories: Annotated[bool, _flag("multiple-network-theories", "Several networks.")] = False,
    multiple_node_comparison_theories: Annotated[
        bool, _flag("multiple-node-comparison-theories", "Comparisons of inputs with outputs.")
    ] = False,
    arithmetic_complexity_theories: Annotated[bool, _flag("arithmetic-complexity-theories", "Arithmetic.")] = False,
    optimised_disjunctive_reasoning: Annotated[
        bool, _flag("optimised-disjunctive-reasoning", "Whether `or` is more than a list of queries.")
    ] = False,
    serialise_assignments: Annotated[
        bool, _flag("serialise-assignments", "Whether assignments can be written as tensors.")
    ] = False,
    unsat_proofs: Annotated[bool, _flag("unsat-proofs", "Whether unsat comes with a proof.")] = False,
    network_formats: Annotated[
        bool, _flag("network-formats", "Suffixes of network files (no word of the standard).")
    ] = False,
) -> None:
    """Say which network queries `vernal verify` supports; without an option, everything under its name."""
    asked = {name.replace("_", "-") for name, wanted in locals().items() if wanted}
    known = capabilities()
    for name, items in known.items():
        if not asked:
            typer.echo(f"{name}: {' '.join(items)}")
        elif name in asked:
            typer.echo("\n".join(items))


def capabilities() -> dict[str, list[str]]:
    """What the reader and the engines support, by the standard's names."""
    from onnx.defs import onnx_opset_version

    from vernal.formats.networks import READERS
    from vernal.formats.onnx.ops import OPERATORS, REASONS
    from vernal.formats.onnx.reader import OLDEST_OPSET
    from vernal.formats.vnnlib.reader import VERSIONS

    return {
        "onnx-opset-versions": [str(OLDEST_OPSET), str(onnx_opset_version())],
        "onnx-element-types": ["real"],
        "onnx-operators": sorted(OPERATORS),
        "onnx-operators-refused": [f"{name}: {reason}" for name, reason in sorted(REASONS.items())],
        "vnnlib-versions": list(VERSIONS),
        "hidden-node-theories": ["NH"],
        "multiple-input-output-theories": ["SIO"],
        "multiple-network-theories": ["SNET"],
        "multiple-node-comparison-theories": ["SNC", "MNC"],
        "arithmetic-complexity-theories": ["BND", "OUTC", "LIN", "POLY"],
        "optimised-disjunctive-reasoning": ["true"],
        "serialise-assignments": ["false"],
        "unsat-proofs": ["false"],
        "network-formats": list(READERS),
    }
