"""Networks as lists of layers, in MATLAB files and in YAML: what they compute, what is refused, and damaged files."""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from tests.formats.samples import Array, compute, points
from vernal.errors import FormatError
from vernal.formats.matlab import HEADER, parse_mat
from vernal.formats.networks import read_network
from vernal.formats.yaml_layers import parse_yaml_layers

TABLES = [np.array([[1.0, 2.0], [-1.0, 0.5], [0.25, 0.1]]), np.array([[1.0, -2.0, 3.0]])]
BIASES = [np.array([[0.0], [1.0], [-1.0]]), np.array([[0.5]])]
TEXT = """# a controller
activations: {1: Tanh, 2: Linear}
offsets:
  1: [0.0, 1.0,
    -1.0]
  2: [0.5]   # the last
weights:
  1:
  - [1.0, 2.0]
  - [-1.0, 5.0e-1]
  - [.25, 0.1]
  2:
  - [1.0, -2.0, 3]
"""
SPREAD = """---
activations:
- Tanh
- 'linear'
offsets:
- - 0.0
  - 1
  - -1.0
- [0.5]
weights:
-
  - [1.0, 2.0]
  - - -1.0
    - 0.5
  - [0.25, 0.1]
- - [1.0, -2.0, 3.0]
"""


def expected(xs: Array, activation: Any = np.tanh) -> Array:
    hidden = activation(xs @ TABLES[0].T + BIASES[0].T)
    return np.asarray(hidden @ TABLES[1].T + 0.5)


def cell(items: list[Any]) -> Array:
    made = np.empty((1, len(items)), dtype=object)
    made[0, :] = items
    return made


def saved(file: Path, changes: Mapping[str, Any] = {}, **options: Any) -> Path:
    """A file written by scipy."""
    content = {"W": cell(TABLES), "b": cell(BIASES), "act_fcns": np.array(["tanh", "linear"]), "x": {"y": [1, 2]}}
    scipy.io.savemat(file, {**content, **changes}, **options)
    return file


@pytest.mark.parametrize("packed", [False, True])
def test_a_matlab_file_is_the_network_it_says(packed: bool, tmp_path: Path) -> None:
    file = saved(tmp_path / "net.mat", do_compression=packed)
    xs = points(2)
    np.testing.assert_allclose(compute(read_network(file), xs), expected(xs), rtol=1e-12, atol=1e-12)


def test_names_may_be_a_cell_and_numbers_whole(tmp_path: Path) -> None:
    last = np.array([[1, -2, 3]], dtype=np.int8)
    file = saved(tmp_path / "net.mat", {"act_fcns": cell(["tansig", "purelin"]), "W": cell([TABLES[0], last])})
    xs = points(2)
    np.testing.assert_allclose(compute(read_network(file), xs), expected(xs), rtol=1e-12, atol=1e-12)


WRONG_MAT: dict[str, tuple[dict[str, Any], str]] = {
    "no activations": ({"act_fcns": 1.0}, "act_fcns is no text"),
    "other activations": ({"act_fcns": np.array(["swish", "linear"])}, "'swish ' of layer 1 is not read"),
    "one too few": ({"act_fcns": np.array(["tanh"])}, "2 weights, 2 biases and 1 activations"),
    "no cell": ({"W": TABLES[0]}, "'W' is no cell of arrays"),
    "cells in cells": ({"W": cell([cell(TABLES), TABLES[1]])}, "W\\{1\\} is no array of real numbers"),
    "text": ({"W": cell(["ab", TABLES[1]])}, "W\\{1\\} is no array of real numbers"),
    "complex": ({"W": cell([TABLES[0] * 1j, TABLES[1]])}, "complex"),
    "sparse": ({"W": cell([scipy.sparse.csc_matrix(TABLES[0]), TABLES[1]])}, "no array of real numbers"),
    "a structure": ({"W": {"a": 1}}, "'W' is no cell of arrays"),
    "not a number": ({"b": cell([BIASES[0] * np.nan, BIASES[1]])}, "biases of layer 1 holds NaN"),
    "sizes": ({"W": cell([TABLES[0].T, TABLES[1]])}, "layer 1 has 2 rows of weights, but 3 biases"),
    "no rows": ({"W": cell([np.empty((0, 0)), TABLES[1]])}, "no table"),
    "three axes": ({"W": cell([np.ones((1, 2, 3)), TABLES[1]])}, "no table"),
    "widths": ({"W": cell([TABLES[0], np.ones((1, 2))])}, "layer 2 has weights for 2 inputs"),
    "beyond doubles": ({"W": cell([np.array([[2**60 + 1]]), TABLES[1]])}, "no double holds"),
}


@pytest.mark.parametrize("what", WRONG_MAT)
def test_what_is_wrong_with_a_matlab_file_is_said(what: str, tmp_path: Path) -> None:
    changes, message = WRONG_MAT[what]
    with pytest.raises(FormatError, match=message) as caught:
        read_network(saved(tmp_path / "wrong.mat", changes))
    assert "wrong.mat" in str(caught.value)


