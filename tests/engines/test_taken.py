"""What docs/engines.md says that engines take is what they say themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import vernal as vn
from tests.sampled_loops import LOOPS
from vernal.engines.check import parse_formula
from vernal.engines.registry import ENGINES, refusals
from vernal.formats.automaton_task import automaton_model
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.logic.times import Time
from vernal.model.hybrid import Facets, HybridAutomaton, Location
from vernal.model.system import Model

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
HEADING = "## What each engine takes\n"
STEPS = ("p", "G[0,9] p", "EF[0,9] p", "AG[0,9] EF[0,9] p", "G p", "F p", "EG p", "AG EF p")

COUNTER = vn.System(
    "counter", state={"n": vn.integer(0, 9)}, init={"n": 0}, step=lambda s: {"n": vn.clip(s.n + 1, 0, 9)}
)
DECAY = vn.Flow("decay", state={"x": vn.real(-2, 2)}, init={"x": 1}, rates=lambda s: {"x": -s.x})
SAMPLED = LOOPS["decay"]().system
SAMPLES = Time.SAMPLES
LINEAR = np.array([[-1.0]])
WHOLE = Facets(np.array([[1.0], [-1.0]]), np.array([2.0, 2.0]))
ALONE = Location("all", WHOLE, LINEAR, np.zeros(1))
REGION = np.array([-2.0]), np.array([2.0])
MODES = automaton_model(HybridAutomaton("one", ("x",), *REGION, np.zeros(1), (ALONE,), ()))


def _question(model: Model, formula: str, counts: Time | None = None) -> Question:
    return Question(model, parse_formula(Task(model), formula), counts=counts)


ASKED = {
    **{f"`{claim}`": _question(COUNTER, claim.replace("p", "(n < 5)")) for claim in STEPS},
    "flow": _question(DECAY, "G[0,1] (x < 5)"),
    "loop that samples": _question(SAMPLED, "G[0,1] (x < 5)"),
    "hybrid automaton": _question(MODES, "G[0,1] (x < 5)"),
    "loop, over samples": _question(SAMPLED, "G[0,9] (x < 5)", SAMPLES),
}


def _table() -> str:
    """The table as it has to be."""
    found = {name: refusals(question) for name, question in ASKED.items()}
    rows = [["engine", *ASKED], ["---", *[":-:"] * len(ASKED)]]
    for entry in ENGINES[1:]:
        rows.append([f"`{entry.name}`", *("yes" if found[name][entry.name] is None else "" for name in ASKED)])
    return "".join(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in row)}|\n" for row in rows)


def test_the_page_says_what_engines_take() -> None:
    """A row for each engine and a column for each kind of question; where this fails, the table here is the one."""
    section = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines(keepends=True) if line.startswith("|")]
    assert "".join(lines) == _table()


def test_somebody_takes_every_question() -> None:
    for name, question in ASKED.items():
        assert None in refusals(question).values(), name


def test_an_engine_says_what_it_may_do_with_what_it_takes() -> None:
    for question in ASKED.values():
        taken = [entry for entry in ENGINES[1:] if entry.refusal(question) is None]
        assert all(entry.may(question).split()[0] in ("may", "decides", "proves") for entry in taken)
