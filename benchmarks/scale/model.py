"""A discrete-event model of a run with many workers: one driver, who hands out and hears, and workers who may be lost.

The driver serves one event at a time, for so many seconds each; a worker takes a chunk, answers its jobs and reports.
A worker that is lost costs the time until that is noticed, and its chunk is asked again.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """Measured: seconds of the driver for each job, of a worker for each job, and until a worker finds new work."""

    driver: float
    worker: float
    look: float = 0.05


@dataclass(frozen=True)
class Modelled:
    """What a run came to: its seconds, the share of the workers' time that was used, and of the driver's."""

    seconds: float
    used: float
    driver: float

    @property
    def is_driver_bound(self) -> bool:
        return self.driver > 0.9


def modelled(
    jobs: Sequence[float], workers: int, costs: Costs, *, chunk: int = 1, loss: float = 0.0, lease: float = 15.0
) -> Modelled:
    """A run over jobs of these seconds; `loss` are losses for each second of work of a worker."""
    luck = random.Random(1)
    waiting: deque[float] = deque(jobs)
    driver_free = used = 0.0
    busy: list[tuple[float, int]] = []  # when a worker is done with its chunk, and how many jobs are in it
    end, driver_used, free = 0.0, 0.0, [0.0] * workers
    heapq.heapify(free)
    while waiting or busy:
        if waiting and free and (not busy or free[0] <= busy[0][0]):
            now = heapq.heappop(free)
            taken = [waiting.popleft() for _ in range(max(1, min(chunk, len(waiting) // (2 * workers))))]
            begin = driver_free = max(driver_free, now) + costs.driver * len(taken) / 2
            driver_used += costs.driver * len(taken) / 2
            seconds = sum(taken) + costs.worker * len(taken)
            if luck.random() < loss * seconds:
                waiting.extend(taken)
                heapq.heappush(free, begin + lease)
                continue
            used += sum(taken)
            heapq.heappush(busy, (begin + seconds, len(taken)))
            continue
        now, count = heapq.heappop(busy)
        driver_free = max(driver_free, now) + costs.driver * count / 2
        driver_used += costs.driver * count / 2
        end = max(end, driver_free)
        heapq.heappush(free, now + costs.look / 2)
    return Modelled(end, used / (end * workers), driver_used / end)
