"""The benchmark of network queries: its lists, its counts, its processes, and the sets of questions it makes."""

from __future__ import annotations

import hashlib
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.learning import Training, forward, onnx_chain
from benchmarks.queries import networks, race
from benchmarks.queries.__main__ import main
from benchmarks.queries.establish import cover, float_margins, is_witness
from benchmarks.queries.instances import BadList, Instance, read_list, read_public, write_list
from benchmarks.queries.plot import curve, draw
from benchmarks.queries.questions import AskedQuestion, margin, read_questions, rows, vnnlib, write
from benchmarks.queries.race import Run, in_turn, run
from benchmarks.queries.table import complaints, cost, disputed, ratios, summary, wrong
from benchmarks.queries.tools import FAILED, TIMED_OUT, UNKNOWN, Tool, find_tools, installed, marabou, nnenum, vernal
from tests.plain_bounds import AGAIN, reproved, upper_bounds

QUESTIONS = read_questions()
BY_BOXES = [one for one in QUESTIONS if one.answer == "unsat" and one.suite != "formulas"]
SQUARE = (("-0.5", "0.5"),) * 3


def instance(folder: Path, answer: str | None = None, limit: float = 5, name: str = "q") -> Instance:
    network, query = folder / "n.onnx", folder / f"{name}.vnnlib"
    for file in (network, query):
        file.touch()
    return Instance(network, query, limit, answer)


def saying(code: str, name: str = "fake") -> Tool:
    """A verifier that is a line of Python."""
    return Tool(name, lambda asked, seconds: [sys.executable, "-c", code], vernal().says)


# Lists ----------------------------------------------------------------------------------------------------------------


def test_a_list_says_network_query_limit_and_perhaps_an_answer(tmp_path: Path) -> None:
    written = [instance(tmp_path), instance(tmp_path, "sat", 2.5, "r")]
    write_list(tmp_path / "instances.csv", written)
    assert read_list(tmp_path) == read_list(tmp_path / "instances.csv") == written
    (tmp_path / "instances.csv").write_text("n.onnx, q.vnnlib , 116\n\n")
    assert read_list(tmp_path) == [Instance(tmp_path / "n.onnx", tmp_path / "q.vnnlib", 116.0)]


def test_public_queries_are_counted_in_their_sets(tmp_path: Path) -> None:
    rows = ("set,network,query,answer,tools that say so", "acas,a/n.onnx,a/q.vnnlib,unsat,5")
    (tmp_path / "instances.csv").write_text("\n".join([*rows, "lsnc,b/n.onnx,b/r.vnnlib,unknown,0"]))
    known, unknown = read_public(tmp_path)
    assert (known.set_name, known.answer, known.how) == ("acas", "unsat", "5 tools say so")
    assert (unknown.set_name, unknown.answer, unknown.query) == ("lsnc", None, tmp_path / "b/r.vnnlib")


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("n.onnx,q.vnnlib", "2 entries"),
        ("n.onnx,missing.vnnlib,20", "no file"),
        ("n.onnx,q.vnnlib,soon", "no number"),
        ("n.onnx,q.vnnlib,-1", "positive"),
        ("n.onnx,q.vnnlib,inf", "finite"),
        ("n.onnx,q.vnnlib,20,holds", "sat, unsat or nothing"),
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path: Path, row: str, why: str) -> None:
    instance(tmp_path)
    (tmp_path / "instances.csv").write_text(f"n.onnx,q.vnnlib,20\n{row}\n")
    with pytest.raises(BadList, match=rf"instances\.csv:2: .*{why}"):
        read_list(tmp_path)
    assert main([str(tmp_path)]) == 2


# Counting -------------------------------------------------------------------------------------------------------------


