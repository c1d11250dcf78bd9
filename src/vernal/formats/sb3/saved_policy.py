"""Saved policies of stable-baselines3: a zip file of settings (JSON, with pickles) and weights as torch saves them.

Nothing in the file is run: pickles are read as data (`pickle_data`), weights from their bytes. Neither torch nor
stable-baselines3 has to be there.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import numpy as np

from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.archive import Archive
from vernal.formats.json_text import parsed_json
from vernal.formats.limits import DEFAULT, Allowance, ReadLimits
from vernal.formats.sb3.arrays import array, number, tensor
from vernal.formats.sb3.pickle_data import Call, Name, kind_of, unpickled
from vernal.formats.sb3.policy import ActionBounds, Normalisation, SavedPolicy, Tensors, network_of
from vernal.interpret.numbers.rounding import Array
from vernal.model.network import Network

SETTINGS, WEIGHTS = "data", "policy.pth"


def parse_sb3(
    content: bytes, name: str, normalisation: Normalisation | None = None, *, limits: ReadLimits = DEFAULT
) -> Network:
    """The network of a saved policy; `normalisation` is what its environment did to observations."""
    archive = Archive(content, "a policy saved by stable-baselines3", limits.bytes)
    settings = _settings(archive.read(SETTINGS))
    tensors = _tensors(archive.read(WEIGHTS), limits)
    kwargs = _object(settings.get("policy_kwargs"))
    chosen = kwargs.get("activation_fn") if isinstance(kwargs, Mapping) else None
    _refuse(kwargs, settings)
    return network_of(
        SavedPolicy(
            tensors,
            None if chosen is None else _class_name(chosen),
            _bounds(_object(settings.get("action_space"))),
            squashed=isinstance(kwargs, Mapping) and bool(kwargs.get("squash_output")),
            normalisation=normalisation,
        ),
        name,
    )


def parse_normalisation(content: bytes) -> Normalisation:
    """The statistics that `VecNormalize.save` wrote."""
    found = unpickled(content)
    moments = found.get("obs_rms") if isinstance(found, Call) else None
    mean, variance = (array(moments.get(key)) if isinstance(moments, Call) else None for key in ("mean", "var"))
    epsilon, clip = (number(found.get(key)) if isinstance(found, Call) else None for key in ("epsilon", "clip_obs"))
    if mean is None or variance is None or epsilon is None or clip is None:
        raise FormatError("no statistics of observations, as VecNormalize saves them")
    if not found.get("norm_obs"):
        raise FormatError("it does not normalise observations")
    if not np.isfinite(mean).all() or not np.isfinite(variance).all() or clip < 0:
        raise FormatError("its statistics of observations are not finite, or clipped to nothing")
    return Normalisation(mean, variance, epsilon, clip)


def _settings(content: bytes) -> Mapping[str, Any]:
    found = parsed_json(content.decode("utf-8", "replace"), "its settings")
    if not isinstance(found, dict):
        raise FormatError("its settings are damaged: no object")
    return found


def _object(entry: Any) -> Any:
    """A setting; what JSON cannot say is a pickle in it."""
    if not isinstance(entry, dict) or ":serialized:" not in entry:
        return entry
    try:
        content = base64.b64decode(entry[":serialized:"], validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise FormatError("its settings are damaged: a pickle in them is not written in base 64") from None
    return unpickled(content)


def _tensors(content: bytes, limits: ReadLimits) -> Tensors:
    archive = Archive(content, "weights as torch saves them", limits.bytes)
    folders = {name.removesuffix("data.pkl") for name in archive.names if name.endswith("/data.pkl")}
    if len(folders) != 1:
        raise FormatError("its weights are in an old format of torch; save it with torch 1.6 or newer")
    folder, allowance = folders.pop(), Allowance(limits.entries, limits.tick)
    found = unpickled(archive.read(f"{folder}data.pkl"))
    table = found.items if isinstance(found, Call) else found  # an OrderedDict is made by a call
    if not isinstance(table, dict):
        raise FormatError(f"its weights are {kind_of(found)}, no table of tensors")
    made = {
        str(name): tensor(value, lambda key: archive.read(f"{folder}data/{key}"), allowance)
        for name, value in table.items()
    }
    return {name: value for name, value in made.items() if value is not None}


def _class_name(found: Any) -> str:
    """The name of a class, as of an activation."""
    if not isinstance(found, Name) or not found.name.startswith("torch.nn.modules.activation."):
        raise UnsupportedOperator(f"its activation ({kind_of(found)}) is no class of torch")
    return found.name.rpartition(".")[2]


def _refuse(kwargs: Any, settings: Mapping[str, Any]) -> None:
    """Settings under which the weights are not all there is."""
    if isinstance(kwargs, Mapping) and "features_extractor_class" in kwargs:
        raise UnsupportedOperator("it extracts features by a class of its own; observations as they are are read")
    space = _object(settings.get("observation_space"))
    shape = space.get("_shape") if isinstance(space, Call) and space.name.endswith(".Box") else None
    if not isinstance(shape, tuple) or len(shape) != 1:
        raise UnsupportedOperator("its observations are no vector of numbers (a Box of one dimension)")


def _bounds(space: Any) -> ActionBounds | None:
    if isinstance(space, Call) and space.name.endswith(".Discrete"):
        return None
    low, high = (array(space.get(key)) if isinstance(space, Call) else None for key in ("low", "high"))
    if low is None or high is None:
        raise UnsupportedOperator("its actions are neither numbered (Discrete) nor numbers (Box)")
    return ActionBounds(_flat(low), _flat(high))


def _flat(array: Array) -> Array:
    if np.isnan(array).any():
        raise FormatError("its bounds of actions are no numbers (NaN)")
    return array.astype(np.float64).ravel()
