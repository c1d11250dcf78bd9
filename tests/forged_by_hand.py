"""Forgeries made by hand: evidence that is all true, hashes that fit, and a verdict that does not follow from it.

Each names a task, a claim, a verdict and what is shown for it. Of each it is known whether the verdict is the truth; it
may be accepted in neither case.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.forged_judge import Judged, Outcome, replayed
from tests.forgeries import Content, made_of, signed
from tests.hard_loops import walk
from vernal.evidence.invariant import Invariant, StateSet
from vernal.evidence.judgement import Judgement
from vernal.evidence.kinds import Evidence, Tree
from vernal.evidence.result import HOLDS, VIOLATED, Verdict
from vernal.evidence.trace import Trace
from vernal.evidence.walk import run
from vernal.formats.task.blueprint import load
from vernal.logic.task import Task

README_TASK = Path(__file__).parent.parent / "examples/vcas/vcas.toml"
SENTENCE = "every state that can be reached from here was enumerated"
WALK = """vernal = 1
[state]
x = "int [0, 5]"
[init]
x = "[0, 5]"
[environment.next]
x = "clip(x + choose(-1, 0, 1), 0, 5)"
"""
ENDING = """vernal = 1
[state]
x = "int [0, 5]"
[init]
x = "{1, 4}"
[environment]
enabled = "x > 0"
[environment.next]
x = "if(x < 3, x - 1, choose(x, 5))"
"""
HALVES = """vernal = 1
[state]
x = "real"
[init]
x = "[0, 1]"
[environment.next]
x = "x / 2"
"""
DOUBLES = HALVES.replace("x / 2", "2 * x")
WALKED = {"same": 1, "up": 2, "down": 0}  # options of the walk


@dataclass(frozen=True)
class HandMade:
    """A forged file, and whether what it says happens to be true."""

    name: str
    content: Content
    is_true: bool

    def judged(self, file: Path) -> Judged:
        """What became of it; accepted it may not be."""
        judgement, said = replayed(self.content, file)
        if judgement is None:
            return Judged(Outcome.CRASHED, said)
        if judgement is Judgement.ACCEPTED:
            return Judged(Outcome.WITHOUT_FORCE if self.is_true else Outcome.FALSE, said)
        return Judged(Outcome.REJECTED if judgement is Judgement.REJECTED else Outcome.UNCHECKED, said)


def hand_made(folder: Path) -> list[HandMade]:
    """The whole list; its tasks are written to a folder."""
    return [*_walks(folder), *_trees(folder), *_endings(folder), *_boxes(folder), *_sets(folder), *_readme()]


def _task(folder: Path, name: str, text: str) -> Task:
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return load(file, {})


def _walk(task: Task, first: int, *moves: str) -> Trace:
    draws = [{"x": WALKED[move]} for move in moves]
    return run(task.system, {"x": Fraction(first)}, draws, len(moves))


def _stays(task: Task, at: int) -> Trace:
    """The walk that stays for ever where it is."""
    return Trace(_walk(task, at, "same").steps[:1], loop=0, system=task.system)


def _forged(task: Task, verdict: Verdict, claims: Sequence[tuple[str, bool, Evidence]]) -> Iterator[HandMade]:
    for formula, is_true, evidence in claims:
        content = made_of(task, formula, verdict, evidence)
        yield HandMade(f"{formula} {verdict.value} by a {evidence.kind}", content, is_true)


def _walks(folder: Path) -> Iterator[HandMade]:
    """One path, although there are six starts, or although other paths go elsewhere."""
    task = _task(folder, "walk", WALK)
    top, up = _stays(task, 5), _walk(task, 4, "up")
    long = _walk(task, 3, "up", "up", "same")
    yield from _forged(
        task,
        HOLDS,
        [
            ("x >= 3", False, _walk(task, 4)),
            ("x <= 5", True, _walk(task, 4)),
            ("EG (x >= 3)", False, top),
            ("EF[0,2] (x == 5)", False, up),
            ("EF (x == 5)", True, up),
            ("EX (x == 5)", False, up),
            ("E[x >= 2 U x == 5]", False, up),
            ("E[x <= 5 U x == 5]", True, up),
            ("G (x >= 4)", False, top),
            ("G (x <= 5)", True, top),
            ("AG (x >= 4)", False, top),
            ("F (x == 5)", False, up),
            ("AF (x == 5)", False, up),
            ("AX (x >= 4)", False, up),
            ("X (x >= 4)", False, up),
            ("G[0,3] (x >= 2)", False, long),
            ("G[0,3] (x <= 5)", True, long),
            ("x >= 2 U x == 5", False, up),
            ("A[x >= 2 W x == 0]", False, top),
            ("G F (x == 5)", False, top),
            ("F G (x == 5)", False, top),
            ("EF AG (x == 5)", False, top),
            ("AG EF (x == 5)", True, top),
            ("AF EG (x == 5)", False, top),
        ],
    )
    yield from _forged(
        task,
        VIOLATED,
        [
            ("AG EF (x == 0)", False, top),
            ("EF AG (x <= 5)", False, top),
            ("EF (x == 0)", False, top),
            ("EG (x == 5)", True, _walk(task, 5, "down")),
            ("x <= 4", True, _walk(task, 3)),
            ("AX EX (x == 0)", True, _walk(task, 0, "up", "up")),
            ("G (x <= 4)", True, _walk(task, 3, "same")),
            ("AF AX (x <= 5)", False, top),
        ],
    )


def _trees(folder: Path) -> Iterator[HandMade]:
    """A state, and the forger's sentence about the paths from there."""
    task = _task(folder, "walk", WALK)
    at = Tree(_walk(task, 5), SENTENCE)
    claims = [
        ("EF (x == 0)", False),
        ("EF (x == 6)", True),
        ("EF AG (x <= 5)", False),
        ("AG EF (x == 0)", False),
        ("E[x <= 5 W x == 0]", False),
        ("EG (x <= 5)", False),
        ("EG (x <= 4)", True),
        ("AX (x <= 5) | AX (x == 0)", False),
    ]
    yield from _forged(task, VIOLATED, [(formula, is_true, at) for formula, is_true in claims])


