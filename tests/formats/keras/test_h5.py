"""Keras .h5 files, made here with h5py as Keras 2 and 3 lay them out; damaged ones; the published ones."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.formats.samples import Array, compute, points, walk
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats import networks
from vernal.formats.keras import h5 as keras_h5
from vernal.formats.networks import read_network
from vernal.model.expr import LeakyRelu

W0 = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
B0 = np.random.default_rng(1).normal(size=4).astype(np.float32)
W1 = np.random.default_rng(2).normal(size=(4, 2)).astype(np.float32)
Layer = Mapping[str, Any]


def dense(name: str, units: int, activation: object = "linear", **more: object) -> dict[str, Any]:
    config = {"name": name, "units": units, "activation": activation, "use_bias": True, **more}
    return {"class_name": "Dense", "config": config}


def plain(kind: str, **config: object) -> dict[str, Any]:
    return {"class_name": kind, "config": {"name": kind.lower(), **config}}


def write(
    path: Path,
    layers: Sequence[Layer],
    weights: Mapping[str, Mapping[str, Array]],
    *,
    version: str = "2.3.1",
    model: str = "Sequential",
    prefix: str = "",
) -> Path:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.attrs["keras_version"] = version
        file.attrs["model_config"] = json.dumps({"class_name": model, "config": {"layers": list(layers)}})
        group = file.create_group("model_weights")
        for layer, tensors in weights.items():
            own = group.create_group(layer)
            ending = ":0" if version.startswith("2") else ""
            names = [f"{prefix}{layer}/{name}{ending}" for name in tensors]
            own.attrs["weight_names"] = [name.encode() for name in names]
            for name, array in zip(names, tensors.values(), strict=True):
                own.create_dataset(name, data=array)
    path.write_bytes(buffer.getvalue())
    return path


WEIGHTS = {"a": {"kernel": W0, "bias": B0}, "b": {"kernel": W1}}


def stack(
    path: Path, activation: object = "relu", *between: Layer, version: str = "2.3.1", last: str = "linear"
) -> Path:
    first = dense("a", 4, activation, batch_input_shape=[None, 3])
    layers = [first, *between, dense("b", 2, last, use_bias=False)]
    return write(path, layers, WEIGHTS, version=version)


def expected(xs: Array, function: Any) -> Array:
    return np.asarray(function(xs @ W0.astype(float) + B0) @ W1.astype(float))


def leaky(slope: float) -> Any:
    return lambda x: np.where(x >= 0, x, float(np.float32(slope)) * x)


ACTIVATIONS = [
    ("linear", "2.3.1", lambda x: x),
    ("relu", "2.3.1", lambda x: np.maximum(x, 0)),
    ("sigmoid", "2.3.1", lambda x: 1 / (1 + np.exp(-x))),
    ("tanh", "3.1.0", np.tanh),
    ("leaky_relu", "3.1.0", leaky(0.2)),
    ("hard_sigmoid", "2.3.1", lambda x: np.clip(float(np.float32(0.2)) * x + 0.5, 0, 1)),
    ("hard_sigmoid", "3.1.0", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    ({"class_name": "function", "config": "tanh", "registered_name": "function"}, "3.1.0", np.tanh),
    (None, "3.1.0", lambda x: x),
]


@pytest.mark.parametrize(
    ("activation", "version", "function"), ACTIVATIONS, ids=[f"{a}-{v}" for a, v, _ in ACTIVATIONS]
)
def test_activations(activation: object, version: str, function: Any, tmp_path: Path) -> None:
    network = read_network(stack(tmp_path / "net.h5", activation, version=version))
    xs = points(3)
    np.testing.assert_allclose(compute(network, xs), expected(xs, function), rtol=1e-9, atol=1e-9)


LAYERS = [
    (plain("LeakyReLU", alpha=0.3), leaky(0.3)),
    (plain("LeakyReLU", negative_slope=0.1), leaky(0.1)),
    (plain("ReLU", max_value=1.5, negative_slope=0.0, threshold=0.0), lambda x: np.clip(x, 0, 1.5)),
    (plain("ReLU", max_value=None, negative_slope=[0.25]), leaky(0.25)),
    (plain("Activation", activation="tanh"), np.tanh),
    (plain("Dropout", rate=0.5), lambda x: x),
    (plain("Flatten"), lambda x: x),
]


@pytest.mark.parametrize(("layer", "function"), LAYERS, ids=[str(layer["config"]) for layer, _ in LAYERS])
def test_layers(layer: Layer, function: Any, tmp_path: Path) -> None:
    network = read_network(stack(tmp_path / "net.h5", "linear", layer))
    xs = points(3)
    np.testing.assert_allclose(compute(network, xs), expected(xs, function), rtol=1e-9, atol=1e-9)


def test_keras_3_layout_and_parameters_in_float32(tmp_path: Path) -> None:
    layers = [plain("InputLayer", batch_shape=[None, 3]), dense("a", 4), plain("LeakyReLU", negative_slope=0.3)]
    path = write(tmp_path / "net.keras", layers, {"a": WEIGHTS["a"]}, version="3.1.0", prefix="sequential/")
    network = read_network(path)
    assert isinstance(network.output, LeakyRelu)
    assert network.output.slopes == (Fraction(float(np.float32(0.3))),)


def test_softmax_at_the_end_is_left_out_and_remembered(tmp_path: Path) -> None:
    network = read_network(stack(tmp_path / "net.h5", last="softmax"))
    assert network.dropped == "Softmax"
    xs = points(3)
    np.testing.assert_allclose(compute(network, xs), expected(xs, lambda x: np.maximum(x, 0)), rtol=1e-9, atol=1e-9)
    with pytest.raises(UnsupportedOperator, match="last layer"):
        read_network(stack(tmp_path / "net.h5", "softmax"))


def test_inputs_of_higher_rank_are_flattened_first(tmp_path: Path) -> None:
    shaped = plain("InputLayer", batch_input_shape=[None, 1, 3])
    path = write(tmp_path / "net.h5", [shaped, plain("Flatten"), dense("a", 4)], WEIGHTS)
    assert read_network(path).input_size == 3
    with pytest.raises(UnsupportedOperator, match="flatten"):
        read_network(write(tmp_path / "net.h5", [shaped, dense("a", 4)], WEIGHTS))


def test_width_comes_from_the_weights_where_no_layer_says_it(tmp_path: Path) -> None:
    assert read_network(write(tmp_path / "net.h5", [dense("a", 4)], WEIGHTS)).input_size == 3


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([plain("Lambda", function="exec"), dense("a", 4)], "is a Lambda"),
        ([dense("a", 4), plain("Conv2D")], r"'conv2d' is a Conv2D.*supported: Activation, Dense"),
        ([dense("a", 4, "swish")], "'swish'"),
        ([dense("a", 4, {"class_name": "Mine", "config": {}})], "'Mine'"),
        ([dense("a", 5)], "promises 5 units"),
        ([dense("a", 4, use_bias=False)], "not those its text promises"),
        ([dense("ghost", 4, batch_input_shape=[None, 3])], "'ghost'"),
        ([dense("a", 4, batch_input_shape=[None, None])], "fixed sizes"),
        ([dense("a", 4, batch_input_shape=[None, 7])], "do not fit 7 inputs"),
        ([dense("a", 4, batch_input_shape=[None, 2**40])], "too large"),
        ([plain("ReLU", threshold=1.0), dense("a", 4)], "threshold"),
        ([dense("a", 4), plain("LeakyReLU", alpha="big")], "'big'"),
        ([], "no layers"),
        (["Dense"], "no description"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(layers: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_network(write(tmp_path / "net.h5", layers, WEIGHTS))
    assert "net.h5" in str(caught.value)


def test_descriptions_are_counted_before_they_are_read(tmp_path: Path) -> None:
    few = [dense("d", 4, batch_input_shape=[None, *[10**400] * 2000]), plain("Flatten", extra=[[]] * 10)]
    with pytest.raises(FormatError, match="too large; at most") as caught:
        read_network(write(tmp_path / "m.h5", few, {}))
    assert len(str(caught.value)) < 500
    with pytest.raises(FormatError, match="more than 200,000 entries"):
        keras_h5._layers("[" + "[]," * 200_000 + "0]")


def test_functional_models_and_bare_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperator, match="Functional"):
        read_network(write(tmp_path / "net.h5", [dense("a", 4)], WEIGHTS, model="Functional"))
    with h5py.File(tmp_path / "bare.h5", "w") as file:
        file.create_group("a")
    with pytest.raises(FormatError, match="save the whole model"):
        read_network(tmp_path / "bare.h5")
    (tmp_path / "new.keras").write_bytes(b"PK\3\4 and so on")
    with pytest.raises(FormatError, match="zip archive"):
        read_network(tmp_path / "new.keras")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_named(bad: float, tmp_path: Path) -> None:
    kernel = W0.copy()
    kernel[1, 2] = bad
    with pytest.raises(FormatError, match=r"'a/kernel:0' holds NaN"):
        read_network(write(tmp_path / "net.h5", [dense("a", 4)], {"a": {"kernel": kernel, "bias": B0}}))


def change(path: Path, make: Any) -> Path:
    """The file with another kernel in the first layer."""
    with h5py.File(path, "a") as file:
        group = file["model_weights/a/a"]
        del group["kernel:0"]
        make(group)
    return path


def test_claims_and_links_are_not_believed(tmp_path: Path) -> None:
    path = stack(tmp_path / "net.h5")
    for make, message in (
        (lambda group: group.create_dataset("kernel:0", shape=(2**14, 2**14), dtype="f4"), "claims 1073741824 bytes"),
        (lambda group: group.create_dataset("kernel:0", data=W0, compression="gzip"), "compressed"),
        (lambda group: group.create_dataset("kernel:0", data=np.ones((3, 4), dtype=int)), "array of floats"),
        (lambda group: group.__setitem__("kernel:0", h5py.ExternalLink("other.h5", "/x")), "no weights under"),
        (lambda group: group.__setitem__("kernel:0", h5py.SoftLink("/model_weights")), "no weights under"),
        (lambda group: group.create_group("kernel:0"), "array of floats"),
    ):
        with pytest.raises(FormatError, match=message):
            read_network(change(path, make))


def test_damage_ends_in_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file costs a process, so these are few; the HDF5 library may hang or crash in it."""
    monkeypatch.setattr(keras_h5, "MAX_SECONDS", 2)
    whole = stack(tmp_path / "net.h5").read_bytes()
    dice = random.Random(11)
    path = tmp_path / "damaged.h5"
    cuts = [whole[: dice.randrange(len(whole))] for _ in range(4)]
    noise = [dice.randbytes(500), keras_h5.SIGNATURE + dice.randbytes(3000)]
    for content in [*cuts, *noise, *(flip(whole, dice) for _ in range(8))]:
        path.write_bytes(content)
        try:
            read_network(path)
        except FormatError as error:
            assert "damaged.h5" in str(error)  # noqa: PT017 - a flipped bit may hit nothing that matters


