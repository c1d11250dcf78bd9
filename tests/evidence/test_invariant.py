"""Invariants as evidence: they travel, are written and read, printed and drawn, and are checked again."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cases import HEAD
from vernal.cli.main import application
from vernal.engines.check import parse_formula
from vernal.errors import FormatError
from vernal.evidence import evidence_file
from vernal.evidence.invariant import Invariant, StateSet
from vernal.evidence.invariant_file import component_names, invariant_json, invariant_of
from vernal.evidence.judgement import Judgement, Recheck
from vernal.evidence.reach import ForAllTime
from vernal.evidence.recheck import recheck
from vernal.evidence.result import HOLDS, Assurance, Result
from vernal.formats.task.blueprint import load
from vernal.logic.claim import Claim
from vernal.logic.task import Task
from vernal.report.invariants import invariant_words, is_drawable, plot_invariant, shadow

HALF = """
[state]
x = "real"
[init]
x = "[0, 1]"
[environment.next]
x = "0.5*x"
"""

TURN = """
[state]
x = "real"
y = "real"
[init]
x = "[-0.5, 0.5]"
y = "[-0.5, 0.5]"
[environment.next]
x = "0.6*x - 0.6*y"
y = "0.6*x + 0.6*y"
"""

FLIP = """
[state]
x = "real"
mode = "enum {LOW, HIGH}"
[init]
x = "[1, 2]"
mode = "HIGH"
[environment.next]
x = "if(mode == HIGH, -x, -x + between(-0.1, 0.1) * 0)"
mode = "if(mode == HIGH, LOW, HIGH)"
"""

SINE = """
[state]
x = "real"
[init]
x = "[0, 1]"
[environment.next]
x = "0.9*sin(x)"
"""

COUNT = """
[state]
n = "int [0, 9]"
[init]
n = 0
[environment.next]
n = "min(n + 1, 9)"
"""


def task_of(text: str, tmp_path: Path) -> Task:
    file = tmp_path / "case.toml"
    file.write_text(HEAD + text)
    return load(file)


def box(*ends: tuple[object, object]) -> StateSet:
    """A set between ends of each component."""
    rows: list[tuple[Fraction, ...]] = []
    bounds: list[Fraction] = []
    for place, (low, high) in enumerate(ends):
        unit = tuple(Fraction(int(place == other)) for other in range(len(ends)))
        rows += [unit, tuple(-a for a in unit)]
        bounds += [Fraction(str(high)), -Fraction(str(low))]
    return StateSet(tuple(rows), tuple(bounds))


def octagon(size: str, diagonal: str) -> StateSet:
    """|x|, |y| <= size and |x + y|, |x - y| <= diagonal."""
    one = box((f"-{size}", size), (f"-{size}", size))
    rows = tuple((Fraction(a), Fraction(b)) for a in (1, -1) for b in (1, -1))
    return StateSet(one.rows + rows, one.bounds + (Fraction(diagonal),) * 4)


def checked(task: Task, formula: str, sets: Sequence[StateSet], names: Sequence[str], **more: object) -> Recheck:
    claim = Claim(parse_formula(task, formula))
    return recheck(task.system, claim, Invariant(tuple(names), tuple(sets), **more))  # type: ignore[arg-type]


CASES = [
    (HALF, "G (x <= 1)", [box((0, 1))], ["x"], Judgement.ACCEPTED),
    (HALF, "G (x <= 1)", [box((0, 0.9))], ["x"], Judgement.REJECTED),  # an initial state outside
    (HALF, "G (x <= 1)", [box((0, 1.5))], ["x"], Judgement.REJECTED),  # the claim is false inside
    (HALF, "G (x <= 1)", [box((0.5, 1))], ["x"], Judgement.REJECTED),
    (HALF, "G (x < 1.1)", [box((0.5, 1)), box((0, 0.5))], ["x"], Judgement.ACCEPTED),
    (HALF, "G (x < 1.1)", [box((0.6, 1)), box((0.2, 0.6))], ["x"], Judgement.REJECTED),  # 0.15 is left out
    (TURN, "G (x <= 0.7)", [octagon("0.6", "1")], ["x", "y"], Judgement.ACCEPTED),
    (TURN, "G (x <= 0.7)", [box((-0.6, 0.6), (-0.6, 0.6))], ["x", "y"], Judgement.REJECTED),
    (FLIP, "G (x >= 1 | x <= -1)", [box((1, 2), (1, 1)), box((-2, -1), (0, 0))], ["x", "mode"], Judgement.ACCEPTED),
    (FLIP, "G (x >= 1 | x <= -1)", [box((1, 2), (0, 1)), box((-2, -1), (0, 0))], ["x", "mode"], Judgement.REJECTED),
    (SINE, "G (x <= 1)", [box((-0.1, 1))], ["x"], Judgement.ACCEPTED),
    (SINE, "G (x <= 1)", [box((0.1, 1))], ["x"], Judgement.REJECTED),
    (SINE, "G (x <= 1)", [box((0, 1.2))], ["x"], Judgement.REJECTED),
    (SINE, "G (x <= 1)", [box((0, 1))], ["x"], Judgement.UNDECIDED),  # at 0 rounding decides
    (COUNT, "G (n <= 9)", [box((0, 9))], ["n"], Judgement.ACCEPTED),
    (COUNT, "G (n <= 9)", [box((0, 8.5))], ["n"], Judgement.REJECTED),
    (COUNT, "G (n <= 9)", [box((0, 9.9))], ["n"], Judgement.ACCEPTED),  # there is no integer in between
]


@pytest.mark.parametrize(("text", "formula", "sets", "names", "expected"), CASES)
def test_checked_again(
    text: str, formula: str, sets: list[StateSet], names: list[str], expected: Judgement, tmp_path: Path
) -> None:
    found = checked(task_of(text, tmp_path), formula, sets, names)
    assert found.judgement is expected, found.reason


def test_a_claim_from_a_later_position_on_has_a_prefix(tmp_path: Path) -> None:
    task = task_of(HALF, tmp_path)
    prefix = ((box((0, 1)),), (box((0, 0.5)),))
    last = [box((0, 0.25))]
    assert checked(task, "G[2,] (x <= 0.25)", last, ["x"], prefix=prefix).judgement is Judgement.ACCEPTED
    assert checked(task, "G[2,] (x <= 0.25)", last, ["x"]).judgement is Judgement.REJECTED
    short = (prefix[0], (box((0, 0.4)),))
    assert checked(task, "G[2,] (x <= 0.25)", last, ["x"], prefix=short).judgement is Judgement.REJECTED


def test_weak_until_is_watched_until_it_is_over(tmp_path: Path) -> None:
    task = task_of(COUNT, tmp_path)
    assert checked(task, "(n <= 4) W (n == 5)", [box((0, 5))], ["n"]).judgement is Judgement.ACCEPTED
    assert checked(task, "(n <= 3) W (n == 5)", [box((0, 5))], ["n"]).judgement is Judgement.REJECTED
    assert checked(task, "(n == 5) R (n <= 5)", [box((0, 5))], ["n"]).judgement is Judgement.ACCEPTED


def test_claims_that_no_invariant_proves(tmp_path: Path) -> None:
    task = task_of(HALF, tmp_path)
    for formula in ("F (x <= 0.1)", "EF (x <= 1)", "G F (x <= 1)", "X (x <= 1)"):
        assert checked(task, formula, [box((0, 1))], ["x"]).judgement is Judgement.REJECTED
    assert checked(task, "EG (x <= 1)", [box((0, 1))], ["x"]).judgement is Judgement.ACCEPTED  # all paths keep it


def test_what_is_not_named_may_be_anything(tmp_path: Path) -> None:
    text = HALF.replace('x = "real"', 'x = "real"\nz = "real"').replace('x = "[0, 1]"', 'x = "[0, 1]"\nz = 0')
    free = task_of(text + 'z = "z + 1"\n', tmp_path)
    assert checked(free, "G (x <= 1)", [box((0, 1))], ["x"]).judgement is Judgement.ACCEPTED
    tied = task_of(text.replace("0.5*x", "0.5*x + z"), tmp_path)
    assert checked(tied, "G (x <= 1)", [box((0, 1))], ["x"]).judgement is Judgement.UNDECIDED


EVERYTHING, BELOW = StateSet((), ()), StateSet(((Fraction(1),),), (Fraction(1),))
ODD: list[tuple[list[str], list[StateSet]]] = [
    ([], [EVERYTHING]),
    ([], []),
    (["x"], [EVERYTHING]),
    (["x"], []),
    (["x"], [BELOW]),
    (["x"], [BELOW, EVERYTHING]),
    *((["x"], [StateSet(((Fraction(1),),), (Fraction(10) ** power,))]) for power in (308, 309, 5000, -400)),
    *((["x"], [StateSet(((Fraction(10) ** power,),), (Fraction(1),))]) for power in (308, 309, 5000, -400)),
    (["x"], [StateSet(((Fraction(1),),), (Fraction(sys.float_info.max),))]),
    (["x"], [StateSet(((Fraction(0),),), (Fraction(-1),))]),  # no state at all
]


@pytest.mark.parametrize(("names", "sets"), ODD)
@pytest.mark.parametrize("text", [HALF, SINE, HALF.replace("0.5*x", "0.5*x + between(-1, 1)")])
@pytest.mark.parametrize("formula", ["G (x <= 0.5)", "G (x <= x)", "EG (x <= 0.5)"])
def test_sets_without_ends_or_without_components_are_judged(
    names: list[str], sets: list[StateSet], text: str, formula: str, tmp_path: Path
) -> None:
    """None of them proves what is false; warnings are errors here."""
    found = checked(task_of(text, tmp_path), formula, sets, names)
    assert found.judgement is not Judgement.ACCEPTED or formula == "G (x <= x)", found.reason
    assert found.reason


# Data -----------------------------------------------------------------------------------------------------------------


ANYWHERE, NOWHERE = StateSet((), ()), StateSet(((),), (Fraction(-1),))
TASKS = {"half": HALF, "turn": TURN, "flip": FLIP, "sine": SINE, "count": COUNT}
SETS = {"none": [], "anywhere": [ANYWHERE], "nowhere": [NOWHERE], "both": [NOWHERE, ANYWHERE]}


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("sets", SETS)
def test_an_invariant_may_name_no_component(name: str, sets: str, tmp_path: Path) -> None:
    """It is every state, or no state, and proves what is true of every state."""
    task = task_of(TASKS[name], tmp_path)
    var = task.system.state[0].name
    said = {formula: checked(task, formula, SETS[sets], ()) for formula in ("G (1 <= 2)", f"G ({var} <= 5)")}
    if ANYWHERE not in SETS[sets]:
        assert {found.judgement for found in said.values()} == {Judgement.REJECTED}
    else:
        assert said["G (1 <= 2)"].judgement is Judgement.ACCEPTED
        assert said[f"G ({var} <= 5)"].judgement is Judgement.UNDECIDED


@pytest.mark.parametrize("name", TASKS)
def test_rows_of_zeros_say_nothing(name: str, tmp_path: Path) -> None:
    task = task_of(TASKS[name], tmp_path)
    names = [variable.name for variable in task.system.state]
    zeros = tuple(Fraction(0) for _ in names)
    whole, none = (StateSet((zeros,), (Fraction(bound),)) for bound in (0, -1))
    assert checked(task, "G (1 <= 2)", [whole], names).judgement is not Judgement.REJECTED
    assert checked(task, "G (1 <= 2)", [none], names).judgement is Judgement.REJECTED


def invariant() -> Invariant:
    return Invariant(("x", "y"), (octagon("0.6", "1"), box((0, 0.1), ("1/3", 1))), ((box((0, 1), (0, 1)),),))


def test_it_travels_and_is_written_and_read(tmp_path: Path) -> None:
    task, made = task_of(TURN, tmp_path), invariant()
    assert pickle.loads(pickle.dumps(made)) == made
    assert invariant_of(json.loads(json.dumps(invariant_json(made))), task.system) == made
    assert made.kind == "invariant"
    assert made.path is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"components": ["x", "z"]}, "'z' is not known here"),
        ({"components": ["x", "x"]}, "named twice"),
        ({"components": ["x"]}, "a row has a number for each of the 1 components"),
        ({"sets": [{"rows": [[1, 0]], "bounds": []}]}, "1 rows and 0 bounds"),
        ({"sets": [{"rows": [[1, "a"]], "bounds": [1]}]}, "expected a number"),
        ({"sets": 3}, "expected a list"),
        ({"more": 1}, "expected an object with"),
    ],
)
def test_broken_ones_are_refused(change: dict[str, object], said: str, tmp_path: Path) -> None:
    task = task_of(TURN, tmp_path)
    with pytest.raises(FormatError, match=said):
        invariant_of({**invariant_json(invariant()), **change}, task.system)


def test_words_and_picture(tmp_path: Path) -> None:
    made = invariant()
    assert invariant_words(made).startswith("2 sets: -0.6 <= x <= 0.6, -0.6 <= y <= 0.6, -1 <= x + y <= 1, -1 <= x - y")
    assert is_drawable(made)
    plot_invariant(made, tmp_path / "made.png")
    assert (tmp_path / "made.png").stat().st_size > 1000
    assert len(shadow(octagon("0.6", "1"), 0, 1)) == 8
    assert not is_drawable(Invariant(("x",), (box((0, 1)),)))


def test_the_picture_shows_where_paths_begin_and_some_runs(tmp_path: Path) -> None:
    system = task_of(TURN, tmp_path).system
    axes = plot_invariant(replace(invariant(), system=system)).axes[0]
    sets = ["before the claim begins", "invariant: no step leaves it (2 sets)"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        *sets,
        "hull of the initial states",
        "30 simulated runs",
    ]
    legend = plot_invariant(replace(invariant(), system=None)).axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == sets


def test_labels_in_words(tmp_path: Path) -> None:
    task = task_of(FLIP, tmp_path)
    assert list(component_names(task.system)) == ["x", "mode"]
    made = Invariant(("x", "mode"), (box((1, 2), (1, 1)),), system=task.system)
    assert invariant_words(made) == "1 set: 1 <= x <= 2, mode = HIGH"


# Files ----------------------------------------------------------------------------------------------------------------


def proven(made: Invariant) -> Result:
    reach, assurance = ForAllTime(), Assurance.RIGOROUS
    return Result("G x <= 1", HOLDS, "invariants", reach=reach, assurance=assurance, evidence=made)


def test_a_file_is_replayed(tmp_path: Path) -> None:
    task, target = task_of(HALF, tmp_path), tmp_path / "half.invariant.json"
    good = Invariant(("x",), (box((0, 1)),))
    target.write_text(evidence_file.dump(task, proven(good)))
    answer = CliRunner().invoke(application(), ["replay", str(target)])
    assert answer.stdout.startswith("accepted  G x <= 1"), answer.output
    assert answer.exit_code == 0
    target.write_text(evidence_file.dump(task, proven(replace(good, sets=(box((0.25, 1)),)))))
    answer = CliRunner().invoke(application(), ["replay", str(target)])
    assert answer.exit_code == 1
    assert "an initial state is in none of the sets" in answer.stdout


def test_an_edited_file_is_noticed(tmp_path: Path) -> None:
    task, target = task_of(HALF, tmp_path), tmp_path / "half.invariant.json"
    written = json.loads(evidence_file.dump(task, proven(Invariant(("x",), (box((0, 1)),)))))
    target.write_text(json.dumps({**written, "property": None, "tool": {"name": "vernal", "version": "0"}}))
    answer = CliRunner().invoke(application(), ["replay", str(target)])
    assert answer.exit_code == 1
    assert "it was changed" in answer.stdout
