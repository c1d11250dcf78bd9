"""Evidence is accepted only if it, with the task, forces the verdict; what merely fits could not be checked."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import vernal as vn
from tests.systems import layer
from vernal.evidence.invariant import Invariant
from vernal.evidence.judgement import Judgement, Recheck
from vernal.evidence.kinds import Evidence, Tree
from vernal.evidence.reach import ForAllTime
from vernal.evidence.replay import closed, run
from vernal.evidence.result import HOLDS, VIOLATED, Assurance, Result, Verdict
from vernal.evidence.trace import Trace
from vernal.formats.evidence import replay, write_evidence
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.network import Network
from vernal.model.sorts import REAL
from vernal.model.system import System

ACCEPTED, REJECTED, OPEN = Judgement.ACCEPTED, Judgement.REJECTED, Judgement.UNDECIDED


def still(starts: Any) -> System:
    return vn.System("still", state={"x": vn.real()}, init={"x": starts}, step=lambda s: {})


def coin(starts: Any) -> System:
    """Goes up or stays, up to five."""
    moves = lambda s: {"x": vn.if_(s.x < 5, s.x + vn.choose(0, 1), s.x)}  # noqa: E731
    return vn.System("coin", state={"x": vn.integer(0, 5)}, init={"x": starts}, step=moves)


def counter(starts: Any) -> System:
    """Goes up to three, and has no choice."""
    return vn.System(
        "counter", state={"x": vn.integer(0, 9)}, init={"x": starts}, step=lambda s: {"x": vn.minimum(s.x + 1, 3)}
    )


def tied(starts: Any) -> System:
    """An agent that likes both of its actions alike, and a state that nobody changes."""
    x = build.var("x", REAL, (1,))
    agent = vn.agent(Network("net", x, layer(x, [[1.0], [1.0]], [0.0, 0.0])), observe=lambda s: [s.x])
    return vn.System("tied", state={"x": vn.real()}, init={"x": starts}, agents={"a": agent}, step=lambda s: {})


SYSTEMS = {"still": still, "coin": coin, "counter": counter}
UNIT, SIX = vn.interval(0, 1), {0, 1, 2, 3, 4, 5}


def path(system: System, first: int | Fraction, steps: int, taken: Mapping[str, int], *, loops: bool = False) -> Trace:
    names = dict.fromkeys(system.step.names.values(), 0)
    made = run(system, {"x": Fraction(first)}, [{**names, **taken}] * (steps + 1), steps)
    lasso = closed(made, len(made) - 2) if loops else made
    assert lasso is not None
    return lasso


def judged(system: System, claim: str, verdict: Verdict, evidence: Evidence, folder: Path) -> Recheck:
    """What replay says of a file with a fitting hash."""
    reach = ForAllTime() if verdict is HOLDS else None
    made = Result(claim, verdict, "forged", reach=reach, assurance=Assurance.EXACT, evidence=evidence)
    write_evidence(Task(system), made, folder / "forged.json")
    return replay(folder / "forged.json", system)


# (system, starts, claim, verdict, first state, steps, whether it ends in a loop, what is said)
PATHS = [
    ("still", UNIT, "x > 0.5", HOLDS, 1, 0, False, OPEN),
    ("still", UNIT, "x > 0.5", VIOLATED, 0, 0, False, ACCEPTED),
    ("still", UNIT, "x > 0.5", HOLDS, 0, 0, False, REJECTED),
    ("still", UNIT, "x > 0.5", VIOLATED, 1, 0, False, REJECTED),
    ("still", UNIT, "EG (x > 0.5)", HOLDS, 1, 1, True, OPEN),
    ("still", UNIT, "G (x > 0.5)", HOLDS, 1, 1, True, OPEN),
    ("still", 1, "x > 0.5", HOLDS, 1, 0, False, ACCEPTED),
    ("still", 1, "EG (x > 0.5)", HOLDS, 1, 1, True, ACCEPTED),
    ("still", 1, "G (x > 0.5)", HOLDS, 1, 1, True, ACCEPTED),  # the only path there is
    ("still", 1, "EF (x < 0)", VIOLATED, 1, 1, True, ACCEPTED),
    ("coin", SIX, "x == 0", HOLDS, 0, 0, False, OPEN),
    ("coin", SIX, "EF (x == 0)", HOLDS, 0, 0, False, OPEN),
    ("coin", SIX, "EX (x == 0)", HOLDS, 0, 1, False, OPEN),
    ("coin", SIX, "EG (x == 0)", HOLDS, 0, 1, True, OPEN),
    ("coin", SIX, "E[x == 0 U x == 0]", HOLDS, 0, 0, False, OPEN),
    ("coin", 0, "EF (x == 0)", HOLDS, 0, 0, False, ACCEPTED),
    ("coin", 0, "EX (x == 0)", HOLDS, 0, 1, False, ACCEPTED),
    ("coin", 0, "EG (x == 0)", HOLDS, 0, 1, True, ACCEPTED),
    ("coin", 0, "E[x == 0 U x == 0]", HOLDS, 0, 0, False, ACCEPTED),
    ("coin", 0, "G (x == 0)", HOLDS, 0, 1, True, OPEN),
    ("coin", 0, "AG (x == 0)", HOLDS, 0, 1, True, OPEN),
    ("coin", 0, "AX (x == 0)", HOLDS, 0, 1, False, OPEN),
    ("coin", 0, "G[0,3] (x == 0)", HOLDS, 0, 3, False, OPEN),
    ("coin", 5, "F (x == 5)", HOLDS, 5, 0, False, ACCEPTED),  # no choice is reached
    ("coin", 0, "AG EF (x == 5)", VIOLATED, 0, 1, True, OPEN),
    ("coin", 0, "EF AG (x == 5)", VIOLATED, 0, 1, True, OPEN),
    ("coin", 0, "EF (x == 5)", VIOLATED, 0, 1, True, OPEN),
    ("coin", 0, "AG AF (x == 5)", VIOLATED, 0, 1, True, ACCEPTED),
    ("coin", 0, "AX (x == 1)", VIOLATED, 0, 1, False, ACCEPTED),
    ("coin", 0, "AF AG (x == 1)", VIOLATED, 0, 1, True, ACCEPTED),
    ("counter", 0, "EF (x == 4)", VIOLATED, 0, 4, True, ACCEPTED),
    ("counter", 0, "AG EF (x == 3)", HOLDS, 0, 4, True, ACCEPTED),
    ("counter", {0, 1}, "AG EF (x == 3)", HOLDS, 0, 4, True, OPEN),
]


@pytest.mark.parametrize(("name", "starts", "claim", "verdict", "first", "steps", "loops", "expected"), PATHS)
def test_a_path_is_accepted_only_where_it_forces_the_verdict(
    name: str,
    starts: Any,
    claim: str,
    verdict: Verdict,
    first: int,
    steps: int,
    loops: bool,
    expected: Judgement,
    tmp_path: Path,
) -> None:
    system = SYSTEMS[name](starts)
    shown = path(system, first, steps, {}, loops=loops)
    assert judged(system, claim, verdict, shown, tmp_path).judgement is expected


def test_a_state_shows_one_of_the_actions_that_a_tie_allows(tmp_path: Path) -> None:
    system = tied(0)
    for claim, expected in (("a == 0", OPEN), ("x == 0", ACCEPTED), ("EX (a == 0)", OPEN)):
        shown = path(system, 0, 1, {})
        assert judged(system, claim, HOLDS, shown, tmp_path).judgement is expected, claim
    assert judged(system, "a == 1", VIOLATED, path(system, 0, 0, {}), tmp_path).judgement is ACCEPTED


@pytest.mark.parametrize("claim", ["EF (x >= 0)", "EX (x == 0)", "AG EF (x == 5)", "AX (x == 0) | AX (x == 1)"])
def test_what_a_tree_only_says_is_not_shown(claim: str, tmp_path: Path) -> None:
    system = coin(0)
    tree = Tree(path(system, 0, 0, {}), "bounds on all paths from this state exclude the claim")
    said = judged(system, claim, VIOLATED, tree, tmp_path)
    assert said.judgement is OPEN
    assert "only said" in said.reason


@pytest.mark.parametrize("claim", ["G (x <= 4)", "EF (x > 9)"])
def test_an_invariant_shows_no_violation(claim: str, tmp_path: Path) -> None:
    system = coin(SIX)
    everything = vn.check(system, "G (x <= 9)", engine="invariants").evidence
    assert isinstance(everything, Invariant)
    with pytest.raises(vn.VernalError, match="belongs to a claim that holds"):
        judged(system, claim, VIOLATED, everything, tmp_path)


def test_an_empty_invariant_says_that_there_is_no_start(tmp_path: Path) -> None:
    system = coin(SIX)
    nothing = Invariant(("x",), ())
    assert judged(system, "G (x < 0)", HOLDS, nothing, tmp_path).judgement is REJECTED
    none = vn.System("none", state={"x": vn.real()}, init={"x": UNIT}, step=lambda s: {}, where=lambda s: [s.x > 2])
    said = judged(none, "G (x < 0)", HOLDS, nothing, tmp_path)
    assert said.judgement is ACCEPTED
    assert "there is no initial state" in said.reason
