"""Names tell what they are: modules by nouns that no other room uses for another, constants by their quantity."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.test_house import FILES, SOURCE, import_graph, tree_of

# Participles, adverbs and the like, which say nothing of what is in a module.
VAGUE_MODULES = """
    asked at_zero chosen closed endless excluding explored far follow followed following forward given guided handout
    held implied lack last_resort lasting layered listed many outside over placed placing plain recorded relaxed
    reseeded roads seen settled several sloped so_far timed together tuned wanted
"""
# Words that leave open what is counted. A constant says it: MAX_REPLAYS_PER_BATCH, not TRIES.
VAGUE_CONSTANTS = """
    AROUND BATCH BLOCK BRIEF CELLS FAR FEW FEWEST FLAT FURTHEST GAIN GRACE LARGE LARGEST LEAST LONG LONGER LONGEST MANY
    MOMENT MOST NARROW NARROWEST NEAR PACE PARTS PATIENCE PIECES POINTS PROBES PROGRESS ROOM ROUNDS ROWS RUNS SAMPLES
    SECONDS SETS SHARE SHARES SHORT SLACK SMALL STARTS STEPS TINY TRIES WIDE WIDEST WORTH
"""
# One meaning for all who import them, in formulas that would not be read more easily with longer names.
COMMON_CONSTANTS = {
    "interpret/numbers/rounding.py": {"TINY", "LARGEST"},
    "interpret/flow/balls.py": {"SLACK"},
}
# Names of files that other rooms import, and that stand in several places for a reason.
SHARED_NAMES = {
    "engine": "an engine of each package",
    "reader": "of each format",
    "registry": "of engines, and of solvers",
    "space": "of each kind of sets",
}


def constants(path: Path) -> set[str]:
    """The names that a module assigns at its top level."""
    return set(_assigned(tree_of(path.read_text(encoding="utf-8"))))


def _assigned(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=targets):
                yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def shared(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Modules that another room imports, by the last part of their name, where there are several."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, imported in graph.items():
        for name in imported & graph.keys():
            if room_of(module) and room_of(name) != room_of(module):
                found[name.rpartition(".")[2]].add(name)
    return {last: names for last, names in found.items() if len(names) > 1}


def room_of(module: str) -> str:
    """The room of a module; nothing for the package itself."""
    return module.split(".")[1] if "." in module else ""


def test_a_module_is_named_by_a_noun() -> None:
    assert [str(path.relative_to(SOURCE)) for path in FILES if path.stem in VAGUE_MODULES.split()] == []


def test_a_constant_says_its_quantity() -> None:
    vague = {path.relative_to(SOURCE).as_posix(): constants(path) & set(VAGUE_CONSTANTS.split()) for path in FILES}
    assert {file: names for file, names in vague.items() if names} == COMMON_CONSTANTS


def test_no_two_files_that_other_rooms_import_share_a_name() -> None:
    graph = import_graph({path.relative_to(SOURCE): path.read_text(encoding="utf-8") for path in FILES})
    assert {last: names for last, names in shared(graph).items() if last not in SHARED_NAMES} == {}


@pytest.mark.parametrize(
    ("graph", "names"),
    [
        ({"vernal.a.x": set(), "vernal.b.x": set(), "vernal.c.y": {"vernal.a.x", "vernal.b.x"}}, {"x"}),
        ({"vernal.a.x": set(), "vernal.b.x": set(), "vernal.b.y": {"vernal.a.x", "vernal.b.x"}}, set()),
        ({"vernal.a.x": set(), "vernal.b.x": set(), "vernal": {"vernal.a.x", "vernal.b.x"}}, set()),
    ],
)
def test_a_shared_name_is_seen(graph: Mapping[str, set[str]], names: set[str]) -> None:
    assert shared(graph).keys() == names
