"""Saved policies of stable-baselines3 are read as `predict` computes them, and nothing in the file is run."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from contextlib import suppress
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vernal.errors import FormatError
from vernal.formats.convert import convert
from vernal.formats.networks import read_network
from vernal.formats.recurrent import walked
from vernal.formats.sb3.live_policy import _agree
from vernal.formats.sb3.pickle_data import Call, unpickled
from vernal.formats.sb3.saved_policy import parse_normalisation, parse_sb3
from vernal.model.network import Network

MODELS = Path(__file__).parent / "models"
SAID: dict[str, dict[str, Any]] = json.loads((MODELS / "predictions.json").read_text(encoding="utf-8"))
NUMBERED = ("ppo", "dqn", "recurrent")


def network(name: str) -> Network:
    content = (MODELS / f"{name}.zip").read_bytes()
    statistics = parse_normalisation((MODELS / "normalised.pkl").read_bytes()) if name == "normalised" else None
    return parse_sb3(content, name, statistics)


@pytest.mark.parametrize("name", SAID)
def test_the_network_says_what_predict_said(name: str) -> None:
    seen, actions = (np.array(SAID[name][key], dtype=np.float64) for key in ("observations", "actions"))
    made = network(name)
    outputs = walked(made, seen) if made.memory else np.concatenate([walked(made, x[None]) for x in seen])
    assert _agree(outputs, actions, numbered=name in NUMBERED)
    assert name in NUMBERED or np.allclose(outputs, actions, atol=1e-5)


def test_another_answer_is_told_apart() -> None:
    seen, actions = (np.array(SAID["a2c"][key], dtype=np.float64) for key in ("observations", "actions"))
    outputs = np.concatenate([walked(network("a2c"), x[None]) for x in seen])
    assert not _agree(outputs + 0.01, actions, numbered=False)
    scores = np.concatenate([walked(network("dqn"), np.array(x)[None]) for x in SAID["dqn"]["observations"]])
    assert not _agree(-scores, np.array(SAID["dqn"]["actions"]), numbered=True)


def test_actions_stay_within_their_bounds() -> None:
    """Pendulum's torque is at most 2: clipped by A2C, squashed by SAC."""
    far = np.array([[50.0, -50.0, 100.0]])
    for name in ("a2c", "sac", "td3"):
        assert abs(walked(network(name), far)).max() <= Fraction(2)


def test_a_zip_is_a_network_file_like_others(tmp_path: Path) -> None:
    done = convert(MODELS / "ppo.zip", tmp_path / "ppo.onnx")
    assert done.identical or done.difference < 1e-6
    assert read_network(tmp_path / "ppo.onnx").input_size == 4
    done = convert(MODELS / "normalised.zip", tmp_path / "p.onnx", normalise=MODELS / "normalised.pkl")
    assert done.difference < 1e-6


class Harmful:
    """What a pickle of it would do when it is loaded: leave a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.file),)


def test_nothing_in_a_pickle_is_run(tmp_path: Path) -> None:
    content = pickle.dumps({"activation_fn": Harmful(tmp_path / "harm")})
    found = unpickled(content)["activation_fn"]
    assert isinstance(found, Call)
    assert found.name.endswith(".mkdir")
    assert not (tmp_path / "harm").exists()


def changed(tmp_path: Path, **members: bytes | None) -> Path:
    """A model with other files in it, or without some."""
    with zipfile.ZipFile(MODELS / "ppo.zip") as archive:
        content: dict[str, bytes | None] = {"data": archive.read("data"), "policy.pth": archive.read("policy.pth")}
    content |= {name.replace("_", "."): value for name, value in members.items()}
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for name, value in content.items():
            if value is not None:
                archive.writestr(name, value)
    return tmp_path / "model.zip"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"policy_pth": None}, "there is no 'policy.pth' in it"),
        ({"data": None}, "there is no 'data' in it"),
        ({"data": b"{"}, "its settings are damaged"),
        ({"data": b"[]"}, "its settings are damaged"),
        ({"data": b"{}"}, "its observations are no vector"),
        ({"policy_pth": b"no zip"}, "it is not weights as torch saves them"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, members: dict[str, bytes | None], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_network(changed(tmp_path, **members))


@pytest.mark.parametrize("place", range(0, 7000, 211))
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, place: int) -> None:
    content = bytearray((MODELS / "ppo.zip").read_bytes())
    content[place % len(content)] ^= 0xFF
    (tmp_path / "model.zip").write_bytes(content)
    with suppress(FormatError):  # any other error is a failure; what is not looked at may be damaged
        assert read_network(tmp_path / "model.zip").input_size == 4


@pytest.mark.skipif(find_spec("stable_baselines3") is None, reason="pip install 'vernal[sb3]'")
def test_a_model_in_memory_is_read_like_a_saved_one(tmp_path: Path) -> None:
    from stable_baselines3 import PPO

    from vernal.formats.sb3.live_policy import from_sb3

    model = PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu", policy_kwargs={"net_arch": [8]})
    model.save(tmp_path / "model.zip")
    assert from_sb3(model).roots == read_network(tmp_path / "model.zip").roots
