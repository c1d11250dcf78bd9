"""VerticalCAS: the published answers, cell by cell, and traces whose scores another runtime confirms."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vernal.cli.main import main
from vernal.engines.check import ask, check
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.evidence.trace import Trace
from vernal.formats.task.blueprint import load
from vernal.model.system import System
from vernal.run.budget import Budget

ROOT = Path(__file__).parent.parent
PUBLISHED = ROOT / "benchmarks" / "vcas" / "vcas.toml"
OWN = ROOT / "examples" / "vcas" / "vcas.toml"
RATES = (-19.5, -22.5, -25.5, -28.5)

# Source: the VerticalCAS table of the AAMAS 2020 paper, recomputed exactly; T means safe after k steps.
SAFE = {
    5000: ["TTTT", "TTFF", "TFFF", "TTFF", "TTTF", "TTTT"],
    200: ["TTTF", "FFFF", "FFFF", "FFFF", "FFFF", "FFFF"],
}


def cell(scaling: int, k: int, v0: float, engine: str, timeout: float = 60) -> Result:
    task = load(PUBLISHED, range_v=scaling, k=k, v0=v0)
    return ask(task, task.properties["safe"], "safe", engine, Budget(timeout=timeout))


@pytest.mark.data
@pytest.mark.parametrize("scaling", [5000, 200])
@pytest.mark.parametrize("engine", ["bounds", "auto"])
def test_no_cell_is_wrong(scaling: int, engine: str) -> None:
    proven = refuted = 0
    for k, row in enumerate(SAFE[scaling], start=1):
        for v0, safe in zip(RATES, row, strict=True):
            result = cell(scaling, k, v0, engine, 60 if engine == "auto" or safe == "T" else 0.2)
            assert result.verdict in ({HOLDS, UNKNOWN} if safe == "T" else {VIOLATED, UNKNOWN}), (k, v0)
            proven += result.verdict is HOLDS
            refuted += result.verdict is VIOLATED
    holding = sum(row.count("T") for row in SAFE[scaling])
    assert proven == holding
    if engine == "auto":
        assert refuted == 24 - holding


@pytest.mark.data
def test_margins_are_the_published_distances() -> None:
    for (k, v0), distance in {(2, -22.5): 0.1, (1, -19.5): 13.525, (6, -28.5): 2.9, (5, -25.5): 2.125}.items():
        result = cell(5000, k, v0, "bounds")
        assert result.margin is not None
        assert result.margin == pytest.approx(distance, abs=1e-9)
        assert result.margin <= distance


def scores_agree(system: System, trace: Trace, folder: Path) -> None:
    """At every position the recorded advisory is the winner by onnxruntime's scores, too."""
    import onnxruntime

    advisories = system.variable("adv").sort.labels
    for step in trace.steps:
        h, v, tau, adv, advisor = (
            float(value)
            for value in (*(step.state[name] for name in ("h", "v", "tau", "adv")), step.actions["advisor"])
        )
        session = onnxruntime.InferenceSession(folder / f"vcas_{int(adv) + 1}.onnx")
        inputs = np.array([[h / 16000, v / 200, (tau - 20) / 40]], dtype=np.float32)
        (scores,) = session.run(None, {"input": inputs})
        assert len(advisories) == scores.shape[1]
        assert scores[0].max() - scores[0][int(advisor)] < 1e-4


def test_traces_agree_with_onnxruntime() -> None:
    for v0 in RATES:
        task = load(OWN, v0=v0)
        for result in check(task, timeout=60).values():
            assert result.verdict is not UNKNOWN or result.reason
            if result.verdict is VIOLATED:
                assert result.trace is not None
                scores_agree(task.system, result.trace, OWN.parent)


def test_the_example_decides_both_ways() -> None:
    results = check(load(OWN), timeout=60)
    assert {name: result.verdict for name, result in results.items()} == {"safe": HOLDS, "wide": VIOLATED}


def test_a_trace_edited_in_a_digit_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wide.trace.json"
    assert main(["check", str(OWN), "--property", "wide", "--trace", str(file)]) == 10
    assert main(["replay", str(file)]) == 0
    text = file.read_text()
    document = json.loads(text)
    recorded = document["trace"]["steps"][1]["state"]["v"]
    file.write_text(text.replace(str(recorded), str(recorded + 1), 1))
    assert main(["replay", str(file)]) == 1
    assert "rejected" in capsys.readouterr().out