def test_wrong_is_against_known_answers_and_disputed_between_tools(tmp_path: Path) -> None:
    known, unknown = instance(tmp_path, "unsat"), instance(tmp_path, name="r")
    runs = [
        Run("a", known, "unsat", 1.0, 1.0),
        Run("b", known, "sat", 2.0, 2.0),
        Run("a", unknown, "sat", 3.0, 3.0),
        Run("b", unknown, "unsat", 0.5, 0.5),
        Run("c", known, UNKNOWN, 0.1, 0.1),
        Run("c", unknown, FAILED, 0.2, 0.2, "Traceback\nKeyError: 7"),
    ]
    assert wrong(runs) == [runs[1]]
    assert disputed(runs) == [runs[2], runs[3]]
    assert disputed([runs[2], runs[5]]) == []
    assert cost(runs[4]) == known.limit
    lines = summary(runs).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == ["a", "2 of 2", "1", "1", "0", "0", "0", "1", "2.00", "4.00", "3.00"]
    assert cells[1] == ["b", "2 of 2", "1", "1", "0", "0", "1", "1", "1.25", "2.50", "2.00"]
    assert cells[2] == ["c", "0 of 2", "0", "0", "1", "1", "0", "0", "5.00", "10.00", "5.00"]
    assert [line.split(":")[0] for line in complaints(runs)] == ["WRONG", "DISPUTED", "DISPUTED", "failed"]
    assert "KeyError: 7" in complaints(runs)[-1]


def test_ratios_are_over_what_both_decide(tmp_path: Path) -> None:
    one, two, three = (instance(tmp_path, name=name) for name in "qrs")
    runs = [Run("ours", one, "sat", 1.0, 1.0), Run("ours", two, "sat", 4.0, 4.0), Run("ours", three, UNKNOWN, 9.0, 9.0)]
    runs += [Run("b", one, "sat", 3.0, 3.0), Run("b", two, "sat", 4.0, 4.0), Run("b", three, "sat", 1.0, 1.0)]
    (line,) = ratios(runs, "ours").splitlines()[2:]
    assert [cell.strip() for cell in line.strip("|").split("|")] == ["b", "2", "7.00", "5.00", "1.40", "2.00"]


def test_a_cactus_is_the_sorted_times_of_what_was_decided(tmp_path: Path) -> None:
    one = instance(tmp_path)
    runs = [Run("a", one, "sat", 3.0, 3.0), Run("a", one, "unsat", 1.0, 1.0), Run("a", one, TIMED_OUT, 0.1, 0.1)]
    assert curve(runs) == [1.0, 3.0]
    draw(runs, tmp_path / "cactus.svg")
    assert "a: 2" in (tmp_path / "cactus.svg").read_text()


# Processes ------------------------------------------------------------------------------------------------------------


def test_answers_are_read_as_each_tool_prints_them() -> None:
    assert [vernal().read(text) for text in ("sat\n((X_0 1))", "unsat\n", "timed-out\n")] == ["sat", "unsat", TIMED_OUT]
    assert [marabou("p").read(text) for text in ("unsat\n", "\nsat\nInput", "TIMEOUT", "")] == [
        "unsat", "sat", TIMED_OUT, FAILED,
    ]  # fmt: skip
    assert [nnenum("p").read(f"Running\nanswer: {word}") for word in ("sat", "unsat", "timeout", "error")] == [
        "sat", "unsat", TIMED_OUT, UNKNOWN,
    ]  # fmt: skip


def test_another_checkout_is_asked_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "vernal").mkdir()
    (tmp_path / "vernal" / "__init__.py").touch()
    (tmp_path / "vernal" / "__main__.py").write_text("print('unsat')")
    before = vernal("auto", "before", tmp_path)
    ran = run(before, instance(tmp_path))
    assert (ran.tool, ran.answer) == ("before", "unsat")
    assert vernal("paths", "before", tmp_path).name == "before paths"
    assert [tool.name for tool in find_tools({}, ("auto",), {"before": tmp_path})][:2] == ["vernal", "before"]


def test_every_tool_begins_in_turn() -> None:
    a, b, c = (saying("", name) for name in "abc")
    assert [[tool.name for tool in in_turn([a, b, c], number)] for number in (0, 1, 5)] == [
        ["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"],
    ]  # fmt: skip


