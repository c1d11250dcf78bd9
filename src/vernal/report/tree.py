"""The tree of decisions that engine `paths` explores, as a picture: sets of states from left to right, step by step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.claim import Claim
from vernal.logic.formula import Formula, Not
from vernal.logic.normal import atoms, horizon
from vernal.logic.printing import text
from vernal.logic.question import Question
from vernal.logic.shortening import stronger, weaker
from vernal.model.expr import Argmax, Choose, Const, Expr
from vernal.model.graph import order
from vernal.model.initial import Box
from vernal.model.partial_evaluation import specialise
from vernal.model.system import System
from vernal.model.tick import Tick, idle
from vernal.model.traits import varying
from vernal.printable import in_one_line
from vernal.report.figures import INK, SOFT, draw_figure, new_figure
from vernal.report.markup import as_drawn
from vernal.report.values import number, scalar
from vernal.run.threads import one_blas_thread
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.pieces.batches import Pieces
from vernal.sets.pieces.exploration import OVERFLOWING
from vernal.sets.pieces.positions import NotExplorable, Position, StepGraph
from vernal.sets.pieces.samples import likely
from vernal.sets.pieces.space import AffineSpace, Cutting
from vernal.sets.search import Search, Stage
from vernal.sets.set_graph import Fate, SetGraph, SetNode, SetStep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_SETS = 40  # of a step: those beyond are only counted
MAX_REPLAYS = 3  # of points of one set
MOST_LINES = 6  # of a box: variables beyond are left out
LINE, GAP = 0.125, 0.09  # inches: the height of a line of text, and the space between two boxes
LETTER, LABEL = 0.054, 0.048  # inches: the width of a letter in a box, and of one on a step
CURVE_WIDTH = 0.65  # inches in which a curve becomes horizontal
FILL = {Fate.KEPT: "#cfe5c5", Fate.FAILED: "#efc9c9", Fate.OPEN: "#e8eef4"}
RIM = {Fate.KEPT: "#4d7a3c", Fate.FAILED: "#a23b3b", Fate.OPEN: INK}
LEGEND = {
    Fate.OPEN: "goes on",
    Fate.KEPT: "done: all its paths keep the formula",
    Fate.FAILED: "a path through it breaks the formula",
}


@dataclass
class Survey:
    """Handles an exploration to look at: it goes on where the engine would stop, and decides nothing."""

    space: AffineSpace

    done = False

    def reached(self, stage: Stage, states: Position[Pieces]) -> None:
        self.space.record.reached(stage, states)

    def kept(self, stage: Stage, states: Position[Pieces]) -> None:
        self.space.record.closed(states, states.batch.trail, True)

    def failed(self, stage: Stage, states: Position[Pieces]) -> None:
        """Sets through which an exact path breaks the formula."""
        pieces = states.batch
        found = likely(states.asked, states.layout, pieces, np.arange(len(pieces)))
        broken = [any(self._breaks(states, row, point) for point in points[:MAX_REPLAYS]) for row, points in found]
        self.space.record.closed(states, pieces.trail[np.array(broken, dtype=bool)], False)

    def _breaks(self, states: Position[Pieces], row: int, point: Floats) -> bool:
        return self.space.trails.violation(int(states.batch.trail[row]), point, states.taken) is not None

    def passed(self, t: int) -> None:
        """Nothing to do between steps."""


@OVERFLOWING
def survey(question: Question, path: Formula, boxes: Sequence[Box], depth: int, tree: SetGraph, tick: Tick) -> None:
    """Explore the first steps, and record what is met."""
    graph = StepGraph(question.system.step, atoms(path), tick)
    space = AffineSpace(question, graph, boxes, Cutting.CUT, MOST_SETS, tree)
    Search(path, space, Survey(space), total=question.is_total, tick=tick).levels(depth)


def _bounded(path: Formula, depth: int) -> Formula:
    """Of a formula without a last step, what it says of the first steps; of one that waits, that it happens in them."""
    for short in (weaker(path, depth), stronger(path, depth)):
        if all(varying([atom]) for atom in atoms(short)):  # no part of it became true or false
            return short
    raise InputError(f"{text(path)} has no last step, and nothing bounded stands for it; bound it, as in F[0,9]")


def explored(
    system: System, formula: Formula, depth: int, most: int = MOST_SETS, tick: Tick = idle
) -> tuple[SetGraph, Formula]:
    """The tree down to a depth, and the formula it was explored for."""
    claim = Claim(formula)  # a claim of some path is asked by its negation, one without a bound by a bounded one
    asked, path = (formula, claim.linear) if claim.linear is not None else (Not(formula), claim.opposite)
    if path is None:
        raise InputError(
            f"there is no one tree for {text(formula)}: it is decided state by state, not path by path; "
            "draw the claim inside one of its operators, given with --spec"
        )
    if horizon(path) is None:
        asked = path = _bounded(path, depth)
    reach = horizon(path) or 0
    boxes = initial_boxes(system)
    if boxes.are_hulls:
        raise InputError("there are too many initial sets to draw; give fewer values to a variable in [init], or --set")
    tree = SetGraph(most)
    try:
        with one_blas_thread():
            survey(Question(system, path), path, boxes.boxes, min(depth, reach), tree, tick)
    except NotExplorable as error:
        raise InputError(f"the tree cannot be drawn: {error}; narrow [init], or try a smaller --depth") from error
    return tree, asked


def plot_tree(
    system: System, formula: Formula, depth: int = 3, file: str | Path | None = None, tick: Tick = idle
) -> Any:
    """Draw what engine `paths` explores in the first steps; to a file by its suffix if one is named."""
    if depth < 0:
        raise InputError(f"the depth of a tree has to be 0 or more, not {depth}")
    tree, asked = explored(system, formula, depth, tick=tick)
    return draw_figure(lambda: _draw(tree, system, as_drawn(text(asked))), file)


# What is written ------------------------------------------------------------------------------------------------------


def set_values(node: SetNode, system: System) -> dict[str, str]:
    """A set in words, variable by variable: labels, numbers, ranges."""
    found, column = {}, 0
    for var, value in zip(system.step.inputs, node.discrete, strict=True):
        if value is not None:
            shown = [scalar(value, var.sort)]
        else:
            ends = zip(*(end[column : column + var.size] for end in node.box), strict=True)
            shown = [_range(float(low), float(high)) for low, high in ends]
            column += var.size
        if var in system.step.state:
            found[var.name] = ", ".join(shown)
    return found


@dataclass(frozen=True, slots=True)
class TreeLabels:
    """The texts: on every set what distinguishes it from the others of its step, at the head what all of them share."""

    sets: Mapping[int, Sequence[str]]
    heads: Mapping[int, str]
    steps: Mapping[SetStep, str]

    @property
    def width(self) -> float:
        """Of a box: the longest line has to fit."""
        return 0.2 + LETTER * max((len(line) for lines in self.sets.values() for line in lines), default=0)

    @property
    def pitch(self) -> float:
        """From one step to the next."""
        return self.width + CURVE_WIDTH + 0.15 + LABEL * max(map(len, self.steps.values()), default=0)


def words(tree: SetGraph, system: System) -> TreeLabels:
    """The text of all boxes and of the heads."""
    values = {trail: set_values(node, system) for trail, node in tree.nodes.items()}
    ways = tree.ways()
    sets: dict[int, Sequence[str]] = {}
    heads: dict[int, str] = {}
    for t, level in _levels(tree).items():
        every = [values[node.trail] for node in level]
        shared = _shared(every)
        common = ", ".join(f"{name} {value}" for name, value in shared.items())
        heads[t] = as_drawn(f"step {t}\n{in_one_line(common)}")
        for trail in (node.trail for node in level):
            sets[trail] = _lines({n: v for n, v in values[trail].items() if n not in shared}, ways[trail])
    labels = {edge: as_drawn(step_label(edge, tree.nodes[edge.parent], system)) for edge in _drawn_steps(tree)}
    return TreeLabels(sets, heads, labels)


def _drawn_steps(tree: SetGraph) -> list[SetStep]:
    """The steps that are drawn: each once, whatever was decided before it."""
    return list(dict.fromkeys(step._replace(decided=()) for step in tree.steps))


def _shared(every: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What several sets have in common; a single one keeps all it has to say."""
    first = every[0] if len(every) > 1 else {}
    return {name: value for name, value in first.items() if all(other[name] == value for other in every)}


