"""`--engine milp` with its own options: an encoding, a solver, and an error where they mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.available import is_here
from tests.cli.samples import room
from vernal.cli.main import main
from vernal.solvers import registry

Said = pytest.CaptureFixture[str]


@pytest.mark.parametrize("solver", registry.installed())
@pytest.mark.parametrize("encoding", ["monolithic", "compositional"])
def test_a_task_is_checked_either_way(tmp_path: Path, capsys: Said, encoding: str, solver: str) -> None:
    options = ["--engine", "milp", "--encoding", encoding, "--solver", solver]
    assert main(["check", room(tmp_path), "--spec", "G[0,3] (T <= 40)", *options]) == 0
    assert "holds" in capsys.readouterr().out
    assert main(["check", room(tmp_path), "--spec", "G[0,3] (T <= 19)", *options]) == 10
    assert "(milp, exact" in capsys.readouterr().out


def test_a_sweep_takes_them_too(tmp_path: Path, capsys: Said) -> None:
    options = ["--engine", "milp", "--encoding", "compositional", "--over", "warmth=1,2"]
    assert main(["sweep", room(tmp_path), "--spec", "G[0,2] (T <= 40)", *options]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("unroll", ["recursive", "ios", "iod"])
def test_how_the_loop_is_unrolled_and_bounded_is_an_option(tmp_path: Path, capsys: Said, unroll: str) -> None:
    options = ["--engine", "milp", "--unroll", unroll, "--no-tighten"]
    assert main(["check", room(tmp_path), "--spec", "G[0,3] (T <= 40)", *options]) == 0
    assert main(["sweep", room(tmp_path), "--spec", "G[0,2] (T <= 40)", *options, "--over", "warmth=1,2"]) == 0
    assert capsys.readouterr().out


def test_bounds_are_deepened_on_request(tmp_path: Path, capsys: Said) -> None:
    options = ["--engine", "milp", "--deepen"]
    assert main(["check", room(tmp_path), "--spec", "G[0,30] (T <= 19)", *options]) == 10
    assert "decided with the bound" in capsys.readouterr().out


@pytest.mark.skipif(not is_here("smt"), reason="pip install 'vernal[smt]'")
def test_theories_have_solvers_of_their_own(tmp_path: Path, capsys: Said) -> None:
    options = ["--engine", "smt", "--solver", "z3"]
    assert main(["check", room(tmp_path), "--spec", "G[0,3] (T <= 40)", *options]) == 0
    assert "(smt, solver" in capsys.readouterr().out
    assert main(["check", room(tmp_path), "--spec", "G[0,3] (T <= 19)", *options]) == 10
    assert "(smt, exact" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "smt", "--solver", "highs"], "no satisfiability modulo theories"),
        (["--engine", "milp", "--unroll", "backwards"], "no unroll 'backwards'; known: iod, ios, recursive"),
        (["--engine", "bounds", "--unroll", "ios"], "no option --unroll; it goes with --engine milp"),
        (["--engine", "paths", "--no-tighten"], "no option --no-tighten; it goes with --engine bounds, milp"),
        (["--encoding", "monolithic"], "goes with --engine milp"),
        (["--engine", "bounds", "--solver", "highs"], "goes with --engine predicates, milp, smt"),
        (["--engine", "milp", "--encoding", "mono"], "no encoding 'mono'"),
        (["--engine", "milp", "--solver", "magic"], "no solver 'magic'"),
        (["--engine", "milp", "--solver", "z3"], "no mixed-integer programs"),
        (["--device", "tpu"], "no device 'tpu'; bounds are computed on cpu or cuda"),
    ],
)
def test_options_that_mean_nothing_are_errors(tmp_path: Path, capsys: Said, options: list[str], said: str) -> None:
    assert main(["check", room(tmp_path), *options]) == 2
    assert said in capsys.readouterr().err


def test_a_sweep_has_a_device_too(tmp_path: Path, capsys: Said) -> None:
    assert main(["sweep", room(tmp_path), "--over", "k=1,2", "--device", "tpu"]) == 2
    assert "no device 'tpu'" in capsys.readouterr().err


def test_a_depth_goes_with_engines_for_formulas_without_a_bound(tmp_path: Path, capsys: Said) -> None:
    task = room(tmp_path)
    assert main(["check", task, "--spec", "G (T <= 19)", "--engine", "deepening", "--depth", "40"]) == 10
    capsys.readouterr()
    assert main(
        ["check", task, "--spec", "G (T <= 40)", "--engine", "deepening", "--depth", "4", "--timeout", "20"]
    ) in (0, 5)
    assert main(["check", task, "--spec", "G (T <= 40)", "--engine", "deepening", "--depth", "0"]) == 2
    assert "at least 1" in capsys.readouterr().err
    assert main(["check", task, "--spec", "G (T <= 40)", "--engine", "paths", "--depth", "3"]) == 2
    assert "deepening, lasso, induction" in capsys.readouterr().err


COUNTER = """
vernal = 1
predicates = ["x <= 2"]
[state]
x = "int [0, 5]"
[init]
x = 0
[environment.next]
x = "if(x < 3, x + 1, 0)"
[properties]
safe = "G (x <= 3)"
"""


def counter(folder: Path) -> str:
    file = folder / "counter.toml"
    file.write_text(COUNTER)
    return str(file)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--predicates", "none"],
        ["--selection", "exact"],
        ["--applicability", "relaxed"],
        ["--test", "relaxed+branching"],
        ["--test", "relaxed", "--relaxation", "bounds"],
    ],
)
def test_an_abstraction_from_the_command_line(tmp_path: Path, capsys: Said, options: list[str]) -> None:
    assert main(["check", counter(tmp_path), "--engine", "predicates", *options]) == 0
    assert "abstract states" in capsys.readouterr().out


def test_the_abstraction_alone(tmp_path: Path, capsys: Said) -> None:
    assert main(["check", counter(tmp_path), "--engine", "predicates", "--no-follow"]) == 5
    assert "an unsafe abstract state is reachable from 1 abstract starts" in capsys.readouterr().out


def test_predicates_of_a_file(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "p.toml"
    file.write_text('predicates = ["x <= 3"]')
    options = ["--engine", "predicates", "--predicates", str(file), "--no-refine"]
    assert main(["check", counter(tmp_path), *options]) == 0
    assert "1 predicates" in capsys.readouterr().out
    assert main(["check", counter(tmp_path), *options[:2], "--predicates", str(tmp_path / "no.toml")]) == 2
    assert main(["check", counter(tmp_path), "--predicates", str(file)]) == 2
    assert "--predicates goes with --engine predicates" in capsys.readouterr().err
