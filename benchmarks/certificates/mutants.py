"""Mutants of certificates, tasks and networks: whatever `vernal-check` accepts of them has to be true.

`python -m benchmarks.certificates.mutants [--count N] [--seed N] [--numbers | --planning | --flows]`. Tasks are finite
and small, so that enumeration says what is true of a mutant; every hash fits, as a forger would make it. Mutants are
changes of certificates that were read, in one process: a task that did not change is not read again, nor is its truth
found again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import vernal as vn
from vernal_check import certificate, clock, task
from vernal_check.check import load, shown
from vernal_check.errors import Rejected, Unreadable

MUTANTS_PER_TASK = 60
SECONDS = 5.0  # for one mutant
FLOW_SECONDS = 3.0
STEPS = (
    "if(n < {a}, n + choose(0, 1), n)",
    "if(n == {a}, {b}, clip(n + choose(-1, 1), 0, 4))",
    "clip(n + if(up, 1, -1), 0, {a})",
    "choose({a} when n > {b}, n + 1 when n < 4)",
    "match(n, 0: choose({a}, 1), 1: {b}, _: max(n - 1, 0))",
    "clip(n + mover - 1, 0, 4)",
)
TURNS = ("!up", "n < {a}", "up & choose(true, false)", "n == {b} | up")
CLAIMS = (
    "G (n <= {a})", "F (n == {a})", "G F (n == {a})", "F G (n <= {a})", "G (n == {a} -> F (n == {b}))",
    "(n <= {a}) U (n == {b})",
    "(n <= {a}) W (n == {b})", "(n == {b}) R (n <= {a})", "G[0,5] (n <= {a})", "F[0,4] (n == {a})", "X[2] (n <= {a})",
    "AG EF (n == {a})", "EF (n == {a})", "EG (n <= {a})", "AG (n <= {a} | EX (n == {b}))", "E[(n <= {a}) U (n == {b})]",
    "AF (n == {a})", "EX[2] (n == {a})", "G (up -> X !up)", "G (n == {a} -> X[2] (n <= {b}))",
)  # fmt: skip


@dataclass(frozen=True)
class Forgery:
    """A task, its network and a certificate of it."""

    task: str
    header: dict[str, Any]
    sets: list[Any]
    network: str = ""


def random_task(draw: random.Random) -> str:
    numbers = {"a": draw.randrange(5), "b": draw.randrange(5)}
    step, turn = draw.choice(STEPS).format(**numbers), draw.choice(TURNS).format(**numbers)
    start = draw.choice(["0", f'"{{0, {draw.randrange(5)}}}"', '"[0, 2]"'])
    enabled = draw.choice(["", f'[environment]\nenabled = "n != {draw.randrange(5)}"\n'])
    mover = '[agents.mover]\npolicy = "mover.nnet"\nobserve = ["n", "if(up, 1, 0)"]\n' if "mover" in step else ""
    return (
        f'vernal = 1\n[state]\nn = "int"\nup = "bool"\n[init]\nn = {start}\nup = true\n{mover}{enabled}'
        f'[environment.next]\nn = "{step}"\nup = "{turn}"\n'
    )


def random_network(draw: random.Random) -> str:
    """Two inputs, three scores, weights among which ties are common."""
    rows = [f"{draw.randint(-2, 2)},{draw.randint(-1, 1)}," for _ in range(3)]
    biases = [f"{draw.randint(-2, 4)}," for _ in range(3)]
    return "\n".join(["1,2,3,3,", "2,3,", "0,", "0,0,", "0,0,", "0,0,0,", "1,1,1,", *rows, *biases]) + "\n"


def claim(draw: random.Random) -> str:
    return draw.choice(CLAIMS).format(a=draw.randrange(5), b=draw.randrange(5))


# Mutations ------------------------------------------------------------------------------------------------------------


def fewer_sets(f: Forgery, draw: random.Random) -> Forgery:
    most = draw.choice([0.1, 0.3, 0.6])
    return replace(f, sets=[one for one in f.sets if draw.random() > most])


def other_cell(f: Forgery, draw: random.Random) -> Forgery:
    if not f.sets:
        return f
    sets = [list(one) for one in f.sets]
    one = draw.choice(sets)
    one[0], one[1] = draw.choice([(draw.randrange(5), one[1]), (one[0], not one[1])])
    return replace(f, sets=sets)


def more_sets(f: Forgery, draw: random.Random) -> Forgery:
    return replace(f, sets=[*f.sets, [draw.randrange(-1, 6), draw.random() < 0.5]])


def other_claim(f: Forgery, draw: random.Random) -> Forgery:
    return replace(f, header={**f.header, "formula": claim(draw)})


def negated(f: Forgery, draw: random.Random) -> Forgery:
    return replace(f, header={**f.header, "formula": f"!({f.header['formula']})"})


def refuted(f: Forgery, draw: random.Random) -> Forgery:
    """That the claim fails at one state."""
    state = [draw.randrange(5), draw.random() < 0.7]
    return replace(f, header={**f.header, "verdict": "violated", "state": state})


def followed(f: Forgery, draw: random.Random) -> Forgery:
    return replace(f, sets=[{"set": one, "walk": True} if draw.random() < 0.5 else one for one in f.sets])


def narrowed(f: Forgery, draw: random.Random) -> Forgery:
    """Sets with rows and conditions, which may leave states out."""
    rows = [[draw.choice([-1, 1]), 0, draw.randrange(-4, 5)]]
    shapes: list[dict[str, Any]] = [
        {"rows": rows},
        {"where": draw.choice(["n <= 2", "n != 1", "up", "n == 0 | up"])},
        {},
    ]
    return replace(f, sets=[{"set": one, **draw.choice(shapes)} for one in f.sets])


def inducted(f: Forgery, draw: random.Random) -> Forgery:
    """Sets that are said to be an induction."""
    more = {"walk": True, "induction": draw.randrange(1, 4)} | ({"after": 1} if draw.random() < 0.3 else {})
    return replace(f, sets=[{"set": one, **more} if draw.random() < 0.5 else one for one in f.sets])


def named(f: Forgery, draw: random.Random) -> Forgery:
    names = [str(n) for n in range(len(f.sets))]
    most = draw.choice([len(names), 2])
    sets = [
        {
            "set": one,
            "name": str(n),
            "to": draw.sample(names, draw.randrange(min(most, len(names)) + 1)),
            "first": draw.random() < 0.5,
        }
        for n, one in enumerate(f.sets)
    ]
    return replace(f, sets=sets)


def other_task(f: Forgery, draw: random.Random) -> Forgery:
    """A number of the task changed."""
    numbers = list(re.finditer(r"\b[0-4]\b", f.task))
    at = draw.choice([match for match in numbers if match.start() > f.task.index("[init]")])
    return replace(f, task=f.task[: at.start()] + str(draw.randrange(5)) + f.task[at.end() :])


def other_operator(f: Forgery, draw: random.Random) -> Forgery:
    old, new = draw.choice(
        [("<=", "<"), ("<", "<="), ("==", "!="), ("min", "max"), (", 1)", ")"), ("G", "F"), ("A", "E")]
    )
    if draw.random() < 0.5:
        return replace(f, task=f.task.replace(old, new, 1))
    return replace(f, header={**f.header, "formula": f.header["formula"].replace(old, new, 1)})


def other_network(f: Forgery, draw: random.Random) -> Forgery:
    return replace(f, network=random_network(draw) if f.network else "")


OF_SETS: tuple[Callable[[Forgery, random.Random], Forgery], ...] = (
    fewer_sets, other_cell, more_sets, followed, narrowed, inducted, named,
)  # fmt: skip
OF_THE_REST = (other_claim, negated, refuted, other_task, other_operator, other_network)


def mutated(f: Forgery, draw: random.Random) -> Forgery:
    """A few changes, most of them of sets."""
    for _ in range(draw.choice([1, 1, 2, 3])):
        plain = all(isinstance(one, list) for one in f.sets)
        f = draw.choice(OF_SETS if plain and draw.random() < 0.7 else OF_THE_REST)(f, draw)
    return f


# Judging --------------------------------------------------------------------------------------------------------------


@dataclass
class Bench:
    """A folder with tasks, what was read of them, and what is true of them."""

    folder: Path
    read: dict[tuple[str, str], task.Task | None] = field(default_factory=dict)
    known: dict[tuple[str, str, str, str], bool | str] = field(default_factory=dict)

    def write(self, forgery: Forgery) -> Path:
        file = self.folder / "task.toml"
        file.write_text(forgery.task)
        (self.folder / "mover.nnet").write_text(forgery.network)
        return file

    def accepted(self, forgery: Forgery, seconds: float = SECONDS) -> bool:
        """What `vernal-check` says of a forgery whose hashes fit."""
        key = forgery.task, forgery.network
        clock.limit(seconds)
        try:
            head, *sets = (certificate.parsed(json.dumps(line)) for line in (forgery.header, *forgery.sets))
            if key not in self.read:
                self.read[key] = None  # what cannot be read stays so
                self.read[key] = self.loaded(head, forgery)
            loaded = self.read[key]
            if loaded is None:
                return False
            shown(certificate.header(head), loaded, enumerate(sets, 2))
        except (Rejected, Unreadable):
            return False
        finally:
            clock.limit(None)
        return True

    def loaded(self, head: dict[str, Any], forgery: Forgery) -> task.Task:
        file = self.write(forgery)
        sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
        networks = [{"sha256": hashlib.sha256(one.read_bytes()).hexdigest()} for one in self.networks(forgery)]
        told = {**head["task"], "file": file.name, "sha256": sha256, "networks": networks}
        return load(certificate.header({**head, "task": told}), self.folder / "claim.certificate", None)

    def networks(self, forgery: Forgery) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.name in forgery.task and path.suffix != ".toml"]

    def is_true(self, forgery: Forgery) -> bool | str:
        """Whether what a forgery says is true, by enumeration; a text where Vernal refuses to read it."""
        state = forgery.header.get("state")
        key = forgery.task, forgery.network, forgery.header["formula"], json.dumps(state)
        if key not in self.known:
            self.known[key] = self.judged(forgery, state)
        return self.known[key]

    def judged(self, forgery: Forgery, state: list[Any] | None) -> bool | str:
        text, formula = forgery.task, forgery.header["formula"]
        if state is not None:  # that the negation is true, of the same task which starts there
            if not self.starts_at(forgery, state):
                return False
            declared, init, rest = text.partition("[init]\n")
            rest = rest.split("\n", 2)[2]  # after both starts
            text = f"{declared}{init}n = {state[0]}\nup = {json.dumps(state[1])}\n{rest}"
            formula = f"!({formula})"
        try:
            file = self.write(replace(forgery, task=text))
            result = vn.check(vn.load(file), formula, engine="explicit", timeout=20)
        except vn.InputError as error:
            return str(error)
        return result.verdict is vn.HOLDS

    def starts_at(self, forgery: Forgery, state: list[Any]) -> bool:
        """Whether a state is an initial one."""
        asked = f"n == {state[0]} & {'' if state[1] else '!'}up"
        return vn.check(vn.load(self.write(forgery)), f"!({asked})", engine="explicit").verdict is vn.VIOLATED


def genuine(draw: random.Random, bench: Bench) -> Forgery | None:
    """A task with a claim that holds, and its certificate."""
    made, network = random_task(draw), random_network(draw)
    file = bench.write(Forgery(made, {}, [], network))
    result = vn.check(vn.load(file), claim(draw), engine="explicit", certificate=True, timeout=20)
    if result.certificate is None:
        return None
    lines = [json.loads(line) for line in result.certificate.lines()]
    return Forgery(made, lines[0], lines[1:], network if "mover" in made else "")


def attack(seed: int, count: int) -> Counter[str]:
    """So many mutants: how many were accepted, and how many of these are false."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        while found["mutants"] < count:
            draw = random.Random(f"{seed} {found['tasks']}")
            found["tasks"] += 1
            bench = Bench(Path(name))
            original = genuine(draw, bench)
            if original is None:
                continue
            found["certificates"] += 1
            found["genuine but rejected"] += not bench.accepted(original)
            for _ in range(min(MUTANTS_PER_TASK, count - found["mutants"])):
                mutant = mutated(original, draw)
                found["mutants"] += 1
                if bench.accepted(mutant):
                    found["accepted"] += 1
                    truth = bench.is_true(mutant)
                    if isinstance(truth, str):
                        found["accepted, and refused by vernal"] += 1
                        print(f"seed {seed}, task {found['tasks']}: {truth}")
                    elif not truth:
                        found["accepted and false"] += 1
                        print(f"seed {seed}, task {found['tasks']}: {mutant.header}\n{mutant.task}", mutant.sets)
    return found