def test_cpu_time_has_that_of_children(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}]); print('unsat')"
    ran = run(saying(code), instance(tmp_path))
    assert (ran.answer, ran.decided) == ("unsat", True)
    assert ran.cpu >= 0.3


def test_a_process_is_ended_at_its_limit_and_an_error_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "GRACE", 0.1)
    assert run(saying("while True: pass"), instance(tmp_path, limit=0.3), slack=50).answer == TIMED_OUT
    assert run(saying("import time; time.sleep(60)"), instance(tmp_path, limit=0.3)).wall < 30
    monkeypatch.setattr(race, "GRACE", 30.0)
    assert run(saying("raise KeyError"), instance(tmp_path)).answer == FAILED
    late = "import time\nwhile time.process_time() < 0.4: pass\nprint('sat')"
    assert run(saying(late), instance(tmp_path, limit=0.2), slack=20).answer == TIMED_OUT


def test_a_peer_that_cannot_be_imported_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NNENUM_PYTHON", raising=False)
    assert installed("nnenum") is None
    with pytest.raises(FileNotFoundError, match="--marabou-python"):
        installed("marabou", "/nowhere/python")


# Questions ------------------------------------------------------------------------------------------------------------


def test_a_claim_is_read_as_alternatives_of_comparisons() -> None:
    question = AskedQuestion("s", "q", "surface", SQUARE, "Y_0 <= Y_1 & Y_0 >= -1.5 | Y_1 >= 2", 20)
    weights, constants, cases = rows(question, 2)
    assert weights.tolist() == [[-1, 1], [1, 0], [0, 1]]
    assert constants.tolist() == [0, 1.5, -2]
    assert cases == [[0, 1], [2]]
    values = np.array([[1.0, 0.5], [-2.0, 0.0], [1.0, 3.0]]) @ weights.T + constants
    assert margin(values, cases).tolist() == [-0.5, -0.5, 2.0]
    with pytest.raises(ValueError, match="no comparison"):
        _ = AskedQuestion("s", "q", "surface", SQUARE, "Y_0 < Y_1", 20).cases
    text = vnnlib(question, 2)
    assert "(assert (or\n    (and (<= Y_0 Y_1) (>= Y_0 -1.5))\n    (and (>= Y_1 2))\n))" in text
    assert "(assert (>= X_2 -0.5))" in text


def test_boxes_establish_what_is_true_of_a_small_network() -> None:
    """|x| as a network, whose largest value on [-1, 1] is 1."""
    layers = [(np.array([[1.0], [-1.0]]), np.zeros(2)), (np.array([[1.0, 1.0]]), np.zeros(1))]
    asked = [AskedQuestion("s", "q", "acas_0", (("-1", "1"),), claim, 20) for claim in ("Y_0 >= 1.01", "Y_0 >= 0.9")]
    never, somewhere = (cover(question, layers, 5) for question in asked)
    assert never.answer == "unsat"
    assert somewhere.answer == "sat"
    assert is_witness(asked[1], layers, somewhere.point)
    assert not is_witness(asked[1], layers, ("0.5",))
    assert not is_witness(asked[1], layers, ("2",))  # outside the box
    assert float_margins(asked[1], layers, np.array([[-0.95]])) == pytest.approx(0.05)


def test_training_and_random_layers_are_the_same_for_the_same_seed() -> None:
    sample = networks.acas_sample(0)
    first, second = (Training(5, pool=100, most=1.5)((5, 4, 5), "Relu", sample, seed=3) for _ in range(2))
    assert all((a == b).all() for one, two in zip(first, second, strict=True) for a, b in zip(one, two, strict=True))
    assert networks.random_hidden((3, 4, 1), 7)[0][0][0].tolist() == [0.2802734375, -1.103515625, 0.8486328125]


def test_training_brings_a_network_closer_to_what_is_wanted() -> None:
    sample = networks.acas_sample(0)
    inputs, wanted = sample(np.random.default_rng(1), 500)

    def missed(steps: int) -> float:
        layers = Training(steps, 64, pool=2000)((5, 10, 5), "Tanh", sample, seed=0)
        return float(((forward(layers, inputs, "Tanh")[-1] - wanted) ** 2).mean())

    assert missed(300) < 0.7 * missed(1)


