"""Forged certificates of random planning models, judged by an exploration that reads the JSON literally.

Genuine ones have all states that can be reached; forged ones leave some out, or add others, or are of a model, a policy
or a property of which a number was changed. What is not forged has to be accepted wherever it is true.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.jani_models import write_planning_files
from tests.jani_oracle import Network, PlanningOracle, State
from vernal_check import certificate, clock, task
from vernal_check.check import load, shown
from vernal_check.errors import Rejected, Unreadable

FORGERIES_PER_MODEL = 20
FORGED_FILES = 3  # of each model
MOST_STATES = 2000
SECONDS = 10.0
NUMBER = re.compile(r"(?<=[ :,\[])(-?[0-3])(?=[,}\]\n])")


@dataclass(frozen=True)
class Plan:
    """A model with its policy and property in a folder, and what its constants are."""

    folder: Path
    has_policy: bool
    is_filtered: bool
    constant: int

    @property
    def files(self) -> list[str]:
        return [*(["policy.jani2nnet", "policy.nnet"] if self.has_policy else []), "pa.jani"]

    def oracle(self) -> PlanningOracle:
        read = {name: json.loads((self.folder / name).read_text()) for name in ("model.jani", "pa.jani")}
        interface = json.loads((self.folder / "policy.jani2nnet").read_text()) if self.has_policy else None
        network = Network.read(self.folder / "policy.nnet") if self.has_policy else None
        asked = read["pa.jani"]["properties"][0]
        return PlanningOracle(read["model.jani"], asked, interface, network, self.is_filtered, {"K": self.constant})

    def header(self, name: str, variables: Sequence[str]) -> Mapping[str, Any]:
        told = {
            "file": "model.jani",
            "sha256": self.hash("model.jani"),
            "parameters": {"K": self.constant},
            "networks": [{"file": file, "sha256": self.hash(file)} for file in self.files],
            "options": {"property": "pa.jani#0", **({"filter": "applicable"} if self.is_filtered else {})},
        }
        return {
            "certificate": 1, "semantics": "steps-1", "task": told, "formula": "true", "property": name,
            "verdict": "holds", "variables": list(variables),
        }  # fmt: skip

    def hash(self, file: str) -> str:
        return hashlib.sha256((self.folder / file).read_bytes()).hexdigest()


@dataclass
class Judge:
    """One model: what is true of it, and what `vernal-check` says."""

    plan: Plan

    def __post_init__(self) -> None:
        oracle = self.plan.oracle()
        explored = oracle.explore(MOST_STATES)
        self.states, self.every = list(explored.depth), oracle.ranges
        self.false = {"drawn_pa": bool(explored.unsafe), "not_stuck": bool(explored.stuck)}
        if not all(self.every.values()):
            raise ValueError("a variable without a value")
        several = [one["name"] for one in oracle.automata if len(one["locations"]) > 1]
        self.variables = [*(one["name"] for one in oracle.model["variables"]), *several]
        self.loaded: task.Task | None = None
        with contextlib.suppress(Unreadable):
            self.loaded = load(self.header("drawn_pa"), self.plan.folder / "claim.certificate", None)

    def header(self, name: str) -> certificate.Header:
        return certificate.header(certificate.parsed(json.dumps(self.plan.header(name, self.variables))))

    def accepts(self, name: str, states: Sequence[State]) -> bool | None:
        """None where the checker does not read something that is needed, such as a start outside of its range."""
        if self.loaded is None:
            return None
        lines = [certificate.parsed(json.dumps([dict(one)[v] for v in self.variables])) for one in states]
        clock.limit(SECONDS)
        try:
            shown(self.header(name), self.loaded, enumerate(lines, 2))
        except Unreadable:
            return None
        except Rejected:
            return False
        finally:
            clock.limit(None)
        return True

    def forged(self, draw: random.Random) -> list[State]:
        """The states that can be reached without some of them, or with others."""
        states = [one for one in self.states if draw.random() > draw.choice([0, 0.1, 0.5])]
        for _ in range(draw.randrange(3)):
            states.append(tuple((name, draw.choice(values)) for name, values in self.every.items()))
        return list(dict.fromkeys(states))


def attack_plans(seed: int, count: int) -> Counter[str]:
    """So many forgeries: how many were accepted, and how many of these are false."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        while found["forgeries"] < count:
            number = seed * 1_000_000 + found["models"]
            draw = random.Random(number)
            found["models"] += 1
            files = write_planning_files(number, Path(folder))
            has_policy = files.policy is not None
            plan = Plan(Path(folder), has_policy, has_policy and draw.random() < 0.3, draw.randint(-1, 2))
            for forged in range(1 + FORGED_FILES):
                if forged and not change_a_number(plan, draw):
                    continue
                attack_plan(plan, draw, found, f"model {number}, change {forged}")
    return found


def attack_plan(plan: Plan, draw: random.Random, found: Counter[str], place: str) -> None:
    try:
        judge = Judge(plan)
    except (KeyError, IndexError, OverflowError, StopIteration, TypeError, ValueError):
        return  # the literal reading does not understand what was made
    found["not read by the checker"] += judge.loaded is None
    for name in ("drawn_pa", *(["not_stuck"] if plan.has_policy else [])):
        if judge.accepts(name, judge.states) is judge.false[name]:
            found["genuine, and the checker is wrong"] += 1
            print(f"{place}: {name} is {'false' if judge.false[name] else 'true, and rejected'}")
        for _ in range(FORGERIES_PER_MODEL // 4):
            found["forgeries"] += 1
            if judge.accepts(name, judge.forged(draw)):
                found["accepted"] += 1
                if judge.false[name]:
                    found["accepted and false"] += 1
                    print(f"{place}: {name} is false")


def change_a_number(plan: Plan, draw: random.Random) -> bool:
    """Change one small number of the model, the property or the policy."""
    file = plan.folder / draw.choice(["model.jani", *plan.files])
    text = file.read_text()
    places = list(NUMBER.finditer(text))
    if not places:
        return False
    at = draw.choice(places)
    file.write_text(f"{text[: at.start()]}{draw.randint(-2, 3)}{text[at.end() :]}")
    return True
