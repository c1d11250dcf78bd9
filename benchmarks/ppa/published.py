"""The published instances of the ICAPS 2022 paper, read in place through VERNAL_DATA, and the tests of their runs."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vernal.engines.options import PredicateOptions
from vernal.engines.predicates.abstraction import Abstraction
from vernal.engines.predicates.configurations import RecordedTest
from vernal.engines.predicates.integer_model import OperatorModel
from vernal.engines.predicates.policy import PolicyBounds
from vernal.engines.predicates.witnesses import Existence, WitnessSearch
from vernal.formats.jani.planning_task import load_jani
from vernal.logic.question import Question
from vernal.logic.safety import safety_claim
from vernal.logic.task import Task
from vernal.run.budget import Budget

INSTANCES = {  # case of expected.json that has the files, and the number of the property there
    "blocksworld-6, 5_0": ("blocks6_cost_32_5_0", 0),
    "blocksworld-6, 6_0": ("blocks6_cost_32_5_0", 1),
    "blocksworld-8, 8_0": ("blocks8_nocost_16_8_0", 0),
}


@dataclass(frozen=True)
class RecordedRun:
    """The abstraction of an instance, with every test that it asked of the policy."""

    model: OperatorModel
    policy: PolicyBounds
    tests: list[RecordedTest]


def folder() -> Path | None:
    """Where the published files are, if they are here."""
    found = Path(os.environ.get("VERNAL_DATA", "")) / "ppa"
    return found if (found / "expected.json").exists() else None


def task(name: str, data: Path) -> Task:
    """An instance as it is published."""
    case, number = INSTANCES[name]
    listed = json.loads((data / "expected.json").read_text(encoding="utf-8"))["cases"]
    files = next(entry for entry in listed if entry["id"] == case)
    return load_jani(data / files["model"], property=f"{data / files['property']}#{number}")


def question(name: str, data: Path) -> Question:
    asked = task(name, data)
    title, formula = next(iter(asked.properties.items()))
    return Question(asked.system, formula, title, asked.predicates)


def run(asked: Question, budget: Budget) -> RecordedRun:
    """Build the abstraction, and keep the tests that ask the policy."""
    claim = safety_claim(asked.claim, total=asked.is_total)
    assert claim is not None
    tests: list[RecordedTest] = []
    model = OperatorModel(asked.system, claim.keep)
    policy = PolicyBounds(model.variables, model.judge, budget.check)
    search = WitnessSearch(model.judge, policy, budget, recorder=lambda *test: tests.append(RecordedTest(*test)))
    Abstraction(model, asked.predicates, search, PredicateOptions(), budget).explore()
    return RecordedRun(model, policy, [test for test in tests if test.question.selection is not None])


def sample(tests: list[RecordedTest], count: int, seed: int) -> list[RecordedTest]:
    """As many tests with a point as without one, in turn, as long as there are any."""
    rng = np.random.default_rng(seed)
    kinds = [[test for test in tests if test.answer is kind] for kind in (Existence.SOME, Existence.NONE)]
    drawn = [[kind[place] for place in rng.permutation(len(kind))] for kind in kinds]
    longest = max(map(len, drawn))
    mixed = [kind[place] for place in range(longest) for kind in drawn if place < len(kind)]
    return mixed[:count]
