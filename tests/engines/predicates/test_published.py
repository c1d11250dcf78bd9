"""The published instances of the ICAPS 2022 paper: the numbers its tool's own tests assert (data:ppa/expected.json).

Those of eight blocks are abstracted by `benchmarks.ppa.replay`, and enumerated in tests/formats/jani.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import vernal as vn
from benchmarks.ppa import generate
from benchmarks.ppa.family import MEMBERS

BLOCKS = "plaja/icaps22/blocksworld"
PROPERTIES = f"{BLOCKS}/additional_properties/safety_verification/cost05"
COMPACT = "compact_starts_cost_predicates_afterwards"
SIX = f"{PROPERTIES}/blocksworld_6_5/{COMPACT}/learned_cost05_non_terminal/pa_{COMPACT}_blocksworld_6_5_32_32.jani"
RACETRACK = "racetrack_reconstructed"


def checked(model: str, reference: str, **constants: float) -> vn.Result:
    data = Path(os.environ["VERNAL_DATA"]) / "ppa"
    file, _, number = reference.partition("#")
    named = f"{data / file}#{number}" if file else f"#{number}"
    task = vn.load_jani(data / model, property=named, constants=constants)
    name = next(iter(task.properties))
    return vn.check(task, property=name, engine="predicates", timeout=300)[name]


@pytest.mark.data
@pytest.mark.parametrize(
    ("model", "reference", "verdict", "counts"),
    [
        (f"{BLOCKS}/models/cost05/blocksworld_6_5.jani", f"{SIX}#0", vn.HOLDS, (171, 433, 1005, 0)),
        (f"{BLOCKS}/models/cost05/blocksworld_6_5.jani", f"{SIX}#1", vn.HOLDS, (202, 349, 738, 0)),
        (
            f"{RACETRACK}/racetrack_barto-small_simple.jani",
            f"{RACETRACK}/pa_racetrack_barto-small_16_16.jani#0",
            vn.VIOLATED,
            (15, 68, 134, 16),
        ),
    ],
    ids=["blocks6_5_0", "blocks6_6_0", "racetrack"],
)
def test_published_counts(model: str, reference: str, verdict: vn.Verdict, counts: tuple[int, ...]) -> None:
    result = checked(model, reference)
    assert result.verdict is verdict
    named = ("abstract_starts", "reachable", "transitions", "unsafe")
    assert tuple(result.statistics[name] for name in named) == counts
    assert result.statistics["undecided_starts"] == 0


@pytest.mark.data
def test_four_blocks_are_safe_from_no_predicates() -> None:
    model = "plaja/blocksworld/cost_terminal/models/legacy_enc/blocksworld_4_3.jani"
    result = checked(model, "#0", failing_probability=0.5, item_cost_bound=10)
    assert result.verdict is vn.HOLDS
    assert result.statistics["abstract_starts"] == 14
    assert int(result.statistics["refinements"]) > 0


def test_a_policy_for_four_blocks_is_never_stuck(tmp_path: Path) -> None:
    """From no predicates; `explicit` says so as well, of 189,425 transitions. Costs do not matter, and are not seen."""
    generate.write(MEMBERS["blocksworld-4"].make(), tmp_path)
    generate.copy_policies("blocksworld-4", tmp_path)
    policy, safe = tmp_path / "blocksworld-4_ignoring_16.jani2nnet", f"{tmp_path / 'property.jani'}#0"
    task = vn.load_jani(tmp_path / "model.jani", policy=policy, property=safe)
    result = vn.check(task, property="not_stuck", engine="predicates", timeout=100)["not_stuck"]
    assert result.verdict is vn.HOLDS
    assert int(result.statistics["reachable"]) < 100, "abstract states that differ in costs are the same"
