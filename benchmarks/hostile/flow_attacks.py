"""Attacks on continuous time: tasks of flows, their numbers and formulas, trajectories, automata, limits."""

from __future__ import annotations

import json
import random
import shutil

from benchmarks.hostile.attempt import run, write
from benchmarks.hostile.flow_seeds import FLOW_FORMULAS
from benchmarks.hostile.mutate import EXTREMES, mutated
from benchmarks.hostile.siege import LIMIT, Family, Fault, Siege
from benchmarks.hostile.structured import changed_json, either, resigned
from vernal.cli import exits

MORE_EXTREMES = [*EXTREMES, b"1e-308", b"1e-300", b"1e300", b"-1e300", b"5e-324", b"1e15", b"1e-15", b"1000000"]


def flows(siege: Siege, chance: random.Random) -> Fault:
    """A mutated task of a flow, checked by any engine, or explained."""
    seed = chance.choice(siege.seeds.flows.tasks)
    file = write(siege.folder, "flow.toml", mutated(seed.read_bytes(), chance))
    shutil.copy(siege.seeds.networks[0], siege.folder)
    if chance.random() < 0.1:
        return run(["explain", str(file)], LIMIT, siege.slack).fault(LIMIT, siege.slack)
    return siege.ask(["check", str(file), "--engine", chance.choice(siege.seeds.flows.engines)])[1]


def flow_numbers(siege: Siege, chance: random.Random) -> Fault:
    """Extreme numbers as parameters of a flow: ends of its region, horizon, factors; with every engine."""
    names = ("low", "high", "factor", "limit", "T", "width")
    values = [f"{name}={chance.choice(MORE_EXTREMES)[:60].decode()}" for name in names]
    given = [part for value in values if chance.random() < 0.35 for part in ("--set", value)]
    if chance.random() < 0.1:
        command = ["simulate", str(siege.seeds.flows.scaled), "--runs", "50", *given]
        return run(command, LIMIT, siege.slack).fault(LIMIT, siege.slack)
    engine = chance.choice(siege.seeds.flows.engines)
    return siege.ask(["check", str(siege.seeds.flows.scaled), "--engine", engine, *given])[1]


def flow_formulas(siege: Siege, chance: random.Random) -> Fault:
    """A mutated formula in continuous time."""
    text = mutated(chance.choice(FLOW_FORMULAS).encode(), chance).decode("utf-8", "replace").replace("\0", "")
    engine = chance.choice(siege.seeds.flows.engines)
    return siege.ask(["check", str(siege.seeds.flows.jet), "--engine", engine, "--spec", text])[1]


def trajectories(siege: Siege, chance: random.Random) -> Fault:
    """A mutated trajectory: accepted only if nothing in it was changed."""
    before = siege.seeds.flows.trace.read_bytes()
    file = write(siege.seeds.flows.jet.parent, "mutated_flow.trace.json", mutated(before, chance))
    ended = run(["replay", str(file)], LIMIT, siege.slack)
    if ended.code == exits.OK and json.loads(file.read_bytes()) != json.loads(before):
        return "a trajectory that was changed is accepted"
    return ended.fault(LIMIT, siege.slack)


def recurrences(siege: Siege, chance: random.Random) -> Fault:
    """Mutated recurrent sets, signed anew or not: replayed in time, or refused; what they show is no violation."""
    before = chance.choice(siege.seeds.flows.recurrences).read_bytes()
    data = either(mutated, changed_json, resigned, resigned)(before, chance)
    file = write(siege.seeds.flows.jet.parent, "mutated.recurrence.json", data)
    ended = run(["replay", str(file), "--timeout", str(LIMIT)], LIMIT, siege.slack)
    if ended.code == exits.OK and json.loads(data)["verdict"] != json.loads(before)["verdict"]:
        return "recurrent sets are accepted for another verdict"
    return ended.fault(LIMIT, siege.slack)


def automata(siege: Siege, chance: random.Random) -> Fault:
    """A mutated hybrid automaton, converted to either format."""
    seed = chance.choice(siege.seeds.flows.automata)
    mutation = either(mutated, changed_json) if seed.suffix == ".json" else mutated
    file = write(siege.folder, f"model{seed.suffix}", mutation(seed.read_bytes(), chance))
    target = siege.folder / f"converted{chance.choice(('.xml', '.json'))}"
    return run(["convert", str(file), str(target)], LIMIT, siege.slack).fault(LIMIT, siege.slack)


def flow_limits(siege: Siege, chance: random.Random) -> Fault:
    """Heavy flows at small limits, with every engine."""
    limit = chance.choice((0.2, 1.0, 5.0))
    task, engine = chance.choice(siege.seeds.flows.heavy), chance.choice(siege.seeds.flows.engines)
    _, fault = siege.ask(["check", str(task), "--engine", engine, "--memory", "1"], limit)
    return fault and f"{task.name} {engine}: {fault}"


FLOW_FAMILIES: dict[str, tuple[Family, int]] = {  # with the share of each
    "flows": (flows, 4),
    "flow numbers": (flow_numbers, 4),
    "flow formulas": (flow_formulas, 2),
    "trajectories": (trajectories, 2),
    "recurrences": (recurrences, 2),
    "automata": (automata, 3),
    "flow limits": (flow_limits, 1),
}