def test_a_file_without_a_network_or_of_another_version_says_so(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "other.mat", {"W": cell(TABLES)})
    with pytest.raises(FormatError, match="no 'b', 'act_fcns'"):
        read_network(tmp_path / "other.mat")
    (tmp_path / "new.mat").write_bytes(b"MATLAB 7.3".ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(FormatError, match="save it with -v7"):
        read_network(tmp_path / "new.mat")


def test_what_unpacks_to_more_than_is_read_is_refused(tmp_path: Path) -> None:
    head = saved(tmp_path / "net.mat").read_bytes()[:HEADER]
    bomb = zlib.compress(bytes(100 * 2**20), 9)
    with pytest.raises(FormatError, match="larger than 64 MiB unpacked"):
        parse_mat(head + (15).to_bytes(4, "little") + len(bomb).to_bytes(4, "little") + bomb, "bomb")


@pytest.mark.parametrize("text", [TEXT, SPREAD])
def test_a_yaml_file_is_the_network_it_says(text: str, tmp_path: Path) -> None:
    (tmp_path / "net.yml").write_text(text)
    xs = points(2)
    np.testing.assert_allclose(compute(read_network(tmp_path / "net.yml"), xs), expected(xs), rtol=1e-12, atol=1e-12)


WRONG_YAML = [
    ("Tanh", "Swish", "'Swish' of layer 1 is not read"),
    ("{1: Tanh, 2: Linear}", "{1: Tanh}", "2 weights, 2 offsets and 1 activations"),
    ("{1: Tanh, 2: Linear}", "{2: Tanh, 1: Linear}", "1, 2, ... in order"),
    ("{1: Tanh, 2: Linear}", "{1: Tanh, 1: Linear}", "line 2, column 24: '1' is a key for the second time"),
    ("{1: Tanh", "{1: !!python/object:os.system Tanh", "line 2, column 18: '!' is not read"),
    ("{1: Tanh", "{1: &a Tanh", "'&' is not read"),
    ("{1: Tanh, 2: Linear}", "|\n  Tanh", "is not read"),
    ("{1: Tanh, 2: Linear}", "[" * 40, "nests deeper"),
    ("{1: Tanh, 2: Linear}", "{1: Tanh, 2: Linear", "'offsets' stands where '}' or a comma is expected"),
    ("# a controller", "%YAML 1.1", "without directives"),
    ("[0.5]", "0.5", "offsets of layer 2 are no list"),
    ("[0.5]", "[[0.5]]", "is not a number"),
    ("5.0e-1", "0x1F", "'0x1F' in the weights of layer 1 is not a number"),
    ("5.0e-1", ".nan", "weights of layer 1 holds NaN"),
    ("5.0e-1", "-.inf", "weights of layer 1 holds NaN"),
    ("- [.25, 0.1]", "- [.25]", "no table"),
    ("weights:", "weight:", "has the keys activations, offsets, weights"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG_YAML, ids=[repr(row[1]) for row in WRONG_YAML])
def test_what_is_wrong_with_a_yaml_file_is_said(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in TEXT
    (tmp_path / "wrong.yml").write_text(TEXT.replace(old, new, 1))
    with pytest.raises(FormatError, match=message) as caught:
        read_network(tmp_path / "wrong.yml")
    assert "wrong.yml" in str(caught.value)


def test_damage_ends_in_one_error(tmp_path: Path) -> None:
    dice = random.Random(3)
    whole = {".mat": saved(tmp_path / "whole.mat").read_bytes(), ".yml": TEXT.encode()}
    for suffix, content in whole.items():
        path = tmp_path / f"damaged{suffix}"
        for damaged in [
            *(dice.randbytes(dice.randrange(400)) for _ in range(50)),
            *(content[: dice.randrange(len(content))] for _ in range(80)),
            *(flipped(content, dice) for _ in range(150)),
        ]:
            path.write_bytes(damaged)
            try:
                read_network(path)
            except FormatError as error:
                assert path.name in str(error)  # noqa: PT017 - a changed digit is another network


def flipped(whole: bytes, dice: random.Random) -> bytes:
    damaged = bytearray(whole)
    damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
    return bytes(damaged)


REFERENCES = {  # as the folders' own descriptions say
    "ACC/controller_5_20.mat": ((30, 1.4, 30.1, 89.5, 2.0), (-0.34959009,)),
    "Benchmark9-TORA/controllerTora.mat": ((0.65, -0.65, -0.35, 0.55), (10.022442,)),
    "Docking2D/model.mat": ((88, 88, 0, 0.1), (-0.99494357, -0.94715587)),
    "Single_Pendulum/controller_single_pendulum.mat": ((1.1, 0.1), (-0.6618806,)),
}


@pytest.mark.data
@pytest.mark.parametrize("file", REFERENCES)
def test_published_controllers_compute_what_is_published(file: str, data: Path) -> None:
    point, values = REFERENCES[file]
    network = read_network(data / "archcomp" / file)
    np.testing.assert_allclose(compute(network, np.array([point], dtype=float))[0], values, atol=1e-6)
    tables = scipy.io.loadmat(data / "archcomp" / file)
    x = np.array(point, dtype=float)
    acts: dict[str, Any] = {"relu": lambda v: np.maximum(v, 0), "linear": lambda v: v, "tanh": np.tanh}
    for table, bias, name in zip(tables["W"][0], tables["b"][0], tables["act_fcns"], strict=True):
        x = acts[name.strip()](table @ x + bias[:, 0])
    np.testing.assert_allclose(compute(network, np.array([point], dtype=float))[0], x, rtol=1e-12)


@pytest.mark.data
def test_the_published_controller_in_yaml(data: Path) -> None:
    network = read_network(data / "archcomp" / "ACC" / "controller_tanh.yml")
    assert network.input_size == 5
    assert compute(network, np.array([[30, 1.4, 30.1, 89.5, 2.0]]))[0, 0] == pytest.approx(-0.03560895, abs=1e-7)


def test_text_that_is_no_yaml_of_layers_is_refused() -> None:
    for text in ("", "- 1", "a", "activations: 1\noffsets: 2\nweights: 3\n", "\u00e9: 1"):
        with pytest.raises(FormatError):
            parse_yaml_layers(text.encode(), "none")
