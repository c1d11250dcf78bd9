"""Make the example: four blocks without costs, and two policies of 2 x 8 ReLUs, one careful and one hasty.

    python -m examples.blocksworld.make             # from the root of the checkout, a few seconds

The careful policy learnt from a planner that never puts all blocks on the table, the hasty one from a planner that does
not know of that limit. Models with more blocks, with moves that fail, and larger policies: benchmarks/ppa.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.ppa import blocksworld
from benchmarks.ppa.jani import Instance, Json, condition, write_json
from benchmarks.ppa.policy import write_policy
from benchmarks.ppa.train import course, trained

HERE = Path(__file__).parent
BLOCKS = 4
POLICIES = {"careful": "ignoring", "hasty": "hasty"}  # by flavour


def properties(instance: Instance) -> Json:
    """One property with all its parts: start, unsafe, and the predicates that tell all states apart."""
    parts = {"start": instance.start, "reach": condition(instance.unsafe), "predicates": instance.predicates[-1]}
    return {"properties": [{"name": "safe", "expression": {"op": "PA", **parts}}]}


def write_model(folder: Path) -> None:
    instance = blocksworld.instance(BLOCKS, 0)
    write_json(folder / "blocks.jani", instance.model.declaration)
    write_json(folder / "safe.jani", properties(instance))


def write_policies(folder: Path, width: int = 8) -> None:
    for name, flavour in POLICIES.items():
        found = course(f"blocksworld-{BLOCKS}", flavour)
        write_policy(trained(found, width), folder / name, found.lesson.bounds)


if __name__ == "__main__":
    write_model(HERE)
    write_policies(HERE)
