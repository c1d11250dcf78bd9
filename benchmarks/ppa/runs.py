"""Runs of a policy in a model: who arrives at the goal, who ends in an unsafe state, and which states are met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from benchmarks.ppa.jani import Instance
from benchmarks.ppa.simulate import Bools, Ints, Simulator


class Chooser(Protocol):
    """Whoever chooses labels: a policy, or the teacher it learns from."""

    def choose(self, simulator: Simulator, states: Ints) -> Ints: ...


@dataclass(frozen=True)
class Played:
    """For each start: did its run reach the goal, did it become unsafe before; and all states met."""

    arrived: Bools
    unsafe: Bools
    met: Ints


def play(
    instance: Instance, simulator: Simulator, policy: Chooser, starts: Ints, steps: int, rng: np.random.Generator
) -> Played:
    """One run from each start, outcomes drawn at random; a run ends at the goal, when unsafe, or where it is stuck."""
    arrived, unsafe = np.zeros((2, len(starts)), dtype=bool)
    running, states, met = np.arange(len(starts)), starts, [starts]
    for _ in range(steps):
        unsafe[running] |= simulator.holds(instance.unsafe, states)
        arrived[running] |= simulator.holds(instance.goal, states) & ~unsafe[running]
        going = ~(arrived | unsafe)[running]
        running, states = running[going], states[going]
        chosen = policy.choose(simulator, states)
        kept, states = one_outcome(simulator, states, chosen, rng)
        running = running[kept]
        met.append(states)
        if not len(running):
            break
    return Played(arrived, unsafe, np.concatenate(met))


def one_outcome(simulator: Simulator, states: Ints, chosen: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """A successor of each state that has one: the rows of those states, and the successors."""
    found = simulator.successors(states, chosen)
    order = rng.permutation(len(found.source))
    rows, first = np.unique(found.source[order], return_index=True)
    return rows, found.states[order][first]


def reachable(simulator: Simulator, policy: Chooser, starts: Ints, most: int = 2_000_000) -> Ints:
    """All states the policy can reach, starts included, each once; more than `most` is an error."""
    seen = np.unique(starts, axis=0)
    frontier = seen
    while len(frontier):
        found = np.unique(simulator.successors(frontier, policy.choose(simulator, frontier)).states, axis=0)
        frontier = _new(found, seen)
        seen = np.concatenate([seen, frontier])
        if len(seen) > most:
            raise OverflowError(f"more than {most:,} states are reachable")
    return seen


def _new(found: Ints, seen: Ints) -> Ints:
    """The rows of found (each once) that are not among seen."""
    both, inverse = np.unique(np.concatenate([seen, found]), axis=0, return_inverse=True)
    known = np.zeros(len(both), dtype=bool)
    known[inverse.ravel()[: len(seen)]] = True
    return found[~known[inverse.ravel()[len(seen) :]]]
