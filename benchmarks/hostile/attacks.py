"""The families of attacks. Each makes a command from a seed; some look at what came of it, too."""

from __future__ import annotations

import json
import random
import shutil
import signal

from benchmarks.hostile.attempt import NOT_BEGUN, run, write
from benchmarks.hostile.file_attacks import FILE_FAMILIES
from benchmarks.hostile.flow_attacks import FLOW_FAMILIES
from benchmarks.hostile.mutate import EXTREMES, mutated
from benchmarks.hostile.seeds import FORMULAS
from benchmarks.hostile.siege import LIMIT, Family, Fault, Siege
from vernal.cli import exits


def tasks(siege: Siege, chance: random.Random) -> Fault:
    """A mutated task file, checked."""
    name = chance.choice(siege.seeds.tasks)
    file = write(siege.folder, "task.toml", mutated(name.read_bytes(), chance))
    for network in name.parent.glob("*.onnx"):
        shutil.copy(network, siege.folder)
    return siege.ask(["check", str(file)])[1]


def networks(siege: Siege, chance: random.Random) -> Fault:
    """A mutated network of any format, asked a query."""
    seed = chance.choice(siege.seeds.networks)
    file = write(siege.folder, f"net{seed.suffix}", mutated(seed.read_bytes(), chance))
    return siege.ask(["verify", str(siege.seeds.query), str(file)])[1]


def queries(siege: Siege, chance: random.Random) -> Fault:
    """A mutated VNN-LIB query."""
    file = write(siege.folder, "query.vnnlib", mutated(siege.seeds.query.read_bytes(), chance))
    return siege.ask(["verify", str(file), str(siege.seeds.networks[0])])[1]


def formulas(siege: Siege, chance: random.Random) -> Fault:
    """A mutated formula."""
    text = mutated(chance.choice(FORMULAS).encode(), chance).decode("utf-8", "replace").replace("\0", "")
    return siege.ask(["check", str(siege.seeds.room), "--spec", text])[1]


def traces(siege: Siege, chance: random.Random) -> Fault:
    """A mutated trace: accepted only if nothing in it was changed."""
    before = siege.seeds.trace.read_bytes()
    file = write(siege.seeds.room.parent, "mutated.trace.json", mutated(before, chance))
    ended = run(["replay", str(file)], LIMIT, siege.slack)
    if ended.code == exits.OK and json.loads(file.read_bytes()) != json.loads(before):
        return "a trace that was changed is accepted"
    return ended.fault(LIMIT, siege.slack) or siege.ask(["faults", str(file)])[1]


def journals(siege: Siege, chance: random.Random) -> Fault:
    """A mutated journal: the verdict is the one without it, or the journal is refused."""
    file = write(siege.folder, "run.journal", mutated(siege.seeds.journal.read_bytes(), chance))
    command = ["check", str(siege.seeds.room), "--property", "mild", "--engine", "paths", "--journal", str(file)]
    ended, fault = siege.ask(command)
    return fault or ("a mutated journal changed the verdict" if ended.code == exits.REFUTED else None)


def numbers(siege: Siege, chance: random.Random) -> Fault:
    """Extreme numbers as parameters, with every engine."""
    values = [f"{name}={chance.choice(EXTREMES)[:60].decode()}" for name in ("low", "high", "factor", "limit")]
    given = [part for value in values if chance.random() < 0.5 for part in ("--set", value)]
    engine = chance.choice(siege.seeds.engines)
    return siege.ask(["check", str(siege.seeds.scaled), "--engine", engine, *given])[1]


def kills(siege: Siege, chance: random.Random) -> Fault:
    """A run with a journal that is killed at any time; the next one ends with the same verdict."""
    file = siege.folder / "killed.journal"
    file.unlink(missing_ok=True)
    command = ["check", str(siege.seeds.room), "--property", "mild", "--engine", "paths", "--journal", str(file)]
    run(command, LIMIT, siege.slack, kill=(chance.uniform(0, 0.3), signal.SIGKILL))
    ended, fault = siege.ask(command, 20)
    return fault or (None if ended.code == exits.OK else f"after a kill: {ended.code} {ended.said[-200:]}")


def interrupts(siege: Siege, chance: random.Random) -> Fault:
    """Ctrl-C or SIGTERM at any time: the exit code says so, without a traceback."""
    number = chance.choice((signal.SIGINT, signal.SIGTERM))
    heavy = chance.choice([*siege.seeds.heavy, *siege.seeds.flows.heavy])
    ended = run(["check", str(heavy)], LIMIT, siege.slack, kill=(chance.uniform(0.05, 1), number))
    expected = {exits.INTERRUPTED if number == signal.SIGINT else exits.TERMINATED, exits.OK, exits.REFUTED}
    if "Traceback" in ended.said or "internal error" in ended.said:
        return ended.said[-300:]
    started = ended.code in (-number, NOT_BEGUN)  # before our handlers are there
    return None if ended.code in expected or started else f"ended with {ended.code}: {ended.said[-200:]}"


def limits(siege: Siege, chance: random.Random) -> Fault:
    """Heavy tasks at small limits, with every engine."""
    limit = chance.choice((0.2, 1.0, 5.0))
    task, engine = chance.choice(siege.seeds.heavy), chance.choice(siege.seeds.engines)
    _, fault = siege.ask(["check", str(task), "--engine", engine, "--memory", "1"], limit)
    return fault and f"{task.name} {engine}: {fault}"


FAMILIES: dict[str, tuple[Family, int]] = {  # with the share of each
    "tasks": (tasks, 4),
    "networks": (networks, 4),
    "queries": (queries, 2),
    "formulas": (formulas, 4),
    "traces": (traces, 2),
    "journals": (journals, 2),
    "numbers": (numbers, 3),
    "kills": (kills, 1),
    "interrupts": (interrupts, 1),
    "limits": (limits, 2),
    **FLOW_FAMILIES,
    **FILE_FAMILIES,
}
