"""Train the policy of this example with stable-baselines3: model.zip.

    python -m examples.mountaincar.train            # extra sb3; from the root of the checkout, half a minute

DQN on Gymnasium's MountainCar-v0, with two layers of 16 ReLU units. The original rewards nothing but an early arrival,
which random pushes never see; here energy is rewarded on the way, as a potential, which does not change what is best.
Learning is not steady: the policy is tried every thousand steps, and the best so far is what is kept.
"""

from __future__ import annotations

from math import sin
from pathlib import Path
from typing import Any

import gymnasium
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.monitor import Monitor

from examples.saved import slim

HERE = Path(__file__).parent
SEED = 2
STEPS = 10_000
TRIAL = 1_000  # steps between two trials
GAMMA = 0.98
WORTH = 60_000  # of energy: about 100 from the bottom of the valley to the goal


class Energetic(gymnasium.Wrapper):
    """MountainCar-v0 with a reward for energy gained."""

    def reset(self, **options: Any) -> Any:
        seen, told = self.env.reset(**options)
        self.energy = energy(*seen)
        return seen, told

    def step(self, action: Any) -> Any:
        seen, reward, *rest = self.env.step(action)
        before, self.energy = self.energy, energy(*seen)
        return seen, float(reward) + WORTH * (GAMMA * self.energy - before), *rest


def energy(x: float, v: float) -> float:
    """Kinetic and potential, above the bottom of the valley."""
    return v**2 / 2 + 0.0025 / 3 * (1 + sin(3 * x))


def train() -> None:
    """Learn, and keep the policy that needs the fewest steps to the goal on average."""
    model = DQN(
        "MlpPolicy",
        Monitor(Energetic(gymnasium.make("MountainCar-v0"))),
        policy_kwargs={"net_arch": [16, 16]},
        learning_rate=4e-3,
        batch_size=128,
        buffer_size=10_000,
        learning_starts=1_000,
        gamma=GAMMA,
        train_freq=16,
        gradient_steps=8,
        target_update_interval=600,
        exploration_fraction=0.2,
        exploration_final_eps=0.07,
        seed=SEED,
        device="cpu",
    )
    trial = Monitor(gymnasium.make("MountainCar-v0"))
    trial.reset(seed=SEED)
    model.learn(STEPS, EvalCallback(trial, n_eval_episodes=10, eval_freq=TRIAL, best_model_save_path=str(HERE)))
    (HERE / "best_model.zip").replace(HERE / "model.zip")
    slim(HERE / "model.zip")


if __name__ == "__main__":
    train()
