"""`vernal verify` and `vernal supports`: what the VNN-LIB standard and VNN-COMP read from stdout."""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import pytest

from vernal.cli.main import main
from vernal.cli.supports import capabilities
from vernal.formats.vnnlib.reader import parse_query

ROOT = Path(__file__).resolve().parents[2]
NETWORK = ROOT / "examples" / "thermostat" / "thermostat.onnx"
QUERIES = ROOT / "examples" / "queries"

DECLARED = "".join(f"(declare-const {name} Real)\n" for name in ("X_0", "X_1", "Y_0", "Y_1"))
BOX = "(assert (and (>= X_0 -0.5) (<= X_0 0.5) (= X_1 1)))\n"


def ask(text: str, folder: Path, *options: str) -> int:
    file = folder / "q.vnnlib"
    file.write_text(text, encoding="utf-8")
    return main(["verify", str(file), "--network", f"N={NETWORK}", *options])


def test_sat_is_followed_by_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{DECLARED}{BOX}(assert (>= Y_0 Y_1))"
    assert ask(text, tmp_path) == 0
    shown = capsys.readouterr()
    first, *rest = shown.out.splitlines()
    assert first == "sat"
    assert shown.err == ""
    pairs = [line.strip(" ()").split() for line in rest]
    assert [name for name, _ in pairs] == ["X_0", "X_1", "Y_0", "Y_1"]
    assert rest[0].startswith("((")
    assert rest[-1].endswith("))")
    # The assignment as printed satisfies the query as written.
    given = "".join(f"(assert (= {name} {value}))" for name, value in pairs)
    point = [-assertion.term.constant for assertion in parse_query(DECLARED + given).assertions]  # type: ignore[union-attr]
    assert parse_query(text).satisfied(point)


def test_weights_beside_the_network_are_run_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = tmp_path / "n.onnx"
    onnx.save_model(onnx.load(str(NETWORK)), str(network), save_as_external_data=True, location="d", size_threshold=0)
    (tmp_path / "q.vnnlib").write_text(f"{DECLARED}{BOX}(assert (>= Y_0 Y_1))", encoding="utf-8")
    assert main(["verify", str(tmp_path / "q.vnnlib"), "--network", f"N={network}"]) == 0
    shown = capsys.readouterr()
    assert (shown.out.splitlines()[0], shown.err) == ("sat", "")


def test_version_2_prints_tensors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(QUERIES / "switching.vnnlib"), "--network", f"thermostat={NETWORK}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[1], lines[4]) == ("sat", "X Real [1,2]", "Y Real [1,2]")
    assert len(lines) == 7
    assert all(float(line) == float(line) for line in (*lines[2:4], *lines[5:7]))


def test_unsat_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(QUERIES / "freezing.vnnlib"), "--network", f"N={NETWORK}", "--timeout", "60"]) == 0
    assert capsys.readouterr().out == "unsat\n"


def test_unknown_says_why_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(f"{DECLARED}{BOX}(assert (>= Y_0 Y_1))", tmp_path, "--engine", "bounds") == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0] in ("sat", "unknown")
    assert ask(f"{DECLARED}{BOX}(assert (> Y_0 9))", tmp_path, "--engine", "falsify") == 0
    shown = capsys.readouterr()
    assert shown.out == "unknown\n"
    assert "no violation found" in shown.err


