"""Mutants of certificates, tasks and networks: whatever `vernal-check` accepts of them has to be true.

`python -m benchmarks.certificates.mutants [--count N] [--seed N]`. Tasks are finite and small, so that enumeration says
what is true of a mutant; every hash is made to fit again, as a forger would.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import vernal as vn
from vernal_check import clock
from vernal_check.check import check
from vernal_check.errors import Rejected, Unreadable

STEPS = (
    "if(n < {a}, n + choose(0, 1), n)",
    "if(n == {a}, {b}, clip(n + choose(-1, 1), 0, 4))",
    "clip(n + if(up, 1, -1), 0, {a})",
    "choose({a} when n > {b}, n + 1 when n < 4)",
    "match(n, 0: choose({a}, 1), 1: {b}, _: max(n - 1, 0))",
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
    """A task and a certificate of it, as texts."""

    task: str
    header: dict[str, Any]
    sets: list[Any]


def random_task(draw: random.Random) -> str:
    numbers = {"a": draw.randrange(5), "b": draw.randrange(5)}
    step, turn = draw.choice(STEPS).format(**numbers), draw.choice(TURNS).format(**numbers)
    start = draw.choice(["0", f'"{{0, {draw.randrange(5)}}}"', '"[0, 2]"'])
    enabled = draw.choice(["", f'[environment]\nenabled = "n != {draw.randrange(5)}"\n'])
    return (
        f'vernal = 1\n[state]\nn = "int"\nup = "bool"\n[init]\nn = {start}\nup = true\n{enabled}'
        f'[environment.next]\nn = "{step}"\nup = "{turn}"\n'
    )


def claim(draw: random.Random) -> str:
    return draw.choice(CLAIMS).format(a=draw.randrange(5), b=draw.randrange(5))


# Mutations ------------------------------------------------------------------------------------------------------------


def fewer_sets(f: Forgery, draw: random.Random) -> Forgery:
    sets = [one for one in f.sets if draw.random() > 0.3]
    return Forgery(f.task, f.header, sets)


def other_cell(f: Forgery, draw: random.Random) -> Forgery:
    if not f.sets:
        return f
    sets = [list(one) for one in f.sets]
    one = draw.choice(sets)
    one[0], one[1] = draw.choice([(draw.randrange(5), one[1]), (one[0], not one[1])])
    return Forgery(f.task, f.header, sets)


def other_claim(f: Forgery, draw: random.Random) -> Forgery:
    return Forgery(f.task, {**f.header, "formula": claim(draw)}, f.sets)


def negated(f: Forgery, draw: random.Random) -> Forgery:
    return Forgery(f.task, {**f.header, "formula": f"!({f.header['formula']})"}, f.sets)


def followed(f: Forgery, draw: random.Random) -> Forgery:
    sets = [{"set": one, "walk": True} if draw.random() < 0.5 else one for one in f.sets]
    return Forgery(f.task, f.header, sets)


def named(f: Forgery, draw: random.Random) -> Forgery:
    names = [str(n) for n in range(len(f.sets))]
    sets = [
        {
            "set": one,
            "name": str(n),
            "to": draw.sample(names, draw.randrange(len(names) + 1)),
            "first": draw.random() < 0.5,
        }
        for n, one in enumerate(f.sets)
    ]
    return Forgery(f.task, f.header, sets)


def other_task(f: Forgery, draw: random.Random) -> Forgery:
    """A number of the task changed."""
    numbers = list(re.finditer(r"\b[0-4]\b", f.task))
    at = draw.choice([match for match in numbers if match.start() > f.task.index("[init]")])
    return Forgery(f.task[: at.start()] + str(draw.randrange(5)) + f.task[at.end() :], f.header, f.sets)


def other_operator(f: Forgery, draw: random.Random) -> Forgery:
    old, new = draw.choice(
        [("<=", "<"), ("<", "<="), ("==", "!="), ("min", "max"), (", 1)", ")"), ("G", "F"), ("A", "E")]
    )
    target = draw.random() < 0.5
    task = f.task.replace(old, new, 1) if target else f.task
    return Forgery(
        task, f.header if target else {**f.header, "formula": f.header["formula"].replace(old, new, 1)}, f.sets
    )


MUTATIONS: tuple[Callable[[Forgery, random.Random], Forgery], ...] = (
    fewer_sets, other_cell, other_claim, negated, followed, named, other_task, other_operator,
)  # fmt: skip


# Judging --------------------------------------------------------------------------------------------------------------


def genuine(draw: random.Random, folder: Path) -> Forgery | None:
    """A task with a claim that holds, and its certificate."""
    file = folder / "task.toml"
    file.write_text(random_task(draw))
    result = vn.check(vn.load(file), claim(draw), engine="explicit", certificate=True, timeout=20)
    if result.certificate is None:
        return None
    lines = [json.loads(line) for line in result.certificate.lines()]
    return Forgery(file.read_text(), lines[0], lines[1:])


def accepted(forgery: Forgery, folder: Path, seconds: float = 20) -> bool:
    """What `vernal-check` says of a forgery whose hashes fit."""
    file, target = folder / "task.toml", folder / "claim.certificate"
    file.write_text(forgery.task)
    told = {**forgery.header["task"], "file": "task.toml", "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    lines = [{**forgery.header, "task": told}, *forgery.sets]
    target.write_text("\n".join(map(json.dumps, lines)) + "\n")
    clock.limit(seconds)
    try:
        check(target)
    except (Rejected, Unreadable):
        return False
    finally:
        clock.limit(None)
    return True


def is_true(forgery: Forgery, folder: Path) -> bool:
    """Whether the claim of a forgery is true, by enumeration; what Vernal refuses to read is not."""
    result = vn.check(vn.load(folder / "task.toml"), forgery.header["formula"], engine="explicit", timeout=20)
    return result.verdict is vn.HOLDS


def attack(seed: int, count: int) -> Counter[str]:
    """So many mutants: how many were accepted, and how many of these are false."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while found["mutants"] < count:
            draw = random.Random(f"{seed} {found['tasks']}")
            found["tasks"] += 1
            original = genuine(draw, folder)
            if original is None:
                continue
            found["certificates"] += 1
            if not accepted(original, folder):
                found["genuine but rejected"] += 1
            for _ in range(10):
                mutant = original
                for _ in range(draw.choice([1, 1, 2, 3])):
                    plain = all(isinstance(one, list) for one in mutant.sets)
                    mutant = draw.choice(MUTATIONS if plain else MUTATIONS[6:])(mutant, draw)
                found["mutants"] += 1
                if accepted(mutant, folder):
                    found["accepted"] += 1
                    try:
                        truth = is_true(mutant, folder)
                    except vn.InputError as error:
                        found["accepted, and refused by vernal"] += 1
                        print(f"seed {seed}, task {found['tasks']}: {error}")
                        continue
                    if not truth:
                        found["accepted and false"] += 1
                        print(
                            f"seed {seed}, task {found['tasks']}: {mutant.header['formula']}\n{mutant.task}",
                            mutant.sets,
                        )
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
            if accepted(made, folder, seconds=0.5):
                found["accepted"] += 1
                if any(map(claimed.breaks, paths)):
                    found["accepted and false"] += 1
                    print(f"seed {seed}, forgery {number}: {claimed.text}\n{made.task}", made.sets)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--numbers", action="store_true", help="of tasks over real numbers, instead of finite ones")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    attacked = attack_numbers if options.numbers else attack
    for what, number in attacked(options.seed, options.count).items():
        print(f"{number:8,}  {what}")


if __name__ == "__main__":
    main()
