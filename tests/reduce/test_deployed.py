"""What is proven of networks in floats is true of what onnxruntime computes; and what rounding breaks is not proven."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

import vernal as vn
from tests.interpret.rounded.test_rounding_errors import made_of
from tests.systems import make
from vernal.cli.main import application
from vernal.errors import InputError
from vernal.interpret.rounded.float_formats import deployment
from vernal.logic.formula import Always, Atom
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Matrix
from vernal.model.functions import tanh
from vernal.model.network import MERGED, Network, memory_var, network_input
from vernal.reduce import deployed
from vernal.reduce.deployed import Deployed, NotDeployed, with_rounding

ROOT = Path(__file__).parents[2]
ort = pytest.importorskip("onnxruntime")
FLOAT32 = deployment("float32")
Array = NDArray[np.float64]
LOOP = """vernal = 1
[state]
x = "real [-1, 1]"
e = "real [-9, 9]"
[init]
x = "[-1, 1]"
e = 0
[agents.pilot]
policy = "net.onnx"
observe = ["x"]
act = "raw"
[environment.next]
e = "pilot - x"
[properties]
close = "G[0,1] (e <= 0.001 & e >= -0.001)"
near = "G[0,1] (e <= 1 & e >= -1)"
some = "EF[0,1] (e <= 1)"
far = "G[0,1] (x <= 0.5)"
"""


def cancelling() -> bytes:
    """x + 1e6 - 1e6"""
    nodes = [helper.make_node("Add", ["x", "c"], ["s"]), helper.make_node("Sub", ["s", "c"], ["y"])]
    return made_of(nodes, {"c": np.array([[1e6]])}, 1, 1)


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    (tmp_path / "net.onnx").write_bytes(cancelling())
    (tmp_path / "loop.toml").write_text(LOOP)
    return tmp_path / "loop.toml"


def asked(file: Path, name: str) -> vn.Result:
    return vn.check(file, property=name, deployed="float32", timeout=20)[name]


def test_what_cancelling_breaks_is_not_proven(loop: Path) -> None:
    session = ort.InferenceSession(cancelling(), providers=["CPUExecutionProvider"])
    (computed,) = session.run(None, {"x": np.array([[0.02]], dtype=np.float32)})
    assert abs(computed[0, 0] - 0.02) > 1e-3
    assert vn.check(loop, property="close")["close"].verdict is vn.HOLDS
    close, near = asked(loop, "close"), asked(loop, "near")
    assert close.verdict is vn.UNKNOWN
    assert close.reason is not None
    assert "holds in real numbers" in close.reason
    assert near.verdict is vn.HOLDS
    assert any("float32" in note for note in near.notes)


def test_without_the_errors_it_would_be_proven(loop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployed, "_short", lambda error: 0)
    assert asked(loop, "close").verdict is vn.HOLDS


def test_a_violation_is_walked_by_onnxruntime(loop: Path) -> None:
    result = asked(loop, "far")
    assert result.verdict is vn.VIOLATED
    assert any(note.startswith("onnxruntime reproduces it") for note in result.notes), result.notes


def test_a_violation_that_rounding_mends(tmp_path: Path) -> None:
    """1e9 + x - 1e9 is 0 in floats: what x would do is not done."""
    nodes = [helper.make_node("Add", ["x", "c"], ["s"]), helper.make_node("Sub", ["s", "c"], ["y"])]
    (tmp_path / "net.onnx").write_bytes(made_of(nodes, {"c": np.array([[1e9]])}, 1, 1))
    text = LOOP.replace('"pilot - x"', '"pilot"').replace("e <= 0.001 & e >= -0.001", "e <= 0.5")
    (tmp_path / "loop.toml").write_text(text)
    result = asked(tmp_path / "loop.toml", "close")
    assert result.verdict is vn.VIOLATED
    assert any(note.startswith("onnxruntime does not reproduce it") for note in result.notes), result.notes


def test_ranges_are_claimed_beside(loop: Path) -> None:
    loop.write_text(LOOP.replace('e = "pilot - x"', 'e = "pilot - x"\nx = "x + 1"'))
    assert vn.check(loop, property="near")["near"].verdict is vn.HOLDS
    assert asked(loop, "near").verdict is vn.UNKNOWN


def test_no_certificate_and_no_journal(loop: Path, tmp_path: Path) -> None:
    result = vn.check(loop, property="near", deployed="float32", certificate=True)["near"]
    assert result.verdict is vn.HOLDS
    assert result.certificate is None
    assert "floats" in (result.uncertified or "")
    with pytest.raises(InputError, match="journal"):
        vn.check(loop, property="near", deployed="float32", journal=tmp_path / "journal")
    with pytest.raises(InputError, match="float8"):
        vn.check(loop, property="near", deployed="float8")
    with pytest.raises(InputError, match="all paths"):
        asked(loop, "some")


def test_the_command_line(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        application()(["check", str(loop), "--property", "near", "--deployed", "float32", "--quiet"])
    assert ended.value.code == 0
    assert "float32" in capsys.readouterr().out


# Random policies ------------------------------------------------------------------------------------------------------


def policy(seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    kind = ("Relu", "Tanh", "Sigmoid", "LeakyRelu")[seed % 4]
    first = rng.normal(size=(2, 5)) * 10.0 ** rng.integers(-2, 3, (2, 5))
    constants = {"V": first, "a": rng.normal(size=5), "W": rng.normal(size=(5, 1)), "b": rng.normal(size=1)}
    nodes = [
        helper.make_node("Gemm", ["x", "V", "a"], ["z"]),
        helper.make_node(kind, ["z"], ["h"]),
        helper.make_node("Gemm", ["h", "W", "b"], ["y"]),
    ]
    return made_of(nodes, constants, 2, 1)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proven_is_kept_by_onnxruntime(seed: int, tmp_path: Path) -> None:
    """That it stays below what onnxruntime reaches is not proven, that it stays below a little more is."""
    session = ort.InferenceSession(policy(seed), providers=["CPUExecutionProvider"])
    starts = np.random.default_rng(seed).uniform(0.5, 0.5 + 1e-4, (200, 2))
    starts[0], starts[1] = 0.5, 0.5 + 1e-4
    outputs = [float(session.run(None, {"x": one.astype(np.float32)[None]})[0][0, 0]) for one in starts]
    most = max(outputs)
    (tmp_path / "net.onnx").write_bytes(policy(seed))
    text = (
        LOOP.replace("[-1, 1]", "[0.5, 0.5001]")
        .replace("[-9, 9]", "[-99999, 99999]")
        .replace("e = 0\n", 'e = "[0.5, 0.5001]"\n')
    )
    text = (
        text.replace('["x"]', '["x", "y"]')
        .replace('"pilot - x"', '"pilot"')
        .replace('x = "real', 'y = "real [0.5, 0.5001]"\nx = "real')
    )
    text = text.replace('x = "[0', 'y = "[0.5, 0.5001]"\nx = "[0').replace(
        "e <= 0.001 & e >= -0.001", f"X (e < {most!r})"
    )
    (tmp_path / "loop.toml").write_text(
        text.replace("e <= 1 & e >= -1", f"X (e < {most + 1.0!r})").replace("G[0,1] (X", "(X")
    )
    assert asked(tmp_path / "loop.toml", "close").verdict is not vn.HOLDS
    assert asked(tmp_path / "loop.toml", "near").verdict is vn.HOLDS


# What is refused ------------------------------------------------------------------------------------------------------


def small(operators: tuple[str, ...], memory: float | None = None) -> Network:
    """x, or what is remembered: h' = memory tanh(h) + x."""
    x, h = network_input(1), memory_var(1)
    one = build.affine(x, Matrix(np.eye(1)), Matrix(np.zeros(1)))
    if memory is None:
        return Network("net", x, one, operators=operators)
    return Network(
        "net", x, h, ((h, tanh(h) * memory + one),) if memory < 9 else ((h, h * 2 + one),), operators=operators
    )


