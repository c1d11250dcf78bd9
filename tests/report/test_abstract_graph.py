"""Graphs of abstractions: every state and transition is drawn once, where it can be read."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import vernal as vn
from tests.engines.predicates.test_abstraction_data import handed_out
from tests.planning_answers import ask, drawn
from tests.portion import seeds
from vernal.errors import InputError
from vernal.report import abstract_graph
from vernal.report.abstract_graph import dot, drawn_graph
from vernal.report.abstraction_file import write_graph
from vernal.report.graph_svg import GraphPicture, svg
from vernal.report.layered_layout import place

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("seed", seeds(8))
def test_every_node_and_arrow_is_drawn_once(seed: int) -> None:
    made = handed_out(drawn(1200 + seed))
    graph = drawn_graph(made, 'a "title" <&>')
    root = ElementTree.fromstring(svg(graph))
    kinds = [group.get("class", "").split()[0] for group in root.iter(f"{SVG}g")]
    assert kinds.count("node") == len(made)
    assert kinds.count("arrow") == made.pairs
    tips = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert sum(tip.startswith("state ") for tip in tips) == len(made)
    assert sum("start, " in tip for tip in tips) == 2 * len(made.starts)  # of the node, and of the mark beside it


@pytest.mark.parametrize("seed", seeds(8))
def test_nodes_do_not_overlap(seed: int) -> None:
    picture = GraphPicture(drawn_graph(handed_out(drawn(1200 + seed))))
    assert not any(one.overlaps(other) for one, other in combinations(picture.areas, 2))


@pytest.mark.parametrize("seed", seeds(30))
def test_any_graph_is_placed(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 25)
    arrows = [(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randint(0, 60))]
    sizes = [rng.choice([10.0, 25.0]) for _ in range(count)]
    placed = place(sizes, arrows, 5.0)
    for one, other in combinations(range(count), 2):
        if placed.layers[one] == placed.layers[other]:
            apart = abs(placed.heights[one] - placed.heights[other])
            assert apart >= (sizes[one] + sizes[other]) / 2 - 1e-6
    for one, other in {arrow for arrow in arrows if arrow[0] != arrow[1]}:
        route = placed.routes[one, other]
        assert (route[0], route[-1]) == (
            (placed.layers[one], placed.heights[one]),
            (placed.layers[other], placed.heights[other]),
        )
        steps = {after[0] - before[0] for before, after in pairwise(route)}
        assert steps in ({1}, {-1})


def test_dot_is_quoted(tmp_path: Path) -> None:
    made = handed_out(drawn(1200))
    text = dot(drawn_graph(made, 'a "title"\nof two lines \\'))
    assert text.startswith('digraph "a \\"title\\"\\nof two lines \\\\" {')
    assert len(re.findall(r"^  s\d+ -> s\d+ ", text, re.MULTILINE)) == made.pairs
    write_graph(made, tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text().endswith("}\n")


def test_too_many_states_are_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = handed_out(drawn(1200))
    monkeypatch.setattr(abstract_graph, "MAX_STATES", len(made) - 1)
    with pytest.raises(InputError, match="too many to draw, at most"):
        write_graph(made, tmp_path / "graph.svg")
    with pytest.raises(InputError, match="ending in"):
        write_graph(made, tmp_path / "graph.png")


def test_a_node_says_what_differs() -> None:
    made = handed_out(drawn(1200))
    same = replace(made, lower=np.zeros_like(made.lower), upper=np.zeros_like(made.upper))
    assert all(len(node.lines) == 1 for node in drawn_graph(same).nodes)


def test_a_result_writes_its_abstraction_by_suffix(tmp_path: Path) -> None:
    case = drawn(1200)
    result = ask(case, case.predicates, abstraction=True)
    for name, begin in (("a.jani", "{"), ("a.dot", "digraph"), ("a.svg", "<svg")):
        vn.write_abstraction(result, tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(begin)
    with pytest.raises(InputError, match="name a file ending in"):
        vn.write_abstraction(result, tmp_path / "a.txt")
    with pytest.raises(InputError, match="has no abstraction"):
        vn.write_abstraction(ask(case, case.predicates), tmp_path / "a.svg")
