"""Train the policies of the family: `python -m benchmarks.ppa.train [NAME ...] [--width N] [--flavour F]`.

Writes .nnet and .jani2nnet files into benchmarks/ppa/policies and a line for each into results.json: of so many runs,
how many reach the goal, how many become unsafe. Outcomes are drawn at random with a fixed seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from benchmarks.ppa import blocksworld, puzzle, racetrack
from benchmarks.ppa.family import MEMBERS, POLICIES, ROADS, WIDTHS, Member
from benchmarks.ppa.jani import Instance
from benchmarks.ppa.peril import mistakes, perils
from benchmarks.ppa.policy import Policy, write_policy
from benchmarks.ppa.record import Achieved, save
from benchmarks.ppa.runs import Chooser, Played, play
from benchmarks.ppa.simulate import Ints, Simulator
from benchmarks.ppa.teach import Lesson, Rule, Schedule, Teacher, teach
from benchmarks.ppa.teachers import blocks, road, track
from benchmarks.ppa.teachers import puzzle as tiles

RANDOM = 5_000  # runs with outcomes drawn at random, by which policies that see costs are judged
ALL = 200_000  # starts by which others are judged: more than there are, but for Transport
MET = 6_000  # starts of a round
DRILLED, REPEATED = 5_000, 25  # perilous states of a round, and how often one is met in which the policy fails


@dataclass(frozen=True)
class Course:
    """A member with one flavour of its policies, and the instance it plays: without costs where they are ignored."""

    name: str
    flavour: str
    member: Member
    instance: Instance
    simulator: Simulator
    rule: Rule

    @property
    def aware(self) -> bool:
        return self.flavour == "aware"

    @property
    def runs(self) -> int:
        """From how many starts a policy is judged."""
        return RANDOM if self.aware else ALL

    @property
    def inputs(self) -> list[str]:
        return [*self.instance.observed, *(self.instance.costs if self.aware else ())]

    def played(self, chooser: Chooser, rng: np.random.Generator, starts: int, costly: bool) -> Played:
        """Runs from starts, several from each where outcomes are random; `costly`: with costs from the beginning."""
        states = self.member.starts(self.simulator, rng, starts)
        if self.aware:
            states = np.tile(states, (-(-starts // len(states)), 1))
            states = self.with_costs(states, rng) if costly else states
        return play(self.instance, self.simulator, chooser, states, self.member.steps, rng)

    def with_costs(self, states: Ints, rng: np.random.Generator) -> Ints:
        """Costs up to a limit that is different from state to state."""
        columns = [self.simulator.columns[name] for name in self.instance.costs]
        most = rng.integers(self.simulator.upper[columns[0]] + 1, size=(len(states), 1))
        changed = states.copy()
        changed[:, columns] = rng.integers(most + 1, size=(len(states), len(columns)))
        return changed

    def meet(self, chooser: Chooser, rng: np.random.Generator) -> Ints:
        met = self.played(chooser, rng, MET, costly=True).met
        return met if self.flavour != "drilled" else np.concatenate([met, self._drill(chooser, rng)])

    def _drill(self, chooser: Chooser, rng: np.random.Generator) -> Ints:
        """Perilous states at random, and again and again those in which a forbidden label is taken."""
        states, forbidden = self.perils
        wrong = np.flatnonzero(mistakes(self.simulator, chooser, states, forbidden))
        drawn = rng.choice(len(states), min(DRILLED, len(states)), replace=False)
        return np.concatenate([states[drawn], np.repeat(states[wrong[:DRILLED]], REPEATED, axis=0)])

    @cached_property
    def perils(self) -> tuple[Ints, Ints]:
        return perils(*ROADS[self.name])

    def mark(self, policy: Policy) -> tuple[float, ...]:
        """Forbidden labels of a drilled policy, unsafe runs, then runs that do not arrive."""
        if self.flavour == "drilled":
            return int(mistakes(self.simulator, policy, *self.perils).sum()), *self._runs_lost(policy)
        return self._runs_lost(policy)

    def _runs_lost(self, policy: Policy) -> tuple[float, ...]:
        done = self.played(policy, np.random.default_rng(0), self.runs, costly=True)
        unsafe = 0 if self.flavour == "hasty" else int(done.unsafe.sum())
        return unsafe, len(done.arrived) - int((done.arrived | done.unsafe).sum())

    @property
    def lesson(self) -> Lesson:
        columns = [self.simulator.columns[name] for name in self.inputs]
        bounds = [(int(self.simulator.lower[c]), int(self.simulator.upper[c])) for c in columns]
        return Lesson(self.inputs, columns, bounds, self.simulator.labels, Teacher(self.rule), self.meet)


def course(name: str, flavour: str) -> Course:
    member = MEMBERS[name]
    instance = member.make() if flavour == "aware" else _without_costs(name, member)
    return Course(name, flavour, member, instance, Simulator(instance.model.declaration), _rule(name, flavour))


def _without_costs(name: str, member: Member) -> Instance:
    """What a policy that ignores costs does is the same without them."""
    kind, _, rest = name.partition("-")
    if kind == "blocksworld":
        return blocksworld.instance(int(rest), 0)
    return puzzle.instance(0) if kind == "puzzle" else member.make()


def _rule(name: str, flavour: str) -> Rule:
    kind, _, rest = name.partition("-")
    cautious = flavour != "hasty"
    match kind:
        case "blocksworld":
            return partial(blocks.labels, n=int(rest), cautious=cautious)
        case "puzzle":
            return partial(tiles.labels, cautious=cautious, aware=flavour == "aware")
        case "transport":
            return partial(road.labels, cautious=cautious)
    return partial(track.labels, track=racetrack.TINY if rest == "tiny" else racetrack.BARTO_SMALL)


SCHEDULES = {
    "racetrack": Schedule(rounds=12, steps=8000),
    "racetrack hasty": Schedule(rounds=1, steps=1500),  # from the teacher's own runs only: it never saw its mistakes
    "puzzle": Schedule(rounds=4, steps=12_000),
    "transport": Schedule(rounds=6, steps=6000),
    "transport drilled": Schedule(rounds=10, steps=6000),
    "blocksworld": Schedule(rounds=10, steps=5000),
    "blocksworld aware": Schedule(rounds=6, steps=5000),
}


def schedule(name: str, flavour: str) -> Schedule:
    kind = name.partition("-")[0]
    return SCHEDULES.get(f"{kind} {flavour}", SCHEDULES[kind])


def trained(found: Course, width: int) -> Policy:
    return teach(found.lesson, width, seed=width, schedule=schedule(found.name, found.flavour), mark=found.mark)


def make(name: str, flavour: str, width: int) -> Achieved:
    """Train one policy, write it, and say how well it does."""
    started, found = time.process_time(), course(name, flavour)
    policy = trained(found, width)
    write_policy(policy, POLICIES / stem(name, flavour, width), found.lesson.bounds)
    return achieved(found, policy, round(time.process_time() - started))


def achieved(found: Course, policy: Policy, seconds: int) -> Achieved:
    done = found.played(policy, np.random.default_rng(1), found.runs, costly=False)
    return Achieved(len(done.arrived), int(done.arrived.sum()), int(done.unsafe.sum()), seconds)


def stem(name: str, flavour: str, width: int) -> str:
    return f"{name}_{flavour}_{width}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Train the policies of the family.")
    parser.add_argument("names", nargs="*", default=list(MEMBERS))
    parser.add_argument("--width", type=int, action="append")
    parser.add_argument("--flavour", action="append")
    options = parser.parse_args()
    for name in options.names:
        for flavour in options.flavour or MEMBERS[name].flavours:
            for width in options.width or WIDTHS:
                line = make(name, flavour, width)
                print(stem(name, flavour, width), line, flush=True)
                save(stem(name, flavour, width), line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
