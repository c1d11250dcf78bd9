"""The abstraction behind a result in a file of its own: a JANI model, or a graph as DOT or SVG."""

from __future__ import annotations

from pathlib import Path

from vernal.errors import InputError
from vernal.evidence.finite_abstraction import FiniteAbstraction
from vernal.evidence.result import Result
from vernal.formats.jani.export import AUTOMATON
from vernal.formats.jani.export import write_abstraction as write_jani
from vernal.report.abstract_graph import dot, drawn_graph
from vernal.report.graph_svg import svg
from vernal.run.output import write_text

SUFFIXES = (".dot", ".svg")


def write_abstraction(result: Result, file: str | Path, name: str = AUTOMATON) -> None:
    """Write the abstraction of a result to a file by its suffix: .jani, .dot or .svg; `name` is the model's.

    Results of `check(..., engine="predicates", options={"abstraction": True})` have one.

    Example: `vn.write_abstraction(result, "states.svg")`
    """
    if not isinstance(result.abstraction, FiniteAbstraction):
        raise InputError(
            f"the result of {result.formula} has no abstraction by predicates: ask for it with engine='predicates' and "
            "options={'abstraction': True}"
        )
    match Path(file).suffix.lower():
        case ".jani":
            write_jani(result.abstraction, file, name)
        case suffix if suffix in SUFFIXES:
            write_graph(result.abstraction, file, f"{name}: {result.formula}")
        case _:
            raise InputError(f"cannot write {file}: name a file ending in .jani, .dot or .svg")


def write_graph(abstraction: FiniteAbstraction, file: str | Path, title: str = "") -> None:
    """Write the graph to a file, DOT or SVG by its suffix; one of too many states is refused."""
    refuse_suffix(file)
    graph = drawn_graph(abstraction, title)
    if Path(file).suffix.lower() == ".dot":
        write_text(file, dot(graph))
    else:
        write_text(file, svg(graph))


def refuse_suffix(file: str | Path) -> None:
    """Refuse a file that is neither DOT nor SVG by its name."""
    if Path(file).suffix.lower() not in SUFFIXES:
        raise InputError(f"cannot draw {file}: name a file ending in {' or '.join(SUFFIXES)}")
