"""The paper's algorithms, set right, and the tables they stand in."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks import cartpole, pendulum
from benchmarks.cartpole import __main__ as cartpole_table
from benchmarks.forever import __main__ as small_table
from benchmarks.forever import table
from benchmarks.forever.answers import SYSTEMS, tasks
from benchmarks.forever.boxes import Programs, Propagation, contains, covered, hull
from benchmarks.forever.paper import Paper
from benchmarks.forever.table import Asked, Column, Line
from benchmarks.measure import Measured
from benchmarks.pendulum import __main__ as pendulum_table
from vernal.engines.check import asked_of, parse_formula
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.formats.task.blueprint import load
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.initial import Box
from vernal.run.budget import Budget
from vernal.solvers.highs import Highs

LEAVES = """
vernal = 1
name = "leaves"
[state]
n = "int [0, 5]"
[init]
n = 0
[environment.next]
n = "n + 1"
"""


def paper(task: Task, text: str, depth: int = 10) -> Result:
    return asked_of(Paper(depth), Question(task.system, parse_formula(task, text)), Budget(timeout=20))


def small(name: str) -> Task:
    return load(SYSTEMS / f"{name}.toml")


# Algorithms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "text", "verdict", "method"),
    [
        ("contracting", "G (abs(x) <= 1)", HOLDS, "minimal invariant, BPT"),
        ("wandering", "G (p <= 5)", HOLDS, "maximal invariant, BPT"),
        ("heating", "G (T >= 18 & T <= 22)", HOLDS, "minimal invariant, RMILP"),
        ("blinking", "G (m[0] == light)", HOLDS, "minimal invariant, BPT"),
        ("contracting", "(abs(x) <= 0.01) R (abs(x) <= 1)", HOLDS, "minimal invariant, BPT"),
        ("contracting", "F (x >= 2)", VIOLATED, "minimal invariant, BPT"),
        ("contracting", "G (abs(x) <= 0.9)", VIOLATED, "bounded paths"),
        ("counter", "(n < 5) U (n == 5)", HOLDS, "bounded paths"),
        ("counter", "(n == 5) R (n <= 5)", HOLDS, "bounded paths"),
        ("counter", "(n < 5) U (n == 6)", VIOLATED, "bounded paths"),
        ("doubling", "F (x >= 100)", HOLDS, "bounded paths"),
        ("leaking", "F (abs(x) <= 0.1)", VIOLATED, "lasso"),
        ("ties", "F (x == 1)", VIOLATED, "lasso"),
        ("ending", "(n <= 3) U (n == 4)", VIOLATED, "lasso"),
    ],
)
def test_every_check_mark_of_the_paper_is_met(system: str, text: str, verdict: str, method: str) -> None:
    result = paper(small(system), text)
    assert (result.verdict, result.statistics.get("method")) == (verdict, method)


def test_sets_that_intersect_are_no_lasso() -> None:
    """Algorithm 3 as printed refutes this: neighbouring sets of states intersect, but no path ever returns."""
    task = small("drifting")
    assert paper(task, "F (x >= 20)", depth=5).verdict is UNKNOWN
    assert paper(task, "F (x >= 2)", depth=5).verdict is HOLDS


def test_a_range_that_is_left_is_no_invariant(tmp_path: Path) -> None:
    """Algorithm 4 as printed proves this: the range of the state is taken for closed."""
    file = tmp_path / "leaves.toml"
    file.write_text(LEAVES)
    assert paper(load(file), "G (n <= 5)").verdict is VIOLATED


def test_the_first_position_is_looked_at() -> None:
    """Algorithm 4 as printed begins with the first step."""
    assert paper(small("logistic"), "G (x >= 0.2)").verdict is VIOLATED


def test_other_questions_are_left_open() -> None:
    task = small("wandering")
    for text in ("G F (p == 0)", "EF (p == 5)", "G[0,5] (p <= 5)"):
        assert paper(task, text).verdict is UNKNOWN


def test_the_paper_is_never_wrong_about_small_systems() -> None:
    for task, answers in tasks():
        for name, right in list(answers.items())[:2]:
            result = asked_of(Paper(3), Question(task.system, task.properties[name]), Budget(timeout=0.5))
            assert result.verdict in (UNKNOWN, right.verdict), (task.system.name, name)


# Boxes ----------------------------------------------------------------------------------------------------------------


def box(task: Task, *ends: tuple[float, float]) -> Box:
    inputs = task.system.step.inputs
    return Box({var: ((Fraction(a), Fraction(b)),) for var, (a, b) in zip(inputs, ends, strict=True)})


def test_images_of_boxes_contain_what_a_step_leads_to() -> None:
    task = small("spiralling")
    unit = box(task, (-1, 1), (-1, 1))
    budget = Budget()
    for images in (Propagation(task.system, budget), Programs(task.system, budget, Highs())):
        after = images.after(unit)
        assert after is not None
        assert all(abs(low + Fraction(126, 100)) < 1e-4 for ((low, _),) in after.ends.values())


def test_programs_see_what_intervals_do_not() -> None:
    """A ball that bounces: over a box of both directions the walls are left by bounds, not by the program."""
    task = small("bouncing")
    everywhere = box(task, (0, 1), (-0.25, 0.25))
    budget = Budget()
    loose, tight = (
        Propagation(task.system, budget).after(everywhere),
        Programs(task.system, budget, Highs()).after(everywhere),
    )
    assert loose is not None
    assert tight is not None
    assert contains(loose, tight)


def test_a_union_may_cover_what_no_part_of_it_does() -> None:
    task = small("rotating")
    left, right, all_ = (box(task, x, (0, 1)) for x in ((0, 1), (1, 2), (0, 2)))
    assert covered(all_, [left, right])
    assert not covered(all_, [left])
    assert not covered(all_, [left, box(task, (1.5, 2), (0, 1))])
    assert not covered(all_, [left, box(task, (1, 2), (0, 0.5))])
    assert contains(hull(left, right), all_)


# Tables ---------------------------------------------------------------------------------------------------------------


def told(verdicts: str, seconds: float = 1.0) -> Column:
    """A method that says one letter after the other; t is a timeout."""
    words = {"T": "holds", "F": "violated", "?": "unknown", "t": "unknown"}
    letters = iter(verdicts)

    def ask(task: Task, name: str, cap: float) -> Measured:
        letter = next(letters)
        return Measured(words[letter], seconds, reason="timeout after 1 s" if letter == "t" else None)

    return Column("auto" if seconds == 1.0 else "paper", ask)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "is_shown", lambda task, name, done: True)


def asked(number: int = 4) -> list[list[Asked]]:
    return [[one for (one,) in small_table.groups(["contracting"])[:number]]]


@pytest.mark.usefixtures("unchecked")
def test_a_method_that_times_out_is_not_asked_the_rest() -> None:
    lines = table.fill(asked(), [told("TtTT"), told("TTTT", 6.0)], 1)
    assert ["auto" in line.cells for line in lines] == [True, True, False, False]
    assert all("paper" in line.cells for line in lines)


@pytest.mark.usefixtures("unchecked")
def test_both_columns_are_compared() -> None:
    said = table.comparison(table.fill(asked(), [told("TTT?"), told("TT?T", 6.0)], 1))
    assert (
        "paper decides 3, auto 3, both 2 (auto is 6.0 times faster in the median), auto alone 1, paper alone 1" in said
    )
    assert "ONLY PAPER DECIDES: contracting weakly" in said


@pytest.mark.usefixtures("unchecked")
def test_wrong_verdicts_are_reported() -> None:
    said: list[str] = []
    header = small_table.HEADER
    assert table.run(header, asked(2), [told("TTT")], 1, said.append) == 0
    assert table.run(header, asked(2), [told("TTF")], 1, said.append) == 1
    assert "WRONG: contracting near: auto says violated" in said[-1]


def test_contradictions_are_wrong_where_no_answer_is_known() -> None:
    question = Asked(("here",), Path("nowhere.toml"), "p")
    cells = {"auto": Measured("holds", 1.0), "paper": Measured("violated", 1.0), "lasso": Measured("unknown", 1.0)}
    assert Line(question, cells).wrong == ["auto", "paper"]
    assert Line(question, {"auto": cells["auto"]}).wrong == []


def test_a_counterexample_that_shows_nothing_ends_the_run() -> None:
    lying = Column("auto", lambda task, name, cap: Measured("violated", 1.0))
    with pytest.raises(SystemExit, match="does not replay"):
        table.fill(asked(1), [lying], 1)


def test_the_tables_are_those_of_the_paper() -> None:
    assert (cartpole.__doc__ or "").count("Table 2") == (pendulum.__doc__ or "").count("Table 3") == 1
    assert sum(map(len, cartpole_table.groups())) == 3 * 4 * 2 * 2
    assert sum(map(len, pendulum_table.groups())) == 3 * 4


def test_a_pendulum_gets_up() -> None:
    group = pendulum_table.groups(["r10"])[0][:2]
    lines = table.fill([group], [table.by_paper(4)], 20)
    assert [line.cells["paper"].verdict for line in lines] == ["holds", "holds"]


def test_the_cart_pole_leans_more_than_a_fortieth() -> None:
    groups = cartpole_table.groups(["r32"], ["balanced"])
    lines = table.fill([groups[1][:1]], [table.by_engine("auto")], 20)
    assert [line.cells["auto"].verdict for line in lines] == ["violated"]
    assert str(groups[0][0].task().properties["balanced"]) == "G (abs(theta) <= pi / 40 & abs(x) <= 1)"