def attack_numbers(seed: int, count: int) -> Counter[str]:
    """So many forgeries over real numbers: how many were accepted, and how many of these a path breaks."""
    from benchmarks.certificates.number_mutants import NETWORKS, forgery  # which imports this module

    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "fuse.onnx").write_bytes((NETWORKS / "fuse.onnx").read_bytes())
        for number in range(count):
            made, claimed, paths = forgery(random.Random(f"{seed} {number}"))
            found["forgeries over real numbers"] += 1
            if Bench(folder).accepted(made, seconds=0.5):
                found["accepted"] += 1
                if any(map(claimed.breaks, paths)):
                    found["accepted and false"] += 1
                    print(f"seed {seed}, forgery {number}: {claimed.text}\n{made.task}", made.sets)
    return found


def attack_flows(seed: int, count: int) -> Counter[str]:
    """So many certificates of flows: how many were accepted, and how many of these a simulated trajectory breaks."""
    from benchmarks.certificates.flow_mutants import forgery  # which imports this module

    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        for number in range(count):
            made, is_broken = forgery(random.Random(f"{seed} {number}"))
            found["certificates of flows"] += 1
            found["whose claim is false"] += is_broken
            if Bench(Path(name)).accepted(made, seconds=FLOW_SECONDS):
                found["accepted"] += 1
                if is_broken:
                    found["accepted and false"] += 1
                    print(f"seed {seed}, flow {number}: {made.header['formula']}\n{made.task}", made.sets)
    return found


def main() -> None:
    from benchmarks.certificates.planning_mutants import attack_plans
    from benchmarks.certificates.query_mutants import attack_queries

    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--numbers", action="store_true", help="of tasks over real numbers, instead of finite ones")
    kinds.add_argument("--flows", action="store_true", help="of flows, judged by simulated trajectories")
    kinds.add_argument("--queries", action="store_true", help="of network queries, judged by exact outputs")
    kinds.add_argument("--planning", action="store_true", help="of planning models, judged by reading them literally")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chosen = {"queries": attack_queries, "numbers": attack_numbers, "planning": attack_plans, "flows": attack_flows}
    attacked = next((one for name, one in chosen.items() if getattr(options, name)), attack)
    for what, number in attacked(options.seed, options.count).items():
        print(f"{number:8,}  {what}")


if __name__ == "__main__":
    main()
