"""The graph of a finite abstraction as a picture: DOT for other tools, or SVG drawn here.

    write_graph(result.abstraction, "graph.svg")

A node says what its abstract state has in particular, as far as that is short; pointing at it shows the truth values of
all predicates. An arrow has every action that leads from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from vernal.errors import InputError
from vernal.evidence.abstraction import FiniteAbstraction, StartVerdict
from vernal.logic.printing import text
from vernal.model.sorts import INT
from vernal.report.values import scalar
from vernal.run.output import write_text

MAX_STATES = 300  # that can be drawn
MOST_LINES = 5  # of a node: where more variables differ, it has its number only
SUFFIXES = (".dot", ".svg")


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An abstract state as it is drawn."""

    lines: tuple[str, ...]
    tip: str
    start: StartVerdict | None
    unsafe: bool


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """Nodes by number, and what is written on the arrow from one to another."""

    title: str
    nodes: tuple[GraphNode, ...]
    arrows: dict[tuple[int, int], str]


def write_graph(abstraction: FiniteAbstraction, file: str | Path, title: str = "") -> None:
    """Write the graph to a file, DOT or SVG by its suffix; one of too many states is refused."""
    refuse_suffix(file)
    graph = drawn_graph(abstraction, title)
    if Path(file).suffix.lower() == ".dot":
        write_text(file, dot(graph))
        return
    from vernal.report.graph_svg import svg

    write_text(file, svg(graph))


def refuse_suffix(file: str | Path) -> None:
    """Refuse a file that is neither DOT nor SVG by its name."""
    if Path(file).suffix.lower() not in SUFFIXES:
        raise InputError(f"cannot draw {file}: name a file ending in {' or '.join(SUFFIXES)}")


def too_large(abstraction: FiniteAbstraction) -> str | None:
    """Why an abstraction cannot be drawn, if it has too many states."""
    if len(abstraction) <= MAX_STATES:
        return None
    return (
        f"{len(abstraction):,} abstract states are too many to draw, at most {MAX_STATES}; "
        "--abstraction FILE.jani writes all of them, fewer predicates make fewer"
    )


def drawn_graph(abstraction: FiniteAbstraction, title: str = "") -> DrawnGraph:
    """What is drawn of an abstraction."""
    reason = too_large(abstraction)
    if reason is not None:
        raise InputError(reason)
    shown = _shown_variables(abstraction)
    unsafe = set(abstraction.unsafe)
    nodes = tuple(
        GraphNode(
            (str(state), *(_entry(abstraction, state, place) for place in shown)),
            _tip(abstraction, state),
            abstraction.starts[state] if state < len(abstraction.starts) else None,
            state in unsafe,
        )
        for state in range(len(abstraction))
    )
    arrows: dict[tuple[int, int], list[str]] = {}
    for move in abstraction.transitions:
        labels = arrows.setdefault((move.source, move.target), [])
        labels += [move.label] if move.label is not None else []
    return DrawnGraph(title, nodes, {ends: ", ".join(labels) for ends, labels in arrows.items()})


def _shown_variables(abstraction: FiniteAbstraction) -> list[int]:
    """The variables in which abstract states differ, if they are few enough to be written on each node."""
    ends = (abstraction.lower, abstraction.upper)
    found = [
        place
        for place in range(len(abstraction.variables))
        if any(len(set(side[:, place].tolist())) > 1 for side in ends)
    ]
    return found if len(found) <= MOST_LINES else []


def _entry(abstraction: FiniteAbstraction, state: int, place: int) -> str:
    """What an abstract state says of one variable: a value, or the ends of a range."""
    var = abstraction.variables[place]
    low, high = (Fraction(int(side[state, place])) for side in (abstraction.lower, abstraction.upper))
    if low == high:
        return f"{var.name}  {scalar(low, var.sort)}"
    return f"{var.name}  {low} … {high}" if var.sort == INT else f"{var.name}  any"


def _tip(abstraction: FiniteAbstraction, state: int) -> str:
    """What pointing at a node shows."""
    start = f"start, {abstraction.starts[state]}" if state < len(abstraction.starts) else ""
    unsafe = "may be unsafe" if state in abstraction.unsafe else ""
    head = ": ".join([f"state {state}", "; ".join(filter(None, [start, unsafe]))]).rstrip(": ")
    values = abstraction.values[state].tolist()
    said = [f"{'true ' if v else 'false'}  {text(p)}" for p, v in zip(abstraction.predicates, values, strict=True)]
    return "\n".join([head, *said])


# DOT ------------------------------------------------------------------------------------------------------------------


def dot(graph: DrawnGraph) -> str:
    """The graph in the language of Graphviz."""
    lines = [
        f"digraph {_quoted(graph.title or 'abstraction')} {{",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded"];',
    ]
    for number, node in enumerate(graph.nodes):
        look = {"label": "\n".join(node.lines), "tooltip": node.tip}
        look |= {"color": "#a23b3b", "style": "rounded,filled", "fillcolor": "#efc9c9"} if node.unsafe else {}
        lines.append(f"  s{number} [{_attributes(look)}];")
        if node.start is not None:
            lines.append(
                f'  start{number} [shape=point, label=""]; start{number} -> s{number} [tooltip="{node.start}"];'
            )
    lines += [
        f"  s{one} -> s{other} [{_attributes({'label': label})}];" for (one, other), label in graph.arrows.items()
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _attributes(look: dict[str, str]) -> str:
    return ", ".join(f"{name}={_quoted(value)}" for name, value in look.items())


def _quoted(said: str) -> str:
    """A quoted string: quotes and line ends escaped as DOT has them, a backslash kept from escaping."""
    return '"' + said.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