def test_kept_weights_are_read_back(tmp_path: Path) -> None:
    made = {name: networks.load(name) for name in networks.NETWORKS}
    networks.keep({name: made[name] for name in networks.LEARNT}, tmp_path / "weights.npz")
    kept, here = (np.load(path) for path in (networks.WEIGHTS, tmp_path / "weights.npz"))
    assert sorted(kept) == sorted(here)
    assert all((kept[name] == here[name]).all() for name in kept)
    assert networks.WEIGHTS.stat().st_size < 100_000
    for name, layers in made.items():
        sizes = networks.NETWORKS[name].sizes
        assert [weight.shape for weight, _ in layers] == [(m, n) for n, m in pairwise(sizes)]
        if networks.NETWORKS[name].formula is None:
            assert networks.error(name, layers, 1_000) < 0.15  # of values between 0 and 1.13


def test_the_sets_are_the_same_files_everywhere(tmp_path: Path) -> None:
    made = write([one for one in QUESTIONS if one.suite == "acas"], tmp_path)
    assert read_list(tmp_path) == made
    assert len(made) == 60
    assert all(one.answer is not None and one.limit == 20 for one in made)
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in tmp_path.iterdir()}
    write([one for one in QUESTIONS if one.suite == "acas"], tmp_path)
    assert digests == {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in tmp_path.iterdir()}


@pytest.mark.parametrize("question", [one for one in QUESTIONS if one.answer == "sat"], ids=lambda one: one.name)
def test_every_sat_has_a_witness_over_the_reals(question: AskedQuestion) -> None:
    word, *point = question.how.split()
    assert word == "witness"
    assert is_witness(question, networks.load(question.network), point)


@pytest.mark.parametrize("question", BY_BOXES, ids=lambda one: one.name)
def test_no_point_does_what_is_called_unsat(question: AskedQuestion) -> None:
    lower, upper = question.ends()
    points = np.random.default_rng(0).uniform(lower, upper, (2_000, len(lower)))
    assert float_margins(question, networks.load(question.network), points).max() < 0
    assert " boxes" in question.how


def test_the_smallest_unsat_is_proven_again() -> None:
    few = min(BY_BOXES, key=lambda one: int(one.how.split()[0]))
    assert cover(few, networks.load(few.network), 20).answer == "unsat"


def test_a_written_network_computes_what_its_layers_do(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    for name in ("turn_0", "surface"):
        layers, shape = networks.load(name), networks.NETWORKS[name]
        session = onnxruntime.InferenceSession(onnx_chain(layers, shape.function, name))
        x = np.random.default_rng(0).uniform(-0.5, 0.5, (1, shape.sizes[0]))
        (found,) = session.run(None, {"X": x.astype(np.float32)})
        assert found == pytest.approx(forward(layers, x, shape.function)[-1], abs=1e-4)


def test_a_second_method_proves_the_easy_ones_again() -> None:
    """Most of the others were, with more time (`python -m tests.plain_bounds`)."""
    twice = [one for one in BY_BOXES if AGAIN in one.how]
    assert len(twice) >= 0.8 * len(BY_BOXES)
    easy = sorted(twice, key=lambda one: int(one.how.split()[0]))[:6]
    assert [reproved(one, networks.load(one.network)) for one in easy] == [int(one.how.split(AGAIN)[1]) for one in easy]


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_plain_bounds_hold_at_points(name: str) -> None:
    layers, rng, shape = networks.load(name), np.random.default_rng(0), networks.NETWORKS[name]
    centre = rng.uniform(-0.4, 0.4, (5, shape.sizes[0]))
    low, high = centre - 0.05, centre + 0.05
    found, _ = upper_bounds(np.eye(shape.sizes[-1]), layers, shape.function, low, high)
    for number in range(5):
        points = rng.uniform(low[number], high[number], (500, shape.sizes[0]))
        assert (forward(layers, points, shape.function)[-1] <= found[number] + 1e-9).all()
