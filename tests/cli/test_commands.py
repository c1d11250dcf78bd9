"""The smaller commands: simulate, explain, convert, solvers, schema."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.samples import room
from tests.networks_at_hand import drawn
from vernal.cli.main import main
from vernal.formats.automata import write_automaton
from vernal.reduce.neural.partition import automaton_of
from vernal.report.run_table import shown_steps
from vernal.solvers.registry import BACKENDS, SolverEntry

EXAMPLES = Path(__file__).parents[2] / "examples"

THERMOSTAT = Path(__file__).resolve().parents[2] / "examples" / "thermostat"
Said = pytest.CaptureFixture[str]


def simulated(folder: Path, *options: str) -> list[dict[str, str]]:
    file = folder / "runs.csv"
    assert main(["simulate", room(folder), "--csv", str(file), *options]) == 0
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_runs_are_runs_of_the_room(tmp_path: Path, capsys: Said) -> None:
    rows = simulated(tmp_path, "--runs", "50", "--steps", "6")
    assert len(rows) == 50 * 7
    assert list(rows[0]) == ["run", "step", "T", "mode"]
    for now, after in itertools.pairwise(rows):
        if now["run"] == after["run"]:
            change = float(after["T"]) - float(now["T"])
            lower, upper = (0, 0.6) if now["mode"] == "HEAT" else (-0.5, -0.4)
            assert lower - 1e-9 <= change <= upper + 1e-9
            assert after["mode"] == ("OFF" if float(now["T"]) > 20 else "HEAT")


def test_the_table_summarises(tmp_path: Path, capsys: Said) -> None:
    simulated(tmp_path, "--runs", "50", "--steps", "6")
    table, shares, _ = capsys.readouterr().out.partition("\n\n")
    head, first, *_, last = table.splitlines()
    assert head.split() == ["step", "T", "min", "T", "mean", "T", "max", "mode"]
    assert first.split()[-1] == "HEAT"
    assert last.split()[0] == "6"
    assert shares


def test_the_same_seed_gives_the_same_runs(tmp_path: Path, capsys: Said) -> None:
    options = ("--runs", "5", "--steps", "3", "--seed")
    assert simulated(tmp_path, *options, "1") == simulated(tmp_path, *options, "1")
    assert simulated(tmp_path, *options, "1") != simulated(tmp_path, *options, "2")


ENDING = """
vernal = 1
[state]
x = "int"
open = "bool"
[init]
x = "{0, 1}"
open = true
[environment]
enabled = "x < 3"
[environment.next]
x = "x + 1"
"""


def test_runs_may_end(tmp_path: Path, capsys: Said) -> None:
    file, picture = tmp_path / "runs.csv", tmp_path / "runs.png"
    outputs = ["--csv", str(file), "--plot", str(picture)]
    assert main(["simulate", room(tmp_path, ENDING), "--runs", "20", "--steps", "5", *outputs]) == 0
    table = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert table[0] == ["step", "runs", "x", "min", "x", "mean", "x", "max", "open"]
    assert table[3][2:] == ["2", *table[3][3:5], "true"]
    assert 0 < int(table[4][1]) < 20  # some began at 1 and have ended at 3 before
    assert table[6][1:] == ["0"]
    with file.open(newline="") as lines:
        assert {row["x"] for row in csv.DictReader(lines)} == {"0", "1", "2", "3"}
    assert picture.stat().st_size > 0


def test_runs_are_drawn(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "runs.svg"
    assert main(["simulate", room(tmp_path), "--runs", "20", "--plot", str(file)]) == 0
    assert ">mode<" in file.read_text()


def test_runs_are_judged_by_the_property_named(tmp_path: Path, capsys: Said) -> None:
    assert main(["simulate", room(tmp_path), "--runs", "20", "-p", "mild"]) == 0
    said = capsys.readouterr().out
    assert "mild  holds on all 20 runs" in said
    assert "cool" not in said
    assert main(["simulate", room(tmp_path), "-p", "milt"]) == 2
    assert "mild" in capsys.readouterr().err


def test_some_quantities_of_runs_are_drawn_in_a_plane(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "plane.svg"
    options = ["--runs", "20", "--plot", str(file), "--of", "T", "--of", "T - warmth", "--plane"]
    assert main(["simulate", room(tmp_path), *options]) == 0
    assert ">T - warmth<" in file.read_text()
    assert main(["simulate", room(tmp_path), "--plot", str(file), "--of", "T", "--plane"]) == 2
    assert "a plane wants two numbers" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [["--runs", "0"], ["--steps", "-1"], ["--seed", "-1"], ["--runs", "100000000"], ["--plot", "runs.doc"]]
)
def test_senseless_simulations_are_refused(options: list[str], tmp_path: Path, capsys: Said) -> None:
    assert main(["simulate", room(tmp_path), *options]) == 2
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize(("last", "steps"), [(0, [0]), (3, [0, 1, 2, 3]), (25, [0, 5, 10, 15, 20, 25]), (101, None)])
def test_about_ten_steps_are_shown(last: int, steps: list[int] | None) -> None:
    shown = shown_steps(last)
    assert steps is None or shown == steps
    assert shown[0] == 0
    assert shown[-1] == last
    assert len(shown) <= 12


def test_explain_tells_system_and_formulas(tmp_path: Path, capsys: Said) -> None:
    assert main(["explain", room(tmp_path), "--set", "warmth=0.25"]) == 0
    said = capsys.readouterr().out
    for words in (
        "warmth = 0.25",
        "real [0, 40]",
        "[18, 19]",
        "any real between 0 and 0.1",
        "one of 0, 0.25",
        "property cool",
        "G[0,4] (T <= 20)",
        "at every step from 0 to 4",
        "bounds may prove or refute it within 4 steps",
        "falsify",
    ):
        assert words in said


def test_explain_one_formula(tmp_path: Path, capsys: Said) -> None:
    assert main(["explain", room(tmp_path), "--spec", "F (T > 30)"]) == 0
    said = capsys.readouterr().out
    assert "falsify may refute it; " in said
    assert "; bounds, paths, milp and smt do not take it, since it has no last step" in said
    assert "property cool" not in said


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("EF[0,3] (T > 30)", "falsify does not take it: a witness proves a claim of some path for one initial state"),
        ("T > 3", "split may prove or refute it; bounds may prove or refute it within 0 steps"),
        ("AG[0,3] EF[0,2] (T > 30)", "falsify does not take"),
        ("X (T > 30)", "within 1 step; falsify may refute it"),
        ("X (T > 30)", "path by path where everything is piecewise linear, and may elsewhere; milp and smt may"),
        ("AX (T > 30) | AX (T < 3)", "state by state, where everything is piecewise linear"),
        ("AX (T > 30) | AX (T < 3)", "milp may prove or refute it; smt may refute it"),
        ("AG[0,3] EF[0,2] (T > 30)", "milp may prove or refute it; smt does not take it"),
        ("AG[0,3] EF[0,2] (T > 30)", "liveness may prove it where every path does what some path has to"),
        ("G (T > 30)", "invariants may prove it; liveness may prove it; falsify may refute it"),
        ("G F (T > 30)", "lasso may refute it by a loop; liveness may prove it; falsify"),
        (
            "AG EF (T > 30)",
            "finitely many steps do; liveness may prove it where every path does what some path has to; falsify",
        ),
        ("G (T > 30)", "finitely many steps do; induction may prove it"),
        ("F (T > 30)", "finitely many steps do; lasso may refute it by a loop"),
        ("EG (T > 30)", "induction may prove it; invariants may prove it; liveness may prove or refute it"),
        ("EF (T > 30)", "induction may refute it; invariants may refute it; liveness may prove or refute it"),
    ],
)
def test_explain_says_who_can_answer(spec: str, words: str, tmp_path: Path, capsys: Said) -> None:
    assert main(["explain", room(tmp_path), "--spec", spec]) == 0
    told = capsys.readouterr().out
    assert all(part in told for part in words.split("; "))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("EG (n < 9)", "lasso may prove it by loops from finitely many initial states"),
        ("EF[0,3] (n > 3)", "within 3 steps; falsify may prove it by a witness"),
        ("G (n < 9)", "explicit decides it where finitely many states are reached; predicates may prove or refute it"),
    ],
)
def test_explain_says_who_can_answer_of_finitely_many_states(
    spec: str, words: str, tmp_path: Path, capsys: Said
) -> None:
    task = tmp_path / "count.toml"
    counts = 'n = "if(n < 5, n + 1, 0)"'
    task.write_text(
        f'vernal = 1\n[state]\nn = "int [0, 9]"\n[init]\nn = 0\n[environment.next]\n{counts}\n', encoding="utf-8"
    )
    assert main(["explain", str(task), "--spec", spec]) == 0
    told = capsys.readouterr().out
    assert all(part in told for part in words.split("; "))


def test_what_answers_is_named(tmp_path: Path, capsys: Said) -> None:
    """An engine that `check` answers by is one of those that `explain` names."""
    main(["check", room(tmp_path), "--spec", "T > 3", "--json", "-"])
    engine = json.loads(capsys.readouterr().out)["results"][0]["engine"]
    main(["explain", room(tmp_path), "--spec", "T > 3"])
    assert f"{engine} may prove or refute it" in capsys.readouterr().out


def test_explain_draws_the_tree_of_one_formula(tmp_path: Path, capsys: Said) -> None:
    picture = tmp_path / "tree.svg"
    asked = ["explain", room(tmp_path), "--spec", "G[0,1] (T <= 30)"]
    assert main([*asked, "--tree", str(picture), "--depth", "1"]) == 0
    assert capsys.readouterr().out == f"tree written to {picture}\n"
    drawn = picture.read_text()
    for said in ("G[0,1] (T &lt;= 30)", "18 … 19", "gain 0.5, any sun", "step 1"):
        assert said in drawn


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tree", "tree.svg"], "(mild, cool); choose with --property or with --spec"),
        (["--spec", "X (T > 1)", "--tree", "tree.svg", "--depth", "-1"], "0 or more"),
        (["--spec", "X (T > 1)", "--depth", "1"], "goes with --tree"),
        (["--spec", "AX (T > 1) | AX (T < 1)", "--tree", "tree.svg"], "state by state"),
    ],
)
def test_explain_refuses_what_cannot_be_drawn(options: list[str], words: str, tmp_path: Path, capsys: Said) -> None:
    assert main(["explain", room(tmp_path), *options]) == 2
    assert words in capsys.readouterr().err


def test_explain_takes_properties_by_name(tmp_path: Path, capsys: Said) -> None:
    assert main(["explain", room(tmp_path), "-p", "cool", "-p", "in_range"]) == 0
    said = capsys.readouterr().out
    assert "property cool" in said
    assert "property in_range" in said
    assert "property mild" not in said
    assert main(["explain", room(tmp_path), "-p", "cold"]) == 2
    assert "cool" in capsys.readouterr().err


@pytest.mark.parametrize("asked", [["-p", "cool"], ["-p", "in_range"], ["-s", "EF (T > 20)"], ["-s", "F (T > 20)"]])
def test_explain_draws_a_tree_of_any_property(asked: list[str], tmp_path: Path, capsys: Said) -> None:
    picture = tmp_path / "tree.svg"
    assert main(["explain", room(tmp_path), *asked, "--tree", str(picture), "--depth", "1"]) == 0, capsys.readouterr()
    assert picture.stat().st_size > 0


def test_explain_reports_bad_formulas(tmp_path: Path, capsys: Said) -> None:
    assert main(["explain", room(tmp_path), "--spec", "A F G (T > 30)"]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_explain_describes_agents(capsys: Said) -> None:
    assert main(["explain", str(THERMOSTAT / "thermostat.toml")]) == 0
    said = capsys.readouterr().out
    assert "agent control" in said
    assert "thermostat.onnx: 2-6-2, 32 parameters" in said


def test_convert_there_and_back(tmp_path: Path, capsys: Said) -> None:
    there, back = tmp_path / "thermostat.nnet", tmp_path / "thermostat.onnx"
    assert main(["convert", str(THERMOSTAT / "thermostat.onnx"), str(there)]) == 0
    assert main(["convert", str(there), str(back)]) == 0
    assert back.stat().st_size > 100
    assert "thermostat.nnet -> " in capsys.readouterr().out.splitlines()[1]


def test_convert_automata_there_and_back(tmp_path: Path, capsys: Said) -> None:
    first, there, back = (tmp_path / name for name in ("a.json", "b.xml", "c.json"))
    write_automaton(automaton_of(drawn([4], 2, 0), name="net", variables=["x", "y"]), first)
    assert main(["convert", str(first), str(there)]) == 0
    assert main(["convert", str(there), str(back)]) == 0
    assert back.read_bytes() == first.read_bytes()
    assert "the same automaton" in capsys.readouterr().out
    assert main(["convert", str(first), str(there), "--output", "scores"]) == 2
    assert main(["convert", str(first), str(tmp_path / "d.onnx")]) == 2
    assert main(["convert", str(first), str(there), "--property", "safe"]) == 2
    said = capsys.readouterr().err
    assert "about networks" in said
    assert "a hybrid automaton, not a network" in said
    assert "no properties" in said


def test_convert_wants_a_network(tmp_path: Path, capsys: Said) -> None:
    assert main(["convert", str(tmp_path / "none.onnx"), str(tmp_path / "out.nnet")]) == 2
    assert "none.onnx" in capsys.readouterr().err


def test_solvers_say_what_is_here_and_how_to_get_the_rest(capsys: Said) -> None:
    assert main(["solvers"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    for backend in BACKENDS:
        assert (backend.version or f"pip install 'vernal[{backend.extra}]'") in lines[backend.name]
    assert "--engine milp" in lines["--solver"]


def test_a_missing_solver_has_no_version() -> None:
    assert SolverEntry("none", "no_such_module", "no-such-package", "none", "").version is None


@pytest.mark.parametrize("name", ["result", "sweep", "faults", "trace", "task", "automaton"])
def test_schemas_are_printed(name: str, capsys: Said) -> None:
    assert main(["schema", name]) == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))


def test_the_schema_of_results_is_the_default(capsys: Said) -> None:
    main(["schema"])
    first = capsys.readouterr().out
    main(["schema", "result"])
    assert capsys.readouterr().out == first


def test_an_unknown_schema_is_refused(capsys: Said) -> None:
    assert main(["schema", "resutl"]) == 2
    assert "did you mean 'result'" in capsys.readouterr().err


def test_task_files_validate(tmp_path: Path, capsys: Said) -> None:
    import tomllib

    from tests.cli.samples import ROOM

    main(["schema", "task"])
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema).validate(tomllib.loads(ROOM))
    on_a_world = {"vernal": 1, "world": "cartpole", "agents": {"push": {"policy": "policy.onnx"}}}
    jsonschema.Draft202012Validator(schema).validate(on_a_world)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({"state": {}})
    misspelt = {"vernal": 1, "enviroment": {"next": {}}, "agents": {"push": {"polcy": "p.onnx"}}}
    wrong = jsonschema.Draft202012Validator(schema).iter_errors(misspelt)
    places = {tuple(error.absolute_path) for error in wrong}
    assert places == {("enviroment",), ("agents", "push", "polcy")}, "editors mark these lines, not the whole file"


def _unordered(schema: Any) -> Any:
    """Alternatives in an order of their own: versions of msgspec list them differently."""
    if isinstance(schema, list):
        return sorted((_unordered(one) for one in schema), key=str)
    return {key: _unordered(one) for key, one in schema.items()} if isinstance(schema, dict) else schema


def test_the_examples_name_the_schema_that_comes_with_them(capsys: Said) -> None:
    main(["schema", "task"])
    kept, made = (EXAMPLES / "task.schema.json").read_text(), capsys.readouterr().out
    assert _unordered(json.loads(kept)) == _unordered(json.loads(made)), "vernal schema task > examples/..."
    for file in EXAMPLES.glob("*/*.toml"):
        assert file.read_text().startswith("#:schema ../task.schema.json\n"), file