def flip(whole: bytes, dice: random.Random) -> bytes:
    damaged = bytearray(whole)
    for _ in range(3):
        damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
    return bytes(damaged)


@pytest.mark.parametrize("script", ["import os; os.abort()", "while True: pass", "print('{')"])
def test_a_crash_or_a_hang_of_the_library_is_a_damaged_file(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks._remembered.cache_clear()  # the same bytes may have been read before
    (tmp_path / "h5_extract.py").write_text(script)
    monkeypatch.setattr(keras_h5, "__file__", str(tmp_path / "keras_h5.py"))
    monkeypatch.setattr(keras_h5, "MAX_SECONDS", 0.5)
    with pytest.raises(FormatError, match=r"net\.h5.*damaged"):
        read_network(stack(tmp_path / "net.h5"))


# Memory ---------------------------------------------------------------------------------------------------------------


def simple(name: str, units: int, activation: str = "tanh", **more: object) -> dict[str, Any]:
    config = {"name": name, "units": units, "activation": activation, "use_bias": True, **more}
    return {"class_name": "SimpleRNN", "config": config}


R0, R1 = (np.random.default_rng(seed).normal(size=(4, 4), scale=0.5).astype(np.float32) for seed in (3, 4))
KERNEL = np.random.default_rng(5).normal(size=(4, 4)).astype(np.float32)
RECURRENT = {
    "r": {"kernel": W0, "recurrent_kernel": R0, "bias": B0},
    "s": {"kernel": KERNEL, "recurrent_kernel": R1, "bias": B0},
    "b": {"kernel": W1},
}


def recurrent(path: Path, version: str, first: Layer, *more: Layer) -> Path:
    entry = {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [None, None, 3]}}
    return write(path, [entry, first, *more], RECURRENT, version=version, prefix="r/cell/")