def _levels(tree: SetGraph) -> dict[int, list[SetNode]]:
    levels: dict[int, list[SetNode]] = {}
    for node in tree.nodes.values():
        levels.setdefault(node.t, []).append(node)
    return levels


def _lines(own: Mapping[str, str], ways: int) -> list[str]:
    lines = [as_drawn(in_one_line(f"{name}  {value}")) for name, value in own.items()]
    kept = lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], f"and {len(lines) - MOST_LINES + 1} more"]
    return kept if ways == 1 else [*kept, f"{ways} sets merged"]


def _range(low: float, high: float) -> str:
    """Both ends, or one number where they differ by rounding only; for the eye, so what rounding adds is not shown."""
    if not math.isfinite(high - low):
        return f"{number(low)} … {number(high)}"
    if high - low <= 1e-6 * max(1.0, abs(low), abs(high)):
        return number(round(0.5 * low + 0.5 * high, 9) + 0.0)
    digits = 6 - math.floor(math.log10(high - low))
    return f"{number(round(low, digits) + 0.0)} … {number(round(high, digits) + 0.0)}"


def step_label(edge: SetStep, node: SetNode, system: System) -> str:
    """What was decided on a step: actions by their labels, choices by their values, disturbances by name."""
    here = _options(edge, node, system)
    parts = []
    for name, index in edge.taken:
        decision = here.get(name)
        if isinstance(decision, Argmax):
            parts.append(scalar(Fraction(index), decision.sort))
        elif decision is not None:
            parts.append(f"{name} {_option(decision.written[index])}")
        else:
            parts.append(f"{name} no. {index + 1}")
    return ", ".join([*parts, *(f"any {name}" for name in edge.draws)])


