"""What the worlds' originals reward, and when their episodes end; for training and for the Gymnasium view.

None of this is part of a world: what is verified are its dynamics.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from vernal.worlds.rewards import Term


@dataclass(frozen=True, slots=True)
class Episode:
    """A reward for each step, what ends an episode, and after how many steps it is cut off."""

    reward: Term = 0
    terminated: Term = False
    steps: int | None = None


TURNED = "-((theta - 2 * pi * floor((theta + pi) / (2 * pi)))^2 + 0.1 * omega^2 + 0.001 * torque^2)"
SHAPING = "(sqrt({0}seen_x^2 + {0}seen_y^2) + sqrt({0}vx^2 + {0}vy^2) + abs({0}theta))"
FUEL = "match(engine, NOTHING: 0, LEFT: 0.03, MAIN: 0.3, RIGHT: 0.03)"
UP = "(-cos({0}theta1) - cos({0}theta1 + {0}theta2) > 1)"  # the free end of the acrobot is a link above its joint

EPISODES = {
    "cartpole": Episode(1, "abs(x) > 2.4 | abs(theta) > pi / 15", 500),
    "pendulum": Episode(TURNED, False, 200),
    "pendulum_bangbang": Episode(TURNED, False, 200),
    "mountaincar": Episode(-1, "x >= 0.5 & v >= 0", 200),
    "mountaincar_continuous": Episode(
        "if(next_x >= 0.45 & next_v >= 0, 100, 0) - 0.1 * push^2", "x >= 0.45 & v >= 0", 999
    ),
    "acrobot": Episode(f"if({UP.format('next_')}, 0, -1)", UP.format(""), 500),
    # In flight only: reaching the ground ends it, well or not.
    "lander": Episode(
        f"100 * ({SHAPING.format('')} - {SHAPING.format('next_')}) - {FUEL}", "abs(seen_x) >= 1 | seen_y <= 0", 1000
    ),
}


def episode(world: str) -> Episode:
    """The episodes of a world, as the environment it is modelled on has them."""
    if found := re.fullmatch(r"spread([0-9]+)", world):
        return _spread(int(found[1]))
    return EPISODES.get(world, Episode())


def _spread(n: int) -> Episode:
    """What mpe2 gives to all agents together: minus the distance from each landmark to the agent nearest to it."""
    from vernal.worlds.spread import landmarks

    distances = [
        [f"sqrt((next_x{i} - ({x}))^2 + (next_y{i} - ({y}))^2)" for i in range(1, n + 1)] for x, y in landmarks(n)
    ]
    nearest = (f"min({', '.join(row)})" if n > 1 else row[0] for row in distances)
    return Episode(f"-({' + '.join(nearest)})", False, 25)
