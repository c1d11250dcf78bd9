"""The recurrent operators as `vernal-check` reads them, beside onnxruntime; certificates of agents that have them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import vernal as vn
from vernal_check import onnx as reader
from vernal_check.errors import Unreadable
from vernal_check.evaluation import Run
from vernal_check.forms import Exact
from vernal_check.main import main as vernal_check
from vernal_check.networks import computed

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
SIZE, INPUTS = 3, 2


def model(op: str, seed: int, is_paired: bool, **attributes: Any) -> onnx.ModelProto:
    """A recurrent layer and an affine one; `is_paired` has its memory among inputs and outputs."""
    draw, rows = np.random.default_rng(seed), GATES[op] * SIZE
    shapes = {"W": (1, rows, INPUTS), "R": (1, rows, SIZE), "B": (1, 2 * rows), "V": (SIZE, 2), "v": (2,)}
    tensors = [
        numpy_helper.from_array(draw.normal(size=shape).astype(np.float32), name) for name, shape in shapes.items()
    ]
    tensors.append(numpy_helper.from_array(np.array([1, SIZE], np.int64), "flat"))
    memories = ["h", "c"] if op == "LSTM" else ["h"]
    given = ["X", "W", "R", "B", "", *(f"{name}_in" for name in memories if is_paired)]
    nodes = [
        helper.make_node(op, given[: 5 if is_paired else 4] + given[5:], ["Y", *(f"{m}_out" for m in memories)],
                         hidden_size=SIZE, **attributes),
        helper.make_node("Squeeze", ["Y"], ["S"], axes=[1]),
        helper.make_node("Reshape", ["S", "flat"], ["Z"]),
        helper.make_node("Gemm", ["Z", "V", "v"], ["out"]),
    ]  # fmt: skip
    named = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, INPUTS])]
    ends = [helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 2])]
    for memory in memories if is_paired else ():
        named.append(helper.make_tensor_value_info(f"{memory}_in", TensorProto.FLOAT, [1, 1, SIZE]))
        ends.append(helper.make_tensor_value_info(f"{memory}_out", TensorProto.FLOAT, [1, 1, SIZE]))
    graph = helper.make_graph(nodes, "g", named, ends, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)


def outputs(data: bytes, values: list[float]) -> list[float]:
    network, _ = reader.read(data)
    forms = computed(network, [Exact(Fraction(x)) for x in values], Run((), {}))
    return [float(sum(form.range({})) / 2) for form in forms]


@pytest.mark.parametrize("before", [False, True], ids=["", "linear before reset"])
@pytest.mark.parametrize("op", list(GATES))
def test_one_step_is_that_of_onnxruntime(op: str, before: bool) -> None:
    runtime = pytest.importorskip("onnxruntime")
    attributes = {"linear_before_reset": int(before)} if op == "GRU" else {}
    made = model(op, 5, is_paired=True, **attributes)
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(6)
    values = {entry.name: draw.normal(size=entry.shape).astype(np.float32) for entry in session.get_inputs()}
    expected = np.concatenate([part.ravel() for part in session.run(None, values)])
    flat = [float(x) for part in values.values() for x in part.ravel()]
    for is_paired in (True, False):  # whose memory is its own has the same inputs and outputs
        own = model(op, 5, is_paired=is_paired, **attributes).SerializeToString()
        assert outputs(own, flat) == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize("op", list(GATES))
def test_agents_with_such_a_memory_are_certified(op: str, tmp_path: Path) -> None:
    (tmp_path / "n.onnx").write_bytes(model(op, 1, is_paired=False).SerializeToString())
    task = tmp_path / "task.toml"
    task.write_text(
        'vernal = 1\n[state]\nx = "real"\ny = "real"\n[init]\nx = "[0, 0.1]"\ny = 0\n'
        '[agents.a]\npolicy = "n.onnx"\nobserve = ["x", "y"]\nact = "raw"\n'
        '[environment.next]\nx = "x / 2 + a[0] / 100"\ny = "a[1] / 100"\n[properties]\nsmall = "G[0,2] (abs(x) <= 1)"\n'
    )
    file = tmp_path / "task.certificate"
    result = vn.check(vn.load(task), property="small", certificate=True, timeout=30)["small"]
    assert result.verdict is vn.HOLDS, result.reason
    assert result.certificate is not None, result.uncertified
    result.certificate.save(file)
    assert vernal_check([str(file), "--task", str(task)]) == 0
    task.write_text(task.read_text().replace("<= 1)", "<= 0.01)"))
    claimed = file.read_text().replace(result.certificate.header["task"]["sha256"], vn.load(task).source.sha256)  # type: ignore[union-attr]
    file.write_text(claimed)
    assert vernal_check([str(file), "--task", str(task)]) != 0


@pytest.mark.parametrize(
    "attributes",
    [{"clip": 3.0}, {"direction": "reverse"}, {"activations": ["Affine"]}, {"layout": 7}],
    ids=lambda attributes: next(iter(attributes)),
)
def test_what_changes_the_meaning_of_a_step_is_not_read(attributes: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        reader.read(model("RNN", 1, is_paired=True, **attributes).SerializeToString())