def _option(option: Expr) -> str:
    if isinstance(option, Const) and not option.shape and option.value is not None:
        return scalar(option.value, option.sort)
    shown = text(option)
    return shown if len(shown) <= 20 else f"{shown[:17]}..."


def _options(edge: SetStep, node: SetNode, system: System) -> dict[str, Choose | Argmax | None]:
    """The choices and winners of a step that exist once it is known which agent did what; None if still several."""
    step = system.step
    pairs = [(var, value) for var, value in zip(step.inputs, node.discrete, strict=True) if value is not None]
    roots = specialise(step.roots, {var: Const((), var.sort, (), (value,)) for var, value in pairs})
    names = {decision.occurrence.serial: name for decision, name in step.names.items()}
    taken = dict(edge.taken)
    winners: dict[Expr, Expr] = {}
    found: dict[str, Choose | Argmax | None] = {}
    for decision in order(roots):
        if isinstance(decision, Argmax) and names[decision.occurrence.serial] in taken:
            name = names[decision.occurrence.serial]
            found[name] = decision
            winners[decision] = Const((), decision.sort, (), (Fraction(taken[name]),))
    for decision in order(specialise(roots, winners)):
        if isinstance(decision, Choose):
            name = names[decision.occurrence.serial]
            found[name] = decision if name not in found else None
    return found


# Where it is drawn ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frame:
    """A box of the picture, by its left end and middle."""

    x: float
    y: float
    height: float


def places(tree: SetGraph, written: TreeLabels) -> dict[int, Frame]:
    """Steps from left to right; within one, sets near those they come from, and spread over the same height."""
    parents: dict[int, list[int]] = {}
    for edge in _drawn_steps(tree):
        parents.setdefault(edge.child, []).append(edge.parent)
    levels = _levels(tree)
    tall = {trail: LINE * len(lines) + 0.1 for trail, lines in written.sets.items()}
    total = max(sum(tall[node.trail] + GAP for node in level) for level in levels.values())
    found: dict[int, Frame] = {}
    for t, level in sorted(levels.items()):
        level.sort(key=lambda node: (_above(node, parents, found), *node.box[0].tolist()))
        spare = (total - sum(tall[node.trail] for node in level)) / len(level)
        top = 0.0
        for node in level:
            height = tall[node.trail]
            found[node.trail] = Frame(t * written.pitch, -(top + spare / 2 + height / 2), height)
            top += spare + height
    return found


