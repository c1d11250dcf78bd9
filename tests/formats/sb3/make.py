"""Make the models of this folder, with stable-baselines3 and sb3-contrib: `python -m tests.formats.sb3.make`.

Untrained but for the one whose observations are normalised; beside each what `predict` says of some observations.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from examples.saved import slim

FOLDER = Path(__file__).parent / "models"
STEPS = 20


def main() -> None:
    """All of them."""
    import gymnasium
    from sb3_contrib import RecurrentPPO
    from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
    from torch import nn

    FOLDER.mkdir(exist_ok=True)
    models = {
        "ppo": PPO("MlpPolicy", "CartPole-v1", **small(activation_fn=nn.ReLU)),
        "a2c": A2C("MlpPolicy", "Pendulum-v1", **small()),
        "dqn": DQN("MlpPolicy", "CartPole-v1", **small()),
        "sac": SAC("MlpPolicy", "Pendulum-v1", **small()),
        "td3": TD3("MlpPolicy", "Pendulum-v1", **small()),
        "ddpg": DDPG("MlpPolicy", "Pendulum-v1", **small()),
        "recurrent": RecurrentPPO("MlpLstmPolicy", "CartPole-v1", **small(lstm_hidden_size=4)),
    }
    world = VecNormalize(DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")]))
    models["normalised"] = PPO("MlpPolicy", world, n_steps=64, **small()).learn(128)
    world.save(str(FOLDER / "normalised.pkl"))
    said = {}
    for name, model in models.items():
        model.save(FOLDER / f"{name}.zip")
        slim(FOLDER / f"{name}.zip")
        said[name] = predictions(model, world if name == "normalised" else None)
    (FOLDER / "predictions.json").write_text(json.dumps(said) + "\n", encoding="utf-8")


def small(**more: Any) -> dict[str, Any]:
    """Settings of a model with few units."""
    return {"seed": 0, "device": "cpu", "policy_kwargs": {"net_arch": [8, 6], **more}}


def predictions(model: Any, world: Any) -> dict[str, Any]:
    """Observations one after the other, and the actions that follow."""
    random = np.random.default_rng(0)
    seen = random.normal(size=(STEPS, model.observation_space.shape[0])).astype(np.float32)
    state, actions = None, []
    for step, x in enumerate(seen if world is None else world.normalize_obs(seen)):
        start = np.array([step == 0])
        action, state = model.predict(x, state=state, episode_start=start, deterministic=True)
        actions.append(np.atleast_1d(action).ravel().tolist())
    return {"observations": seen.tolist(), "actions": actions}


if __name__ == "__main__":
    main()
