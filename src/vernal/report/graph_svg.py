"""A graph as SVG: nodes in layers, arrows with their actions, and what a node means where one points at it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vernal.evidence.finite_abstraction import StartVerdict
from vernal.report.abstract_graph import DrawnGraph, GraphNode
from vernal.report.layered_layout import Arrow, Placement, place
from vernal.report.markup import escape

LETTER, LABEL = 6.1, 5.4  # the width of a letter in a node, and of one on an arrow
LINE, PAD, GAP, BEND = 14.0, 6.0, 14.0, 12.0  # heights: of a line, around the lines, between nodes, of an arrow
LEAST_WIDTH, MARGIN, HEAD = 26.0, 24.0, 30.0
MIN_LAYER_GAP, MAX_LAYER_GAP = 46.0, 190.0  # between two layers: the least, and the most that labels may take
MOST_LABELS = 160  # arrows with text on them; where there are more, pointing at one shows it
PLACES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78)  # along an arrow, where its label may be
INK, SOFT, BAD = "#1f4e79", "#5b6770", "#a23b3b"
START_COLOURS = {StartVerdict.SAFE: "#4d7a3c", StartVerdict.UNSAFE: "#b3372f", StartVerdict.UNDECIDED: "#c98a1b"}
STYLE = f"""
text {{ font-family: sans-serif; font-size: 11px; fill: #222; }}
.label text {{ font-size: 10px; text-anchor: middle; }}
.label rect {{ fill: white; fill-opacity: 0.85; }}
.line, .number {{ text-anchor: middle; }}
.number {{ font-weight: bold; }}
.head {{ font-size: 13px; font-weight: bold; }}
.node rect {{ fill: #e8eef4; stroke: {INK}; }}
.unsafe rect {{ fill: #efc9c9; stroke: {BAD}; stroke-width: 1.6px; }}
.arrow path {{ fill: none; stroke: {SOFT}; stroke-width: 1px; marker-end: url(#tip); }}
.arrow:hover path {{ stroke: black; stroke-width: 2px; }}
.back path {{ stroke-dasharray: 4 2; }}
"""

Spot = tuple[float, float]
Bezier = tuple[Spot, Spot, Spot, Spot]


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle by its middle."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Area) -> bool:
        return (
            abs(self.x - other.x) * 2 < self.width + other.width
            and abs(self.y - other.y) * 2 < self.height + other.height
        )


def svg(graph: DrawnGraph) -> str:
    """The picture as a file's text."""
    return GraphPicture(graph).text()


class GraphPicture:
    """One graph, placed."""

    def __init__(self, graph: DrawnGraph) -> None:
        self.graph = graph
        sizes = [_height(node) for node in graph.nodes]
        self.placed = place([size + GAP for size in sizes], list(graph.arrows), BEND)
        self.with_labels = len(graph.arrows) <= MOST_LABELS
        self.widths = _layer_widths(graph, self.placed)
        self.middles = self._middles()
        self.areas = [
            Area(self.middles[layer], HEAD + MARGIN + height, self.widths[layer], size)
            for layer, height, size in zip(self.placed.layers, self.placed.heights, sizes, strict=True)
        ]

    def _middles(self) -> list[float]:
        """The middle of every layer, from left to right; labels between two layers have room."""
        gaps = self._gaps()
        found, left = [], MARGIN + 14.0
        for layer, width in enumerate(self.widths):
            found.append(left + width / 2)
            left += width + gaps[layer]
        return found

    def _gaps(self) -> list[float]:
        gaps = [MIN_LAYER_GAP] * len(self.widths)
        for ends in self.graph.arrows if self.with_labels else ():
            layer = min(self.placed.layers[end] for end in ends)
            gaps[layer] = max(gaps[layer], min(MAX_LAYER_GAP, MIN_LAYER_GAP + LABEL * len(self.graph.label(ends))))
        return gaps

    def text(self) -> str:
        right = max((area.x + area.width / 2 for area in self.areas), default=0.0) + self._last_gap()
        bottom = max((area.y + area.height / 2 for area in self.areas), default=HEAD)
        bends = [HEAD + MARGIN + height for route in self.placed.routes.values() for _, height in route]
        bottom = max([bottom, *bends]) + MARGIN
        wide = max(right + MARGIN, LETTER * 1.4 * len(self.graph.title) + 2 * MARGIN, 620.0)
        tall = bottom + 30.0
        parts = [*self._arrows(), *self._nodes(), *_legend(self.graph, bottom + 8.0)]
        title = f'<text class="head" x="{MARGIN:.0f}" y="24">{escape(self.graph.title)}</text>'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{tall:.0f}" '
                f'viewBox="0 0 {wide:.0f} {tall:.0f}">',
                f"<style>{STYLE}</style>",
                '<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
                f'orient="auto"><path d="M0,0.8 L8,4 L0,7.2 z" fill="{SOFT}"/></marker></defs>',
                '<rect width="100%" height="100%" fill="white"/>',
                title,
                *parts,
                "</svg>\n",
            ]
        )

    def _last_gap(self) -> float:
        """Room for the labels of loops at the right."""
        last = len(self.widths) - 1
        ends = [(a, b) for a, b in self.graph.arrows if a == b and self.placed.layers[a] == last]
        loops = [len(self.graph.label(arrow)) for arrow in ends]
        return 16.0 + LABEL * max(loops, default=0) / 2 if self.with_labels else 16.0

    # Nodes ------------------------------------------------------------------------------------------------------------

    def _nodes(self) -> Iterator[str]:
        for node, area in zip(self.graph.nodes, self.areas, strict=True):
            left, top = area.x - area.width / 2, area.y - area.height / 2
            lines = [
                f'<text class="{"line" if row else "number"}" x="{area.x:.1f}" '
                f'y="{top + PAD + LINE * (row + 0.75):.1f}">{escape(line)}</text>'
                for row, line in enumerate(node.lines)
            ]
            box = f'<rect x="{left:.1f}" y="{top:.1f}" width="{area.width:.1f}" height="{area.height:.1f}" rx="5"/>'
            kind = "node unsafe" if node.unsafe else "node"
            yield f'<g class="{kind}"><title>{escape(node.tip)}</title>{box}{"".join(lines)}</g>'
            if node.start is not None:
                yield _start_mark(left, area.y - area.height / 2, node.start)

    # Arrows -----------------------------------------------------------------------------------------------------------

    def _arrows(self) -> Iterator[str]:
        taken = list(self.areas)
        drawn: list[str] = []
        for arrow, labels in self.graph.arrows.items():
            curves = self._loop(arrow[0]) if arrow[0] == arrow[1] else self._curves(arrow)
            back = self.placed.layers[arrow[0]] >= self.placed.layers[arrow[1]] and arrow[0] != arrow[1]
            tip = f"{arrow[0]} to {arrow[1]}" + (f": {', '.join(labels)}" if labels else "")
            kind = "arrow back" if back else "arrow"
            yield f'<g class="{kind}"><title>{escape(tip)}</title><path d="{_path(curves)}"/></g>'
            label = self.graph.label(arrow)
            if label and self.with_labels:
                spot = _free(curves, label, taken)
                drawn.append(_label(spot, label))
        yield from drawn

    def _loop(self, node: int) -> list[Bezier]:
        """An arrow to itself, above the upper right corner."""
        area = self.areas[node]
        x, y = area.x + area.width / 2, area.y - area.height / 2
        return [((x - 9, y), (x - 9, y - 20), (x + 20, y - 12), (x, y + min(9.0, area.height / 2)))]

    def _curves(self, arrow: Arrow) -> list[Bezier]:
        """From side to side, through the bends between."""
        route = self.placed.routes[arrow]
        forward = route[0][0] < route[-1][0]
        shift = -0.22 if forward else 0.22  # arrows of both directions do not lie upon each other
        spots: list[Spot] = []
        for number, (layer, height) in enumerate(route):
            y = HEAD + MARGIN + height
            first, last = number == 0, number == len(route) - 1
            if first or last:
                area = self.areas[arrow[0] if first else arrow[1]]
                side = area.width / 2 if first == forward else -area.width / 2
                spots.append((area.x + side, y + shift * area.height))
            else:
                half = self.widths[layer] / 2 if forward else -self.widths[layer] / 2
                spots += [(self.middles[layer] - half, y), (self.middles[layer] + half, y)]
        return [_level(one, other) for one, other in itertools.pairwise(spots)]


def _level(one: Spot, other: Spot) -> Bezier:
    """A curve that is horizontal at both ends."""
    bend = (other[0] - one[0]) / 2
    return one, (one[0] + bend, one[1]), (other[0] - bend, other[1]), other


def _path(curves: Sequence[Bezier]) -> str:
    begin = f"M{curves[0][0][0]:.1f},{curves[0][0][1]:.1f}"
    return begin + "".join(" C" + " ".join(f"{x:.1f},{y:.1f}" for x, y in curve[1:]) for curve in curves)


def _free(curves: Sequence[Bezier], label: str, taken: list[Area]) -> Area:
    """A place on the longest part of an arrow where its label covers nothing, if there is one; it is taken then."""
    curve = max(curves, key=lambda each: abs(each[3][0] - each[0][0]) + abs(each[3][1] - each[0][1]))
    areas = [Area(*_at(curve, share), LABEL * len(label) + 4, 12.0) for share in PLACES]
    found = next((area for area in areas if not any(map(area.overlaps, taken))), areas[0])
    taken.append(found)
    return found


def _label(area: Area, label: str) -> str:
    """The text on an arrow, which is not drawn below it."""
    left, top = area.x - area.width / 2, area.y - area.height / 2
    box = f'<rect x="{left:.1f}" y="{top:.1f}" width="{area.width:.1f}" height="{area.height:.1f}"/>'
    return f'<g class="label">{box}<text x="{area.x:.1f}" y="{area.y + 3.5:.1f}">{escape(label)}</text></g>'


def _at(curve: Bezier, share: float) -> Spot:
    weights = ((1 - share) ** 3, 3 * share * (1 - share) ** 2, 3 * share**2 * (1 - share), share**3)
    x, y = (sum(w * spot[axis] for w, spot in zip(weights, curve, strict=True)) for axis in (0, 1))
    return x, y


def _start_mark(left: float, top: float, verdict: StartVerdict) -> str:
    """A triangle at the upper left corner that points at a node in which paths begin."""
    spots = f"{left - 11:.1f},{top - 5:.1f} {left - 11:.1f},{top + 7:.1f} {left - 1:.1f},{top + 1:.1f}"
    return f'<polygon points="{spots}" fill="{START_COLOURS[verdict]}"><title>start, {verdict}</title></polygon>'


# Sizes and legend -----------------------------------------------------------------------------------------------------


def _height(node: GraphNode) -> float:
    return LINE * len(node.lines) + 2 * PAD


def _layer_widths(graph: DrawnGraph, placed: Placement) -> list[float]:
    """Of the widest node of each layer."""
    widths = [LEAST_WIDTH] * (max(placed.layers, default=-1) + 1)
    for node, layer in zip(graph.nodes, placed.layers, strict=True):
        widths[layer] = max(widths[layer], 12.0 + LETTER * max(map(len, node.lines)))
    return widths


def _legend(graph: DrawnGraph, y: float) -> Iterator[str]:
    """What marks and colours mean, those that occur."""
    x = MARGIN
    for verdict, colour in START_COLOURS.items():
        if any(node.start is verdict for node in graph.nodes):
            yield f'<polygon points="{x},{y - 5} {x},{y + 7} {x + 10},{y + 1}" fill="{colour}"/>'
            yield f'<text x="{x + 15}" y="{y + 5}">start, {verdict}</text>'
            x += 110
    if any(node.unsafe for node in graph.nodes):
        yield f'<g class="unsafe"><rect x="{x}" y="{y - 6}" width="20" height="14" rx="3"/></g>'
        yield f'<text x="{x + 26}" y="{y + 5}">holds unsafe states</text>'
        x += 160
    yield f'<text x="{x}" y="{y + 5}" fill="{SOFT}">{escape(graph.hint)}</text>'
