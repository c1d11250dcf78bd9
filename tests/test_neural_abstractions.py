"""The benchmark of neural abstractions: its tables say what results say, and find what is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.neural_abstractions import __main__ as command
from benchmarks.neural_abstractions import tables
from benchmarks.neural_abstractions.models import CHAIN, SIX, Model, SizeRow, chosen, size_rows
from benchmarks.neural_abstractions.outcome import Outcome, ask, outcome_of
from tests.flow_judge import FlowJudge
from tests.portion import every
from tests.report import flow_samples as samples
from tests.wild_flows import FlowCase
from vernal.engines.check import check
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.formats.task.blueprint import load

OURS = Outcome(
    "holds",
    2.5,
    2.4,
    {"learn": 1.0, "certify": 0.05, "regions": 0.2, "flowpipe": 0.75},
    regions=21,
    rounds=3,
    counterexamples=40,
    widths=(12,),
    error=(0.03, 0.012),
)
JET, TANK = chosen(["jet"])[0], chosen(["watertank"])[0]


def cells(text: str) -> list[list[str]]:
    """The rows of a Markdown table, its header first."""
    lines = [line for line in text.splitlines() if not line.startswith("|--")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_model_has_a_task_file_and_what_was_published() -> None:
    assert len(SIX) == 6
    for model in (*SIX, *CHAIN):
        assert model.file.is_file()
    assert all(model.published is not None for model in SIX)


ALL = {model.name: model for model in (*SIX, *CHAIN)}


def judge(model: Model, parameters: Mapping[str, float]) -> FlowJudge:
    task = load(model.file, **parameters)
    return FlowJudge(FlowCase(0, "benchmark", task.flow, task.properties["safe"]), runs=200, steps=300)


@pytest.mark.parametrize("name", every(2, list(ALL)))
def test_simulation_says_that_a_model_is_safe_and_its_variant_is_not(name: str) -> None:
    assert not judge(ALL[name], {}).is_unsafe
    assert judge(ALL[name], ALL[name].unsafe).is_unsafe


@pytest.mark.parametrize("name", every(2, ["jet", "exponential", "watertank", "nl1"]))
def test_a_trajectory_of_the_unsafe_variant_is_found_and_enclosed(name: str) -> None:
    task = load(ALL[name].file, **ALL[name].unsafe)
    (result,) = check(task, engine="falsify", timeout=30).values()
    assert result.verdict is VIOLATED
    assert judge(ALL[name], ALL[name].unsafe).problem(result) is None


def test_table_one_has_ours_beside_the_papers() -> None:
    header, row = cells(tables.table_one([JET], {"jet": OURS}, {"jet": Outcome("unknown", 0.5, 0.5)}))
    found = dict(zip(header, row, strict=True))
    assert row[:8] == ["jet", "12", "10, 16", "0.03, 0.012", "0.039, 0.015", "21", "8", "holds"]
    stages = {"learn": "1.00", "certify": "0.05", "CPU s": "2.40", "wall s": "2.50", "direct": "? 0.50"}
    assert {name: found[name] for name in stages} == stages
    assert (found["paper s"], found["tool s"], found["Flow* s"]) == ("215", "260", "safe, 1.3 / 1.7")


def test_an_error_larger_than_a_sound_published_one_is_marked() -> None:
    worse = replace(OURS, error=(0.04, 0.01))
    assert tables.exceeds(JET, worse)
    assert cells(tables.table_one([JET], {"jet": worse}, {}))[1][3] == "0.04, 0.01!"
    assert not tables.exceeds(chosen(["steam"])[0], replace(OURS, error=(1.0, 1.0, 1.0)))


def test_what_is_not_known_is_a_dash() -> None:
    row = cells(tables.table_one([TANK], {"watertank": Outcome("unknown", 60.0, 59.0)}, {}))[1]
    assert row == ["watertank", "-", "12", "-", "0.097", "-", "6", "unknown", *"----", "59.00", "60.00", *row[14:]]
    assert row[14:] == ["49", "64", "not supported", "-"]


def test_seeds_are_summed_up() -> None:
    runs = [OURS, replace(OURS, seconds=3.5, error=(0.05, 0.010)), replace(OURS, verdict="unknown", error=None)]
    row = cells(tables.seeds_table({"jet": runs}))[1]
    assert row[:3] == ["jet", "2 of 3", "2.50 / 2.83 / 3.50"]
    assert row[4] == "0.03 / 0.04 / 0.05; 0.01 / 0.011 / 0.012"


def test_sizes_stand_beside_the_published_ones() -> None:
    published = SizeRow("jet", (10, 10), (0.04, 0.077, 0.168), 27.3, 1.0)
    row = cells(tables.sizes_table([published], [[replace(OURS, error=(0.03, 0.04)), replace(OURS, error=None)]]))[1]
    assert row[:4] == ["jet", "10, 10", "0.05 / 0.05 / 0.05", "0.04 / 0.077 / 0.168"]
    assert row[6:8] == ["1 of 2", "100%"]


@pytest.mark.data
def test_the_published_sizes_are_read() -> None:
    rows = size_rows(Path(os.environ["VERNAL_DATA"]) / command.FACTS)
    assert len(rows) == 8
    assert rows[1] == SizeRow("jet", (10, 10), (0.040, 0.077, 0.168), 27.3, 1.0)
    assert rows[5].success == 0.5


def test_growth_says_why_something_stayed_open() -> None:
    stuck = Outcome("unknown", 60.0, 60.0, reason="timeout")
    rows = cells(tables.growth_table([(2, {"auto": OURS, "flowpipe": stuck}), (4, {"auto": stuck, "flowpipe": stuck})]))
    assert rows[1] == ["2", "T 2.50", "? 60.00", "21", "0.03", "flowpipe: timeout"]
    assert rows[2][3:5] == ["-", "-"]


def test_an_unsafe_variant_that_is_called_safe_is_found() -> None:
    right = {"auto": replace(OURS, verdict="violated"), "flowpipe": replace(OURS, verdict="unknown")}
    assert tables.mistakes({"jet": right}) == []
    wrong = {"jet": right, "nl1": {**right, "flowpipe": OURS}}
    assert tables.mistakes(wrong) == ["WRONG: flowpipe says that the unsafe variant of nl1 holds"]
    assert cells(tables.unsafe_table(wrong))[2] == ["nl1", "F 2.50", "T 2.50"]


@pytest.mark.parametrize("model", SIX, ids=lambda model: model.name)
def test_task_files_ask_for_an_error_no_larger_than_the_published_one(model: Model) -> None:
    error = load(model.file).settings.error
    assert error is not None
    assert model.published is not None
    assert all(our <= their for our, their in zip(map(float, error), model.published.error, strict=True))


def test_the_tank_is_asked_with_the_error_of_its_file_and_with_widths() -> None:
    given = ask(TANK.file, "abstraction", 30, seed=3)
    assert (given.verdict, given.error is not None and given.error[0] <= 0.097) == ("holds", True)
    assert ask(TANK.file, "abstraction", 30, widths=(7,), seed=3).widths == (7,)


def test_an_outcome_is_read_from_a_result() -> None:
    jet = samples.jet()
    network = samples.abstraction(jet, 7)
    counts = {
        "regions": 21,
        "rounds": 2,
        "counterexamples": 5,
        "learning seconds": 1.5,
        "propagation seconds": 0.5,
    }
    result = Result("G[0, 1] x < 1", HOLDS, "abstraction", statistics=counts, abstraction=network)
    found = outcome_of(result, 3.0, 2.0)
    assert (found.verdict, found.seconds, found.regions) == ("holds", 3.0, 21)
    assert (found.rounds, found.counterexamples) == (2, 5)
    assert found.stages == {"learn": 1.5, "flowpipe": 0.5}
    assert found.widths == (7,)
    assert found.error is not None
    assert found.size == pytest.approx(float(np.linalg.norm(network.error)))
    without = outcome_of(Result("G[0, 1] x < 1", HOLDS, "flowpipe"), 1.0, 1.0)
    assert (without.widths, without.error, without.regions) == (None, None, None)


def test_the_command_prints_every_table_and_fails_where_something_is_open(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answered(file: Path, engine: str, cap: float, **given: object) -> Outcome:
        return replace(OURS, verdict="violated" if given.get("parameters") else "holds")

    monkeypatch.setattr(command, "ask", answered)
    assert command.main(["--models", "jet", "nl2", "--seeds", "2", "--growth"]) == 0
    said = capsys.readouterr().out
    assert "| nl2 " in said
    assert "all are proven, and no unsafe variant is called safe" in said
    monkeypatch.setattr(command, "ask", lambda *given, **named: replace(OURS, verdict="holds"))
    assert command.main(["--models", "jet"]) == 1
    assert "WRONG: auto says that the unsafe variant of jet holds" in capsys.readouterr().out
    monkeypatch.setattr(command, "ask", lambda *given, **named: Outcome("unknown", 1.0, 1.0, reason="timeout"))
    assert command.main(["--models", "jet", "--unsafe-by"]) == 1
    assert "NOT PROVEN: jet: timeout" in capsys.readouterr().out