def _endings(folder: Path) -> Iterator[HandMade]:
    """Paths that go on, of a system whose other paths end."""
    task = _task(folder, "ending", ENDING)
    stays = Trace(run(task.system, {"x": Fraction(4)}, [{"x": 0}], 1).steps[:1], loop=0, system=task.system)
    ends = run(task.system, {"x": Fraction(1)}, [], 1)
    yield from _forged(
        task, HOLDS, [("X[2] true", False, stays), ("G (x >= 1)", False, stays), ("F (x == 0)", False, ends)]
    )
    yield from _forged(task, VIOLATED, [("EX true", False, Tree(stays, SENTENCE)), ("F (x == 0)", True, ends)])


def _boxes(folder: Path) -> Iterator[HandMade]:
    """One point of an interval."""
    task = _task(folder, "halves", HALVES)
    high, low = (run(task.system, {"x": value}, [], 0) for value in (Fraction(3, 4), Fraction(1, 4)))
    rest = Trace(run(task.system, {"x": Fraction(0)}, [], 0).steps, loop=0, system=task.system)
    yield from _forged(
        task,
        HOLDS,
        [("x > 0.5", False, high), ("x <= 1", True, high), ("G (x <= 0.5)", False, rest), ("EG (x == 0)", False, rest)],
    )
    yield from _forged(
        task, VIOLATED, [("x > 0.5", True, high), ("x <= 0.5", True, low), ("EF (x < 0.5)", False, rest)]
    )


def _sets(folder: Path) -> Iterator[HandMade]:
    """Sets of states that are no invariants, or that say nothing about the claim."""
    halves, doubles = _task(folder, "halves", HALVES), _task(folder, "doubles", DOUBLES)
    claims: list[tuple[Task, str, bool, Any]] = [
        (halves, "G (x <= 0.5)", False, [_up_to("1/2")]),  # not all starts are inside
        (halves, "G (x <= 0.5)", False, [_up_to(1)]),  # the claim is false inside
        (halves, "G (x <= 0.5)", False, []),
        (halves, "G (x <= 1)", True, []),
        (doubles, "G (x <= 1)", False, [_up_to(1)]),  # steps lead outside
        (doubles, "G (x <= 100)", False, [StateSet((), ())]),
        (halves, "F (x > 2)", False, [_up_to(1)]),
        (halves, "EX (x > 0.5)", False, [_up_to(1)]),
        (halves, "x <= 0.5", False, [_up_to("1/2")]),
    ]
    for task, formula, is_true, sets in claims:
        invariant = Invariant(("x",), tuple(sets), system=task.system)
        yield from _forged(task, HOLDS, [(formula, is_true, invariant)])
    state = run(halves.system, {"x": Fraction(1)}, [], 0)
    beside = Invariant(("x",), (_up_to("1/4"),), system=halves.system)
    yield from _forged(halves, VIOLATED, [("EF (x >= 0.5)", True, Tree(state, SENTENCE, beside))])
    holds = made_of(halves, "EF (x <= 0.25)", VIOLATED, Tree(state, SENTENCE, beside))
    yield HandMade("a tree for a claim that holds", signed({**holds, "verdict": "holds"}), True)


def _up_to(end: int | str) -> StateSet:
    return StateSet(((Fraction(1),),), (Fraction(end),))


def _readme() -> Iterator[HandMade]:
    """The claim that the README shows to be violated, said to hold by a path on which nothing happens."""
    task = load(README_TASK, {})
    path = walk(random.Random(0), task.system, 6)
    assert path is not None
    yield from _forged(task, HOLDS, [("AG[1,6] (h > 110 | h < -110)", False, path)])
