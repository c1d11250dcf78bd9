"""Sweeps: exact grids, tables, and nothing lost on the way."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

from tests.cli.samples import room
from vernal.cli.main import main
from vernal.errors import InputError
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED
from vernal.queries.grid import Grid, parse_over
from vernal.report.document import schema
from vernal.run.budget import Budget

Answer = Callable[..., list[Budget]]
Said = pytest.CaptureFixture[str]
GRID = ["--over", "warmth=0.5,1", "--over", "k=1..2", "--property", "cool"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("v0=-19.5,-22.5", ("-19.5", "-22.5")),
        ("k=1..4", ("1", "2", "3", "4")),
        ("k=-1..1", ("-1", "0", "1")),
        ("x=0..1..0.25", ("0", "0.25", "0.5", "0.75", "1")),
        ("x=0..0.3..0.1", ("0", "0.1", "0.2", "0.3")),
        ("x=1..0..-0.5", ("1", "0.5", "0")),
        ("x=0..1..0.3", ("0", "0.3", "0.6", "0.9")),
        ("k=1..3, 10", ("1", "2", "3", "10")),
        ("v0=2*g", ("2*g",)),
        ("k=7..7", ("7",)),
    ],
)
def test_values_of_an_axis(text: str, values: tuple[str, ...]) -> None:
    assert parse_over(text).values == values


def test_steps_are_exact_decimals() -> None:
    values = parse_over("x=0..1..0.1").values
    assert sum(map(Fraction, values)) == Fraction(55, 10)
    assert len(values) == 11


@pytest.mark.parametrize(
    "text",
    [
        *("v0", "=1", "v0=", "v0=1,,2", "k=1..2..3..4", "k=5..1", "k=0..1..0", "k=a..b", "k=0..1.5"),
        *("k=1..1e999999999", "x=0..1..1e-999999999", "x=0..1..1E+0999999", f"k=0..{'9' * 5000}", "k=1e401..2"),
    ],
)
def test_what_is_no_axis_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--over"):
        parse_over(text)


def test_endless_sweeps_are_refused() -> None:
    with pytest.raises(InputError, match="at most"):
        parse_over("k=0..1000000000")
    with pytest.raises(InputError, match="cells"):
        Grid([parse_over("a=1..2000"), parse_over("b=1..2000")])


def test_the_last_axis_varies_fastest() -> None:
    points = list(Grid([parse_over("a=1,2"), parse_over("b=3,4")]).points())
    assert points == [{"a": "1", "b": "3"}, {"a": "1", "b": "4"}, {"a": "2", "b": "3"}, {"a": "2", "b": "4"}]


def test_one_parameter_on_two_axes_is_refused() -> None:
    with pytest.raises(InputError, match="twice"):
        Grid([parse_over("a=1,2"), parse_over("a=3")])


def test_the_table_has_the_last_axis_as_rows(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS, VIOLATED, HOLDS, VIOLATED)
    assert main(["sweep", room(tmp_path), *GRID]) == 0
    title, head, first, second = capsys.readouterr().out.splitlines()
    assert title == "cool  (with margin)"
    assert head.split() == ["k", "warmth=0.5", "warmth=1"]
    assert first.split()[:2] == ["1", "holds"]
    assert second.split()[:2] == ["2", "violated"]


def test_rows_for_machines(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS, VIOLATED, UNKNOWN, HOLDS)
    table = tmp_path / "table.csv"
    assert main(["sweep", room(tmp_path), *GRID, "--json", "-", "--csv", str(table)]) == 5
    said = capsys.readouterr()
    content = json.loads(said.out)
    jsonschema.Draft202012Validator(schema("sweep")).validate(content)
    assert [row["parameters"] for row in content["rows"]] == [
        {"warmth": 0.5, "k": 1},
        {"warmth": 0.5, "k": 2},
        {"warmth": 1, "k": 1},
        {"warmth": 1, "k": 2},
    ]
    assert [row["formula"] for row in content["rows"]][:2] == ["G[0,1] (T <= 20)", "G[0,2] (T <= 20)"]
    assert content["task"]["parameters"] == {}  # both are swept
    assert "unknown" in said.err
    with table.open(newline="") as lines:
        assert [row["verdict"] for row in csv.DictReader(lines)] == ["holds", "violated", "unknown", "holds"]


def test_the_clock_starts_anew_in_every_cell(tmp_path: Path, answer: Answer) -> None:
    budgets = answer(HOLDS, HOLDS, HOLDS, HOLDS)
    assert main(["sweep", room(tmp_path), *GRID, "--timeout", "9"]) == 0
    starts = [budget.started for budget in budgets]
    assert starts == sorted(set(starts))
    assert {budget.timeout for budget in budgets} == {9}


def test_ctrl_c_keeps_the_finished_cells(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS, VIOLATED, KeyboardInterrupt())
    file = tmp_path / "rows.json"
    assert main(["sweep", room(tmp_path), *GRID, "--json", str(file)]) == 130
    assert len(json.loads(file.read_text())["rows"]) == 2
    said = capsys.readouterr().err
    assert "2 of 4 cells were not reached; with --journal FILE they could be asked later" in said


def test_a_bad_cell_is_named_and_ends_with_2(tmp_path: Path, answer: Answer, capsys: Said) -> None:
    answer(HOLDS)
    assert main(["sweep", room(tmp_path), "--over", "k=1,-1", "--property", "cool"]) == 2
    said = capsys.readouterr()
    assert "error: in the cell k=-1: " in said.err
    assert "holds" in said.out


def test_only_parameters_can_be_swept(tmp_path: Path, capsys: Said) -> None:
    assert main(["sweep", room(tmp_path), "--over", "T=1,2"]) == 2
    assert "no parameter 'T'" in capsys.readouterr().err


def test_a_parameter_is_swept_or_set_but_not_both(tmp_path: Path, capsys: Said) -> None:
    assert main(["sweep", room(tmp_path), "--over", "k=1,2", "--set", "k=3"]) == 2
    assert "--over and --set both give k" in capsys.readouterr().err


def test_a_sweep_that_was_cut_short_names_the_command_that_goes_on(
    tmp_path: Path, answer: Answer, capsys: Said
) -> None:
    answer(KeyboardInterrupt())
    arguments = ["sweep", room(tmp_path), *GRID, "--journal", str(tmp_path / "kept.journal")]
    assert main(arguments) == 130
    assert f"; this goes on with them: vernal {' '.join(arguments)}" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--workers", "2"]])
def test_progress_as_lines_of_json(more: list[str], tmp_path: Path, capsys: Said) -> None:
    assert main(["sweep", room(tmp_path), *GRID, "--events", "-", *more]) == 0
    said = capsys.readouterr()
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert {line["of"] for line in lines} == {4}
    assert [line["cells"] for line in lines] == sorted(line["cells"] for line in lines)
    assert all(line["event"] == "progress" and line["cells_per_second"] >= 0 for line in lines)
    assert "cool" in said.err
    assert main(["sweep", room(tmp_path), *GRID, "--events", "-", "--json", "-"]) == 2
