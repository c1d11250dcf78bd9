"""The judge of forged evidence: what is true, what is forced, and that a replay that believes too much is found out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import vernal as vn
from benchmarks import never_wrong_forged
from benchmarks.never_wrong_forged import Run, forge
from tests.explicit_oracle import FiniteOracle
from tests.forged_boxes import box_subject
from tests.forged_by_hand import README_TASK, hand_made
from tests.forged_flows import FLOW_KINDS, flow_subject
from tests.forged_force import PathShown, Place, everything, forces_on_graph
from tests.forged_judge import Outcome
from tests.forged_tasks import any_path, finite_subject
from tests.forgeries import KINDS, made_of
from tests.portion import seeds
from vernal.engines.check import parse_formula
from vernal.evidence.evidence_file import fingerprint
from vernal.evidence.judgement import Judgement, Recheck
from vernal.evidence.kinds import Tree
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED
from vernal.formats.task.blueprint import load
from vernal.logic.formula import Formula
from vernal.model.expr import Expr
from vernal.model.sorts import INT

QUICK = ("explicit", "invariants", "falsify")


def test_what_is_made_by_hand_is_as_true_as_it_says(tmp_path: Path) -> None:
    made = hand_made(tmp_path)
    assert len(made) >= 26
    assert all(one.content["sha256"] == fingerprint(one.content) for one in made)
    for one in made:
        task = load(one.content["task"]["file"], {})
        formula = parse_formula(task, one.content["formula"])
        if Path(one.content["task"]["file"]) != README_TASK:
            truth = _truth(task, formula)
            assert (one.content["verdict"] == "holds") is (truth is one.is_true), one.name


def _truth(task: vn.Task, formula: Formula) -> bool:
    """By enumeration where the system is finite; else an engine says it."""
    if task.system.state[0].sort == INT:
        return FiniteOracle(task.system, formula).holds()
    found = vn.check(task, str(formula), timeout=20).verdict
    assert found is not UNKNOWN
    return found is HOLDS


@pytest.mark.parametrize("seed", seeds(15))
def test_claims_about_boxes_are_known_in_closed_form(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    subject = box_subject(rng, tmp_path, "box")
    for formula in [subject.formula(rng) for _ in range(3)]:
        truth, said = subject.truth(formula, {}), vn.check(subject.task, str(formula), timeout=20).verdict
        assert truth is None or said is UNKNOWN or truth is (said is HOLDS), formula


# Force ----------------------------------------------------------------------------------------------------------------


class Completed(FiniteOracle):
    """A graph in which it is drawn what the wild places are, and what follows all places that are not shown."""

    def __init__(self, graph: FiniteOracle, shown: PathShown, rng: random.Random) -> None:
        self.known, self.formula = everything(graph, shown), graph.formula
        places = [place for place in self.known.after if not place.ends]
        wild = [place for place in places if place.state is None]
        may_end = len(places) < len(self.known.after)

        def drawn(options: tuple[Place, ...], unknown: bool) -> tuple[Any, ...]:
            if unknown and may_end and rng.random() < 0.3:
                return ()
            real = [place for place in options if place.state is not None and not place.ends]
            return (*real, *(rng.choices(wild, k=rng.randint(1, 2)) if set(wild) & set(options) else ()))

        self.starts = list(drawn(self.known.starts, False))
        self.after: Any = {p: drawn(self.known.after[p], p.state not in shown.states) for p in places}

    def truth(self, atom: Expr, state: Any) -> bool:
        return self.known.truth(atom, state)


def _questions(seed: int, folder: Path) -> Iterator[tuple[FiniteOracle, PathShown]]:
    rng = random.Random(f"force {seed}")
    subject = finite_subject(rng, folder, "drawn")
    for _ in range(6):
        path, formula = any_path(rng, subject.task), subject.formula(rng)
        graph = subject.graph(formula, {})
        if path is not None and graph is not None:
            evidence = Tree(path, "") if rng.random() < 0.3 else path
            yield graph, PathShown.of(made_of(subject.task, formula, VIOLATED, evidence), graph)


@pytest.mark.parametrize("seed", seeds(15))
def test_a_forced_verdict_is_that_of_every_system_that_agrees_with_the_path(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for graph, shown in _questions(seed, tmp_path):
        forced = {holds for holds in (True, False) if forces_on_graph(shown, graph, holds)}
        others = [Completed(graph, shown, rng).holds() for _ in range(20)]
        assert len(forced) < 2
        assert not forced or set(others) == forced, graph.formula
        assert not forced or graph.holds() in forced, graph.formula


def test_what_is_not_forced_is_otherwise_in_some_system_that_agrees_with_the_path(tmp_path: Path) -> None:
    """Nearly always: that a formula is true whatever its atoms are, the two sets of CTL do not see."""
    rng, found = random.Random(0), []
    for seed in range(12):
        for graph, shown in _questions(seed, tmp_path):
            if not any(forces_on_graph(shown, graph, holds) for holds in (True, False)):
                answers = (Completed(graph, shown, rng).holds() for _ in range(100))
                found.append(any(answer is not graph.holds() for answer in answers))
    assert len(found) > 20
    assert sum(found) / len(found) > 0.8


@pytest.mark.parametrize(
    ("formula", "verdict", "moves", "forced"),
    [
        ("G (x <= 4)", VIOLATED, (4, 5), True),
        ("AG (x <= 4)", VIOLATED, (4, 5), True),
        ("x <= 4", VIOLATED, (5,), True),
        ("x <= 4", VIOLATED, (3,), False),
        ("x <= 5", HOLDS, (3,), False),
        ("EF (x == 5)", HOLDS, (4, 5), False),
        ("EX (x == 0)", VIOLATED, (4, 3), False),
    ],
)
def test_a_path_forces_what_it_shows(
    formula: str, verdict: vn.Verdict, moves: tuple[int, ...], forced: bool, tmp_path: Path
) -> None:
    hand_made(tmp_path)  # writes the walk
    task = load(tmp_path / "walk.toml", {})
    graph = FiniteOracle(task.system, parse_formula(task, formula))
    shown = PathShown(tuple((Fraction(move),) for move in moves), None, with_successors=False)
    assert forces_on_graph(shown, graph, verdict is HOLDS) is forced


# The run --------------------------------------------------------------------------------------------------------------


def test_every_kind_of_forgery_is_made(tmp_path: Path) -> None:
    run = Run(tmp_path, engines=QUICK)
    forge(run, 300, 0)
    assert set(KINDS) <= set(run.counts)
    assert set(run.by_evidence) >= {"trace", "lasso", "tree", "invariant"}


def test_forged_flowpipes_are_not_accepted_for_what_is_false(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(never_wrong_forged, "FLOWS", 1)
    run = Run(tmp_path)
    forge(run, 30, 1)
    assert run.wrong == 0
    assert set(FLOW_KINDS) <= set(run.counts)
    assert run.total(Outcome.REJECTED) > 20
    assert run.by_evidence["flowpipe"] > 8


@pytest.mark.parametrize("seed", seeds(8))
def test_claims_about_flows_are_known_in_closed_form(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    subject = flow_subject(rng, tmp_path, "flow")
    for formula in [subject.formula(rng) for _ in range(3)]:
        found = vn.check(subject.task, str(formula), timeout=20).verdict
        assert found is (HOLDS if subject.truth(formula, {}) else VIOLATED)


@pytest.mark.parametrize("believed", [Judgement.ACCEPTED, Judgement.UNDECIDED])
def test_a_replay_that_believes_everything_is_found_out(
    believed: Judgement, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vn, "replay", lambda file: Recheck(believed, "as it says"))
    code = never_wrong_forged.main(["--files", "150", "--engines", *QUICK])
    assert code == (1 if believed is Judgement.ACCEPTED else 0)
    table = capsys.readouterr().out
    assert Outcome.WITHOUT_FORCE in table
    assert "made by hand" in table


def test_a_replay_that_fails_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(file: Path) -> Recheck:
        raise KeyError("lost")

    monkeypatch.setattr(vn, "replay", fails)
    assert never_wrong_forged.main(["--files", "70", "--engines", *QUICK]) == 1
