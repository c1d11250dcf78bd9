"""The tables of the papers: their parts, the figures printed there, and the list of published files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.measure import AUTO, measure
from benchmarks.papers import __main__ as papers
from benchmarks.papers import printed
from benchmarks.pendulum_rnn.__main__ import ANGLES, POLICIES, STEPS
from scripts import published_files

FALLS_FROM = {10: 8, 30: 5, 50: 4, 70: 3}  # the step from which on the pendulum is too far to the left


def differences(numbers: Sequence[int]) -> list[int]:
    return [after - before for before, after in pairwise(numbers)]


def test_a_policy_that_falls_is_refuted_where_the_paper_s_programs_were_easy() -> None:
    for d in ANGLES:
        said = [measure(POLICIES["R16, falls"], AUTO, 20, d=d, n=n).verdict for n in STEPS]
        assert said == ["holds" if n < FALLS_FROM[d] else "violated" for n in STEPS]


@pytest.mark.parametrize("d", ANGLES)
def test_printed_times_on_demand_fall_with_the_first_refutation(d: int) -> None:
    times = [float(printed.PENDULUM_RNN[f"pi/{d}", str(n)][1]) for n in STEPS]
    at = FALLS_FROM[d] - 1
    assert times[at - 1] > 2 * times[at]


def test_sizes_are_cubic_but_for_one_of_the_printed_ones() -> None:
    for method, (variables, constraints) in printed.SIZES.items():
        for name, numbers in (("variables", variables), ("constraints", constraints)):
            third = differences(differences(differences(numbers)))
            assert (len(set(third)) == 1) == ((method, name) != ("ios", "constraints"))
    rows = list(printed.SIZES["ios"][1])
    rows[1] = 911  # printed: 736, the number of variables
    assert set(differences(differences(differences(rows)))) == {80}


def test_short_parts_print_ours_beside_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert papers.main(["--only", "pendulum", "--cap", "0.05"]) == 0
    said = capsys.readouterr().out
    assert "| R10    | 0.15 |" in said
    assert "60 (15)" in said


def test_parts_without_their_files_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("VERNAL_DATA", raising=False)
    assert papers.main(["--only", "vcas", "counts"]) == 0
    assert capsys.readouterr().out.count("left out: needs") == 2


def test_published_files_that_differ_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = tmp_path / "guarding" / "agent.onnx"
    changed.parent.mkdir()
    changed.write_bytes(b"another network")
    assert published_files.main([str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "changed: guarding/agent.onnx" in said
    assert "missing: vcas/vcas_1.onnx" in said


@pytest.mark.skipif(not os.environ.get("VERNAL_DATA"), reason="needs the published files, VERNAL_DATA")
def test_published_files_are_as_listed() -> None:
    assert published_files.main([]) == 0
