"""Hybrid automata in files: what is read is what was written, and what does not fit together is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import vernal as vn
from tests.networks_at_hand import drawn
from tests.portion import pairs
from vernal.errors import FormatError, InputError
from vernal.formats.automata import automaton_json, parse_automaton, read_automaton, write_automaton
from vernal.model.hybrid import HybridAutomaton
from vernal.reduce.neural.partition import automaton_of
from vernal.report.document import schema

SHAPES = [([10], 2), ([10, 16], 2), ([8], 3), ([5], 1)]


def automaton(widths: list[int], n: int, seed: int = 0, grid: float | None = 2.0**-10) -> HybridAutomaton:
    return automaton_of(drawn(widths, n, seed, grid=grid), name="net", variables=[f"x{i}" for i in range(n)])


@pytest.mark.parametrize(("suffix", "grid"), pairs(2, [".json", ".xml"], [2.0**-10, None]))
@pytest.mark.parametrize(("widths", "n"), SHAPES)
def test_a_round_trip_is_the_same_automaton(
    tmp_path: Path, widths: list[int], n: int, suffix: str, grid: float | None
) -> None:
    made = automaton(widths, n, 1, grid)
    write_automaton(made, tmp_path / f"a{suffix}", horizon=Fraction(3, 2))
    again = read_automaton(tmp_path / f"a{suffix}")
    assert automaton_json(again) == automaton_json(made)
    assert again.locations[-1].invariant.normals.tobytes() == made.locations[-1].invariant.normals.tobytes()


def test_public_functions(tmp_path: Path) -> None:
    made = automaton([4], 2)
    vn.write_automaton(made, tmp_path / "a.xml")
    vn.write_automaton(vn.read_automaton(tmp_path / "a.xml"), tmp_path / "a.json")
    assert automaton_json(vn.read_automaton(tmp_path / "a.json")) == automaton_json(made)


def test_the_schema_describes_what_is_written() -> None:
    document = json.loads(automaton_json(automaton([4], 2)))
    jsonschema.validate(document, schema("automaton"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "radius": "none"}, schema("automaton"))


@pytest.mark.parametrize("name", ["a.txt", "a"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match="json"):
        write_automaton(automaton([3], 1), tmp_path / name)
    (tmp_path / name).write_text("x")
    with pytest.raises(FormatError, match="json"):
        read_automaton(tmp_path / name)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.xml"):
        read_automaton(tmp_path / "none.xml")


def _change(*path: str | int, to: object) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_change("automaton", to=2), "version 2"),
        (_change("automaton", to="1"), r"automaton"),
        (_change("variables", to=[]), "0 variables"),
        (_change("variables", to=[f"x{k}" for k in range(100)]), "100 variables"),
        (_change("lower", to=[0.0]), "lower: 1 numbers instead of 2"),
        (_change("radius", to=[0.1, -0.1]), "radius"),
        (_change("upper", to=[-9.0, 1.0]), "lower"),
        (_change("locations", 0, "matrix", to=[[1.0, 2.0]]), r"locations\[0\]\.matrix"),
        (_change("locations", 0, "matrix", to=[[1.0], [2.0]]), r"locations\[0\]\.matrix"),
        (_change("locations", 0, "drift", to=[None, 1.0]), r"locations\[0\]\.drift|drift"),
        (_change("locations", 0, "invariant", "offsets", to=[1.0]), r"locations\[0\]\.invariant\.normals"),
        (_change("crossings", 0, "source", to=99), r"crossings\[0\]: from location 99"),
        (_change("crossings", 0, "target", to=-1), r"crossings\[0\]"),
        (_change("surplus", to=1), "surplus"),
    ],
)
def test_json_that_does_not_fit_is_refused_at_its_place(change: Callable[[Any], None], message: str) -> None:
    document = json.loads(automaton_json(automaton([4], 2)))
    change(document)
    with pytest.raises(FormatError, match=message):
        parse_automaton(json.dumps(document).encode())


@pytest.mark.parametrize("content", [b"", b"[", b"{}", b"null", b"\xff\xfe", b"[" * 100_000, b'{"lower": NaN}'])
def test_broken_json_is_refused(content: bytes) -> None:
    with pytest.raises(FormatError, match="no hybrid automaton"):
        parse_automaton(content)


def test_numbers_of_all_sizes_survive(tmp_path: Path) -> None:
    made = automaton([3], 2)
    drift = np.array([5e-324, -1.7976931348623157e308])
    odd = replace(made, locations=tuple(replace(one, drift=drift) for one in made.locations))
    for suffix in (".json", ".xml"):
        write_automaton(odd, tmp_path / f"a{suffix}")
        assert read_automaton(tmp_path / f"a{suffix}").locations[0].drift.tolist() == drift.tolist()