def test_timed_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(f"{DECLARED}{BOX}(assert (> Y_0 9))", tmp_path, "--timeout", "1e-9") == 0
    shown = capsys.readouterr()
    assert shown.out == "timed-out\n"
    assert "timeout" in shown.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "one network, not 0; say --network thermostat=FILE.onnx"),
        (["--network", "a.onnx"], "there is no file 'a.onnx'"),
        (["--network", "=a.onnx"], "wants a name and a file"),
        ([str(NETWORK), "--network", f"thermostat={NETWORK}"], "one network, not 2"),
        ([str(NETWORK), "--list", "instances.csv"], "say which query"),
        (["--list", "instances.csv", "--on", "dir:jobs"], "where their files are"),
        (["--network", f"other={NETWORK}"], "declares no network 'other'; its network is 'thermostat'"),
        (["--network", f"thermostat={NETWORK}", "--network", f"b={NETWORK}"], "one network, not 2"),
        (["--network", "thermostat=missing.onnx"], "there is no file 'missing.onnx'"),
        (["--network", f"thermostat={NETWORK}", "--engine", "magic"], "no engine 'magic'"),
        (["--network", f"thermostat={NETWORK}", "--device", "tpu"], "no device 'tpu'"),
    ],
)
def test_options_that_make_no_sense(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(QUERIES / "switching.vnnlib"), *options]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("name", ["a" * 300, "b/" * 3000, "x\0y", ".", "..", "/", "/dev/zero", "'" * 200])
def test_a_list_may_name_what_is_no_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line is answered with an error, in its place."""
    (tmp_path / "list.csv").write_text(f"{name},{name},1\n", encoding="utf-8")
    assert main(["verify", "--list", str(tmp_path / "list.csv")]) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err


def test_what_is_not_supported_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(f"{DECLARED}(assert (<= (/ X_0 X_1) 1))", tmp_path) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "q.vnnlib:5:13: / divides by numbers other than 0" in shown.err
    assert ask(f"{DECLARED}(assert (>= X_0 0))", tmp_path) == 2
    assert "X_0 has no upper bound, X_1 has no lower bound" in capsys.readouterr().err


def test_a_network_needs_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    for given in ([str(NETWORK)], ["--network", str(NETWORK)]):
        assert main(["verify", str(QUERIES / "switching.vnnlib"), *given]) == 0
        assert capsys.readouterr().out.startswith("sat\n")


def test_reading_a_query_is_inside_the_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seconds of reading, and a fraction of one to do it in: nobody gets so far as to want the network."""
    wanted: list[object] = []
    monkeypatch.setattr("vernal.queries.files.load_model", lambda *given: wanted.append(given))
    inputs = 20_000
    lines = [f"(declare-const X_{i} Real)" for i in range(inputs)] + ["(declare-const Y_0 Real)"]
    lines += [f"(assert (<= (* 3 (+ X_{i} (* 2 X_{i} 0.{i}))) {j}))" for i in range(inputs) for j in range(5)]
    assert ask("\n".join(lines), tmp_path, "--timeout", "0.2") == 0
    assert capsys.readouterr().out == "timed-out\n"
    assert not wanted


def convolution(file: Path) -> None:
    """Three layers over 3 x 32 x 32 pixels, the first of them 16 x 32 x 32 wide, and ten scores."""
    draw, numbers = np.random.default_rng(0), onnx.numpy_helper.from_array
    nodes, weights, last, channels = [], [], "x", 3
    for number, (width, kernel, stride) in enumerate(((16, 3, 1), (16, 4, 2), (32, 4, 2))):
        weight = draw.normal(size=(width, channels, kernel, kernel)) / (channels * kernel * kernel) ** 0.5
        weights.append(numbers(weight.astype(np.float32), f"w{number}"))
        made = onnx.helper.make_node("Conv", [last, f"w{number}"], [f"c{number}"], strides=[stride] * 2, pads=[1] * 4)
        nodes.append(made)
        nodes.append(onnx.helper.make_node("Relu", [f"c{number}"], [f"r{number}"]))
        last, channels = f"r{number}", width
    weights.append(numbers((draw.normal(size=(2048, 10)) / 45).astype(np.float32), "w"))
    nodes += [onnx.helper.make_node("Flatten", [last], ["f"]), onnx.helper.make_node("MatMul", ["f", "w"], ["y"])]
    ends = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", [1, 3, 32, 32]), ("y", [1, 10]))
    ]
    graph = onnx.helper.make_graph(nodes, "convolution", ends[:1], ends[1:], weights)
    versions = [onnx.helper.make_opsetid("", 13)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=versions, ir_version=8), str(file))


