"""Weights in a file beside the network, as torch writes them: found, checked, and part of the fingerprint."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.external_data_helper import set_external_data

from tests.formats.samples import compute, model, points, reference, relu_stack, save
from vernal.errors import FormatError
from vernal.formats.networks import read_network

DATA = "policy.onnx.data"


def split(folder: Path, made: onnx.ModelProto | None = None) -> Path:
    """A network whose weights, all of them, lie in a file beside it."""
    path = folder / "policy.onnx"
    onnx.save_model(made or relu_stack(), str(path), save_as_external_data=True, location=DATA, size_threshold=0)
    return path


def test_weights_beside_the_file_are_read(tmp_path: Path) -> None:
    path = split(tmp_path)
    network, xs = read_network(path), points(3)
    whole = read_network(save(relu_stack(), tmp_path, "whole.onnx"))
    np.testing.assert_array_equal(compute(network, xs), compute(whole, xs))
    np.testing.assert_allclose(compute(network, xs), reference(path, xs), rtol=2e-6, atol=2e-6)


def test_they_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    path, data = split(tmp_path), tmp_path / DATA
    first = read_network(path)
    assert first.sha256 == hashlib.sha256(path.read_bytes() + data.read_bytes()).hexdigest()
    weights = np.frombuffer(data.read_bytes(), dtype=np.float32)
    data.write_bytes((weights * 2).tobytes())
    second = read_network(path)
    assert second.sha256 != first.sha256
    assert not np.array_equal(compute(first, points(3)), compute(second, points(3)))


def test_both_files_may_move_together(tmp_path: Path) -> None:
    path, elsewhere = split(tmp_path), tmp_path / "elsewhere"
    elsewhere.mkdir()
    for file in (path, tmp_path / DATA):
        shutil.move(file, elsewhere)
    assert read_network(elsewhere / "policy.onnx").input_size == 3


def test_a_constant_in_a_node_may_lie_beside_the_file(tmp_path: Path) -> None:
    offsets = numpy_helper.from_array(np.array([1, 2, 3], dtype=np.float32), "c")
    nodes = [helper.make_node("Constant", [], ["c"], value=offsets), helper.make_node("Add", ["x", "c"], ["y"])]
    made = model(nodes)
    (tmp_path / DATA).write_bytes(b"...." + offsets.raw_data)
    tensor = made.graph.node[0].attribute[0].t
    set_external_data(tensor, DATA, offset=4)  # without a length: the rest of the file
    tensor.ClearField("raw_data")
    network = read_network(save(made, tmp_path))
    np.testing.assert_array_equal(compute(network, np.zeros((1, 3))), [[1, 2, 3]])


def test_a_missing_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    path = split(tmp_path)
    os.remove(tmp_path / DATA)
    with pytest.raises(
        FormatError, match=rf"policy\.onnx: tensor 'W0' lies in '{DATA}', which is not beside it.*False"
    ):
        read_network(path)


def cut(path: Path) -> None:
    data = path.parent / DATA
    data.write_bytes(data.read_bytes()[:-4])


def edit(key: str, value: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        made = onnx.load(str(path), load_external_data=False)
        for entry in made.graph.initializer[0].external_data:
            if entry.key == key:
                entry.value = value
        save(made, path.parent, path.name)

    return change


def many(path: Path) -> None:
    """Every tensor in a file of its own."""
    made = model([helper.make_node("Relu", ["x"], ["y"])], {f"t{i}": np.zeros(1, np.float32) for i in range(80)})
    for number, tensor in enumerate(made.graph.initializer):
        set_external_data(tensor, f"d{number}")
        (path.parent / f"d{number}").write_bytes(b"abcd")
    save(made, path.parent, path.name)


def again_and_again(path: Path) -> None:
    """A large file, read for every tensor once more."""
    made = model([helper.make_node("Relu", ["x"], ["y"])], {f"t{i}": np.zeros(1, np.float32) for i in range(9)})
    for tensor in made.graph.initializer:
        set_external_data(tensor, DATA)
        tensor.dims[:] = [2**21]
    with (path.parent / DATA).open("wb") as stream:
        stream.truncate(2**23)
    save(made, path.parent, path.name)


def link(path: Path) -> None:
    """The data as a link to a file elsewhere."""
    data = path.parent / DATA
    elsewhere = path.parent.with_name(f"{path.parent.name}-elsewhere")
    data.replace(elsewhere)
    data.symlink_to(elsewhere)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cut, "which has .*: not the file that was written with this one"),
        (edit("length", "999999"), "which has"),
        (edit("length", "8"), "claims 15 entries"),
        (edit("offset", "-4"), "no number"),
        (edit("offset", "9" * 40), "no number"),
        (edit("location", "../secret"), "outside the folder"),
        (edit("location", "/etc/hostname"), "outside the folder"),
        (edit("location", "C:secret"), "outside the folder"),
        (edit("location", ""), "outside the folder"),
        (edit("location", "."), "not a plain file|outside the folder"),
        (link, "link to a file outside the folder"),
        (many, "more than 64 files"),
        (again_and_again, "larger than 64 MiB with its data, .* --memory allows more"),
    ],
)
def test_what_does_not_fit_is_refused(change: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    path = split(tmp_path)
    change(path)
    with pytest.raises(FormatError, match=message) as caught:
        read_network(path)
    assert re.search(r"policy\.onnx", str(caught.value))
