"""Worlds by name: their text, and the systems they become with agents in them.

A world is a task file without policies, and the only place where its dynamics are written: task files build on it
(`world = "cartpole"`), Python reads the same text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

from vernal.errors import NameUnknown, TypeClash, nearest
from vernal.formats.task.blueprint import Override, read_tables, read_task
from vernal.formats.task.world import world_text
from vernal.logic.task import InputFile
from vernal.model import build
from vernal.model.declare import restart, seat
from vernal.model.expr import Role
from vernal.model.network import Network, network_input
from vernal.model.system import System
from vernal.model.system_arguments import Initials, Policy
from vernal.model.tick import idle
from vernal.worlds import spread
from vernal.worlds.open_agents import opened

Acting: TypeAlias = Network | Policy

HERE = Path(__file__).parent
SPREAD = re.compile(r"spread([1-9][0-9]?)")


def names() -> list[str]:
    """The worlds there are; Simple Spread comes in any number of agents below 100.

    Example: `vn.worlds.names()`
    """
    return [*sorted(file.stem for file in HERE.glob("*.toml")), "spread2", "spread3", "spread4"]


@cache
def text(name: str) -> str:
    """A world as a task file: read it, copy it, build on it.

    Example: `print(vn.worlds.text("cartpole"))`
    """
    if found := SPREAD.fullmatch(name):
        return spread.text(int(found[1]))
    if name not in names():
        raise NameUnknown(f"there is no world {name!r}{nearest(name, names())}")
    return (HERE / f"{name}.toml").read_text(encoding="utf-8")


def system(
    world: str,
    policies: Acting | Mapping[str, Acting] | None = None,
    *,
    init: Mapping[str, Initials] | None = None,
    **parameters: Override,
) -> System:
    """A world, by name or from a file of one, with agents in it.

    `policies` is a network, or one for each agent by name, and observes and acts as the world says; a `vn.agent(...)`
    says itself what it observes. Agents without a policy are open: their actions come from outside, as in
    `vn.worlds.gym`, and nothing can be verified. `init` replaces initial values, keywords replace parameters.
    """
    agents = _interface(world)
    given = policies if isinstance(policies, Mapping) else _alone(world, agents, policies)
    networks = {name: _network(given.get(name), *sizes) for name, sizes in agents.items()}
    unknown = [name for name in given if name not in agents]
    if unknown:
        raise NameUnknown(f"the world {world!r} has no agent {unknown[0]!r}{nearest(unknown[0], agents)}")
    made = _read(world, networks, parameters)
    for name, policy in given.items():
        made = seat(made, name, policy) if isinstance(policy, Policy) else made
    made = restart(made, init) if init else made
    return opened(made, [name for name in agents if name not in given])


def _interface(world: str) -> dict[str, tuple[int, int]]:
    """How many numbers each agent of a world observes, and how many its network has to answer with."""
    document, _, _ = read_tables(
        world_text(world, Path()), f"world:{world}", Path(world).parent, idle, allow_outside=True
    )
    agents = document.get("agents")
    known = agents.items() if isinstance(agents, dict) else ()
    return {name: (_inputs(agent), _outputs(name, agent)) for name, agent in known if isinstance(agent, dict)}


def _inputs(agent: Mapping[str, object]) -> int:
    seen = agent.get("observe")
    return len(seen) if isinstance(seen, list) else 0


def _outputs(name: str, agent: Mapping[str, object]) -> int:
    """One score for each label, or as many numbers as `act` mentions."""
    labels, act = agent.get("labels"), agent.get("act")
    if isinstance(labels, list):
        return len(labels)
    mentioned = re.findall(r"\bout\[(\d+)\]", " ".join(map(str, act)) if isinstance(act, list) else "")
    if not mentioned:
        raise TypeClash(f"a world says how {name!r} acts: labels = [...], or act = [...] over out[0], out[1], ...")
    return 1 + max(map(int, mentioned))


def _alone(world: str, agents: Mapping[str, object], policy: Acting | None) -> dict[str, Acting]:
    if policy is None:
        return {}
    if len(agents) != 1:
        raise TypeClash(f"the world {world!r} has the agents {', '.join(agents)}: give a policy for each, by name")
    return dict.fromkeys(agents, policy)


def _network(policy: Acting | None, inputs: int, outputs: int) -> Network:
    """The policy, or a network of the right shape with an unknown output: a placeholder for a policy."""
    if isinstance(policy, Network):
        return policy
    return Network("outside", network_input(inputs), build.var("outside", shape=(outputs,), role=Role.INPUT))


def _read(world: str, networks: Mapping[str, Network], parameters: Mapping[str, Override]) -> System:
    content = world_text(world, Path())
    source = InputFile(f"world:{world}", hashlib.sha256(content.encode()).hexdigest())
    return read_task(content, source, Path(world).parent, parameters, networks).system
