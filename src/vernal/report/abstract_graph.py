"""What is drawn of a finite abstraction, and the graph as DOT, for other tools.

A node says what its abstract state has in particular, as far as that is short; pointing at it shows the truth values of
all predicates. An arrow has every action that leads from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from vernal.errors import InputError
from vernal.evidence.finite_abstraction import FiniteAbstraction, StartVerdict
from vernal.logic.printing import text
from vernal.model.sorts import INT
from vernal.printable import printable
from vernal.report.values import scalar

MAX_STATES = 500  # that can be drawn
MAX_LABEL = 24  # letters on an arrow
MOST_LINES = 5  # of a node: where more variables differ, it has its number only


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An abstract state as it is drawn."""

    lines: tuple[str, ...]
    tip: str
    start: StartVerdict | None
    unsafe: bool


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """Nodes by number, and the labels of the arrow from one to another."""

    title: str
    nodes: tuple[GraphNode, ...]
    arrows: dict[tuple[int, int], tuple[str, ...]]
    hint: str = "point at a node to see what the predicates say"

    def label(self, arrow: tuple[int, int]) -> str:
        """The labels of an arrow, as many as are short enough to be written on it."""
        labels = self.arrows[arrow]
        kept = next((n for n in range(len(labels), 1, -1) if len(", ".join(labels[:n])) <= MAX_LABEL), 1)
        more = [f"+{len(labels) - kept}"] if len(labels) > kept else []
        return " ".join([", ".join(labels[:kept]), *more])


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
    return DrawnGraph(title, nodes, {ends: tuple(labels) for ends, labels in arrows.items()})


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
    for (one, other), labels in graph.arrows.items():
        lines.append(f"  s{one} -> s{other} [{_attributes({'label': ', '.join(labels)})}];")
    return "\n".join([*lines, "}"]) + "\n"


def _attributes(look: dict[str, str]) -> str:
    return ", ".join(f"{name}={_quoted(value)}" for name, value in look.items())


def _quoted(said: str) -> str:
    """A quoted string: quotes and line ends escaped as DOT has them, a backslash kept from escaping."""
    return '"' + printable(said).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