def test_convolutions_end_inside_the_limits(tmp_path: Path) -> None:
    """Bounds of 16,384 neurons over 3,072 inputs take minutes; the answer is there when the time is up."""
    convolution(tmp_path / "c.onnx")
    lines = [f"(declare-const X_{i} Real)" for i in range(3072)] + [f"(declare-const Y_{i} Real)" for i in range(10)]
    lines += [f"(assert (>= X_{i} 0.4))\n(assert (<= X_{i} 0.6))" for i in range(3072)]
    query = tmp_path / "c.vnnlib"
    query.write_text("\n".join([*lines, "(assert (<= Y_0 -1000))"]))
    command = [sys.executable, "-m", "vernal", "verify", str(query), str(tmp_path / "c.onnx"), "--timeout", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout in ("timed-out\n", "unsat\n", "unknown\n")


def test_products_of_variables_are_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    box = "(assert (and (>= X_0 -0.5) (<= X_0 0.5) (>= X_1 0) (<= X_1 1)))\n"
    assert ask(f"{DECLARED}{box}(assert (> (* X_0 X_1) 0.51))", tmp_path) == 0
    assert capsys.readouterr().out == "unsat\n"
    assert ask(f"{DECLARED}{box}(assert (>= (/ (* X_0 X_0 Y_0) 2) (- (* Y_0 Y_0))))", tmp_path) == 0
    assert capsys.readouterr().out.startswith("sat\n")


# Many queries ---------------------------------------------------------------------------------------------------------


def rows(text: str) -> list[list[str]]:
    return [[row[0], *row[2:]] for row in csv.reader(text.splitlines())]


@pytest.mark.parametrize("more", [(), ("--workers", "2"), ("--on", "workers")])
def test_many_queries_in_one_run(more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paths are relative to the list; what is only there compressed is unpacked; one bad line spoils no other."""
    (tmp_path / "n.onnx.gz").write_bytes(gzip.compress(NETWORK.read_bytes()))
    (tmp_path / "sat.vnnlib").write_text(f"{DECLARED}{BOX}(assert (>= Y_0 Y_1))", encoding="utf-8")
    (tmp_path / "slow.vnnlib").write_text(f"{DECLARED}{BOX}(assert (> Y_0 9))", encoding="utf-8")
    (tmp_path / "bad.vnnlib").write_text("(hello)", encoding="utf-8")
    listed = ["n.onnx,sat.vnnlib,60", "", "n.onnx,bad.vnnlib", f"{NETWORK},{QUERIES / 'freezing.vnnlib'},60"]
    named = """"[('f', 'n.onnx')]",slow.vnnlib,1e-9"""  # as newer lists have it
    (tmp_path / "list.csv").write_text("\n".join([*listed, named]), encoding="utf-8")
    assert main(["verify", "--list", str(tmp_path / "list.csv"), "--timeout", "100", *more]) == 2
    shown = capsys.readouterr()
    packed, query = str(tmp_path / "n.onnx.gz"), str(tmp_path / "sat.vnnlib")
    assert rows(shown.out) == [
        ["sat", packed, query],
        ["error", packed, str(tmp_path / "bad.vnnlib")],
        ["unsat", str(NETWORK), str(QUERIES / "freezing.vnnlib")],
        ["timed-out", packed, str(tmp_path / "slow.vnnlib")],
    ]
    assert "'hello' is not supported" in shown.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no line"),
        ("a.onnx", "1: a line is network,query,seconds"),
        ("a.onnx,b.vnnlib,soon", "1: 'soon' is no number of seconds"),
        ("a.onnx,b.vnnlib,0", "no number of seconds above 0"),
        ("a.onnx,b.vnnlib,1,2", "a line is"),
    ],
)
def test_lists_that_make_no_sense(text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.csv").write_text(text, encoding="utf-8")
    assert main(["verify", "--list", str(tmp_path / "list.csv")]) == 2
    assert words in capsys.readouterr().err


# Capabilities ---------------------------------------------------------------------------------------------------------

THEORIES = {
    "hidden-node-theories": {"NH", "H"},
    "multiple-input-output-theories": {"SIO", "MIO"},
    "multiple-network-theories": {"SNET", "MENET", "MINET", "MNET"},
    "multiple-node-comparison-theories": {"SNC", "MNC"},
    "arithmetic-complexity-theories": {"BND", "OUTC", "LIN", "POLY"},
    "optimised-disjunctive-reasoning": {"true", "false"},
    "serialise-assignments": {"true", "false"},
    "unsat-proofs": {"true", "false"},
}


@pytest.mark.parametrize("name", list(capabilities()))
def test_every_capability_can_be_asked(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["supports", f"--{name}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == capabilities()[name]
    assert set(lines) <= THEORIES.get(name, set(lines))


def test_pairs_are_pairs_and_operators_are_read() -> None:
    known = capabilities()
    assert known["vnnlib-versions"] == ["1.0", "2.0"]
    oldest, newest = map(int, known["onnx-opset-versions"])
    assert oldest < newest
    assert {"Gemm", "Relu", "Conv"} <= set(known["onnx-operators"])
    assert "Softmax" in known["onnx-operators"]
    assert any(line.startswith("ArgMax: ") for line in known["onnx-operators-refused"])
    assert not {line.partition(":")[0] for line in known["onnx-operators-refused"]} & set(known["onnx-operators"])


def test_without_an_option_everything_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["supports"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(capabilities())
