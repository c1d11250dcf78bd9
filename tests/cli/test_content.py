"""What is said stays short and plain, whatever a task has in it: long formulas, huge numbers, warnings of libraries."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.portion import pairs
from vernal.cli import exits
from vernal.cli.main import main
from vernal.cli.progress import MAX_WORDS, Live
from vernal.cli.stream import plain_warnings
from vernal.errors import InputError, Problems
from vernal.evidence.result import UNKNOWN, Result
from vernal.printable import CUT, MAX_FORMULA, MAX_MESSAGE, printable, shortened

LONGEST = 3000  # characters of all that is said of one property
CONJUNCTS = 60
CODES = (0, 2, 5, 10)

COUNTER = """
vernal = 1
name = "counter"
[state]
x = "int [0, 9]"
[init]
x = 0
[environment.next]
x = "if(x < 3, x + 1, 0)"
[properties]
"""


def many(name: str = "x") -> str:
    """Long enough by its digits, and decided soon."""
    return " & ".join(f"{name} <= {limit}.{'0' * 80}1" for limit in range(3, CONJUNCTS))


FORMULAS = {
    "bounded": f"G[0,1] ({many()})",
    "violated": f"G[0,3] ({many()} & x <= 2)",
    "mixed": f"F (A(G x > 2) & ({many()}))",
    "some": f"EF ({many()} & x > 7)",
    "unknown name": f"G[0,1] ({many()} & zz > 2)",
    "no formula": f"G[0,1] ({many()} &",
    "no truth": f"G[0,1] ({many()}) + 1",
}


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("engine", ["explicit", "falsify", "bounds", "lasso"])
def test_what_is_said_of_a_long_formula_is_short(
    formula: str, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "task.toml").write_text(COUNTER, encoding="utf-8")
    arguments = ["check", str(tmp_path / "task.toml"), "--spec", FORMULAS[formula], "--engine", engine, "--quiet"]
    code = main([*arguments, "--json", str(tmp_path / "all.json"), "--timeout", "5"])
    assert code in CODES
    said = capsys.readouterr()
    assert 0 < len(said.out + said.err) < LONGEST
    if code != exits.BAD_INPUT:
        (result,) = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["results"]
        assert f"x <= {CONJUNCTS // 2}." in result["formula"]
        assert CUT in said.out


def test_replay_and_reports_cut_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "task.toml").write_text(COUNTER + f'p = "{FORMULAS["violated"]}"\n', encoding="utf-8")
    trace, report = tmp_path / "bad.json", tmp_path / "page.html"
    arguments = ["check", str(tmp_path / "task.toml"), "--engine", "falsify", "--trace", str(trace)]
    assert main([*arguments, "--report", str(report)]) == 10
    page = report.read_text(encoding="utf-8")
    assert page.count(f"x &lt;= {CONJUNCTS // 2}.") == 1  # below the heading it is whole
    assert CUT in page
    capsys.readouterr()
    assert main(["replay", str(trace)]) == exits.OK
    assert len(capsys.readouterr().out) < LONGEST
    assert main(["explain", str(tmp_path / "task.toml"), "--property", "p", "--tree", str(tmp_path / "t.svg")]) == 0
    root = ElementTree.fromstring((tmp_path / "t.svg").read_bytes())
    assert float(root.get("width", "").removesuffix("pt")) < 5000


def test_errors_reasons_and_notes_have_a_length() -> None:
    error = InputError("x" * 10 * MAX_MESSAGE)
    assert len(str(error)) == MAX_MESSAGE
    assert len(error.message) == 10 * MAX_MESSAGE
    several = Problems([error, error])
    assert len(str(several)) == 2 * MAX_MESSAGE + 1
    result = Result("G x", UNKNOWN, "auto", reason="r" * 9999, notes=("n" * 9999, "short"))
    assert len(str(result.reason)) == MAX_MESSAGE
    assert [len(note) for note in result.notes] == [MAX_MESSAGE, 5]
    assert len(repr(Result("f" * 9999, UNKNOWN, "auto"))) < MAX_FORMULA


@pytest.mark.parametrize("longest", [20, 100, MAX_MESSAGE])
@pytest.mark.parametrize("length", [0, 1, 19, 20, 21, 99, 100, 101, 5000])
def test_beginning_and_end_are_kept(length: int, longest: int) -> None:
    text = "".join(chr(ord("a") + place % 26) for place in range(length))
    cut = shortened(text, longest)
    assert len(cut) == min(length, longest)
    head, _, tail = cut.partition(CUT)
    assert text.startswith(head)
    assert text.endswith(tail)


# Warnings of libraries ------------------------------------------------------------------------------------------------


def test_a_warning_is_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    with plain_warnings():
        warnings.simplefilter("always")
        for _ in range(3):
            warnings.warn("Glyph 27 (\x1b) missing\nfrom font", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: Glyph 27 (\\x1b) missing\\nfrom font\n"


def test_progress_shows_no_control_characters() -> None:
    live = Live("\x1b[2K" + "x" * 1000, quiet=True)
    live.watched = True
    live("\x07" + "y" * 1000, None)
    for text in (live.title, live.message):
        assert printable(text) == text
        assert len(text) <= MAX_WORDS


HUGE = {
    "product": ("[-1, 1]", "1e308*x*10"),
    "saturated": ("[-1, 1]", "tanh(1e308*x)*1e308"),
    "half": ("[1e-320, 1e-300]", "sigmoid(x)*1e308"),
    "cosine": ("0", "cos(x)*1e308"),
    "noise": ("[-1, 1]", "between(0-1e308, 1e308)*x"),
    "either": ("[-1, 1]", "choose(x*1e200, 0-x*1e200)"),
    "wide": ("[-1e308, 1e308]", "x"),
}


@pytest.mark.parametrize(("name", "command"), pairs(2, HUGE, ["simulate", "reach", "report", "plane"]))
def test_huge_numbers_are_drawn_as_far_as_they_can_be(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Warnings are errors here, and an error of ours would be an exit code of its own."""
    start, after = HUGE[name]
    task, picture = tmp_path / "huge.toml", tmp_path / "p.svg"
    task.write_text(
        f'vernal = 1\n[state]\nx = "real"\ny = "real"\n[init]\nx = "{start}"\ny = "[0, 1]"\n'
        f'[environment.next]\nx = "{after}"\ny = "x + y"\n[properties]\np = "G[0,4] (x <= 5 | y > 1e300)"\n',
        encoding="utf-8",
    )
    arguments = {
        "simulate": ["simulate", str(task), "--runs", "5", "--steps", "5", "--plot", str(picture)],
        "plane": ["simulate", str(task), "--runs", "5", "--plot", str(picture), "--of", "x", "--of", "y", "--plane"],
        "reach": ["reach", str(task), "--steps", "4", "--plot", str(picture)],
        "report": ["check", str(task), "--engine", "falsify", "--report", str(tmp_path / "r.html")],
    }
    assert main(arguments[command]) in (0, 5, 10)
    assert "warning" not in capsys.readouterr().err
    if picture.exists():
        ElementTree.fromstring(picture.read_bytes())