def question(network: Network, ranges: dict[str, tuple[int, int]]) -> Question:
    x = build.var("x")
    agent = make_agent("pilot", [network], [x], "raw")
    system = make({"x": 0}, {"x": x}, agents=[agent], ranges=ranges)
    return Question(system, Always(Atom(x <= 1)))


@pytest.mark.parametrize(
    ("network", "ranges", "why"),
    [
        (small(()), {"x": (0, 1)}, "ONNX"),
        (small(("Gemm", MERGED)), {"x": (0, 1)}, "read as one"),
        (small(("Gemm", "Conv")), {"x": (0, 1)}, "Conv"),
        (small(("LSTM",), 0.5), {"x": (0, 1)}, "LSTM"),
        (small(("Gemm",)), {}, "declare a range of x"),
        (small(("Gemm",), 9.0), {"x": (0, 1)}, "bounded"),
    ],
)
def test_refusals(network: Network, ranges: dict[str, tuple[int, int]], why: str) -> None:
    assert why in (Deployed(FLOAT32).takes(question(network, ranges)) or "")


def test_memories_are_off_as_well() -> None:
    asking = question(small(("Gemm", "Tanh"), 0.5), {"x": (0, 1)})
    made = with_rounding(asking.model, FLOAT32)
    assert 0 < made.most < 1e-5
    (old,), (new,) = asking.model.slots, made.model.slots
    assert new.next is not old.next


def test_a_network_in_an_expression_is_refused() -> None:
    asking = question(small(("Gemm",)), {"x": (0, 1)})
    called = small(("Gemm",))(build.var("x"))
    with pytest.raises(NotDeployed, match="called"):
        with_rounding(make({"x": 0}, {"x": called[0]}, agents=asking.model.agents, ranges={"x": (0, 1)}), FLOAT32)


def test_what_may_overflow_is_refused() -> None:
    asking = question(small(("Gemm",)), {"x": (0, 10**6)})
    assert Deployed(FLOAT32).takes(asking) is None
    assert "overflow" in (Deployed(deployment("float16")).takes(asking) or "")


def test_a_property_that_is_not_taken_is_named() -> None:
    with pytest.raises(InputError, match=r"can_clean: .*all paths only"):
        vn.check(ROOT / "examples" / "vacuum" / "vacuum.toml", deployed="float32")