def _above(node: SetNode, parents: Mapping[int, Sequence[int]], found: Mapping[int, Frame]) -> float:
    """How far down the sets it comes from are, on average."""
    heights = [-found[parent].y for parent in parents.get(node.trail, ()) if parent in found]
    return sum(heights) / len(heights) if heights else 0.0


# Drawing --------------------------------------------------------------------------------------------------------------


def _draw(tree: SetGraph, system: System, title: str) -> Figure:
    written = words(tree, system)
    where = places(tree, written)
    right = max(place.x for place in where.values()) + written.width
    bottom = min(place.y - place.height / 2 for place in where.values())
    figure = new_figure((max(right, LETTER * 1.5 * len(title)) + 0.2, -bottom + 1.15), layout=None)
    panel = figure.add_axes((0, 0, 1, 1))
    panel.set_xlim(-0.1, figure.get_figwidth() - 0.1)
    panel.set_ylim(bottom - 0.45, 0.7)
    panel.set_axis_off()
    _heads(panel, tree, written, title, bottom)
    _edges(panel, where, written)
    for trail, fate in tree.fates().items():
        _box(panel, fate, where[trail], written.width, written.sets[trail])
    return figure


def _heads(panel: Axes, tree: SetGraph, written: TreeLabels, title: str, bottom: float) -> None:
    """The formula, the steps, and what the colours mean."""
    panel.text(0, 0.57, title, size=9, va="center", weight="bold")
    for t, head in written.heads.items():
        panel.text(t * written.pitch, 0.41, head, size=7, va="top", color=SOFT)
        if t in tree.left_out:
            panel.text(t * written.pitch, bottom - 0.08, f"and {tree.left_out[t]:,} more", size=7, color=SOFT)
    left = 0.0
    for fate, meaning in LEGEND.items():
        look = {"boxstyle": "round,pad=0.3", "facecolor": FILL[fate], "edgecolor": RIM[fate], "linewidth": 0.7}
        panel.text(left + 0.08, bottom - 0.27, meaning, size=7, va="center", bbox=look)
        left += 0.05 * len(meaning) + 0.3


def _box(panel: Axes, fate: Fate, place: Frame, width: float, lines: Sequence[str]) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = (place.x, place.y - place.height / 2)
    look = "round,pad=0,rounding_size=0.05"
    panel.add_patch(
        FancyBboxPatch(
            corner,
            width,
            place.height,
            boxstyle=look,
            facecolor=FILL[fate],
            edgecolor=RIM[fate],
            linewidth=0.8,
            zorder=3,
        )
    )
    for index, line in enumerate(lines):
        y = place.y + place.height / 2 - 0.05 - LINE * (index + 0.5)
        panel.text(place.x + 0.07, y, line, size=6.5, va="center", zorder=4)


def _edges(panel: Axes, where: Mapping[int, Frame], written: TreeLabels) -> None:
    """Steps as curves that arrive level, one below the other at a merged set, with what was decided written on them."""
    coming: dict[int, list[SetStep]] = {}
    for edge in written.steps:
        coming.setdefault(edge.child, []).append(edge)
    for child, edges in coming.items():
        end = where[child]
        edges.sort(key=lambda edge: -where[edge.parent].y)
        for index, edge in enumerate(edges):
            y = end.y + end.height * (0.5 - (index + 1) / (len(edges) + 1))
            start = where[edge.parent]
            _curve(panel, (start.x + written.width, start.y), (end.x, y))
            _label(panel, end.x, y, written.steps[edge])


def _curve(panel: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Curve

    (a, low), (b, high) = start, end
    points = [(a, low), (a + 0.35, low), (a + 0.25, high), (a + CURVE_WIDTH, high), (b, high)]
    curve = Curve(points, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4, Curve.LINETO])
    panel.add_patch(PathPatch(curve, fill=False, edgecolor=SOFT, linewidth=0.6, zorder=1))


def _label(panel: Axes, x: float, y: float, label: str) -> None:
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    if label:
        panel.text(x - 0.06, y, label, size=6, ha="right", va="center", color="#333333", bbox=behind, zorder=2)
