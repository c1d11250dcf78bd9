"""The .nnet text format: tidy, untidy, damaged, and the published networks."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.formats.samples import Array, compute, points
from vernal.errors import FormatError
from vernal.formats.networks import read_network
from vernal.formats.nnet import format_nnet, parse_nnet
from vernal.model.expr import Const
from vernal.model.graph import order

TIDY = """// a comment
2,2,1,3,
2,3,1,
0,
-1.0,-1.0,
1.0,1.0,
0.1,0.0,5.0,
2.0,4.0,3.0,
1.0,2.0,
-1.0,0.5,
0.25,0.1,
0.0,
1.0,
-1.0,
1.0,-2.0,3.0,
0.5,
"""
UNTIDY = """//one
// two

2, 2, 1, 3
2, 3,1, 1\t
0
0
0
0
0
 1.0 , 2.0
-1.0,0.5 ,,
.25 1e-1
0.0
1.0,
-1
1.0, -2.,+3.0
0.5

"""


def inner(xs: Array) -> Array:
    weight = np.array([[1.0, 2.0], [-1.0, 0.5], [0.25, 0.1]])
    hidden = np.maximum(xs @ weight.T + [0.0, 1.0, -1.0], 0)
    return np.asarray(hidden @ np.array([[1.0, -2.0, 3.0]]).T + 0.5)


def test_normalisation_is_explicit_and_nothing_is_clipped() -> None:
    network = parse_nnet(TIDY.encode(), "tidy")
    xs = points(2, spread=50.0)  # far outside the minima and maxima
    expected = inner((xs - [0.1, 0.0]) / [2.0, 4.0]) * 3.0 + 5.0
    np.testing.assert_allclose(compute(network, xs), expected, rtol=1e-12, atol=1e-12)
    constants = {value for node in order([network.output]) if isinstance(node, Const) for value in node.values}
    assert Fraction(-1, 10) in constants  # the decimal, not the double


def test_irregular_headers_are_read() -> None:
    network = parse_nnet(UNTIDY.encode(), "untidy")
    xs = points(2)
    np.testing.assert_allclose(compute(network, xs), inner(xs), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("text", [TIDY, UNTIDY])
def test_what_is_written_is_read_back(text: str) -> None:
    network = parse_nnet(text.encode(), "same")
    assert parse_nnet(format_nnet(network).encode(), "same").output is network.output


WRONG = [
    ("2,2,1,3,", "hello", "whole numbers"),
    ("2,2,1,3,", "0,2,1,3,", "0 layers"),
    ("2,2,1,3,", "99999999999999,2,1,3,", "layers"),
    ("2,2,1,3,", "2,3,1,3,", "3 inputs"),
    ("2,3,1,\n", "2,1073741824,1,\n", "promises 2147483655 more lines, but there are 13"),
    ("2,3,1,\n", "2,0,1,\n", "empty"),
    ("2,3,1,\n", "2,-3,1,\n", "whole numbers"),
    ("0.5,\n", "0.5,\n7.0,\n", "promises 13 more lines, but there are 14"),
    ("1.0,-2.0,3.0,", "1.0,-2.0,", "row of 2 numbers where 3"),
    ("-1.0,0.5,\n", "-1.0,zero,\n", "'zero' in the weights of layer 1"),
    ("-1.0,0.5,\n", "-1.0,nan,\n", "weights of layer 1 holds NaN"),
    ("-1.0,0.5,\n", "-1.0,1e999,\n", "weights of layer 1 holds NaN or infinite"),
    ("3.0,\n0.5,\n", "3.0,\n-inf,\n", "biases of layer 2 holds NaN"),
    ("0.1,0.0,5.0,", "0.1,inf,5.0,", "means hold NaN"),
    ("0.1,0.0,5.0,", "0.1,1e99999,5.0,", "not a number"),
    ("0.1,0.0,5.0,", "0.1,1/3,5.0,", "not a number"),
    ("2.0,4.0,3.0,", "2.0,0.0,3.0,", "ranges is 0"),
    ("2.0,4.0,3.0,", "0,", "ranges are 0"),
    ("2.0,4.0,3.0,", "2.0,", "entries"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG, ids=[repr(row[1]) for row in WRONG])
def test_mistakes_are_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in TIDY
    path = tmp_path / "wrong.nnet"
    path.write_text(TIDY.replace(old, new, 1))
    with pytest.raises(FormatError, match=message) as caught:
        read_network(path)
    assert "wrong.nnet" in str(caught.value)


def test_damage_ends_in_one_error(tmp_path: Path) -> None:
    dice = random.Random(2)
    path = tmp_path / "damaged.nnet"
    whole = TIDY.encode()
    for content in [
        *(dice.randbytes(dice.randrange(300)) for _ in range(100)),
        *(whole[:end] for end in range(0, len(whole) - 3, 2)),
        *(flip(whole, dice) for _ in range(300)),
    ]:
        path.write_bytes(content)
        try:
            read_network(path)
        except FormatError as error:
            assert "damaged.nnet" in str(error)  # noqa: PT017 - a changed digit is another network


def flip(whole: bytes, dice: random.Random) -> bytes:
    damaged = bytearray(whole)
    damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
    return bytes(damaged)


# Published networks ---------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_all_published_networks_are_read(data: Path) -> None:
    files = sorted(data.rglob("*.nnet"))
    assert len(files) > 20
    for file in files:
        network = read_network(file)
        assert parse_nnet(format_nnet(network).encode(), network.name).output is network.output


@pytest.mark.data
def test_published_reference_values(data: Path) -> None:
    pendulum = read_network(data / "archcomp/Single_Pendulum/controller_single_pendulum.nnet")
    np.testing.assert_allclose(compute(pendulum, np.array([[1.1, 0.1]])), [[-0.6618806]], rtol=2e-7)
    advisor = read_network(data / "archcomp/VCAS/nnet/VertCAS_noResp_pra01_v9_20HU_200.nnet")
    point = np.array([[-0.0081875, -0.0039, 0.125]]) * [16000, 200, 40] + [0, 0, 20]
    scores = (compute(advisor, point)[0] + 0.7194709316423972) / 26.24923585890485
    published = [0.02388132, 0.0149127, 0.01859346, 0.01750817, 0.02689335, -0.03122975, -0.02817882, -0.03895102,
                 -0.02544982]  # fmt: skip
    np.testing.assert_allclose(scores, published, atol=1e-8)


@pytest.mark.data
def test_two_exports_of_one_network_agree(data: Path) -> None:
    """The same nine networks as .nnet, which normalises, and as ONNX, which does not."""
    for number in range(1, 10):
        name = f"VertCAS_noResp_pra0{number}_v9_20HU_200"
        text = read_network(data / f"archcomp/VCAS/nnet/{name}.nnet")
        binary = read_network(data / f"archcomp/VCAS/onnx/{name}.onnx")
        xs = points(3, spread=0.4)
        ours = (compute(text, xs * [16000, 200, 40] + [0, 0, 20]) + 0.7194709316423972) / 26.24923585890485
        np.testing.assert_allclose(ours, compute(binary, xs), atol=1e-4)
