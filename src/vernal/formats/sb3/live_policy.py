"""Policies of stable-baselines3 in memory: read as saved ones are, and compared with what `predict` says."""

from __future__ import annotations

from typing import Any

import numpy as np

from vernal.errors import FormatError, MissingExtra, UnsupportedOperator
from vernal.formats.recurrent import walked
from vernal.formats.sb3.policy import ActionBounds, Normalisation, SavedPolicy, network_of
from vernal.interpret.concrete import evaluate
from vernal.interpret.numbers.rounding import Array
from vernal.model.network import Network

OBSERVATIONS = 1000
SEQUENCE_STEPS = 50  # of a sequence, where a policy remembers
TOLERANCE = 1e-3  # relative: float32 against exact weights differs by far less, another network by far more
CLOSE = 1e-4  # scores that rounding may put in either order


def from_sb3(model: Any, *, name: str = "policy") -> Network:
    """The network of a model: scores of its actions, or the actions themselves; observations normalised as it does.

    What `model.predict(observation, deterministic=True)` says of 1,000 observations has to agree.

    Example: `vn.from_sb3(PPO.load("model.zip"))`
    """
    policy, spaces = getattr(model, "policy", None), _spaces()
    if policy is None or not hasattr(policy, "state_dict"):
        raise FormatError("it is no model of stable-baselines3: it has no policy with weights")
    if type(model.observation_space) is not spaces.Box or len(model.observation_space.shape) != 1:
        raise UnsupportedOperator("its observations are no vector of numbers (a Box of one dimension)")
    normalisation = _normalisation(model)
    saved = SavedPolicy(
        {key: value.detach().cpu().numpy() for key, value in policy.state_dict().items()},
        _activation(policy),
        _bounds(model.action_space, spaces),
        squashed=bool(getattr(policy, "squash_output", False)),
        normalisation=normalisation,
    )
    network = network_of(saved, name)
    _compare(model, network, normalisation)
    return network


def _spaces() -> Any:
    try:
        from gymnasium import spaces
    except ImportError:
        raise MissingExtra("reading a model of stable-baselines3", "sb3") from None
    return spaces


def _activation(policy: Any) -> str | None:
    chosen = getattr(policy, "activation_fn", None)
    return None if chosen is None else str(chosen.__name__)


def _bounds(space: Any, spaces: Any) -> ActionBounds | None:
    if type(space) is spaces.Discrete:
        return None
    if type(space) is spaces.Box:
        return ActionBounds(space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel())
    raise UnsupportedOperator("its actions are neither numbered (Discrete) nor numbers (Box)")


def _normalisation(model: Any) -> Normalisation | None:
    """That of the environment a model was trained in, where it has one."""
    wrapper = model.get_vec_normalize_env() if hasattr(model, "get_vec_normalize_env") else None
    if wrapper is None or not wrapper.norm_obs:
        return None
    moments = wrapper.obs_rms
    return Normalisation(moments.mean, moments.var, float(wrapper.epsilon), float(wrapper.clip_obs))


# Does predict say the same? -------------------------------------------------------------------------------------------


def _compare(model: Any, network: Network, normalisation: Normalisation | None) -> None:
    """Refuse a network that answers otherwise than the model, but for rounding."""
    seen = _observations(model.observation_space, normalisation)
    shown = seen if normalisation is None else model.get_vec_normalize_env().normalize_obs(seen)
    steps = SEQUENCE_STEPS if network.memory else OBSERVATIONS
    for start in range(0, OBSERVATIONS, steps):
        ours, theirs = _answers(model, network, seen[start : start + steps], shown[start : start + steps])
        if not _agree(ours, theirs, hasattr(model.action_space, "n")):
            raise FormatError(
                "its predictions differ from those of its layers as Vernal reads them: the policy is of a class of its "
                "own; export it to ONNX"
            )


def _observations(space: Any, normalisation: Normalisation | None) -> Array:
    random = np.random.default_rng(0)
    size = (OBSERVATIONS, space.shape[0])
    if normalisation is not None:
        return normalisation.mean + np.sqrt(normalisation.variance) * random.normal(size=size)
    low, high = (np.clip(end.astype(np.float64), -10.0, 10.0) for end in (space.low, space.high))
    return random.uniform(low, high, size=size)


def _answers(model: Any, network: Network, seen: Array, shown: Array) -> tuple[Array, Array]:
    """What the network and the model say: of each observation alone, or of one after the other where it remembers."""
    shown = shown.astype(np.float32)
    if not network.memory:
        (ours,) = evaluate(network.roots, {network.inputs: seen})
        theirs, _ = model.predict(shown, deterministic=True)
        return ours, np.asarray(theirs, dtype=np.float64).reshape(len(shown), -1)
    state, rows = None, []
    for step, x in enumerate(shown):
        action, state = model.predict(x, state=state, episode_start=np.array([step == 0]), deterministic=True)
        rows.append(np.atleast_1d(action).ravel())
    return walked(network, seen), np.array(rows, dtype=np.float64)


def _agree(ours: Array, theirs: Array, numbered: bool) -> bool:
    if not numbered:
        return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)
    chosen = theirs[:, 0].astype(np.intp)
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < ours.shape[1]:
        return False
    best = ours.max(axis=1)
    return bool((best - ours[np.arange(len(ours)), chosen] <= CLOSE * (1 + np.abs(best))).all())
