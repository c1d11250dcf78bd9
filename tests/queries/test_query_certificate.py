"""Certificates of network queries: written by `vernal verify`, found true again by `vernal-check`; seeded faults."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.certificates.query_mutants import Question, attack_queries, question
from benchmarks.learning import onnx_chain
from vernal.cli.main import main
from vernal.formats.vnnlib.assertion import COMPARE
from vernal.queries.answer import QueryStatus
from vernal.queries.files import answer_files
from vernal.queries.query_certificate import QueryCertificate
from vernal.run.budget import Budget
from vernal.sets.core.clauses import Clauses
from vernal.sets.core.open_boxes import Domains
from vernal.sets.core.witness import Replays
from vernal_check import clock
from vernal_check.check import check
from vernal_check.errors import Rejected, Unreadable

ROOT = Path(__file__).resolve().parents[2]
THERMOSTAT = ROOT / "examples" / "thermostat" / "thermostat.onnx"
QUERIES = ROOT / "examples" / "queries"
ABOVE = Fraction(1, 100)


def certified(asked: Question, threshold: Fraction, folder: Path) -> tuple[QueryStatus, Path, list[Any]]:
    """What Vernal says of a query, its certificate and its tree."""
    network, query = folder / "n.onnx", folder / "q.vnnlib"
    network.write_bytes(onnx_chain(asked.layers, "Relu", "n"))
    query.write_text(asked.text(threshold))
    answer = answer_files(query, lambda _: network, Budget(timeout=60, keeps_sets=True)).answer
    trees = answer.trees or ([None],)
    QueryCertificate(query, network, trees).save(folder / "q.certificate")
    return answer.status, folder / "q.certificate", trees[0]


def checked(file: Path) -> str:
    clock.limit(60)
    try:
        return str(check(file))
    finally:
        clock.limit(None)


@pytest.fixture(scope="module")
def large() -> Question:
    """A network with more rectifiers than a box or two can close."""
    draw = np.random.default_rng(7)
    sizes = [(8, 3), (8, 8), (1, 8)]
    layers = [(np.round(draw.normal(size=size) * 8) / 8, np.round(draw.normal(size=size[0]) * 8) / 8) for size in sizes]
    return Question(layers, [(Fraction(-1), Fraction(1))] * 3)


def test_the_cuts_of_a_search_are_a_tree(large: Question, tmp_path: Path) -> None:
    status, file, tree = certified(large, large.largest() + ABOVE * 30, tmp_path)
    assert status is QueryStatus.UNSAT
    cuts = sum(isinstance(item, int) for item in tree)
    assert len(tree) == 2 * cuts + 1
    assert cuts >= 1
    assert checked(file).startswith(f"accepted  no input meets {tmp_path / 'q.vnnlib'}  by ")
    header, *lines = map(json.loads, file.read_text().splitlines())
    assert header["verdict"] == "unsat"
    assert [item for line in lines for item in line["tree"]] == tree


@pytest.mark.parametrize("seed", range(6))
def test_what_is_unsatisfiable_is_accepted(seed: int, tmp_path: Path) -> None:
    asked = question(random.Random(seed))
    status, file, _ = certified(asked, asked.largest() + 2, tmp_path)
    if status is QueryStatus.UNSAT:
        assert checked(file).startswith("accepted")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "freezing.certificate"
    assert main(["verify", str(QUERIES / "freezing.vnnlib"), str(THERMOSTAT), "--certificate", str(file)]) == 0
    shown = capsys.readouterr()
    assert shown.out == "unsat\n"
    assert shown.err == f"certificate written to {file}    check: vernal-check {file}\n"
    assert checked(file).startswith("accepted")


@pytest.mark.parametrize(("query", "why"), [("switching", "only unsat has one"), ("freezing", "read by this command")])
def test_when_there_is_none(query: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "no.certificate" if query == "switching" else QUERIES / f"{query}.vnnlib"
    main(["verify", str(QUERIES / f"{query}.vnnlib"), str(THERMOSTAT), "--certificate", str(target)])
    assert why in capsys.readouterr().err
    assert not (tmp_path / "no.certificate").exists()


# Faults ---------------------------------------------------------------------------------------------------------------


def _bounds_too_high(patch: pytest.MonkeyPatch) -> None:
    original = Clauses.bounded

    def bounded(self: Clauses, *given: Any) -> Any:
        found, slopes = original(self, *given)
        low = found.low + 0.5
        return replace(found, low=low, impossible=found.impossible | (low > 0)), slopes

    patch.setattr(Clauses, "bounded", bounded)


def _half_lost(patch: pytest.MonkeyPatch) -> None:
    original = Domains.halves

    def halves(self: Domains, *given: Any) -> Domains:
        both = original(self, *given)
        return both.rows(np.tile(np.arange(len(both) // 2), 2))  # the lower half twice

    patch.setattr(Domains, "halves", halves)


def _strict_for_non_strict(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(COMPARE, ">=", "<")


@pytest.mark.parametrize(
    ("seed", "off"),
    [(_bounds_too_high, -ABOVE * 10), (_half_lost, -ABOVE * 10), (_strict_for_non_strict, Fraction(0))],
)
def test_faults_of_the_query_core_do_not_fool_the_checker(
    seed: Callable[[pytest.MonkeyPatch], None], off: Fraction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes Vernal say `unsat` of a query with a solution."""
    rising = Question([(np.array([[1.0], [-1.0]]), np.array([0.0, 0.0])), (np.array([[1.0, 0.5]]), np.zeros(1))], [])
    asked = replace(rising, box=[(Fraction(-1), Fraction(1))])
    monkeypatch.setattr(Replays, "found", lambda *_: {})  # no point is looked at
    with monkeypatch.context() as patch:
        seed(patch)
        status, file, _ = certified(asked, asked.largest() + off, tmp_path)
    assert status is QueryStatus.UNSAT, "the fault does not show"
    with pytest.raises((Rejected, Unreadable)):
        checked(file)


def test_no_query_with_a_solution_is_accepted() -> None:
    found = attack_queries(seed=2, count=30)
    assert found["mutants"] == 150
    assert found["with a solution"] > 40
    assert found["accepted"] > 10
    assert not found["accepted and false"]
