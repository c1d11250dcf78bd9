"""The obligations, on systems of a few states, and forged files that do not meet them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checker.tests.writing import certificate, task
from vernal_check.check import check
from vernal_check.errors import Endless, Rejected, Unreadable, Unshown
from vernal_check.main import main

SOURCE = Path(__file__).parents[1] / "src" / "vernal_check"
PAGE = Path(__file__).parents[2] / "docs" / "certificates.md"


def accepts(folder: Path, system: tuple[str, str, str], formula: str, sets: list[Any], more: str = "") -> bool:
    file = task(folder, *system, more)
    names = [line.split("=")[0].strip() for line in system[0].splitlines()]
    try:
        check(certificate(file, formula, names, sets))
    except Rejected:
        return False
    return True


STILL = ('x = "real"', 'x = "[0, 1]"', 'x = "x"')
HALVING = ('x = "real"', 'x = "[0, 2]"', 'x = "x / 2 + choose(0, 1)"')
COUNTER = ('n = "int"', "n = 0", 'n = "if(n == 3, 0, n + 1)"')
STUCK = ('n = "int"', "n = 0", 'n = "n + choose(1 when n < 2)"')
FORKED = ('n = "int"', "n = 0", 'n = "if(n == 0, choose(1, 2), n)"')
ALL = [[n] for n in range(4)]


@pytest.mark.parametrize(
    ("system", "formula", "sets", "expected"),
    [
        (HALVING, "G (x <= 2)", [[[0, 2]]], True),
        (HALVING, "G (x < 2)", [[[0, 2]]], False),
        (HALVING, "G (x <= 2)", [[[0, 1]]], False),  # initial states are missing
        (HALVING, "G (x <= 3)", [[[0, 2.5]]], True),
        (HALVING, "G (x <= 3)", [[[-1, 2]]], True),
        (HALVING, "G (x <= 3)", [[[0, "7/4"]], [["7/4", 2]]], True),
        (HALVING, "G (x <= 3)", [[[0, "7/4"]], [["15/8", 2]]], False),  # a gap
        (HALVING, "G[0,5] (x <= 2)", [{"set": [[0, 2]], "walk": True}], True),
        (HALVING, "G[0,5] (x < 2)", [{"set": [[0, 2]], "walk": True}], False),
        (STILL, "x > 0.5", [[1]], False),  # one state is not all of them
        (STILL, "EG (x > 0.5)", [[1]], False),
        (STILL, "G (x > 0.5)", [[1]], False),
        (STILL, "EF (x >= 0)", [[[0, 1]]], True),
        (STILL, "AG (x >= 0)", [[[0, 1]]], True),
        (STILL, "F (x > 0.5)", [[[0, 1]]], False),
        (COUNTER, "G F (n == 0)", ALL, True),
        (COUNTER, "F G (n == 0)", ALL, False),
        (COUNTER, "G (n <= 3)", ALL[:3], False),
        (COUNTER, "G[0,2] (n <= 2)", ALL[:3], True),
        (COUNTER, "(n < 3) U (n == 3)", ALL, True),
        (COUNTER, "(n < 2) U (n == 3)", ALL, False),
        (COUNTER, "(n < 2) W (n == 2)", ALL, True),
        (COUNTER, "(n == 3) M (n <= 3)", ALL, True),
        (COUNTER, "(n == 4) M (n <= 3)", ALL, False),
        (COUNTER, "AG EF (n == 3)", ALL, True),
        (COUNTER, "AG EF (n == 4)", ALL, False),
        (STUCK, "X[2] (n == 2)", ALL, True),
        (STUCK, "X[3] true", ALL, False),
        (STUCK, "G[3,3] false", ALL, True),  # G speaks of what remains of a path
        (STUCK, "AX[3] false", ALL, True),
        (STUCK, "EX[3] true", ALL, False),
        (STUCK, "F (n == 2)", ALL, True),
        (STUCK, "F (n == 3)", ALL, False),
        (FORKED, "EF (n == 1)", ALL, True),
        (FORKED, "EF (n == 1) & EF (n == 2)", ALL, True),
        (FORKED, "AF (n == 1)", ALL, False),
        (FORKED, "F (n == 1 | n == 2)", ALL, True),
        (FORKED, "E[(n == 0) U (n == 2)]", ALL, True),
        (FORKED, "EX (n == 0)", ALL, False),
    ],
)
def test_what_sets_show(
    system: tuple[str, str, str], formula: str, sets: list[Any], expected: bool, tmp_path: Path
) -> None:
    assert accepts(tmp_path, system, formula, sets) is expected


def test_one_path_shows_nothing_of_six_starts(tmp_path: Path) -> None:
    system = ('n = "int"', 'n = "{0, 1, 2, 3, 4, 5}"', 'n = "n"')
    assert not accepts(tmp_path, system, "EF (n == 0)", [[0]])
    assert not accepts(tmp_path, system, "EF (n == 0)", [[n] for n in range(6)])


def test_ties_are_choices_of_the_adversary(tmp_path: Path) -> None:
    system = ('x = "real"', "x = 0", 'x = "max(x, 0) + choose(0, 0)"')
    assert accepts(tmp_path, system, "G (x == 0)", [[0]])


def test_undefined_terms_are_rejected(tmp_path: Path) -> None:
    system = ('x = "real"', 'x = "[-1, 1]"', 'x = "1 / x"')
    assert not accepts(tmp_path, system, "G true & G (x < 5)", [[[-1, 1]]])
    guarded = ('x = "real"', 'x = "[-1, 1]"', 'x = "if(x > 0.5, 1 / x, 0)"')
    assert accepts(tmp_path, guarded, "G (x <= 2)", [[[-1, 2]]])


def test_equal_enclosures_of_different_terms_are_not_one_value(tmp_path: Path) -> None:
    system = ('x = "real"\ny = "real"\nz = "real"', 'x = "[0, 7]"\ny = "[0, 7]"\nz = 0', 'z = "sin(x) * sin(y)"')
    sets = [{"set": [[0, 7], [0, 7], 0], "walk": True}]
    assert not accepts(tmp_path, system, "G[0,1] (z >= -0.1)", sets)
    square = (system[0], system[1], 'z = "x^2 - 7"')
    assert accepts(tmp_path, square, "G[0,1] (z >= -8)", sets)


def test_draws_that_would_be_drawn_twice_are_not_read(tmp_path: Path) -> None:
    system = ('n = "int"', "n = 0", 'n = "if(0 < choose(1, 2) < 2, 1, 2)"')
    with pytest.raises(Unreadable, match="chain"):
        accepts(tmp_path, system, "EF (n == 1)", [[0], [1], [2]])


def test_an_empty_certificate_needs_an_empty_start(tmp_path: Path) -> None:
    assert not accepts(tmp_path, STILL, "G (x > 5)", [])
    file = task(tmp_path, 'x = "int"', 'x = "{1, 2}"\nwhere = ["x > 3"]', 'x = "x"')
    assert check(certificate(file, "G (x > 5)", ["x"], [])).vacuous


@pytest.mark.parametrize(
    ("system", "formula", "state", "sets", "expected"),
    [
        (FORKED, "AF (n == 1)", 0, ALL, True),
        (FORKED, "EX (n == 0)", 0, ALL, True),
        (FORKED, "AF (n == 1)", 0, ALL[:2], False),
        (FORKED, "AF (n == 1)", 2, ALL, False),  # no initial state
        (FORKED, "EF (n == 1)", 0, ALL, False),
        (FORKED, "F (n == 1)", 0, ALL, False),  # some paths keep it, so that not all of them break it
        (STILL, "x > 0.5", "1/5", [[[0, 1]]], False),  # shown at the set, not at the state in it
        (STILL, "x > 0.5", "1/5", [["1/5"]], True),
        (STILL, "x > 0.5", "3/5", [["3/5"]], False),
        (STILL, "x > 0.5", "-1/5", [["-1/5"]], False),
        (STILL, "x > 0.5", [0, "1/5"], [[[0, "1/5"]]], False),
    ],
)
def test_a_state_at_which_a_claim_fails(
    system: tuple[str, str, str], formula: str, state: Any, sets: list[Any], expected: bool, tmp_path: Path
) -> None:
    file = task(tmp_path, *system)
    names = [line.split("=")[0].strip() for line in system[0].splitlines()]
    made = certificate(file, formula, names, sets, verdict="violated", state=[state])
    if expected:
        assert check(made).formula.startswith(f"!({formula})")
    else:
        with pytest.raises(Rejected):
            check(made)
    with pytest.raises(Unreadable):
        check(certificate(file, formula, names, sets, verdict="violated"))
    with pytest.raises(Unreadable):
        check(certificate(file, formula, names, sets, state=[state]))


def test_parameters_are_those_of_the_header(tmp_path: Path) -> None:
    file = task(tmp_path, 'x = "real"', 'x = "p"', 'x = "x"', "[parameters]\np = 1")
    named: dict[str, Any] = {"file": file.name, "sha256": "", "parameters": {"p": 7}, "networks": []}
    import hashlib

    named["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    assert "p = 7" in check(certificate(file, "G (x == 7)", ["x"], [[7]], task=named)).trusted
    with pytest.raises(Rejected):
        check(certificate(file, "G (x == 7)", ["x"], [[7]]))


@pytest.mark.parametrize(
    "line",
    [
        "[1e999999]",
        '["9' + "9" * 5000 + '"]',
        "[" * 100_000,
        '{"set": [1], "set": [2]}',
        "[NaN]",
        '["1/0"]',
        "[[2, 1]]",
        "[]",
    ],
)
def test_hostile_lines_are_not_read(line: str, tmp_path: Path) -> None:
    file = task(tmp_path, *STILL)
    target = certificate(file, "G (x >= 0)", ["x"], [])
    target.write_text(target.read_text() + line + "\n")
    with pytest.raises(Unreadable):
        check(target)
    assert main([str(target)]) == 5


def test_the_example_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```(\w*) title=\"(.*?)\"\n(.*?)```", PAGE.read_text(), re.S)
    for _, name, text in blocks:
        (tmp_path / name).write_text(text)
    assert main([str(tmp_path / "halving.certificate")]) == 0
    assert capsys.readouterr().out.startswith("accepted  G (x <= 2)  by 2 sets\n")


def test_one_set_is_called_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(certificate(task(tmp_path, *STILL), "G (x >= 0)", ["x"], [[[0, 1]]]))]) == 0
    assert "  by 1 set\n" in capsys.readouterr().out


def test_nothing_of_vernal_is_imported() -> None:
    found = [line for file in SOURCE.glob("*.py") for line in file.read_text().splitlines() if "import" in line]
    assert not [line for line in found if re.match(r"\s*(from|import) (vernal\b(?!_check)|numpy|scipy|onnx\b)", line)]
    code = "import sys; sys.modules['vernal'] = None; import vernal_check.main"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(SOURCE.parent)})


def test_what_recurs_in_rational_numbers_is_not_followed_in_floats_for_ever(tmp_path: Path) -> None:
    """Errors of floats grow from step to step, so that no set comes back."""
    hits = '[environment.let]\nhits = "x + v > 1 | x + v < 0"'
    after = 'x = "if(hits, x, x + v)"\nv = "if(hits, -v, v)"'
    file = task(tmp_path, 'x = "real"\nv = "real"', 'x = "[0, 1]"\nv = "{-0.25, 0.25}"', after, hits)
    sets = [{"set": [[0, 1], v], "walk": True} for v in ("-1/4", "1/4")]
    accepted = check(certificate(file, "G F (x < 0.25)", ["x", "v"], sets))
    assert accepted.sets == 2
    with pytest.raises(Rejected):
        check(certificate(file, "G F (x < 0.01)", ["x", "v"], sets))


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("G (x >= -0.7 & x <= 0.7)", True),
        ("G (x <= 0.7)", False),  # a step from any number below it leads above it
        ("G (x >= -0.7)", False),  # true, but of some states it is not found where a step leads
        ("G (x >= -0.7 & x <= 1.5)", False),
    ],
)
def test_where_a_step_leads_from_states_without_an_end_matters_only_if_it_may(
    tmp_path: Path, formula: str, expected: bool
) -> None:
    system = ('x = "real"', 'x = "[0, 0.5]"', 'x = "x * x"')
    sets = [{"set": [[None, None]], "walk": True, "induction": 1}, {"set": [[0, 0.5]], "walk": True}]
    assert accepts(tmp_path, system, formula, sets) is expected


def test_a_reader_that_went_away_is_no_failure(tmp_path: Path) -> None:
    file = certificate(task(tmp_path, *STILL), "G (x >= 0)", ["x"], [[[0, 1]]])
    command = f"set -o pipefail; {sys.executable} -m vernal_check.main {file} | exec 0<&-"
    environment = {"PYTHONPATH": str(SOURCE.parent), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("system", "formula", "sets", "kind"),
    [
        (HALVING, "G (x <= 1.5)", [[[0, 1]], [[1, 2]]], Rejected),  # from [1, 2] there are steps to 2
        (('x = "real"', 'x = "[0, 1]"', 'x = "sin(x)"'), "G[0,5] (x >= 0)", [{"set": [[0, 1]], "walk": True}], Unshown),
        (('x = "real"', 'x = "[0, 1]"', 'x = "x * (1 - x)"'), "G (x <= 0.2)", [[[0, 1]]], Rejected),
        (('x = "real"', 'x = "[0, 1]"', 'x = "x * (1 - x) + x * x"'), "G (x <= 1)", [[[0, 1]]], Unshown),
        (('x = "real"', 'x = "[-1, 1]"', 'x = "-x"'), "F (x > 0)", [[[-1, 0]], [[0, 1]]], Unshown),
        (('x = "real"', "x = 0", 'x = "-x"'), "F (x > 0)", [[0]], Rejected),
    ],
)
def test_what_nothing_contradicts_is_not_rejected(
    system: Any, formula: str, sets: list[Any], kind: type[Exception], tmp_path: Path
) -> None:
    file = task(tmp_path, *system)
    with pytest.raises(Rejected) as problem:
        check(certificate(file, formula, ["x"], sets))
    assert type(problem.value) in ({kind} if kind is Rejected else {Unshown, Endless})


STILL = ('x = "real"', 'x = "[0, 1]"', 'x = "x"')
WALKING = ('x = "real"', 'x = "[0, 1]"', 'x = "x + choose(-1, 1)"')
PUSHED = ('x = "real"', 'x = "[0, 1]"', 'x = "x + between(-1, 1)"')
SIGNED = ('x = "real"', 'x = "[-1, 1]"', 'x = "if(x > 0, 1, 0)"')
ENDING = ('x = "real"', 'x = "[0, 1]"', 'x = "x + choose(1 when x < 1)"')


@pytest.mark.parametrize(
    ("system", "formula", "expected"),
    [
        (STILL, "EX (x >= 0)", True),
        (STILL, "EX (x > 0)", False),
        (WALKING, "EX (x >= 1)", True),
        (WALKING, "EX (x > 1)", False),
        (WALKING, "AX (x >= 1 | x <= 0)", True),
        (WALKING, "AX (EX (x >= 0 & x <= 1))", True),
        (WALKING, "EX (AX (x >= 0 & x <= 1))", False),
        (WALKING, "AG[0,3] (EX (x >= 0))", False),
        (WALKING, "AG[0,1] (EX (x >= 0))", True),
        (WALKING, "AX (x >= 1) | AX (x <= 0)", False),  # which is not A X (x >= 1 | x <= 0)
        (WALKING, "EF[2,2] (x <= 1 & x >= 0)", True),
        (WALKING, "EG[0,2] (x <= 2 & x >= -1)", True),
        (WALKING, "EG[0,4] (x <= 0.9 & x >= -1)", False),
        (WALKING, "E[x <= 1 U[1,2] x >= 1]", True),
        (PUSHED, "EX (x >= 0)", False),  # not of every value
        (PUSHED, "EX (x >= -1)", True),
        (SIGNED, "EX (x == 1)", False),
        (SIGNED, "EX (x == 1 | x == 0)", True),
        (SIGNED, "AX (EX (x == 1)) | AX (x == 0)", False),  # true, but the closed part from 0 on is not divided further
        (ENDING, "EX true", False),
        (ENDING, "AX (EX true)", False),
        (ENDING, "AX (AX (x >= 2))", True),
        (ENDING, "AG[0,3] (EX true)", False),
    ],
)
def test_bounded_claims_of_states_over_sets_that_are_followed(
    system: Any, formula: str, expected: bool, tmp_path: Path
) -> None:
    sets = [[-1, 1]] if system is SIGNED else [[0, 1]]
    file = certificate(task(tmp_path, *system), formula, ["x"], [{"set": sets, "walk": True}])
    if expected:
        check(file)
    else:
        with pytest.raises(Unshown):
            check(file)


def test_claims_of_states_without_a_last_position_are_not_followed(tmp_path: Path) -> None:
    file = certificate(task(tmp_path, *STILL), "EG (x >= 0)", ["x"], [{"set": [[0, 1]], "walk": True}])
    with pytest.raises(Unreadable, match="last position"):
        check(file)


@pytest.mark.parametrize(
    ("system", "formula", "where", "code"),
    [
        (STILL, "G[0,2] (x < 1)", 'where = ["x < 1"]', 5),  # at 1, which is in the set, no path starts
        (STILL, "G[0,2] (x < 1)", "", 1),
        (('x = "real"', 'x = "[0, 2]"', 'x = "sqrt(x)"'), "G[0,3] (x >= 0)", "", 5),  # no root of what is near 0
        (('x = "real"', 'x = "[0, 2]"', 'x = "sqrt(x - 1)"'), "G[0,3] (x >= 0)", "", 1),
    ],
)
def test_only_initial_states_contradict_a_set_that_is_followed(
    system: Any, formula: str, where: str, code: int, tmp_path: Path
) -> None:
    state, init, after = system
    high = 2 if "2" in init else 1
    file = certificate(
        task(tmp_path, state, f"{init}\n{where}", after), formula, ["x"], [{"set": [[0, high]], "walk": True}]
    )
    assert main([str(file)]) == code
