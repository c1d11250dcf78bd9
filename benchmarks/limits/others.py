"""Heavy work besides single questions: reports, large networks, automata in parallel, and commands that ask nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.limits.entry import Heavy, layered_network, written
from vernal.evidence.evidence_file import dump
from vernal.evidence.invariant import Invariant, StateSet
from vernal.evidence.result import HOLDS, Result
from vernal.formats.onnx.writer import write_onnx
from vernal.formats.task.blueprint import load

LARGE = {"3000-1000-1000-5": (3000, 1000, 1000, 5), "784-1000 (5)-10": (784, *[1000] * 5, 10)}
COPIES = 40  # automata that move together: 2^40 combinations of edges


def heavy_others(folder: Path, tasks: Mapping[str, Path], flow: Path) -> list[Heavy]:
    """The commands; files that they need are written into the folder, `tasks` are those of other commands."""
    networks = {name: folder / f"large{number}.onnx" for number, name in enumerate(LARGE)}
    for name, file in networks.items():
        write_onnx(layered_network(LARGE[name]), file)
    return [
        *_reports(folder, tasks["sines"]),
        *_large(folder, networks),
        *_copies(folder),
        *_without_questions(folder, tasks, networks["3000-1000-1000-5"], flow),
    ]


def _reports(folder: Path, task: Path) -> list[Heavy]:
    """Twenty claims, with a picture for each of them that stays open."""
    asked = [part for bound in range(20) for part in ("--spec", f"G[0,60] (x < {50 + bound})")]
    page = ["--report", str(folder / "report.html")]
    return [Heavy("report of twenty claims", ["check", str(task), *asked, *page])]


def _large(folder: Path, networks: Mapping[str, Path]) -> list[Heavy]:
    """Networks whose forms and relaxations take many times the memory of their weights."""
    made = []
    for number, (name, network) in enumerate(networks.items()):
        inputs, outputs = LARGE[name][0], LARGE[name][-1]
        query = written(folder / f"large{number}.vnnlib", _query(inputs, outputs))
        asked = ["verify", str(query), str(network), "--engine"]
        made += [Heavy(f"verify, {name} {engine}", [*asked, engine]) for engine in ("split", "bounds")]
    return made


def _query(inputs: int, outputs: int) -> str:
    """Can the first output be the least, near the origin?"""
    lines = [f"(declare-const X_{i} Real)" for i in range(inputs)]
    lines += [f"(declare-const Y_{i} Real)" for i in range(outputs)]
    lines += [f"(assert (>= X_{i} -0.02))\n(assert (<= X_{i} 0.02))" for i in range(inputs)]
    return "\n".join([*lines, *(f"(assert (<= Y_0 Y_{i}))" for i in range(1, outputs)), "(assert (<= Y_0 -100.0))\n"])


# Automata in parallel -------------------------------------------------------------------------------------------------


def _copies(folder: Path) -> list[Heavy]:
    model = written(folder / "copies.jani", json.dumps(_model()))
    asked = ["check", str(model), "--unsafe", "x0 == 3 & x1 == 2", "--engine"]
    return [Heavy(f"forty automata {engine}", [*asked, engine]) for engine in ("auto", "predicates")]


def _model() -> Any:
    names = [f"a{i}" for i in range(COPIES)]
    return {
        "jani-version": 1,
        "name": "copies",
        "type": "lts",
        "actions": [{"name": "go"}],
        "automata": [_automaton(name, f"x{i}") for i, name in enumerate(names)],
        "system": {
            "elements": [{"automaton": name} for name in names],
            "syncs": [{"synchronise": ["go"] * COPIES, "result": "go"}],
        },
    }


def _automaton(name: str, variable: str) -> Any:
    """Counts to three and begins again."""
    kind = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 3}
    moves: Sequence[tuple[str, Any]] = [("<", {"op": "+", "left": variable, "right": 1}), ("=", 0)]
    return {
        "name": name,
        "locations": [{"name": "here"}],
        "initial-locations": ["here"],
        "variables": [{"name": variable, "type": kind, "initial-value": 0}],
        "edges": [
            {
                "location": "here",
                "action": "go",
                "guard": {"exp": {"op": op, "left": variable, "right": 3}},
                "destinations": [{"location": "here", "assignments": [{"ref": variable, "value": value}]}],
            }
            for op, value in moves
        ],
    }


# Commands that ask nothing --------------------------------------------------------------------------------------------


def _without_questions(folder: Path, tasks: Mapping[str, Path], network: Path, flow: Path) -> list[Heavy]:
    simulated = ["simulate", str(tasks["sines"]), "--runs", "20000", "--steps", "800"]
    tree = ["explain", str(tasks["walk"]), "--spec", "G[0,9] (x < 1000)", "--depth", "9"]
    commands = {
        "simulate, 16 million positions": [*simulated, "--csv", str(folder / "runs.csv")],
        "simulate, a thousand ifs": ["simulate", str(tasks["ifs"]), "--runs", "10000", "--steps", "2000"],
        "explain, 100,000 symbols": ["explain", str(tasks["symbols"])],
        "explain, a tree of nine steps": [*tree, "--tree", str(folder / "tree.svg")],
        "convert, 3000-1000-1000-5": ["convert", str(network), str(folder / "large.nnet")],
        "convert, six variables to an automaton": ["convert", str(flow), str(folder / "automaton.xml")],
        "replay, a thousand ifs": ["replay", str(_evidence(folder, tasks["ifs"]))],
    }
    return [Heavy(name, arguments, memory=False) for name, arguments in commands.items()]


def _evidence(folder: Path, task: Path) -> Path:
    """A set that is said to be an invariant; whether it is one takes longer to find out than anybody waits."""
    one, zero = Fraction(1), Fraction(0)
    within = StateSet(((one,), (-one,)), (Fraction(5000), zero))
    found = Result("G (x <= 5000)", HOLDS, "invariants", evidence=Invariant(("x",), (within,)))
    return written(folder / "ifs.invariant.json", dump(load(task), found))
