"""The graph of a task in its certificate: what `vernal-check` reads where it does not read the task's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

import vernal as vn
from tests.cases import CASES, Case
from vernal.formats.task_graph import task_graph
from vernal.logic.task import Task
from vernal_check.main import main as vernal_check

ROOT = Path(__file__).resolve().parents[2]
UNCHECKED, ACCEPTED, REJECTED = 5, 0, 1


def halving() -> vn.System:
    return vn.System(
        state={"x": vn.real(-5, 5), "up": vn.boolean()},
        init={"x": vn.interval(0, 1), "up": {True, False}},
        step=lambda s: {"x": s.x / 2 + vn.choose(0, 1), "up": s.up},
    )


def certified(task: vn.System, formula: str, file: Path) -> vn.Result:
    return vn.check(task, formula, certificate=file, timeout=30)


def test_what_is_made_in_python_has_a_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "halving.certificate"
    result = certified(halving(), "G (x <= 2)", file)
    assert result.verdict is vn.HOLDS
    assert result.uncertified is None
    assert vernal_check([str(file)]) == UNCHECKED
    said = capsys.readouterr().out
    assert said.startswith("accepted of the graph in the file, the reader was not checked  G (x <= 2)  by ")
    assert "that the graph in the certificate is a task made in Python" in said
    assert vernal_check([str(file), "--trust-graph"]) == ACCEPTED
    file.write_text(file.read_text().replace("choose(0, 1)", "choose(0, 2)"))
    assert vernal_check([str(file), "--trust-graph"]) == REJECTED


def test_flows_made_in_python_have_one_too(tmp_path: Path) -> None:
    falling = vn.Flow("falling", state={"x": vn.real(-9, 9)}, init={"x": 1}, rates=lambda s: {"x": -s.x})
    file = tmp_path / "falling.certificate"
    assert vn.check(falling, "G[0, 1] (x <= 1.1)", certificate=file, timeout=60).uncertified is None
    assert vernal_check([str(file), "--trust-graph"]) == ACCEPTED


def test_a_draw_that_is_used_twice_is_not_written_twice(tmp_path: Path) -> None:
    """As a text it would be two draws, and `a == b` would not hold."""
    coin = vn.choose(0, 1)
    system = vn.System(
        state={"a": vn.integer(), "b": vn.integer()}, init={"a": 0, "b": 0}, step=lambda s: {"a": coin, "b": coin}
    )
    result = certified(system, "G (a == b)", tmp_path / "coin.certificate")
    assert result.verdict is vn.HOLDS
    assert result.uncertified is not None


def test_networks_in_other_formats_are_brought_as_onnx(tmp_path: Path) -> None:
    def room() -> vn.System:
        network = vn.read_network(ROOT / "examples" / "thermostat" / "thermostat.onnx")
        return vn.System(
            state={"T": vn.real(5, 35), "mode": vn.enum("OFF", "ON")},
            init={"T": vn.interval(18, 18.5), "mode": "OFF"},
            agents={
                "control": vn.agent(
                    network, observe=lambda s: [(s.T - 20) / 10, vn.if_(vn.equals(s.mode, "ON"), 1, 0)], labels="mode"
                )
            },
            step=lambda s: {"T": s.T + vn.if_(vn.equals(s.control, "ON"), 0.5, -0.5), "mode": s.control},
        )

    file = tmp_path / "room.certificate"
    result = certified(room(), "G[0,3] (T >= 16)", file)
    assert result.verdict is vn.HOLDS, result.reason
    assert result.uncertified is None
    assert vernal_check([str(file), "--trust-graph"]) == ACCEPTED


@pytest.mark.parametrize(
    "graph", ['{"task": 3, "networks": {}}', '{"networks": {}}', '{"task": "", "networks": {"../n.onnx": ""}}']
)
def test_graphs_that_are_none_are_not_read(graph: str, tmp_path: Path) -> None:
    file = tmp_path / "halving.certificate"
    certified(halving(), "G (x <= 2)", file)
    header, *rest = file.read_text().splitlines()
    start = header.index('"graph":')
    file.write_text("\n".join([f'{header[:start]}"graph":{graph}}}', *rest]) + "\n")
    assert vernal_check([str(file), "--trust-graph"]) == UNCHECKED


@pytest.mark.parametrize("case", CASES[::7], ids=str)
def test_the_graph_of_a_case_is_the_case(case: Case) -> None:
    """Where a graph is written, all that it says comes back; `task_graph` looks at that itself."""
    graph = task_graph(case.task)
    if graph is not None:
        assert isinstance(case.task, Task)
        assert "[init]" in graph.text