@pytest.mark.parametrize("version", ["2.3.1", "3.4.0"])
@pytest.mark.parametrize(("kind", "function"), [("relu", lambda x: np.maximum(x, 0)), ("tanh", np.tanh)])
def test_simple_rnn_along_a_sequence(version: str, kind: str, function: Any, tmp_path: Path) -> None:
    layers = [simple("r", 4, kind, return_sequences=True), simple("s", 4, kind), dense("b", 2, use_bias=False)]
    network = read_network(recurrent(tmp_path / "net.h5", version, *layers))
    xs = points(3, count=50, spread=1.0)
    h, g = np.zeros(4), np.zeros(4)
    rows = []
    for x in xs:
        h = function(x @ W0.astype(float) + h @ R0.astype(float) + B0)
        g = function(h @ KERNEL.astype(float) + g @ R1.astype(float) + B0)
        rows.append(g @ W1.astype(float))
    np.testing.assert_allclose(walk(network, xs), rows, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (simple("r", 4, go_backwards=True), "cannot see the future"),
        (simple("r", 5), "do not fit 3 inputs and 5 units"),
        (simple("r", 4, use_bias=False), "not those its text promises"),
        (simple("r", 4, activation="softmax"), "remembers a softmax"),
        (simple("b", 2), "not those its text promises"),
        (simple("r", 4, batch_input_shape=[None, 7, 3]), "sequences of 7 steps"),
        ({"class_name": "LSTM", "config": {"name": "r", "batch_input_shape": [None, 3]}}, "is a LSTM.*SimpleRNN"),
    ],
)
def test_recurrent_layers_that_are_refused(layer: Layer, words: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=words):
        read_network(write(tmp_path / "net.h5", [layer], RECURRENT))


# Published networks ---------------------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize("name", ["Single_Pendulum/controller_single_pendulum", "Benchmark9-TORA/controllerTora"])
def test_published_networks_agree_with_their_onnx_export(data: Path, name: str) -> None:
    keras = read_network(data / "archcomp" / f"{name}.h5")
    onnx = read_network(data / "archcomp" / f"{name}.onnx")
    xs = points(keras.input_size, spread=1.0)
    np.testing.assert_array_equal(compute(keras, xs), compute(onnx, xs))
